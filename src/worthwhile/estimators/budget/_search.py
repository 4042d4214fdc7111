"""Lists of purchases: what comes next is what raises the out-of-bag score most for its price."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import spread
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators._shared.coded_forests import SEARCHING, Table, sample_size
from worthwhile.estimators.budget._boosters import order_of_use
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._payoff import Payoff

Columns = frozenset[int]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

CANDIDATES = 16
"""Purchases that are looked at again after the first step."""

AT_A_TIME = 4
"""Of those, so many at a time, until the others brought less when they were last looked at."""

STEPS = 12
"""Steps that are searched; what is left then keeps the order of its last gains."""

FEW_SETS = 32
"""Up to so many sets that can be had at all (five purchases), none is searched for: every one is a node."""

LEAST = 1e-4
"""What a purchase counts for that adds nothing: of such the cheaper comes first."""


class Shop:
    """What can be bought at a time: a feature, or all of a group, with whatever then comes free."""

    def __init__(self, costs: Costs) -> None:
        self.costs = costs
        self.n = costs.n_features
        self._groups = [
            frozenset(costs.index(feature) for feature in group.features)
            for group in costs.groups.values()
        ]
        self._bound = bool(len(costs.flat.fee) or costs.requires)
        """Whether one purchase may bring others with it."""
        prices = costs.flat.alone
        self.prices_differ = len(np.unique(prices[prices > 0])) > 1
        self._opens = costs.flat.members & (costs.flat.fee > 0)
        self._closed: dict[Columns, Columns] = {}
        self.free = self.closed(frozenset())

    def mask(self, sets: Iterable[Columns]) -> Mask:
        """Sets as a mask, (sets, d)."""
        sets = list(sets)
        mask = np.zeros((len(sets), self.n), dtype=bool)
        for row, columns in zip(mask, sets, strict=True):
            row[list(columns)] = True
        return mask

    def prices(self, sets: Iterable[Columns]) -> Floats:
        """What each set costs."""
        return np.asarray(self.costs.quanta(self.mask(sets)) * 1e-9, dtype=np.float64)

    def closed(self, columns: Columns) -> Columns:
        """The set, what it requires, and what costs nothing more with it."""
        return self.all_closed([columns])[0]

    def all_closed(self, sets: list[Columns]) -> list[Columns]:
        """Each set, what it requires, and what costs nothing more with it."""
        new = [columns for columns in dict.fromkeys(sets) if columns not in self._closed]
        if new:
            have = self.costs.closed(self.mask(new))
            unpaid = ~(have @ self._opens)
            asked = (~have & (self.costs.flat.price > 0)) | (unpaid @ self._opens.T)
            for columns, row in zip(new, ~asked, strict=True):
                self._closed[columns] = frozenset(np.flatnonzero(row).tolist())
        return [self._closed[columns] for columns in sets]

    def steps(self, have: Columns) -> list[Columns]:
        """Sets that one more purchase leads to, in a fixed order, each once."""
        left = [feature for feature in range(self.n) if feature not in have]
        larger = [have | {feature} for feature in left]
        larger += [have | group for group in self._groups if len(group - have) > 1]
        if self._bound:
            larger = self.all_closed(larger)
        return list(dict.fromkeys(larger))

    def all_sets(self) -> list[Columns] | None:
        """Every set that purchases lead to, from the free one on; None where they are not few."""
        found = {self.free: None}
        for have in (waiting := [self.free]):
            for larger in self.steps(have):
                if larger not in found:
                    found[larger] = None
                    waiting.append(larger)
            if len(found) > FEW_SETS:
                return None
        return list(found)


class Candidate(NamedTuple):
    """A set that one more purchase leads to.

    ``added``: a power of what it adds to the price; ``hope``: what it brought before, over that.
    """

    columns: Columns
    added: float
    hope: float


class Search:
    """Scores of sets on a part of the rows, each computed once."""

    def __init__(
        self, table: Table, payoff: Payoff, shop: Shop, threads: Threads, shape: Shape
    ) -> None:
        order = np.random.default_rng(shape.seed).permutation(table.n_pool)
        rows = np.sort(order[: shape.search_rows])
        self.table = table.part(rows) if len(rows) < table.n_rows else table
        self.payoff = payoff.part(rows)
        self.shop, self._threads, self._shape = shop, threads, shape
        self.n_pool, self.seed = table.n_pool, shape.seed
        self._worths: dict[Columns, Floats] = {frozenset(): self._nothing()}

    def _nothing(self) -> Floats:
        """Worth of the same answer for every row."""
        table = self.table
        return self.payoff.drawn(np.broadcast_to(table.prior, (table.n_rows, table.n_outputs)))

    def score(self, sets: list[Columns], rows: Any = slice(None)) -> list[float]:
        """Mean out-of-bag score of each set, for some of the rows."""
        weight = self.payoff.weight[rows]
        total = weight.sum()
        return [float((worth[rows] * weight).sum() / total) for worth in self.worths(sets)]

    def worths(self, sets: list[Columns]) -> list[Floats]:
        """Out-of-bag worth of each set, row by row, in parallel."""
        new = [columns for columns in dict.fromkeys(sets) if columns not in self._worths]
        self._worths |= zip(new, spread(self._threads.map, self._measure, new), strict=True)
        return [self._worths[columns] for columns in sets]

    def votes(self, sets: list[Columns]) -> list[Floats]:
        """What the forests say by which sets are scored, in parallel."""
        return list(spread(self._threads.map, self._votes, sets))

    def _votes(self, columns: Columns) -> Floats:
        n, shape = self.table.n_rows, self._shape
        return self.table.votes(
            sorted(columns), SEARCHING, shape.search_trees, sample_size(n, n), shape.seed
        )

    def _measure(self, columns: Columns) -> Floats:
        return self.payoff.drawn(self._votes(columns))

    def alone(self, rows: Any) -> dict[Columns, float]:
        """What purchases bring some of the rows that have nothing yet."""
        free = self.shop.free
        steps = self.shop.steps(free)
        base, *scores = self.score([free, *steps], rows)
        return {step - free: score - base for step, score in zip(steps, scores, strict=True)}

    def forward(self, power: float) -> list[Columns]:
        """Ever larger sets up to all columns, each the best purchase more than the one before."""
        known: dict[Columns, float] = {}
        found = self._steps(self.shop.free, power, STEPS, known)
        return found + self._rest(found[-1], self.looked_at(found[-1], power, known))

    def forward_for(self, rows: Any, start: Columns, power: float, n_steps: int) -> list[Columns]:
        """The first sets of a list for some of the rows."""
        return self._steps(start, power, n_steps, self.alone(rows), rows)

    def _steps(
        self, have: Columns, power: float, n_steps: int, known: dict[Columns, float],
        rows: Any = slice(None),
    ) -> list[Columns]:  # fmt: skip
        """Sets from a first one on, and in ``known`` what purchases brought when they were last looked at."""
        found = [have]
        while len(found) <= n_steps and (looked := self.looked_at(have, power, known)):
            gains = self._gains(have, looked, rows)
            known |= {look.columns - have: gain for look, gain in gains.items()}
            have = max(gains, key=lambda look: gains[look] / look.added).columns
            found.append(have)
        return found

    def looked_at(
        self, have: Columns, power: float, known: dict[Columns, float]
    ) -> list[Candidate]:
        """Purchases worth a look, best first: by what they brought before over a power of their price; at first all."""
        steps = self.shop.steps(have)
        price = self.shop.prices([have, *steps])
        added = np.maximum(price[1:] - price[0], 1e-9) ** power
        # A step is known by what it adds, whatever is had already.
        found = [
            Candidate(columns, amount, known.get(columns - have, np.inf) / amount)
            for columns, amount in zip(steps, added.tolist(), strict=True)
        ]
        return sorted(found, key=lambda look: -look.hope)[:CANDIDATES] if known else found

    def _gains(self, have: Columns, looked: list[Candidate], rows: Any) -> dict[Candidate, float]:
        """What purchases bring, looked at a few at a time until no other can be expected to bring more.

        With more known, they hardly ever bring more than when they were last looked at.
        """
        found: dict[Candidate, float] = {}
        best = -np.inf
        for first in range(0, len(looked), AT_A_TIME):
            if best >= looked[first].hope:
                break
            some = looked[first : first + AT_A_TIME]
            base, *scores = self.score([have, *(look.columns for look in some)], rows)
            found |= {
                look: max(score - base, LEAST) for look, score in zip(some, scores, strict=True)
            }
            best = max(gain / look.added for look, gain in found.items())
        return found

    def _rest(self, have: Columns, looked: list[Candidate]) -> list[Columns]:
        """What is left, ever more of it at a time: as boosted trees use it, or in the order of the last gains."""
        found, length = [], len(have)
        everything = self.shop.steps(have)
        if not everything:
            return []
        order = [look.columns for look in looked]
        if self._shape.boosted:
            prices = self.shop.costs.flat.after(self.shop.mask([have])[0]).alone
            whole = max(self.shop.costs.flat.total, 1)
            used = order_of_use(self.table, prices / whole, range(self.shop.n), self.seed)
            order = [self.shop.closed(have | {column}) for column in used if column not in have]
        order += [s for s in everything if s not in set(order)]
        for step in order:
            have = have | step
            if len(have) >= 1.25 * length:
                found.append(self.shop.closed(have))
                length = len(have)
        if not found or len(found[-1]) < self.shop.n:
            found.append(frozenset(range(self.shop.n)))
        return found
