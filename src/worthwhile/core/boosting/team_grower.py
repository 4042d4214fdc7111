"""Growing one tree in one call: the fast way where it applies.

:class:`worthwhile.core.boosting.grower.Grower` is the general way: any statistics, prices by row, rows that may
lie elsewhere. Most trees need none of it: unit weights, one output, prices that are paid once for
all rows, few columns, little depth. :class:`TeamGrower` grows these, split for split the same, with
all threads inside one kernel from beginning to end. Where others use the cores, so that the threads
would wait for each other, one thread grows them alone.
"""

from __future__ import annotations

import time

import numpy as np

from worthwhile.core.boosting import team_kernel as growth
from worthwhile.core.boosting.grower import COUNT, Grown
from worthwhile.core.boosting.leaves import LEAF
from worthwhile.core.boosting.node_rows import SMALL
from worthwhile.core.boosting.partition import CHUNK, SPLIT_COLUMNS
from worthwhile.core.boosting.purchases import Purchases
from worthwhile.core.boosting.team import CAN_TEAM, Pace, abandon, counters, was_abandoned
from worthwhile.core.compile import compile_beside, is_cold, wait_for
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS, GRADIENT, ROW, SET_WORDS, SUM

MAX_BLOCKS = 16
"""Beyond this many blocks, histograms that a thread has to itself no longer stay in cache."""

MAX_DEPTH = 7
"""Deeper trees have many small nodes, whose histograms would be cleared and added up for nothing."""

FEW = 1 << 16
"""Histogram updates at the root below which no kernel is compiled for it: the general grower will do."""

_NO_LEAVES = np.empty(0, dtype=LEAF)
_NO_CURVATURE = np.empty(0, dtype=GRADIENT)


