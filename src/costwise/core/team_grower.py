"""Growing one tree in one call: the fast way where it applies.

:class:`costwise.core.grower.Grower` is the general way: any statistics, prices by row, rows that may
lie elsewhere. Most trees need none of it: unit weights, one output, prices that are paid once for
all rows, few columns, little depth. :class:`TeamGrower` grows these, split for split the same, with
all threads inside one kernel from beginning to end.
"""

from __future__ import annotations

import numpy as np

from costwise.core import team_growth as growth
from costwise.core.compile import compile_beside, wait_for
from costwise.core.dtypes import BLOCK, CODES, COUNT_BITS, GRADIENT, ROW, SUM
from costwise.core.grower import COUNT, Grown
from costwise.core.leaves import LEAF
from costwise.core.partition import CHUNK, SPLIT_COLUMNS
from costwise.core.purchases import Purchases
from costwise.core.team import CAN_TEAM, abandon, counters

MAX_BLOCKS = 16
"""Beyond this many blocks, histograms that a thread has to itself no longer stay in cache."""

MAX_DEPTH = 7
"""Deeper trees have many small nodes, whose histograms would be cleared and added up for nothing."""

FEW = 1 << 16
"""Histogram updates at the root below which the general grower will do: its kernels compile faster."""

SMALL = 1 << 19
"""Histogram updates at the root below which waking other threads does not pay."""

_NO_LEAVES = np.empty(0, dtype=LEAF)
_NO_CURVATURE = np.empty(0, dtype=GRADIENT)


class TeamGrower:
    """Grows trees of one output on packed statistics.

    Parameters
    ----------
    words : uint64 (blocks, n)
        Code words.
    layout : Layout
        Where features lie in them.
    purchases : Purchases
        The prices; paid once for all rows.
    threads : Threads
        Who does the work.
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
        self._team = threads.count if many else 1
        # Some chunks for each thread, so that nobody waits long for the last one.
        self._chunk = int(min(CHUNK, max(256, -(-n // (4 * self._team)))))
        self._rows = np.empty(n, dtype=ROW)
        self._right_rows = np.empty((self._team, self._chunk), dtype=ROW)
        self._packed = np.empty((self._team, self._chunk), dtype=SUM)
        self._sums = np.empty((self._team, 2, CODES), dtype=SUM)
        self._gains = np.empty((self._team, CODES))
        self._columns = np.array(layout.columns, dtype=SUM)
        self._depth = -1

    @staticmethod
    def suits(n_rows, layout, purchases, max_depth):
        """Whether trees of this kind can be grown this way, and enough is to be gained."""
        return (
            type(purchases) is Purchases
            and n_rows * layout.n_blocks * BLOCK >= FEW
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

    def _make_room(self, depth, d):
        """Arrays for trees of this depth; they are used again for every tree."""
        nodes, widest, blocks = 2 ** (depth + 1) - 1, 2 ** (depth - 1), len(self._words)
        self._tree = np.empty((nodes, 6), dtype=SUM)
        chunks = -(-len(self._rows) // self._chunk)
        self._bounds = np.empty((chunks, nodes, 2), dtype=SUM)
        self._net = np.empty(nodes)
        self._order = np.empty(nodes, dtype=SUM)
        self._level = np.empty((widest, 2), dtype=SUM)
        self._jobs = np.empty((max(widest // 2, 1), 3), dtype=SUM)
        self._divides = np.empty(widest, dtype=SUM)
        self._picks = np.empty((widest, 4), dtype=SUM)
        self._totals = np.empty(widest, dtype=SUM)
        self._pending = np.empty(widest, dtype=bool)
        self._tables = np.empty((self._team, nodes, CODES), dtype=np.uint8)
        self._splits = np.empty((self._team, nodes, SPLIT_COLUMNS), dtype=SUM)
        bins = BLOCK * CODES
        self._private = np.empty((self._team, max(widest // 2, 1), blocks, bins), dtype=SUM)
        self._held = np.empty((2, widest, blocks, bins), dtype=SUM)
        self._gain = np.empty((widest, d))
        self._cut = np.empty((widest, d), dtype=np.int32)
        self._left = np.empty((widest, d), dtype=SUM)
        self._depth = depth

    def grow(self, gradients, chosen, total, rules, allowed, leaf=None, curvature=None):
        """Grow a tree on rounded gradients (n,).

        ``chosen``: the rows (ascending) that it sees, None for all; ``total``: their number and the
        sum of their gradients. Fills ``leaf`` (n,), where given, with the leaf of every row; then
        the tree also knows the sums of the ``curvature`` (n,), where that is given.
        """
        if self._depth != rules.max_depth:
            self._make_room(rules.max_depth, len(allowed))
        count = int(total[0])
        if chosen is not None:
            self._rows[:count] = chosen
        low = np.arange(0, count, self._chunk)
        bounds = self._bounds[: len(low)]
        bounds[:, 0, 0], bounds[:, 0, 1] = low, np.minimum(low + self._chunk, count)
        packed = (int(total[1]) << COUNT_BITS) + count
        self._tree[0] = (-1, -1, -1, -1, packed, growth.TOGETHER)
        self._net[:] = 0.0
        self._level[0] = (0, 1)
        self._totals[0] = packed
        self._jobs[0] = (0, -1, -1)
        self._gain[0] = -np.inf
        plan = np.array([1, 1, 1, 0, 0, count < 2 * rules.min_leaf], dtype=SUM)
        shared = counters(2 * rules.max_depth + 1)
        bends = np.zeros((self._team, len(self._tree)), dtype=SUM)
        bought = self._purchases
        opened = np.zeros(len(bought.fee), dtype=bool)
        opened[bought.group[bought.bought & (bought.group >= 0)]] = True
        arguments = (
            self._words, self._rows, gradients, chosen is None, self._layout.members,
            self._layout.offsets, self._layout.place, self._columns, allowed, bought.prices(),
            bought.price, bought.group, bought.bought.copy(), opened, float(rules.unit),
            float(rules.rate), float(rules.floor), bought.at_once, rules.min_leaf, rules.max_depth,
            self._tree, self._net, self._order, bounds, self._level, self._jobs, plan,
            self._divides, self._picks, self._private, self._held, self._gain, self._cut,
            self._left, _NO_LEAVES if leaf is None else leaf,
            _NO_CURVATURE if curvature is None else curvature, bends,
            self._use(allowed), self._totals, self._pending, self._tables, self._splits,
            self._right_rows, self._packed, self._sums, self._gains, shared,
        )  # fmt: skip
        wait_for(growth.grow_together)
        self._threads.run(
            self._team, lambda me: growth.grow_together(*arguments, me), lambda: abandon(shared)
        )
        for feature in self._order[: plan[growth.TAKEN]].tolist():
            bought.taken(feature)
        grown = self._grown(int(plan[growth.NODES]))
        if leaf is not None and curvature is not None:
            grown.bends = bends[:, : len(grown.feature)].sum(axis=0)
        return grown

    def _grown(self, nodes):
        """The tree as others know it."""
        feature, cut, left, right = self._tree[:nodes, : growth.TOTAL].T.tolist()
        packed = self._tree[:nodes, growth.TOTAL]
        total = np.stack([packed & COUNT, packed >> COUNT_BITS], axis=1)
        return Grown(feature, cut, left, right, list(total), self._net[:nodes].tolist())
