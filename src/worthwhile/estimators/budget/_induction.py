"""From nodes to policies: edges, cells, and choices for every worth of money."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import spread_fields
from worthwhile.core.forest.library_induction import Library as Tables
from worthwhile.core.forest.library_induction import follow, induce
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.budget._cells import FEW_ROWS, Cells, Cutter
from worthwhile.estimators.budget._nodes import Node
from worthwhile.estimators.budget._payoff import Payoff

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROWS, MORE_ROWS = 4000, 8000
"""Rows on which choices are made, and others to judge them by, where there are more; of few nodes more."""

LEAST_JUDGES = 500
"""Fewer rows than that judge nothing: then those judge that choices are made on."""

EDGES = 24
"""Edges of a node at most; the empty set has one to every other."""

PRIOR = 10.0
"""Rows of the whole node that each cell's estimate is drawn to."""

FALLING, MANY_CLASSES = 300.0, 10
"""And rows of a line that falls with sureness, which it is drawn to. With more classes the least sure rows are
those that no purchase tells; with few rows that is so with more than two."""

CAUTION = 0.5
"""Standard errors by which estimates are lowered."""

STOPS = 0.03
"""Chance that a case has to end where it is: so what tells more is bought first, whatever follows."""

RATES, CAPS = 12, 6
"""Worths of money for which choices are made, besides none, and prices up to which sets are allowed."""

GAP, ROUNDS = 0.1, 4
"""Where mean bills of neighbours differ by more than this share, worths between theirs are tried, so often."""


Task = tuple[float, float]
"""What a unit of money is worth, and the price up to which sets are allowed."""


@dataclass(frozen=True)
class Points:
    """Policies: the edge that each cell takes (-1 to stop), the rate, and the mean bill."""

    choice: Array
    rate: Floats
    bill: Floats

    def some(self, lines: Any) -> Points:
        """Some of them, in this order."""
        return Points(self.choice[lines], self.rate[lines], self.bill[lines])

    def and_then(self, more: Points) -> Points:
        """These, and others after them."""
        pairs = zip(vars(self).values(), vars(more).values(), strict=True)
        return Points(*(np.concatenate(pair) for pair in pairs))


@dataclass(frozen=True)
class Seen:
    """What rows make of policies that were made without them: (points, n) each, and their weights."""

    bill: Floats
    score: Floats
    weight: Floats


