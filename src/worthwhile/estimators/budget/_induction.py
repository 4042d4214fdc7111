"""From nodes to policies: edges, cells, and choices for every worth of money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.forest.library_induction import Library as Tables
from worthwhile.core.forest.library_induction import follow, induce
from worthwhile.core.forest.value_cells import grow_cells
from worthwhile.core.threads import Threads
from worthwhile.estimators.budget._forests import Table
from worthwhile.estimators.budget._nodes import Node
from worthwhile.estimators.budget._payoff import Payoff

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROWS = 4000
"""Rows on which choices are made."""

LEVELS = 128
"""Levels to which probabilities are rounded when rows are cut into cells."""

CELLS = 24
"""Cells of a node at most."""

EDGES = 24
"""Edges of a node at most; the empty set has one to every other."""

PRIOR = 10.0
"""Rows of the whole node that each cell's estimate is drawn to."""

CAUTION = 0.5
"""Standard errors by which estimates are lowered."""

RATES = 24
"""Worths of money for which choices are made, besides none."""

CUT = 12.0
"""What a cut must explain, in variances: less is chance."""

FEW_ROWS, HANDICAP = 1000, 20.0
"""With fewer rows than that, cuts by columns of the table must explain so much more."""

COLUMNS_CUT = 12
"""Columns of the table that cells may be cut by, at most."""


@dataclass(frozen=True)
class Cells:
    """The small tree of a node, and the cell of each row."""

    feature: Array
    threshold: Floats
    child: Array
    cell: Array

    @property
    def count(self) -> int:
        """Number of cells."""
        return int((self.feature < 0).sum())


@dataclass(frozen=True)
class Points:
    """Policies: choices per cell as targets (-1 to stop), rates, and what rows make of them."""

    choice: Array
    rate: Floats
    bill: Floats
    bill_error: Floats
    score: Floats
    score_error: Floats


