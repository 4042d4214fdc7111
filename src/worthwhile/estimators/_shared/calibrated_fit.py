"""Fits whose probabilities hold: calibrated on rows that the model which answers for them has not seen.

What is bought and, where errors have no prices, predicted stays as without: only probabilities change. So
every classifier gets this from one place, around its own ``fit``. Decisions by prices of errors want
probabilities that hold: there a map is fitted unless ``calibrate`` is False.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing

from worthwhile._messages import on_purpose
from worthwhile.columns.table import dense
from worthwhile.estimators._shared.calibration import fit_map, quality_of
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.policy.calibration import KINDS, Calibration
from worthwhile.policy.output import Output

FOLDS = 5
"""Models that answer for the rows they have not seen."""

SHARES = ("probabilities", "votes")
"""Outputs of forests: shares may be 0, and have no slope on the scale of logarithms."""

FEWEST = 5
"""Rows of each class, for a map to be fitted that nobody asked for."""


def check_calibrate(calibrate: Any) -> None:
    """Refuse what is no way to calibrate."""
    if calibrate is not None and calibrate is not False and calibrate not in KINDS:
        raise ValueError(
            f"calibrate is {calibrate!r}: it is None, {', '.join(map(repr, KINDS))}, or False for never."
        )


def fit_calibrated(
    estimator: Any, fit: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """``fit`` of an estimator, and after the outermost of its fits the map that was asked for."""
    if estimator._calibration is not None:
        estimator._calibration = None
    given = inspect.signature(fit).bind(estimator, *args, **kwargs).arguments
    errors = estimator._check_errors(given.get("y"))
    if errors is not estimator._decides:
        estimator._decides = errors
    asked = getattr(estimator, "calibrate", None)
    check_calibrate(asked)
    wants = asked is None and errors is not None and is_classifier(estimator)
    if not (asked or (wants and _may_have_a_map(estimator, given["y"]))):
        return fit(estimator, *args, **kwargs)
    estimator.calibrate = False  # a fit inside this one leaves it alone
    try:
        fitted = fit(estimator, *args, **kwargs)
        more = {name: value for name, value in given.items() if name not in ("self", "X", "y")}
        kind = asked or usual_map(estimator.policy_.output)
        calibration, quality = out_of_fold(estimator, kind, given["X"], given["y"], more)
    finally:
        estimator.calibrate = asked
    # A map that nobody asked for is kept where probabilities hold better by it.
    wanted = asked or quality["kind"]
    estimator._calibration = calibration if wanted else None
    estimator.calibration_ = {**quality, "kind": wanted}
    estimator.policy_ = estimator.policy_
    return fitted


def _may_have_a_map(estimator: Any, y: Any) -> bool:
    """Whether a map can be made where errors have prices and none was asked for."""
    own = estimator.calibrates_itself or not hasattr(estimator, "calibrate")
    return not own and enough_for_a_map(y)


def enough_for_a_map(y: Any) -> bool:
    """Whether every class has the rows for one that nobody asked for."""
    return bool(np.unique(np.asarray(y), return_counts=True)[1].min() >= FEWEST)


def usual_map(output: Output) -> str:
    """The kind of map where none was asked for."""
    return "isotonic" if output.kind in SHARES else "sigmoid"


def out_of_fold(
    estimator: Any, kind: str, X: Any, y: Any, more: Mapping[str, Any]
) -> tuple[Calibration, dict[str, Any]]:
    """The map, from what models of other rows say about each row, and how well it does.

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
    logs, fold = np.empty((len(y), len(estimator.classes_))), np.empty(len(y), dtype=np.intp)
    blank = clone(estimator).set_params(**_settled(estimator))
    parts = StratifiedKFold(min(FOLDS, fewest)).split(codes, codes)
    for number, (seen, held) in enumerate(parts):
        model = clone(blank)
        with on_purpose():
            model.fit(_safe_indexing(X, seen), y[seen], **_cut(more, seen, len(y)))
        raw = model._run(_safe_indexing(X, held), billed=False).raw
        logs[held], fold[held] = model.policy_.output.logs(raw), number
    weight = read_weight(more.get("sample_weight"), y, getattr(estimator, "class_weight", None), y)
    weight = np.ones(len(y)) if weight is None else weight
    return fit_map(kind, logs, codes, weight), quality_of(kind, logs, codes, weight, fold)


def _settled(estimator: Any) -> dict[str, Any]:
    """Trade-offs that a fit chose itself, as parameters."""
    found = {}
    for name in estimator.trade_off_parameters:
        chosen = getattr(estimator, f"{name}_", None)
        own = isinstance(getattr(estimator, name, None), str) or estimator._decides is not None
        if own and chosen is not None:
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