class Induction:
    """Everything that does not depend on the worth of money, for a part of the rows."""

    def __init__(
        self, table: Table, payoff: Payoff, nodes: list[Node], lists: list[list[int]],
        price: Floats, evaluation: float, threads: Threads, seed: int,
    ) -> None:  # fmt: skip
        own, fresh = _deal(table, seed, int(np.clip(120_000 // len(nodes), ROWS, MORE_ROWS)))
        self.payoff, self._judge = payoff.part(own), payoff.part(fresh)
        self._share = self.payoff.weight / self.payoff.weight.sum()
        self._rows = np.arange(len(own))
        self.price = price
        self.member = [node.columns for node in nodes]
        self.worth = np.array([self.payoff.mixed(node.votes[own]) for node in nodes])
        self._right = np.array([self._judge.hard(node.votes[fresh]) for node in nodes])
        self.edges = [self._edges(node, lists) for node in range(len(nodes))]
        self.judged_apart = not np.array_equal(own, fresh)
        """Whether rows that no choice was made on judge."""
        enough = 2 if table.n_pool < FEW_ROWS else MANY_CLASSES
        ordered = 2 <= table.n_outputs <= enough and not payoff.in_money
        self._falling = FALLING if ordered else 0.0
        fine = ordered and table.n_pool >= FEW_ROWS
        cutter = Cutter(table.part(own), table.part(fresh), fine)

        def cells_of(node: int) -> tuple[Array, ...]:
            if node == 0 or not self.edges[node]:
                return cutter.whole().fields()
            targets = np.ascontiguousarray((self.worth[self.edges[node]] - self.worth[node]).T)
            votes = nodes[node].votes
            cells = cutter.cut(sorted(self.member[node]), votes[own], votes[fresh], targets)
            return cells.fields()

        found = spread_fields(threads.map, cells_of, range(len(nodes)))
        self.cells = [Cells(*fields) for fields in found]
        self.first = np.cumsum([0, *(cells.count for cells in self.cells)]).astype(np.int64)
        start = np.cumsum([0, *map(len, self.edges)]).astype(np.int64)
        self.target = np.array([t for edges in self.edges for t in edges], dtype=np.int32)
        source = np.repeat(np.arange(len(nodes)), np.diff(start))
        due = price[self.target] - price[source] + evaluation
        rest = (self.first, start, self.target, due)
        self._tables = Tables(self.worth, _stack(c.cell for c in self.cells), *rest)
        self._fresh = Tables(self._right, _stack(c.fresh for c in self.cells), *rest)
        self._points: Points | None = None

    def _edges(self, node: int, lists: list[list[int]]) -> list[int]:
        """Larger sets that are gone to from here: the next few on every list, all where there is none."""
        if node == 0:
            return list(range(1, len(self.member)))
        if not lists:
            return [n for n, columns in enumerate(self.member) if self.member[node] < columns]
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
        """Policies for every worth of money, with all sets and with the cheaper ones alone; found once."""
        if self._points is None:
            self._points = self._find_points(threads)
        return self._points

    def _find_points(self, threads: Threads) -> Points:
        tasks, found = list[Task](), list[Any]()

        def solve(new: list[Task]) -> None:
            tasks.extend(new)
            solved = spread_fields(threads.map, lambda task: self._solve(*task), new)
            found.extend((choice, float(bill), float(worth)) for choice, bill, worth in solved)

        solve([(float(rate), float(cap)) for cap in self._caps() for rate in self.rates()])
        for _ in range(ROUNDS):
            bill, worth = np.array([f[1] for f in found]), np.array([f[2] for f in found])
            solve(between(tasks, bill, pareto(bill, worth)))
        chosen = pareto(np.array([f[1] for f in found]), np.array([f[2] for f in found]))
        return Points(
            np.array([found[i][0] for i in chosen]),
            np.array([tasks[i][0] for i in chosen]),
            np.array([found[i][1] for i in chosen]),
        )

    def for_everybody(self) -> Points:
        """Policies that buy one set for every row, those that no cheaper set beats, and last the whole of it.

        What leads rows is learned from few of them, and stops too early; here nothing is learned.
        """
        mean = np.average(self.worth, axis=1, weights=self.payoff.weight)
        sets = pareto(self.price, mean)
        # Of those with all columns, some may be grown on a part of the rows.
        whole = [node for node, held in enumerate(self.member) if held == self.member[-1]]
        sets += [max(whole, key=mean.__getitem__)] if sets[-1] not in whole else []
        choice = np.full((len(sets), int(self.first[-1])), -1, dtype=np.int32)
        choice[:, 0] = np.array(sets) - 1  # from nothing there is an edge to every other set
        return Points(choice, np.zeros(len(sets)), np.append(self._tables.price, 0.0)[choice[:, 0]])

    def _caps(self) -> Floats:
        """Prices up to which sets are allowed."""
        prices = np.unique(self.price[self.price > 0])
        if not len(prices):
            return np.zeros(1)
        chosen = np.unique(np.geomspace(1, len(prices), CAPS).round().astype(int)) - 1
        return np.append(0.0, prices[chosen])

    def _solve(self, rate: float, cap: float) -> tuple[Array, Floats, Floats]:
        """Choices, mean bill and mean worth."""
        choice = np.empty(int(self.first[-1]), dtype=np.int32)
        drawn = PRIOR, self._falling
        induce(self._tables, self.price <= cap, float(rate), *drawn, CAUTION, STOPS, choice)
        end, bill = self._follow(self._tables, choice)
        reached = self.worth[end, self._rows]
        sums = (bill * self._share).sum(), (reached * self._share).sum()
        return choice, np.array(sums[0]), np.array(sums[1])

    def _follow(self, tables: Any, choice: Array) -> tuple[Array, Floats]:
        n = tables.cell.shape[1]
        end, bill = np.empty(n, dtype=np.int32), np.empty(n)
        follow(tables, choice, end, bill)
        return end, bill

    def ends(self, points: Points) -> Floats:
        """Share of the rows that stop at each node, (points, nodes)."""
        ends = [self._follow(self._tables, choice)[0] for choice in points.choice]
        return np.array([np.bincount(end, self._share, len(self.member)) for end in ends])

    def visits(self, choice: Array) -> Floats:
        """Share of the rows that come to each node by a policy, (nodes,); 0 for the empty set."""
        at, found = np.zeros(len(self._rows), dtype=np.intp), np.zeros(len(self.member))
        moving = self._rows
        while len(moving):
            edge = choice[self.first[at[moving]] + self._tables.cell[at[moving], moving]]
            moving = moving[edge >= 0]
            at[moving] = self.target[edge[edge >= 0]]
            found += np.bincount(at[moving], self._share[moving], len(found))
        return found

    def seen(self, points: Points) -> Seen:
        """What the rows that choices were not made on make of policies."""
        ways = [self._follow(self._fresh, choice) for choice in points.choice]
        rows = np.arange(self._fresh.cell.shape[1])
        return Seen(
            np.array([bill for _, bill in ways]),
            np.array([self._right[end, rows] for end, _ in ways]),
            self._judge.weight,
        )

    def targets(self, points: Points) -> Array:
        """The node that each cell goes on to, (points, cells), -1 to stop."""
        return np.append(self.target, np.int32(-1))[points.choice]

    def range_of_bills(self, points: Points) -> tuple[Floats, Floats]:
        """The least and the most that any row may pay, for each policy."""
        n = len(points.rate)
        shape = (n, len(self.member))
        least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
        least[:, 0] = most[:, 0] = 0.0
        ends = np.zeros(shape, dtype=bool)
        every = np.arange(n)
        for node in range(len(self.member)):
            for choice in np.unique(
                points.choice[:, self.first[node] : self.first[node + 1]].T, axis=0
            ):
                goes = every[choice >= 0]
                edge = choice[goes]
                to, due = self.target[edge], self._tables.price[edge]
                least[goes, to] = np.minimum(least[goes, to], least[goes, node] + due)
                most[goes, to] = np.maximum(most[goes, to], most[goes, node] + due)
                ends[:, node] |= choice < 0
        return (
            np.where(ends, least, np.inf).min(axis=1),
            np.where(ends, most, -np.inf).max(axis=1),
        )


def _deal(table: Table, seed: int, most: int) -> tuple[Array, Array]:
    """Rows to make choices on, ``most`` of them, and others to judge them by: those held out, or any that are left.

    Where hardly any are, they judge themselves.
    """
    order = np.random.default_rng(seed).permutation(table.n_pool)
    # Some are left to judge by, before there are more.
    most = max(min(most, len(order) - ROWS), ROWS)
    own = np.sort(order[:most])
    if table.n_pool < table.n_rows:
        return own, np.arange(table.n_pool, table.n_rows)
    rest = order[most : most + ROWS]
    return own, np.sort(rest) if len(rest) >= LEAST_JUDGES else own


def _stack(cells: Any) -> Array:
    return np.ascontiguousarray(list(cells), dtype=np.int32)


def between(tasks: list[Task], bill: Floats, front: list[int]) -> list[Task]:
    """Worths of money that may close the gaps of a front, for the price limits of either side and for none."""
    rates, caps = np.array(tasks).T
    found: dict[Task, None] = {}
    for low, high in itertools.pairwise(front):
        if bill[high] - bill[low] <= GAP * bill[high]:
            continue
        middle = (bill[low] + bill[high]) / 2
        for cap in dict.fromkeys([caps[low], caps[high], caps.max()]):
            own = np.flatnonzero(caps == cap)
            own = own[np.argsort(rates[own], kind="stable")]
            over = int(np.argmax(bill[own] <= middle))  # the first rate at which less is bought
            if over == 0:
                continue
            few, many = rates[own[over]], rates[own[over - 1]]
            rate = float(np.sqrt(few * many)) if many > 0 else float(few) / 2
            if few > 1.01 * many:
                found.setdefault((rate, float(cap)))
    return [task for task in found if task not in set(tasks)]


def pareto(bill: Floats, worth: Floats) -> list[int]:
    """Policies that no cheaper one beats, cheapest first."""
    order = np.lexsort((-worth, bill))
    found, best = [], -np.inf
    for i in order.tolist():
        if worth[i] > best:
            found.append(i)
            best = worth[i]
    return found
