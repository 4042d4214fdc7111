"""The L1 gating baseline: features first, then the cheap model, then a gate on its mistakes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators.gates._base import GatedClassifier
from worthwhile.estimators.gates._judge import Maker, Model, Sweep
from worthwhile.estimators.gates._linear_alternate import (
    MOST_CUTS,
    Fit,
    StandardRows,
    linear_policies,
)
from worthwhile.estimators.gates._linear_fista import (
    Problem,
    Weights,
    counts,
    solve,
    spread,
)
from worthwhile.estimators.gates._shares import FURTHEST
from worthwhile.estimators.gates._task import Task

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

C_STEPS = (0.001, 0.01, 0.1, 1.0, 10.0)
WEIGHT_STEPS: tuple[float, ...] = tuple((np.linspace(0, 1, 10) ** 2).tolist())
"""Weights of the rows that the cheap model gets right, for a sweep."""


COARSE_CUTS = 6
"""Truncations of a support, where a sweep is coarse."""


@dataclass(eq=False, repr=False, kw_only=True)
class L1GateClassifier(GatedClassifier):
    """The L1 baseline of ADAPT: what a gate is worth when nothing is optimised jointly.

    An L1 logistic regression picks features; a logistic regression on them is the cheap model;
    another one on the same features learns where the cheap model is wrong, and sends those rows on.

    Parameters
    ----------
    existing : fitted classifier or (function, features), optional
        As for :class:`~worthwhile.AdaptiveLinearClassifier`; None trains a random forest.
    C : float or "auto", default="auto"
        Inverse strength of the L1 penalty, per sum of losses. "auto", where ``correct_weight`` is so
        too: a sweep, the cheapest that is expected to lose a point at most, and one and a half with a
        standard error; else 1.
    n_features : int, optional
        Keep only that many features, those with the largest weights.
    correct_weight : float or "auto", default="auto"
        Weight, in training the gate, of the rows that the cheap model gets right; the others weigh
        1. The smaller, the more rows are sent on; 0 sends all. "auto" beside a number for ``C`` is 1.
    budget : float, optional
        Mean bill per row. If given, the three parameters above are ignored: all are swept, and the
        most accurate model within the budget on validation rows is kept.
    max_drop, validation_fraction, out_of_fold, verbose
    costs, categorical, dates, random_state, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.AdaptiveLinearClassifier`, where they are described.

    Attributes
    ----------
    trace_ : DataFrame
        Cost, score, features and share sent on training rows; with ``budget`` or ``max_drop``,
        one row per model of the sweep, on validation rows.
    saved_ : float or None
        As in :class:`~worthwhile.AdaptiveLinearClassifier`.
    point_ : dict
        ``C`` and ``correct_weight`` of the model in use; with ``max_drop`` also the ``drop`` to be
        expected.

    Notes
    -----
    Paper: Nan and Saligrama, NIPS 2017, section 5. Differs from the paper: the gate's score is
    above 0 for rows to be sent on, where the paper labels rows to be kept with 1; several classes
    share their features through a group norm.

    Examples
    --------
    >>> from worthwhile import L1GateClassifier, datasets
    >>> from sklearn.svm import SVC
    >>> X, y, costs = datasets.make_synthetic_2(400, separation=2)
    >>> accurate = SVC(gamma=1).fit(X, y)
    >>> model = L1GateClassifier(accurate, budget=1.8, costs=costs)
    >>> model = model.fit(X, y, validation=(X, y))
    >>> model.score(X, y), float(model.cost(X).mean())
    (1.0, 1.74)
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("C", "correct_weight")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GatedClassifier._parameter_constraints,
        "C": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "n_features": [None, Interval(Integral, 0, None, closed="left")],
        "correct_weight": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    C: float | str = "auto"
    n_features: int | None = None
    correct_weight: float | str = "auto"

    def _is_swept(self) -> bool:
        named = self.budget is not None or self.max_drop is not None
        return super()._is_swept() and (named or self.n_features is None)

    def _fit_one(self, task: Task) -> None:
        with threadpool_limits(1):
            rows, C, weight = _rows(task), self._number("C"), self._number("correct_weight")
            support = l1_order(rows, C)[: self.n_features]
            fit = Baseline(rows, support).fit(weight)
        gate, cheap = linear_policies(fit, rows, task)
        self.policy_ = task.compose(gate, cheap)
        self.point_ = {"C": C, "correct_weight": weight}
        self.trace_ = pd.DataFrame([task.training_judge()(gate, cheap).row()])

    def _models(self, task: Task, so_far: Sweep | None = None) -> Iterator[Model]:
        """Every support that a strength and a number of features give, with every weight."""
        weights = (*(WEIGHT_STEPS[::3] if task.coarse else WEIGHT_STEPS), np.inf)
        cuts, known = COARSE_CUTS if task.coarse else MOST_CUTS, dict[frozenset[int], list[Maker]]()
        with threadpool_limits(1):
            rows = _rows(task)
            for C in C_STEPS:
                order = l1_order(rows, C)
                for size in np.geomspace(1, len(order) + 1, cuts).astype(int) - 1:
                    key = frozenset(order[:size])
                    if key not in known:
                        baseline = Baseline(rows, order[:size])
                        known[key] = [
                            partial(linear_policies, baseline.fit(weight), rows, task)
                            for weight in weights
                        ]
                    for weight, maker in zip(weights, known[key], strict=True):
                        yield {"C": C, "correct_weight": weight}, maker


def _rows(task: Task) -> StandardRows:
    return StandardRows.of(
        task.X, task.codes, len(task.classes), np.zeros(len(task.X)), task.weight
    )


def l1_order(rows: StandardRows, C: float) -> tuple[int, ...]:
    """Features of an L1 logistic regression, the largest weight first."""
    n, d = rows.Z.shape
    # A squared distance of (nearly) no weight to scores of 0 leaves the gate's column at 0.
    nothing = np.zeros(n)
    problem = Problem(
        rows.Z, rows.codes, rows.n_classes, nothing, nothing, 1e-9, spread(rows.Z, rows.weight),
        rows.weight,
    )  # fmt: skip
    total = n if rows.weight is None else np.sum(rows.weight)
    penalty = PricePenalty.flat(1 / (C * total), d)
    start = Weights(np.zeros((d, 1 + rows.n_cheap)), np.zeros(1 + rows.n_cheap))
    weights, value = solve(problem, penalty, start, tol=1e-9, max_iter=2000)
    return Fit(np.arange(d), weights, value, []).support


class Baseline:
    """The cheap model on some features, and gates on its mistakes."""

    def __init__(self, rows: StandardRows, support: tuple[int, ...]) -> None:
        self._columns = np.array(sorted(support), dtype=np.intp)
        self._weight, self._counts = rows.weight, counts(rows.weight, len(rows.codes))
        self._Z = rows.Z[:, self._columns]
        self._coef = np.zeros((len(self._columns), 1 + rows.n_cheap))
        self._intercept = np.zeros(1 + rows.n_cheap)
        if len(self._columns):
            model = LogisticRegression(C=1.0, max_iter=500).fit(self._Z, rows.codes, rows.weight)
            self._coef[:, 1:], self._intercept[1:] = model.coef_.T, model.intercept_
            right = model.predict(self._Z) == rows.codes
        else:
            share = np.bincount(rows.codes, self._counts, minlength=rows.n_classes)
            logs = np.log(share)
            self._intercept[1:] = logs[1] - logs[0] if rows.n_cheap == 1 else logs
            right = rows.codes == np.argmax(share)
        self._wrong = ~right

    def fit(self, correct_weight: float) -> Fit:
        """A gate that gives correct rows this weight; infinity keeps all rows."""
        coef, intercept = self._coef.copy(), self._intercept.copy()
        if self._wrong.all() or correct_weight == 0:
            intercept[0] = FURTHEST
        elif not self._wrong.any() or correct_weight == np.inf:
            intercept[0] = -FURTHEST
        elif len(self._columns):
            weight = np.where(self._wrong, 1.0, correct_weight)
            weight = weight if self._weight is None else weight * self._weight
            gate = LogisticRegression(C=1.0, max_iter=500).fit(self._Z, self._wrong, weight)
            coef[:, 0], intercept[0] = gate.coef_[0], gate.intercept_[0]
        else:
            share = float(np.sum(self._counts[self._wrong]))
            intercept[0] = np.log(share) - np.log((1 - share) * correct_weight)
        return Fit(self._columns, Weights(coef, intercept), 0.0, [])
