"""Growing one tree, level by level, with prices that change while it grows.

Every level is scored once, without prices. Then splits are taken one after the other, the best net
worth first, and each purchase re-prices what is left (METHODS of Greedy Miser, equation 5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from costwise.core import partition, splitting
from costwise.core.criteria import SQUARED
from costwise.core.dtypes import BLOCK, COUNT_BITS, SUM

_COUNT = (1 << COUNT_BITS) - 1


@dataclass(frozen=True)
class Rules:
    """When to split.

    Attributes
    ----------
    max_depth : int
        Levels of splits.
    min_leaf : int
        Least weight of a leaf, in units of the statistics.
    rate : float
        Worth of one unit of money, in units of the gain.
    unit : float
        What one unit of the integer gain is worth.
    floor : float
        A split must be worth more than this, net of its price.
    criterion : int
        Code of the criterion, see :mod:`costwise.core.criteria`.
    """

    max_depth: int
    min_leaf: int
    rate: float
    unit: float
    floor: float
    criterion: int = SQUARED


@dataclass
class Node:
    """A node while its tree grows."""

    number: int
    start: int
    stop: int
    total: np.ndarray
    path: tuple[int, ...] = ()
    slot: int = -1
    sibling: Node | None = field(default=None, repr=False)

    @property
    def size(self):
        """Number of rows."""
        return self.stop - self.start


@dataclass
class Grown:
    """A tree as it was grown: nodes in the order of creation, level by level.

    Attributes
    ----------
    feature, cut, left, right : list
        Split of each node (-1 at leaves) and its children.
    total : list
        (weight, gradient sums...) of each node.
    net : list
        What each split was worth after its price.
    levels : list
        (nodes, splits) of each level whose rows were moved.
    ends : list
        Nodes in which rows were when growing stopped.
    splits : int64 (k, 8)
        The split of each of these nodes, whose rows were not moved any more, or a stretch as a whole.
    sides : int64 (k, 2)
        Nodes that the rows of each end belong to: its children, or twice itself.
    paths : list
        Features read by the rows of each end.
    """

    feature: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    total: list[np.ndarray] = field(default_factory=list)
    net: list[float] = field(default_factory=list)
    levels: list[tuple[list[int], np.ndarray]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    splits: np.ndarray = field(default_factory=lambda: np.empty((0, 8), dtype=SUM))
    sides: np.ndarray = field(default_factory=lambda: np.empty((0, 2), dtype=SUM))
    paths: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, total):
        """Append a leaf; return its number."""
        self.feature.append(-1)
        self.cut.append(-1)
        self.left.append(-1)
        self.right.append(-1)
        self.total.append(total)
        self.net.append(0.0)
        return len(self.feature) - 1


def unpack(packed):
    """(count, gradient sum) of a packed sum."""
    return np.array([packed & _COUNT, packed >> COUNT_BITS], dtype=SUM)


class Grower:
    """Grows trees on one engine.

    Parameters
    ----------
    engine : Engine
        The data; only its ``score`` and ``divide`` touch rows.
    purchases : Purchases
        The prices.
    """

    def __init__(self, engine, purchases):
        self.engine = engine
        self.purchases = purchases

    def grow(self, total, rules, allowed):
        """Grow a tree on what the engine was begun with; ``total`` (S,) sums over all its rows."""
        self._rules, self._allowed = rules, allowed
        self._packed = self.engine.width == 1
        self._tree = tree = Grown()
        self._free = set(range(self.engine.slots(1 << max(rules.max_depth - 2, 0))))
        level = [Node(tree.add(total), 0, self.engine.row_set.n_rows, total)]
        for depth in range(rules.max_depth):
            last = depth == rules.max_depth - 1
            chosen = self._choose(level, last)
            ended = [node for node in level if last or node.number not in chosen]
            self._free |= {node.slot for node in ended if node.slot >= 0}
            taken = [(node, *chosen[node.number]) for node in level if node.number in chosen]
            self._end([node for node in level if node.number not in chosen])
            # Packed sums tell the children's totals, so the rows of a last level need not move.
            if not taken or (last and self._packed):
                self._finish(taken)
                return tree
            level = self._split(taken, carry=depth + 2 <= rules.max_depth)
        self._end(level)
        return tree

    def root_gains(self, total, rules, allowed):
        """Best gain of every feature at the root, in units of the statistics."""
        self._rules, self._allowed = rules, allowed
        self._packed = self.engine.width == 1
        self._free = set()
        return self._score([Node(0, 0, self.engine.row_set.n_rows, total)], True)[0][0]

    def _choose(self, level, last):
        """Score a level and take splits: {node number: (feature, cut, left total or None)}."""
        nodes = [node for node in level if node.total[0] >= 2 * self._rules.min_leaf]
        if not nodes:
            return {}
        gain, cut, left = self._score(nodes, last)
        pending = np.ones(len(nodes), dtype=bool)
        rules, d = self._rules, gain.shape[1]
        places = [(node.start, node.stop, node.path) for node in nodes]
        stretches = (self.engine.row_set, int(self._tree.total[0][0]), places)
        prices = self.purchases.prices(stretches)
        chosen: dict[int, tuple[int, int, int | None]] = {}
        while (
            pick := splitting.choose(gain, rules.unit, prices, rules.rate, pending, rules.floor)
        ) >= 0:
            number, feature = divmod(pick, d)
            node = nodes[number]
            row = number if len(prices) > 1 else 0
            self._tree.net[node.number] = (
                gain[number, feature] * rules.unit - rules.rate * prices[row, feature]
            )
            self.purchases.taken(feature)
            pending[number] = False
            part = None if left is None else unpack(int(left[number, feature]))
            chosen[node.number] = (feature, int(cut[number, feature]), part)
        return chosen

    def _score(self, nodes, last):
        """Ask the engine for the gains of these nodes: the smaller of two siblings is built from rows."""
        place = {node.number: k for k, node in enumerate(nodes)}
        jobs, done = [], set()
        for node in nodes:
            if node.number in done:
                continue
            other = node.sibling
            if other is None or (node.slot < 0 and other.slot < 0):
                jobs.append(self._job(node, place, None, last))
                continue
            done |= {node.number, other.number}
            small, large = sorted((node, other), key=lambda n: (n.size, n.number))
            if large.number in place:
                # The parent's histogram lies in the slot both children know.
                large.slot, small.slot = max(node.slot, other.slot), -1
                jobs.append(self._job(small, place, large, last))
            else:
                small.slot, large.slot = max(node.slot, other.slot), -1
                jobs.append(self._job(small, place, None, last))
        totals = np.array([n.total for n in nodes], dtype=SUM)
        if self._packed:
            totals = (totals[:, 1] << COUNT_BITS) + totals[:, 0]
        return self.engine.score(
            np.array(jobs, dtype=SUM),
            totals,
            self._allowed,
            self._rules.min_leaf,
            self._rules.criterion,
        )

    def _job(self, node, place, other, last):
        """One row of jobs; a node whose children will be scored keeps its histogram where there is room."""
        if not last and node.slot < 0 and node.number in place and self._free:
            node.slot = self._free.pop()
        return (
            node.start, node.stop, node.slot, place.get(node.number, -1),
            -1 if other is None else other.slot, -1 if other is None else place[other.number],
        )  # fmt: skip

    def _row(self, node, feature, cut):
        """A split as the partition kernels want it."""
        layout = self.engine.layout
        column = layout.column(feature)
        _, stride, states, bins = layout.members[layout.place[feature]].tolist()
        return (node.start, node.stop, column // BLOCK, column % BLOCK, stride, states, bins, cut)

    def _note(self, node, feature, cut, parts):
        """Write a split into the tree; return the numbers of the children."""
        tree = self._tree
        tree.feature[node.number], tree.cut[node.number] = feature, cut
        children = tree.add(parts[0]), tree.add(parts[1])
        tree.left[node.number], tree.right[node.number] = children
        return children

    def _split(self, taken, carry):
        """Partition the rows of nodes that were split; return their children."""
        splits = np.array(
            [self._row(node, feature, cut) for node, feature, cut, _ in taken], dtype=SUM
        )
        lefts = self.engine.divide(splits, carry=carry)
        self._tree.levels.append(([entry[0].number for entry in taken], splits))
        if not self._packed:
            stretches = np.stack([splits[:, 0], splits[:, 0] + lefts], axis=1)
            sums = self.engine.totals(stretches)
            taken = [(*entry[:3], part) for entry, part in zip(taken, sums, strict=True)]
        level = []
        for (node, feature, cut, part), n_left in zip(taken, lefts.tolist(), strict=True):
            parts = (part, node.total - part)
            numbers = self._note(node, feature, cut, parts)
            path = node.path if feature in node.path else (*node.path, feature)
            middle = node.start + n_left
            left = Node(numbers[0], node.start, middle, parts[0], path, node.slot)
            right = Node(numbers[1], middle, node.stop, parts[1], path, node.slot)
            left.sibling, right.sibling = right, left
            level += [left, right]
        return level

    def _finish(self, taken):
        """Note splits whose rows are not moved any more."""
        for node, feature, cut, part in taken:
            self._note(node, feature, cut, (part, node.total - part))
            node.path = (*node.path, feature)
        self._end([entry[0] for entry in taken], [self._row(*entry[:3]) for entry in taken])

    def _end(self, nodes, splits=None):
        """Note where rows end up."""
        tree = self._tree
        if splits is None:
            splits = [(node.start, node.stop, 0, 0, 1, 1, 1, partition.WHOLE) for node in nodes]
            sides = [(node.number, node.number) for node in nodes]
        else:
            sides = [(tree.left[node.number], tree.right[node.number]) for node in nodes]
        tree.ends += [node.number for node in nodes]
        tree.paths += [tuple(sorted(set(node.path))) for node in nodes]
        if nodes:
            tree.splits = np.concatenate([tree.splits, np.array(splits, dtype=SUM)])
            tree.sides = np.concatenate([tree.sides, np.array(sides, dtype=SUM)])
