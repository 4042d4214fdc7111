"""Which feature comes next on a list, and which kind of forest suits a length of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import KFold, StratifiedKFold

from worthwhile.costs import Costs, as_float

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

SEARCH_ROWS = 2000
"""Rows that say what a feature adds."""

SEARCH_LEAF = 5
"""Smallest leaf of the forests that say it."""

MOST_STEPS, MOST_CANDIDATES = 12, 16
"""After so many steps the rest keeps its place; a step looks again at so many features only."""

LEAST_GAIN = 1e-3
"""What a feature counts for that adds nothing: of such features the cheaper comes first."""

KINDS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (RandomForestClassifier, {"min_samples_leaf": 20}),
    (RandomForestClassifier, {"min_samples_leaf": 5}),
    (ExtraTreesClassifier, {"min_samples_leaf": 3, "max_features": None}),
    (ExtraTreesClassifier, {"max_features": None}),
    (ExtraTreesClassifier, {}),
)
"""Forests to choose from: one or two features want large leaves, many want random thresholds."""

FOLDS, FOLD_TREES = 3, 24
"""Parts into which training rows are cut to compare kinds, and trees of those comparisons."""


class Search:
    """Which feature comes next."""

    def __init__(
        self, X: Floats, codes: Codes, costs: Costs, forest: Any, weight: Floats | None = None
    ) -> None:
        rows = np.random.default_rng(forest.random_state).permutation(len(X))[:SEARCH_ROWS]
        self.X, self.codes, self.costs = X[rows], codes[rows], costs
        self.weight = np.ones(len(rows)) if weight is None else weight[rows]
        self.forest = forest.set_params(oob_score=_nothing)
        self.d = X.shape[1]
        alone = np.array([self.price([f]) for f in range(self.d)])
        self.free = np.flatnonzero(alone == 0).tolist()
        self.lines: list[dict[str, Any]] = []

    def price(self, features: Sequence[int]) -> int:
        """What some features cost together, in quanta."""
        mask = np.zeros(self.d, dtype=bool)
        mask[list(features)] = True
        return int(self.costs.quanta(mask[None, :])[0])

    def score(self, features: Sequence[int]) -> float:
        """Mean out-of-bag probability of the true class."""
        forest = clone(self.forest)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows that every tree has seen
            forest.fit(self.X[:, list(features)], self.codes, self.weight)
        own = np.searchsorted(forest.classes_, self.codes)
        found = forest.oob_decision_function_[np.arange(len(own)), own]
        seen = np.isfinite(found)
        return float(np.average(found[seen], weights=self.weight[seen])) if seen.any() else 0.0

    def run(self, power: float, longest: int | None) -> list[int]:
        """All priced features in order; the search ends where no more are wanted."""
        steps = MOST_STEPS if longest is None else min(longest, MOST_STEPS)
        order: list[int] = []
        left = [f for f in range(self.d) if f not in self.free]
        shares = np.bincount(self.codes, self.weight) / self.weight.sum()
        level = self.score(self.free) if self.free else float((shares**2).sum())
        merit = dict.fromkeys(left, np.inf)
        while left and len(order) < steps:
            have = [*self.free, *order]
            paid = self.price(have)
            left.sort(key=lambda f: (-merit[f], f))
            looked = left if not order else left[:MOST_CANDIDATES]
            found = {}
            for f in looked:
                found[f] = self.score([*have, f])
                price = max(as_float(self.price([*have, f]) - paid), 1e-9)
                merit[f] = max(found[f] - level, LEAST_GAIN) / price**power
            best = max(looked, key=lambda f: (merit[f], -f))
            level = max(level, found[best])
            order.append(best)
            left.remove(best)
            self._note(order, found[best])
        return [*order, *sorted(left, key=lambda f: (-merit[f], f))]

    def _note(self, order: list[int], score: float) -> None:
        cost = as_float(self.price([*self.free, *order]))
        name = str(self.costs.name(order[-1]))
        line = {"n_features": len(order), "feature": name, "cost": cost, "probability": score}
        self.lines.append(line)


@dataclass(frozen=True)
class Length:
    """One length of the list, as training rows see it that a forest was not grown on."""

    kind: int
    """Number of the kind of forest, in ``KINDS``."""
    votes: Floats
    """Class probabilities of the training rows."""
    price: float
    """What the list costs up to here."""


class Kinds:
    """Compares kinds of forests on rows held out in turn."""

    def __init__(
        self, X: Floats, codes: Codes, n_classes: int, seed: int, weight: Floats | None = None
    ) -> None:
        self.X, self.codes, self.n_classes, self.seed = X, codes, n_classes, seed
        self.weight = np.ones(len(X)) if weight is None else weight
        folds = min(FOLDS, len(X))
        few = np.bincount(codes).min() < folds
        self.folds = (KFold if few else StratifiedKFold)(folds, shuffle=True, random_state=seed)

    def best(self, features: Sequence[int], n_trees: int, price: float) -> Length:
        """The kind with the most right answers; of equal ones the more probable answers."""
        rows = np.arange(len(self.codes))
        found = []
        for number in range(len(KINDS) if features else 1):
            votes = self._votes(features, number, min(n_trees, FOLD_TREES))
            right = float(np.average(votes.argmax(axis=1) == self.codes, weights=self.weight))
            logs = np.log(np.maximum(votes[rows, self.codes], 0.01))
            sure = float(np.average(logs, weights=self.weight))
            found.append((right + 1e-3 * sure, -number, votes))
        _, number, votes = max(found, key=lambda one: one[:2])
        return Length(-number, votes, price)

    def _votes(self, features: Sequence[int], kind: int, n_trees: int) -> Floats:
        votes = np.zeros((len(self.codes), self.n_classes))
        X = self.X[:, list(features)] if features else np.zeros((len(self.codes), 1))
        for seen, held in self.folds.split(X, self.codes):
            forest = make_forest(kind, n_trees, self.seed)
            forest.fit(X[seen], self.codes[seen], self.weight[seen])
            votes[np.ix_(held, forest.classes_)] = forest.predict_proba(X[held])
        return votes


def make_forest(kind: int, n_trees: int, seed: int, n_jobs: int | None = None) -> Any:
    """A forest of some kind."""
    make, params = KINDS[kind]
    return make(n_trees, random_state=seed, n_jobs=n_jobs, **params)


def search_forest(n_trees: int, seed: int, n_jobs: int | None) -> Any:
    """The forest that says what a feature adds."""
    return RandomForestClassifier(
        n_trees, min_samples_leaf=SEARCH_LEAF, random_state=seed, n_jobs=n_jobs
    )


def _nothing(y: Any, predicted: Any) -> float:
    """Stands for scikit-learn's score of the out-of-bag rows, of which only the votes are wanted."""
    return 0.0
