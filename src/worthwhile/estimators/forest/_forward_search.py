"""Which feature comes next on a list, and the forest for a length of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs, as_float
from worthwhile.estimators._shared.coded_forests import (
    ROWS_PER_COLUMN,
    SEARCHING,
    Style,
    Table,
    sample_size,
    styles_for,
)

Floats = npt.NDArray[np.float64]

SEARCH_ROWS = 2000
"""Rows that say what a feature adds."""

MOST_STEPS, MOST_CANDIDATES = 12, 16
"""After so many steps the rest keeps its place; a step looks again at so many features only."""

LEAST_GAIN = 1e-3
"""What a feature counts for that adds nothing: of such features the cheaper comes first."""

TRIAL_ROWS, TRIAL_TREES = 4000, 24
"""Rows of the forests that say which kind suits a length, and their trees."""


FREE, MORE_FREE, MANY_ROWS = 0.25, 0.5, 4000
"""Share of the rows that a tree does not see, and votes on; of more rows a larger one will do."""


class Search:
    """Which feature comes next.

    Parameters
    ----------
    table : Table
        Of classes.
    costs : Costs
    n_trees, seed : int
        Of the forests that say what a feature adds.
    threads : Threads
    """

    def __init__(self, table: Table, costs: Costs, n_trees: int, seed: int, threads: Threads):
        self.table, self.costs, self._threads = some_rows(table, SEARCH_ROWS, seed), costs, threads
        self._grown = n_trees, sample_size(self.table.n_rows, self.table.n_rows, FREE), seed
        self.d = len(table.codes)
        alone = np.array([self.price([f]) for f in range(self.d)])
        self.free = np.flatnonzero(alone == 0).tolist()
        self.lines: list[dict[str, Any]] = []

    def price(self, features: Sequence[int]) -> int:
        """What some features cost together, in quanta."""
        mask = np.zeros(self.d, dtype=bool)
        mask[list(features)] = True
        return int(self.costs.quanta(mask[None, :])[0])

    def scores(self, sets: Sequence[Sequence[int]]) -> list[float]:
        """Mean out-of-bag probability of the true class, for each set."""
        return list(self._threads.map(self._score, sets))

    def _score(self, features: Sequence[int]) -> float:
        votes = self.table.votes(features, SEARCHING, *self._grown)
        true = votes[np.arange(len(votes)), self.table.slot]
        return float(np.average(true, weights=self.table.weight))

    def run(self, power: float, longest: int | None) -> list[int]:
        """All priced features in order; the search ends where no more are wanted."""
        steps = MOST_STEPS if longest is None else min(longest, MOST_STEPS)
        order: list[int] = []
        left = [f for f in range(self.d) if f not in self.free]
        shares = self.table.prior
        level = self.scores([self.free])[0] if self.free else float((shares**2).sum())
        merit = dict.fromkeys(left, np.inf)
        while left and len(order) < steps:
            have = [*self.free, *order]
            paid = self.price(have)
            left.sort(key=lambda f: (-merit[f], f))
            looked = left if not order else left[:MOST_CANDIDATES]
            found = dict(zip(looked, self.scores([[*have, f] for f in looked]), strict=True))
            for f in looked:
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
    """One length of the list, as training rows see it that a tree was not grown on."""

    trees: Trees
    votes: Floats
    """Class probabilities of the training rows."""
    price: float
    """What the list costs up to here."""


class Kinds:
    """Grows the forest of a length, of the kind that suits it.

    Parameters
    ----------
    table : Table
        Of classes.
    n_trees, seed : int
        Of the forests.
    """

    def __init__(self, table: Table, n_trees: int, seed: int) -> None:
        self.table, self._n_trees, self._seed = table, n_trees, seed
        self._trial = some_rows(table, TRIAL_ROWS, seed)

    def grow(self, features: Sequence[int], price: float) -> Length:
        """The forest of some features; without any, the shares of the classes."""
        table = self.table
        if not features:
            votes = np.tile(table.prior, (table.n_rows, 1))
            return Length(Trees.none(table.prior, table.n_outputs), votes, price)
        style = self.best(features)
        most = ROWS_PER_COLUMN * (len(features) + 1)
        n_sample = sample_size(table.n_rows, most, FREE if table.n_rows <= MANY_ROWS else MORE_FREE)
        trees, votes = table.ensemble(features, style, self._n_trees, n_sample, self._seed)
        return Length(trees, votes, price)

    def best(self, features: Sequence[int]) -> Style:
        """The kind with the most right answers; of equal ones the more probable answers."""
        trial = self._trial
        rows, n_trees = np.arange(trial.n_rows), min(self._n_trees, TRIAL_TREES)
        found = []
        for style in styles_for(len(features)):
            n_sample = sample_size(trial.n_rows, trial.n_rows, FREE)
            votes = trial.votes(features, style, n_trees, n_sample, self._seed)
            right = float(np.average(votes.argmax(axis=1) == trial.slot, weights=trial.weight))
            logs = np.log(np.maximum(votes[rows, trial.slot], 0.01))
            found.append((right + 1e-3 * float(np.average(logs, weights=trial.weight)), style))
        return max(found, key=lambda one: one[0])[1]


def some_rows(table: Table, most: int, seed: int) -> Table:
    """A part of the rows, drawn by chance."""
    if table.n_rows <= most:
        return table
    return table.part(np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:most]))
