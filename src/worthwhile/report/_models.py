"""The models that the budget slider can show, each measured on rows it was not trained on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing

from worthwhile.frontier import Choice, Comparison, Point, train_choice

Ints = npt.NDArray[np.intp]

BEST_METHODS = 3
"""Methods at each budget whose settings are tried."""

MOST_MODELS = 24
"""Settings that are trained for the slider, each once per fold."""

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
    def of(cls, X: Any, y: Any, costs: Any, scoring: Any, seed: int, n_folds: int = 3) -> Folds:
        """Three parts, with every class in each where there are rows enough."""
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

    def measure(self, choice: Choice) -> Measured:
        """Train what was chosen on the other parts, each in turn, and measure it."""
        n, point = len(self.y), choice.points[0]
        bills, shares, score, models = np.zeros(n), np.zeros(self.X.shape[1]), 0.0, list[Any]()
        for number in np.unique(self.part):
            seen, held = np.flatnonzero(self.part != number), np.flatnonzero(self.part == number)
            X, y = _safe_indexing(self.X, seen), self.y[seen]
            errors = getattr(self.scoring, "errors", None)
            model = train_choice(choice, X, y, self.costs, self.seed, errors=errors)
            rows = _safe_indexing(self.X, held)
            judged = model if model is not None else self._prior(y)
            scorer = check_scoring(judged, self.scoring)
            score += float(scorer(judged, rows, self.y[held])) * len(held) / n
            if model is not None:
                bills[held] = model.cost(rows)
                shares += model.acquired(rows).sum(axis=0) / n
            models.append(model)
        nothing = models[0] is None
        return Measured(
            NOTHING if nothing else choice.method, {} if nothing else point.params,
            None if nothing else point.stage, score, float(bills.mean()), shares, bills, models,
        )  # fmt: skip

    def prior(self, number: int) -> Any:
        """The answer for the rows of a part where nothing is bought."""
        return self._prior(self.y[self.part != number]).predict(np.zeros((1, 1)))[0]

    def _prior(self, y: npt.NDArray[Any]) -> Any:
        prior = DummyRegressor() if self.of_numbers(self.y) else DummyClassifier(strategy="prior")
        return prior.fit(np.zeros((len(y), 1)), y)


def measure_choices(
    comparison: Comparison, folds: Folds, budgets: Sequence[float]
) -> list[Measured]:
    """What a comparison would choose for the budgets, and buying nothing.

    Of the best methods at each budget, what any of the splits chose, each setting once; of too many,
    some that are spread over the bills.
    """
    nothing = Choice(NOTHING, 0.0, 0.0, 0.0, (Point(cost=0.0, score=0.0),))
    wanted: dict[str, Choice] = {}
    for choice in chain.from_iterable(_best_methods(comparison, float(b)) for b in budgets):
        for point in choice.points:
            if point.params or point.stage is not None:
                key = repr((choice.method, sorted(point.params.items(), key=str), point.stage))
                wanted.setdefault(key, replace(choice, points=(point,)))
    by_bill = sorted(wanted.values(), key=lambda choice: choice.points[0].cost)
    if len(by_bill) > MOST_MODELS:
        places = np.linspace(0, len(by_bill) - 1, MOST_MODELS).round().astype(int)
        by_bill = [by_bill[place] for place in places]
    return [folds.measure(choice) for choice in (nothing, *by_bill)]


def _best_methods(comparison: Comparison, budget: float) -> Iterator[Choice]:
    """What the best methods at a budget would be, the best first."""
    left = list(comparison.methods)
    for _ in range(min(BEST_METHODS, len(left))):
        choice = comparison.best(budget, left)
        left.remove(choice.method)
        yield choice


def best_within(models: Sequence[Measured], budget: float) -> int:
    """Number of the model with the highest score among those whose mean bill is in the budget."""
    fitting = [i for i, one in enumerate(models) if one.cost <= budget]
    return max(fitting, key=lambda i: (models[i].score, -models[i].cost))


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
