"""Trying the points of a trade-off on rows held out, for "auto" to take one of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, indexable

from worthwhile.costs import Errors
from worthwhile.estimators._shared.choosing import one_standard_error
from worthwhile.estimators._shared.covering import seeded
from worthwhile.estimators._shared.validation import fold_rows
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.exceptions import WorthwhileWarning

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Points = Sequence[dict[str, Any]]
FitAll = Callable[..., Iterable[Any]]

FEW_ROWS, FOLDS = 2500, 3
"""With fewer rows than this each row is held out once, in so many folds; with more, one fold is."""

MOST_ROWS = 12000
"""Rows that choose, at most, those that train for it included."""


def choose_point(
    estimator: Any, points: Points, X: Any, y: Any, sample_weight: Any = None,
    validation: Any = None, *, best: bool = False, fit_all: FitAll | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The point of a trade-off that costs least within one standard error of the best.

    Where errors have prices, the best is that of the least total, and it is taken.

    Parameters
    ----------
    estimator : estimator
        What is fitted with each point, in copies.
    points : sequence of dicts of parameters
    X, y, sample_weight
        Rows.
    validation : (X, y), optional
        Rows that judge, instead of rows held out.
    best : bool
        Take the best of them instead.
    fit_all : function (estimator, points, X, y, **more), optional
        Gives the fitted models of all points in their order, where that takes less than fitting each.
    """
    if len(points) == 1:
        return dict(points[0])
    errors = estimator._read_errors()
    losses: list[list[Floats]] = [[] for _ in points]
    bills: list[list[float]] = [[] for _ in points]
    counts = list[Floats]()
    for part in divided(estimator, X, y, sample_weight, validation):
        counts.append(part.count)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorthwhileWarning)
            models = (fit_all or _fit_each)(seeded(estimator), points, *part.rows, **part.more)
            for k, model in enumerate(models):
                losses[k].append(row_losses(model, *part.judge, errors))
                bills[k].append(float(model.cost(part.judge[0]).sum()))
    joined = np.array([np.concatenate(found) for found in losses])
    total = [sum(found) for found in bills]
    return dict(points[take(total, joined, np.concatenate(counts), best or errors is not None)])


def take(bills: Sequence[float], losses: Floats, count: Floats, best: bool) -> int:
    """Place of the cheapest within one standard error of the best, or of the best itself.

    ``losses`` (points, n) are of rows that ``count`` (n,) so much each.
    """
    if best:
        means = np.average(losses, axis=1, weights=count)
        return min(range(len(means)), key=lambda k: (means[k], bills[k]))
    return one_standard_error(bills, -losses, None if (count == 1).all() else count)


@dataclass(frozen=True, eq=False)
class Part:
    """Rows to train on, rows to judge by, what ``fit`` gets besides, and what the latter count (n,)."""

    rows: tuple[Any, Any]
    judge: tuple[Any, Any]
    more: dict[str, Any]
    count: Floats


def divided(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, validation: Any = None
) -> list[Part]:
    """Rows to train on and rows to judge by, given or held out; a row without weight is not there."""
    X, y = indexable(X, y)
    if np.ndim(y) == 2 and np.shape(y)[1] == 1:
        y = np.ravel(y)
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
        there = np.flatnonzero(sample_weight)
        X, y, sample_weight = (
            _safe_indexing(X, there),
            _safe_indexing(y, there),
            sample_weight[there],
        )
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    if validation is not None:
        judge = tuple(indexable(*validation))
        return [Part((X, y), judge, weights, np.ones(len(judge[1])))]
    given = getattr(estimator, "class_weight", None)
    count = read_weight(sample_weight, y, given, np.asarray(y))
    parts = []
    for train, held in _folds(estimator, y):
        rows, judge = ((_safe_indexing(X, part), _safe_indexing(y, part)) for part in (train, held))
        more = {name: weight[train] for name, weight in weights.items()}
        parts.append(Part(rows, judge, more, np.ones(len(held)) if count is None else count[held]))
    return parts


def _fit_each(estimator: Any, points: Points, X: Any, y: Any, **more: Any) -> Iterable[Any]:
    for point in points:
        yield clone(estimator).set_params(**point).fit(X, y, **more)


def row_losses(model: Any, X: Any, y: Any, errors: Errors | None = None) -> Floats:
    """Squared error of each row, of the probabilities where there are classes; totals, where errors cost."""
    y = np.asarray(y)
    if errors is not None:
        return np.asarray(model.with_errors(errors).total_cost(X, y))
    if not is_classifier(model):
        error = np.asarray(y, dtype=np.float64) - model.predict(X)
        return np.asarray(error**2 if error.ndim == 1 else (error**2).sum(axis=1))
    truth = y[:, None] == model.classes_[None, :]
    return np.asarray(((model.predict_proba(X) - truth) ** 2).sum(axis=1))


def _folds(estimator: Any, y: Any) -> list[tuple[Indices, Indices]]:
    """Pairs of training rows and rows held out; always the same.

    Where there are too few rows to hold any out, all of them train and judge.
    """
    labels = np.asarray(y)
    rows = np.arange(0, len(labels), -(-len(labels) // MOST_ROWS))
    codes = np.zeros(len(rows), dtype=np.intp)
    if is_classifier(estimator):
        codes = np.unique(labels[rows], return_inverse=True)[1]
    folds = fold_rows(codes, FOLDS, np.random.default_rng(0))
    if len(rows) >= FEW_ROWS:
        folds = folds[:1]
    everything = np.arange(len(rows))
    return [(rows[train], rows[held]) for train, held in folds or [(everything, everything)]]