class TeamGrower:
    """Grows trees of one output on packed statistics.

    Parameters
    ----------
    words, layout, threads
        As for :class:`~worthwhile.core.boosting.node_rows.NodeRows`.
    purchases : Purchases
        The prices; paid once for all rows.
    """

    def __init__(self, words, layout, purchases, threads):
        self._words, self._layout, self._purchases, self._threads = (
            words,
            layout,
            purchases,
            threads,
        )
        n = words.shape[1]
        many = CAN_TEAM and n * len(words) * BLOCK >= SMALL
        team = threads.count if many else 1
        self._pace = Pace(team)
        # Some chunks for each thread, so that nobody waits long for the last one.
        self._chunk = int(min(CHUNK, max(256, -(-n // (4 * team)))))
        self._rows = np.empty(n, dtype=ROW)
        self._columns = growth.Columns(
            layout.members, layout.offsets, layout.place, np.array(layout.columns, dtype=SUM)
        )
        self._depth, self._lanes = -1, 1

    @staticmethod
    def suits(n_rows, layout, purchases, max_depth):
        """Whether trees of this kind can be grown this way, and enough is to be gained."""
        return (
            type(purchases) is Purchases
            and (n_rows * layout.n_blocks * BLOCK >= FEW or not is_cold(growth.grow_together))
            and layout.n_blocks <= MAX_BLOCKS
            and 1 <= max_depth <= MAX_DEPTH
        )

    @staticmethod
    def expect(n_rows, n_features, max_depth):
        """Have the kernel compiled while the data is binned, where it will be wanted and is not there."""
        if (
            n_rows * n_features >= FEW
            and n_features <= MAX_BLOCKS * BLOCK
            and max_depth <= MAX_DEPTH
        ):
            compile_beside(growth.grow_together)

    def _use(self, allowed):
        """What the allowed features need of each block of columns."""
        offsets = self._layout.offsets
        first, middle, end = offsets[:-1:BLOCK], offsets[BLOCK // 2 :: BLOCK], offsets[BLOCK::BLOCK]
        count = np.append(0, np.cumsum(allowed[self._layout.members[:, 0]]))
        whole = np.where(middle == end, growth.HALF, growth.WHOLE)
        return np.where(count[end] > count[first], whole, growth.UNUSED).astype(np.uint8)

    def _make_room(self, depth, d, lanes):
        """Arrays for trees of this depth, with so many numbers in a bin; they are used again for every tree."""
        nodes, widest, blocks = 2 ** (depth + 1) - 1, 2 ** (depth - 1), len(self._words)
        team, chunks = self._pace.team, -(-len(self._rows) // self._chunk)
        jobs, bins = max(widest // 2, 1), BLOCK * CODES * lanes
        self._tree = growth.Tree(
            nodes=np.empty((nodes, 7), dtype=SUM), net=np.empty(nodes),
            order=np.empty(nodes, dtype=SUM), bounds=np.empty((chunks, nodes, 2), dtype=SUM),
            words=np.zeros((nodes, SET_WORDS), dtype=SUM),
        )  # fmt: skip
        self._level = growth.Level(
            plan=np.empty(6, dtype=SUM), nodes=np.empty((widest, 2), dtype=SUM),
            totals=np.empty(widest, dtype=SUM), jobs=np.empty((jobs, 3), dtype=SUM),
            divides=np.empty(widest, dtype=SUM), picks=np.zeros((widest, 5), dtype=SUM),
            pending=np.empty(widest, dtype=bool), curvatures=np.zeros(widest, dtype=SUM),
            factor=np.empty((widest, d)),
        )  # fmt: skip
        self._found = growth.Found(
            gain=np.empty((widest, d)), cut=np.empty((widest, d), dtype=np.int32),
            left=np.empty((widest, d), dtype=SUM),
            sets=np.empty((widest, self._layout.n_categories, SET_WORDS), dtype=SUM),
            left_curvature=np.zeros((widest, d), dtype=SUM),
        )  # fmt: skip
        self._histograms = growth.Histograms(
            private=np.empty((team, jobs, blocks, bins), dtype=SUM),
            held=np.empty((2, widest, blocks, bins), dtype=SUM),
        )
        self._room = growth.Room(
            tables=np.empty((team, nodes, CODES), dtype=np.uint8),
            splits=np.empty((team, nodes, SPLIT_COLUMNS), dtype=SUM),
            right_rows=np.empty((team, self._chunk), dtype=ROW),
            packed=np.empty((team, self._chunk), dtype=SUM),
            sums=np.empty((team, 5, CODES), dtype=SUM), gains=np.empty((team, 2, CODES)),
            second=np.empty((team, self._chunk if lanes > 1 else 1), dtype=SUM),
        )  # fmt: skip
        self._depth, self._lanes = depth, lanes

    def grow(self, gradients, chosen, total, rules, allowed, leaf=None, curvature=None):
        """Grow a tree on rounded gradients (n,).

        ``chosen``: the rows (ascending) that it sees, None for all; ``total``: their number, the
        sum of their gradients, and that of their curvature where gains go by it. Fills ``leaf`` (n,),
        where given, with the leaf of every row; then the tree also knows the sums of the
        ``curvature`` (n,), where that is given.
        """
        lanes = len(total) - 1
        if (self._depth, self._lanes) != (rules.max_depth, lanes):
            self._make_room(rules.max_depth, len(allowed), lanes)
        terms = growth.Terms(
            allowed, self._use(allowed), float(rules.unit), float(rules.rate), float(rules.floor),
            self._purchases.at_once, rules.min_leaf, rules.max_depth, float(rules.smooth), rules.least,
            rules.noise.key, rules.noise.table,
        )  # fmt: skip
        leaves = growth.Leaves(
            _NO_LEAVES if leaf is None else leaf,
            _NO_CURVATURE if curvature is None else curvature,
            np.empty((self._pace.team, len(self._tree.nodes)), dtype=SUM),
        )
        wait_for(growth.grow_together)
        gains_by = curvature if lanes > 1 else _NO_CURVATURE
        table = growth.Table(self._words, self._rows, gradients, chosen is None, gains_by)
        while not self._try(table, chosen, total, terms, leaves):
            self._pace.give_up()
        plan = self._level.plan
        for feature in self._tree.order[: plan[growth.TAKEN]].tolist():
            self._purchases.taken(feature)
        grown = self._grown(int(plan[growth.NODES]))
        if leaf is not None and curvature is not None:
            grown.hessians = leaves.hessians[:, : len(grown.feature)].sum(axis=0)
        return grown

    def _try(self, table, chosen, total, terms, leaves):
        """Grow the tree with as many threads as the pace says; False if one of them did not come."""
        tree = self._begin(chosen, total, terms.min_leaf)
        leaves.hessians[:] = 0
        size, shared = self._pace.size, counters(2 * terms.max_depth + 1)
        histograms = self._histograms._replace(private=self._histograms.private[:size])
        arguments = (
            table, self._columns, terms, self._money(), tree, self._level, self._found, histograms,
            leaves, self._room, shared,
        )  # fmt: skip
        used = [0.0] * size

        def work(me):
            start = time.thread_time()
            growth.grow_together(*arguments, me)
            used[me] = time.thread_time() - start

        start = time.perf_counter()
        self._threads.run(size, work, lambda: abandon(shared))
        if was_abandoned(shared):
            return False
        self._pace.note(time.perf_counter() - start, sum(used))
        return True

    def _begin(self, chosen, total, min_leaf):
        """Plan the root; return the tree with the chunks of its rows."""
        count, tree, level = int(total[0]), self._tree, self._level
        if chosen is not None:
            self._rows[:count] = chosen
        low = np.arange(0, count, self._chunk)
        bounds = tree.bounds[: len(low)]
        bounds[:, 0, 0], bounds[:, 0, 1] = low, np.minimum(low + self._chunk, count)
        packed = (int(total[1]) << COUNT_BITS) + count
        curvature = int(total[2]) if len(total) > 2 else 0
        tree.nodes[0] = (-1, -1, -1, -1, packed, growth.TOGETHER, curvature)
        tree.net[:] = 0.0
        level.plan[:] = (1, 1, 1, 0, 0, count < 2 * min_leaf)
        level.nodes[0] = (0, 1)
        level.totals[0], level.curvatures[0] = packed, curvature
        level.jobs[0] = (0, -1, -1)
        self._found.gain[0] = -np.inf
        return tree._replace(bounds=bounds)

    def _money(self):
        """What is paid and what is not, for the kernel to change."""
        own = self._purchases
        costs = own.costs
        fees = (costs.begin, costs.opens, costs.fee)
        opened = costs.opened_by(own.bought)
        return growth.Money(own.prices().copy(), costs.price, *fees, own.bought.copy(), opened)

    def _grown(self, nodes):
        """The tree as others know it."""
        feature, cut, left, right = self._tree.nodes[:nodes, : growth.TOTAL].T.tolist()
        packed = self._tree.nodes[:nodes, growth.TOTAL]
        sums = [packed & COUNT, packed >> COUNT_BITS]
        if self._lanes > 1:
            sums.append(self._tree.nodes[:nodes, growth.CURVATURE])
        total = np.stack(sums, axis=1)
        words = [
            self._tree.words[node].copy() if f >= 0 and self._layout.category(f) else None
            for node, f in enumerate(feature)
        ]
        net = self._tree.net[:nodes].tolist()
        return Grown(feature, cut, left, right, list(total), net, words)