class Induction:
    """Everything that does not depend on the worth of money, for a part of the rows."""

    def __init__(
        self, table: Table, payoff: Payoff, nodes: list[Node], lists: list[list[int]],
        price: Floats, evaluation: float, threads: Threads, seed: int,
    ) -> None:  # fmt: skip
        rows = np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:ROWS])
        part, self.payoff = table.part(rows), payoff.part(rows)
        self.price = price
        self.member = [node.columns for node in nodes]
        votes = [node.votes[rows] for node in nodes]
        self.worth = np.array([self.payoff.mixed(vote) for vote in votes])
        self.right = np.array([self.payoff.hard(vote) for vote in votes])
        self.edges = [self._edges(node, lists) for node in range(len(nodes))]
        found = threads.map(lambda node: self._cut(part, node, votes[node]), range(len(nodes)))
        self.cells = list(found)
        first = np.cumsum([0, *(cells.count for cells in self.cells)])
        start = np.cumsum([0, *map(len, self.edges)])
        target = np.array([t for edges in self.edges for t in edges], dtype=np.int32)
        source = np.repeat(np.arange(len(nodes)), np.diff(start))
        self.target = target
        self.tables = Tables(
            np.ascontiguousarray(self.worth),
            np.ascontiguousarray([cells.cell for cells in self.cells], dtype=np.int32),
            first.astype(np.int64), start.astype(np.int64), target,
            price[target] - price[source] + evaluation,
        )  # fmt: skip

    def _edges(self, node: int, lists: list[list[int]]) -> list[int]:
        """Larger sets that are gone to from here: the next few on every list."""
        if node == 0:
            return list(range(1, len(self.member)))
        found: dict[int, None] = {}
        for step in range(3):
            for order in lists:
                larger = [n for n in order if self.member[node] < self.member[n]]
                if len(larger) > step:
                    found.setdefault(larger[step])
        last = len(self.member) - 1
        if self.member[node] < self.member[last]:
            found.setdefault(last)
        return sorted(list(found)[:EDGES])

    def _cut(self, part: Table, node: int, votes: Floats) -> Cells:
        """Cut the rows of a node by what its edges would bring them."""
        n = part.n_rows
        targets = np.ascontiguousarray((self.worth[self.edges[node]] - self.worth[node]).T)
        if node == 0 or not targets.shape[1]:
            one = np.array([-1], dtype=np.int32)
            return Cells(one, np.zeros(1), np.zeros(1, dtype=np.int32), np.zeros(n, np.int32))
        targets = targets - targets.mean(axis=0)
        spread = targets.std(axis=0)
        targets = targets[:, spread > 0] / spread[spread > 0]
        seen = np.column_stack([votes, votes.max(axis=1)]) if votes.shape[1] > 1 else votes
        edges = _edges_of(seen)
        levels = [np.searchsorted(edge, values) for edge, values in zip(edges, seen.T, strict=True)]
        columns = sorted(self.member[node])[:COLUMNS_CUT]
        codes = np.vstack([np.array(levels, dtype=np.uint8), part.codes[columns]])
        handicap = np.zeros(len(codes))
        handicap[len(levels) :] = HANDICAP if n < FEW_ROWS else 0.0
        feature, cut, child, cell = grow_cells(
            np.ascontiguousarray(codes), targets, handicap, max(8, n // 60), CELLS,
            CUT + 3.0 * np.sqrt(targets.shape[1]),
        )  # fmt: skip
        threshold, tested = np.zeros(len(feature)), feature.copy()
        n_seen, d = seen.shape[1], len(part.codes)
        for at in np.flatnonzero(feature >= 0).tolist():
            if feature[at] < n_seen:
                tested[at] = 2 * (d + feature[at])
                threshold[at] = edges[feature[at]][cut[at]]
            else:
                column = columns[feature[at] - n_seen]
                tested[at] = 2 * column
                threshold[at] = part.thresholds(np.array([column]), cut[at : at + 1])[0]
        return Cells(tested, threshold, child, cell)

    # Policies ------------------------------------------------------------------------------------

    def rates(self) -> Floats:
        """Worths of money from where nothing is bought to where everything that helps is."""
        mean = np.average(self.worth, axis=1, weights=self.payoff.weight)
        dear = self.price > 0
        slopes = (mean[dear] - mean[0]) / self.price[dear]
        most = max(float(slopes.max(initial=0.0)), 1e-9)
        least = 0.02 / max(float(self.price.max()), 1e-9)
        rates = np.append(0.0, np.geomspace(min(least, most), 1.5 * most, RATES))
        return np.append(rates, 1.0) if self.payoff.in_money else rates

    def points(self, threads: Threads) -> Points:
        """Policies for every worth of money, with all sets and with the cheaper ones alone."""
        rates, caps = self.rates(), self._caps()
        tasks = [(rate, cap) for cap in caps for rate in rates]
        found = list(threads.map(lambda task: self._solve(*task), tasks))
        chosen = pareto(np.array([f[1] for f in found]), np.array([f[3] for f in found]))
        kept = [found[i] for i in chosen]
        return Points(
            np.array([f[0] for f in kept], dtype=np.int32),
            np.array([tasks[i][0] for i in chosen]),
            *(np.array([f[k] for f in kept]) for k in (1, 2, 4, 5)),
        )

    def _caps(self) -> Floats:
        """Prices up to which sets are allowed."""
        prices = np.unique(self.price[self.price > 0])
        if not len(prices):
            return np.zeros(1)
        chosen = np.unique(np.geomspace(1, len(prices), 14).round().astype(int)) - 1
        return np.append(0.0, prices[chosen])

    def _solve(self, rate: float, cap: float) -> tuple[Array, float, float, float, float, float]:
        """Choices, mean bill and its standard error, mean worth, mean score and its standard error."""
        choice = np.empty(int(self.tables.first[-1]), dtype=np.int32)
        induce(self.tables, self.price <= cap, float(rate), PRIOR, CAUTION, choice)
        n = self.worth.shape[1]
        end, bill = np.empty(n, dtype=np.int32), np.empty(n)
        follow(self.tables, choice, end, bill)
        rows, weight = np.arange(n), self.payoff.weight
        mean = float(np.average(bill, weights=weight))
        return (
            np.where(choice >= 0, self.target[choice], -1) if len(self.target) else choice,
            mean,
            float(bill.std() / np.sqrt(n)),
            float(np.average(self.worth[end, rows], weights=weight)),
            float(np.average(self.right[end, rows], weights=weight)),
            float(self.right[end, rows].std() / np.sqrt(n)),
        )


def _edges_of(seen: Floats) -> list[Floats]:
    """Where answers are cut: between shares of a class at fixed levels, between numbers at quantiles."""
    if seen.shape[1] > 1:
        return [np.arange(1, LEVELS) / LEVELS] * seen.shape[1]
    return [np.unique(np.quantile(seen[:, 0], np.arange(1, LEVELS) / LEVELS))]


def pareto(bill: Floats, worth: Floats) -> list[int]:
    """Policies that no cheaper one beats, cheapest first."""
    order = np.lexsort((-worth, bill))
    found, best = [], -np.inf
    for i in order.tolist():
        if worth[i] > best:
            found.append(i)
            best = worth[i]
    return found
