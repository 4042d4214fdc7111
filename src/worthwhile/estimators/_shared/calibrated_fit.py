"""Fits whose probabilities hold: calibrated on rows that the model which answers for them has not seen.

What is bought and predicted stays as without: only probabilities change. So every classifier gets
this from one place, around its own ``fit``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from worthwhile._messages import on_purpose
from worthwhile.columns.table import dense
from worthwhile.estimators._shared.calibration import fit_map
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.policy.calibration import KINDS, Calibration

FOLDS = 5
"""Models that answer for the rows they have not seen."""


def check_calibrate(calibrate: Any) -> None:
    """Refuse what is no way to calibrate."""
    if calibrate is not None and calibrate not in KINDS:
        raise ValueError(f"calibrate is {calibrate!r}: it is None, {', '.join(map(repr, KINDS))}.")


def fit_calibrated(
    estimator: Any, fit: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """``fit`` of an estimator, and after the outermost of its fits the map that was asked for."""
    if estimator._calibration is not None:
        estimator._calibration = None
    kind = getattr(estimator, "calibrate", None)
    if kind is None:
        return fit(estimator, *args, **kwargs)
    check_calibrate(kind)
    estimator.calibrate = None  # a fit inside this one leaves it alone
    try:
        fitted = fit(estimator, *args, **kwargs)
        given = inspect.signature(fit).bind(estimator, *args, **kwargs).arguments
        more = {name: value for name, value in given.items() if name not in ("self", "X", "y")}
        calibration = out_of_fold(estimator, kind, given["X"], given["y"], more)
    finally:
        estimator.calibrate = kind
    estimator._calibration = calibration
    estimator.policy_ = estimator.policy_
    return fitted


def out_of_fold(estimator: Any, kind: str, X: Any, y: Any, more: Mapping[str, Any]) -> Calibration:
    """The map, from what models of other rows say about each row.

    Parameters
    ----------
    estimator : fitted classifier
        Copies of it are fitted, with the trade-off that it has chosen where it chose one itself.
    kind : str
        Kind of the map.
    X, y : rows
        As given to ``fit``.
    more : mapping
        What else was: arrays with an element per row are cut with them.
    """
    X, y = dense(X), np.asarray(y)
    codes = np.searchsorted(estimator.classes_, y)
    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        raise ValueError(
            f"calibrate={kind!r}, and a class of y has a single row: calibrating needs at least two of each class."
        )
    logs = np.empty((len(y), len(estimator.classes_)))
    blank = clone(estimator).set_params(**_settled(estimator))
    for seen, held in StratifiedKFold(min(FOLDS, fewest)).split(codes, codes):
        model = clone(blank)
        with on_purpose():
            model.fit(_safe_indexing(X, seen), y[seen], **_cut(more, seen, len(y)))
        raw = model._run(_safe_indexing(X, held), billed=False).raw
        logs[held] = model.policy_.output.logs(raw)
    weight = read_weight(more.get("sample_weight"), y, getattr(estimator, "class_weight", None), y)
    return fit_map(kind, logs, codes, np.ones(len(y)) if weight is None else weight)


def _settled(estimator: Any) -> dict[str, Any]:
    """Trade-offs that a fit chose itself, as parameters."""
    found = {}
    for name in estimator.trade_off_parameters:
        chosen = getattr(estimator, f"{name}_", None)
        if isinstance(getattr(estimator, name, None), str) and chosen is not None:
            found[name] = chosen
    return found


def _cut(more: Mapping[str, Any], rows: npt.NDArray[np.intp], n_rows: int) -> dict[str, Any]:
    """Further arguments of ``fit`` for some of the rows: what is told per row is cut, the rest stays."""
    return {
        name: _safe_indexing(value, rows)
        if name != "validation" and np.ndim(value) and len(value) == n_rows
        else value
        for name, value in more.items()
    }
