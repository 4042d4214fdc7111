"""The models that the budget slider can show, each measured on rows it was not trained on."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.isotonic import isotonic_regression
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from worthwhile.costs import QUANTA_PER_UNIT, as_float
from worthwhile.frontier import Comparison, Point, train_points

Ints = npt.NDArray[np.intp]

NOTHING = "nothing bought"
"""Name of the model that answers with the prior."""


@dataclass(frozen=True)
class Measured:
    """One setting of one method, trained once per fold and measured on the rows of that fold.

    Attributes
    ----------
    method : str
        Its name.
    params, stage
        Its setting, as in a comparison.
    score, cost : float
        Mean score and mean bill over all rows, each by the model that has not seen it.
    error : float or None
        Standard error of a score that is a share of right answers.
    shares : float64 (d,)
        Of how many rows each feature is bought.
    bills : float64 (n,)
        The bill of each row.
    models : sequence of fitted estimators, one per fold; None where nothing is bought
    """

    method: str
    params: dict[str, Any]
    stage: int | None
    score: float
    error: float | None
    cost: float
    shares: npt.NDArray[np.float64]
    bills: npt.NDArray[np.float64]
    models: Sequence[Any]


@dataclass(frozen=True)
class Folds:
    """Rows in parts, and a scorer: where models are measured."""

    X: Any
    y: npt.NDArray[Any]
    costs: Any
    part: Ints
    scoring: Any
    seed: int

    @classmethod
    def of(cls, X: Any, y: Any, costs: Any, scoring: Any, seed: int, n_folds: int = 5) -> Folds:
        """Five parts, with every class in each where there are rows enough."""
        y, part = np.asarray(y), np.zeros(len(y), dtype=np.intp)
        rare = min(np.unique(y, return_counts=True)[1]) < n_folds
        kind = KFold if cls.of_numbers(y) or rare else StratifiedKFold
        splits = kind(n_folds, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
        for number, (_, rows) in enumerate(splits):
            part[rows] = number
        return cls(X, y, costs, part, scoring, seed)

    @staticmethod
    def of_numbers(y: npt.NDArray[Any]) -> bool:
        """Whether numbers are predicted, not labels."""
        return y.dtype.kind == "f" and bool((y != np.rint(y)).any())

    def measure(self, method: str, points: Sequence[Point]) -> list[Measured]:
        """Train points of a method on the other parts, each in turn, and measure them."""
        n, count = len(self.y), len(points)
        bills, score = np.zeros((count, n)), np.zeros(count)
        shares, models = np.zeros((count, self.X.shape[1])), [list[Any]() for _ in points]
        for number in np.unique(self.part):
            seen, held = np.flatnonzero(self.part != number), np.flatnonzero(self.part == number)
            X, y, rows = _safe_indexing(self.X, seen), self.y[seen], _safe_indexing(self.X, held)
            errors = getattr(self.scoring, "errors", None)
            trained = train_points(method, points, X, y, self.costs, self.seed, errors=errors)
            for i, model in enumerate(trained):
                judged = model if model is not None else self._prior(y)
                scorer = check_scoring(judged, self.scoring)
                score[i] += float(scorer(judged, rows, self.y[held])) * len(held) / n
                if model is not None:
                    bills[i, held] = model.cost(rows)
                    shares[i] += model.acquired(rows).sum(axis=0) / n
                models[i].append(model)
        found = []
        for i, point in enumerate(points):
            buys = models[i][0] is not None
            name, params, stage = (
                (method, point.params, point.stage) if buys else (NOTHING, {}, None)
            )
            error = None
            if self.scoring == "accuracy":
                error = math.sqrt(max(score[i] * (1 - score[i]), 0.0) / n)
            found.append(
                Measured(
                    name, params, stage, float(score[i]), error, _mean_bill(bills[i]), shares[i],
                    bills[i], models[i],
                )
            )  # fmt: skip
        return found

    def prior(self, number: int) -> Any:
        """The answer for the rows of a part where nothing is bought."""
        return self._prior(self.y[self.part != number]).predict(np.zeros((1, 1)))[0]

    def _prior(self, y: npt.NDArray[Any]) -> Any:
        prior = DummyRegressor() if self.of_numbers(self.y) else DummyClassifier(strategy="prior")
        return prior.fit(np.zeros((len(y), 1)), y)


def _mean_bill(bills: npt.NDArray[np.float64]) -> float:
    """To a whole quantum: where everybody buys everything it is the price of everything, and no more."""
    return as_float(round(float(np.rint(bills * QUANTA_PER_UNIT).mean())))


def measure_choices(
    comparison: Comparison, folds: Folds, budgets: Sequence[float]
) -> tuple[list[Measured], list[int]]:
    """Models, the cheapest first, and for each budget the number of the one that a comparison chooses.

    It chooses by validation rows, so that figures of the rows here flatter none; peers stay lines of the
    picture, unless there is nothing else. Whose mean bill turns out
    to be above the budget gives way to the next cheaper one; where none is left nothing is bought.
    Where more money brings no more, scores are those of neighbours together, and the cheapest stands for
    them.
    """
    asked: dict[str, dict[str, tuple[Point, list[int]]]] = {}
    own = [name for name in comparison.methods if name not in comparison.peers] or None
    for place, budget in enumerate(budgets):
        choice = comparison.best(float(budget), own)
        point = choice.points[0]
        if "budget" in point.params:  # as for whoever gives this budget
            point = Point(point.cost, point.score, params={"budget": float(budget)})
        key = repr((sorted(point.params.items(), key=str), point.stage, point.case_budget))
        asked.setdefault(choice.method, {}).setdefault(key, (point, []))[1].append(place)
    at: list[Measured | None] = [None] * len(budgets)
    for method, points in asked.items():
        found = folds.measure(method, [point for point, _ in points.values()])
        for one, (_, places) in zip(found, points.values(), strict=True):
            for place in places:
                at[place] = one
    chosen = [folds.measure(comparison.methods[0], [Point(cost=0.0, score=0.0)])[0]]
    for found_at, budget in zip(at, budgets, strict=True):
        assert found_at is not None  # every budget has a choice
        keeps = chosen[-1].cost <= found_at.cost <= budget
        chosen.append(found_at if keeps else chosen[-1])
    models = _rising(chosen[1:])
    bills = [one.cost for one in models]
    return models, [bisect_right(bills, budget) - 1 for budget in budgets]


def _rising(chosen: Sequence[Measured]) -> list[Measured]:
    """Distinct models of a list by their bills, such that no score falls.

    Taking the best of many noisy scores would flatter it; means over neighbours do not.
    """
    distinct: dict[Any, Measured] = {}
    for one in chosen:
        distinct.setdefault((one.method, one.cost, one.score), one)
    scores = isotonic_regression([one.score for one in distinct.values()])
    models = list[Measured]()
    for one, score in zip(distinct.values(), scores.tolist(), strict=True):
        if not models or score > models[-1].score:
            models.append(replace(one, score=score))
    return models


def measure_peer(comparison: Comparison, folds: Folds) -> Measured | None:
    """What people use today, at any price: the best peer by validation rows."""
    if not comparison.peers:
        return None
    choice = comparison.best(among=comparison.peers)
    return folds.measure(choice.method, choice.points[:1])[0]


def scoring_of(comparison: Comparison, scoring: Any) -> Any:
    """The scorer that a comparison was made with, by its name where none is given."""
    if scoring is not None:
        return scoring
    if comparison.in_money:
        raise ValueError(
            "comparison has totals: give the prices of errors, scoring=TotalCost(errors)."
        )
    known = {"accuracy": "accuracy", "R2": "r2"}.get(comparison.score_name, comparison.score_name)
    if known not in get_scorer_names():
        raise ValueError(
            f"comparison was scored by {comparison.score_name!r}, which is no scorer's name: give the function as "
            "scoring=."
        )
    return known
