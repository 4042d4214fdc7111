"""Growing one tree, level by level, with prices that change while it grows.

Every level is scored once, without prices. Then splits are taken one after the other, the best net
worth first, and each purchase re-prices what is left (equation 5 of the Greedy Miser paper).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from worthwhile.core.boosting import partition, splitting
from worthwhile.core.boosting.split_noise import NO_NOISE, Noise, draw_factors
from worthwhile.core.dtypes import COUNT_BITS, SUM

COUNT = (1 << COUNT_BITS) - 1


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
    smooth : float
        Weight (or curvature, where gains go by it), in units of the statistics, with which the node's mean
        counts in that of a category.
    least : int
        Least curvature of a leaf over all outputs, where gains go by it.
    noise : Noise
        What chooses among splits of a node that cost nothing.
    """

    max_depth: int
    min_leaf: int
    rate: float
    unit: float
    floor: float
    smooth: float = 0.0
    least: int = 0
    noise: Noise = NO_NOISE


@dataclass
class Node:
    """A node while its tree grows."""

    number: int
    pieces: np.ndarray
    total: np.ndarray
    path: tuple[int, ...] = ()
    slot: int = -1
    sibling: Node | None = field(default=None, repr=False)

    @property
    def size(self):
        """Weight of its rows: the lighter of two siblings is nearly always the one with fewer."""
        return int(self.total[0])


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
    words : list
        Set (4 words of bits, int64) of the categories that go left, where the split is of such; or None.
    hessians : int64 (nodes,), or None
        Sum of the rounded curvature (second derivatives) of the rows of each leaf, where it was added
        up on the way.
    """

    feature: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)
    total: list[np.ndarray] = field(default_factory=list)
    net: list[float] = field(default_factory=list)
    words: list[np.ndarray | None] = field(default_factory=list)
    hessians: np.ndarray | None = None

    def add(self, total):
        """Append a leaf; return its number."""
        self.feature.append(-1)
        self.cut.append(-1)
        self.left.append(-1)
        self.right.append(-1)
        self.total.append(total)
        self.net.append(0.0)
        self.words.append(None)
        return len(self.feature) - 1

    def paths(self):
        """Features tested on the way to each node, with repetitions."""
        paths = [()] * len(self.feature)
        for node, feature in enumerate(self.feature):
            if feature >= 0:
                paths[self.left[node]] = paths[self.right[node]] = (*paths[node], feature)
        return paths


def unpack(packed):
    """(count, gradient sum) of a packed sum."""
    return np.array([packed & COUNT, packed >> COUNT_BITS], dtype=SUM)


class Grower:
    """Grows trees on some rows.

    Parameters
    ----------
    node_rows : NodeRows
        The data; only its ``score`` and ``divide`` touch rows.
    purchases : Purchases
        The prices.
    """

    def __init__(self, node_rows, purchases):
        self.node_rows = node_rows
        self.purchases = purchases

    def grow(self, pieces, total, rules, allowed):
        """Grow a tree on what ``node_rows`` was begun with.

        ``pieces`` of the root, and ``total`` (S,), the sums over all its rows.
        """
        self._start(rules, allowed)
        tree = self._tree
        self._free = set(range(self.node_rows.slots(1 << max(rules.max_depth - 2, 0))))
        level = [Node(tree.add(total), pieces, total)]
        for depth in range(rules.max_depth):
            last = depth == rules.max_depth - 1
            chosen = self._choose(level, last)
            ended = [node for node in level if last or node.number not in chosen]
            self._free |= {node.slot for node in ended if node.slot >= 0}
            taken = [(node, *chosen[node.number]) for node in level if node.number in chosen]
            if not taken:
                break
            if last and self._packed:
                # Packed sums tell the children's totals, so the rows of a last level need not move.
                for node, feature, cut, part in taken:
                    self._note(node, feature, cut, (part, node.total - part))
            else:
                level = self._split(taken, carry=not last)
        return tree

    def _start(self, rules, allowed):
        self._rules, self._allowed = rules, allowed
        self._packed = self.node_rows.width == 1
        self._tree = Grown()
        self._free = set()

    def root_gains(self, pieces, total, rules, allowed):
        """Best gain of every feature at the root, in units of the statistics."""
        self._start(rules, allowed)
        return self._score([Node(0, pieces, total)], True)[0][0]

    def _choose(self, level, last):
        """Score a level and take splits: {node number: (feature, cut, left total or None)}."""
        nodes = [node for node in level if node.total[0] >= 2 * self._rules.min_leaf]
        if not nodes:
            return {}
        gain, cut, left, sets = self._score(nodes, last)
        pending = np.ones(len(nodes), dtype=bool)
        rules, d = self._rules, gain.shape[1]
        prices = self.purchases.prices(
            self.node_rows,
            int(self._tree.total[0][0]),
            [(node.pieces, node.path) for node in nodes],
        )
        factor = self._factors(nodes, d)
        chosen: dict[int, tuple[int, int, int | None]] = {}
        while (
            pick := splitting.choose(
                gain, rules.unit, prices, rules.rate, pending, rules.floor, factor
            )
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
            if (category := self.node_rows.layout.category(feature)) > 0:
                self._tree.words[node.number] = sets[number, category - 1]
        return chosen

    def _factors(self, nodes, d):
        """Noise of every feature at these nodes; no rows where there is none."""
        noise = self._rules.noise
        factor = np.empty((len(nodes) if len(noise.table) else 0, d))
        for own, node in zip(factor, nodes, strict=False):
            draw_factors(noise.key, noise.table, node.number, own)
        return factor

    def _score(self, nodes, last):
        """Ask the rows for the gains of these nodes: the smaller of two siblings is built from rows."""
        place = {node.number: k for k, node in enumerate(nodes)}
        jobs, done, built = [], set(), []
        for node in nodes:
            if node.number in done:
                continue
            other = node.sibling
            if other is None or (node.slot < 0 and other.slot < 0):
                jobs.append(self._job(node, place, None, last, built))
                continue
            done |= {node.number, other.number}
            small, large = sorted((node, other), key=lambda n: (n.size, n.number))
            if large.number in place:
                # The parent's histogram lies in the slot both children know.
                large.slot, small.slot = max(node.slot, other.slot), -1
                jobs.append(self._job(small, place, large, last, built))
            else:
                small.slot, large.slot = max(node.slot, other.slot), -1
                jobs.append(self._job(small, place, None, last, built))
        totals = np.array([n.total for n in nodes], dtype=SUM)
        if self._packed:
            totals = (totals[:, 1] << COUNT_BITS) + totals[:, 0]
        pieces = partition.gather_pieces([node.pieces for node in built])
        ends = np.cumsum([0] + [len(node.pieces) for node in built])
        jobs = np.array([(*ends[k : k + 2], *job) for k, job in enumerate(jobs)], dtype=SUM)
        rules = self._rules
        return self.node_rows.score(
            jobs, pieces, totals, self._allowed, (rules.min_leaf, rules.smooth, rules.least)
        )

    def _job(self, node, place, other, last, built):
        """One row of jobs; a node whose children will be scored keeps its histogram where there is room."""
        if not last and node.slot < 0 and node.number in place and self._free:
            node.slot = self._free.pop()
        built.append(node)
        return (
            node.slot, place.get(node.number, -1),
            -1 if other is None else other.slot, -1 if other is None else place[other.number],
        )  # fmt: skip

    def _note(self, node, feature, cut, parts):
        """Write a split into the tree; return the numbers of the children."""
        tree = self._tree
        tree.feature[node.number], tree.cut[node.number] = feature, cut
        children = tree.add(parts[0]), tree.add(parts[1])
        tree.left[node.number], tree.right[node.number] = children
        return children

    def _split(self, taken, carry):
        """Partition the rows of nodes that were split; return their children."""
        layout = self.node_rows.layout
        words = self._tree.words
        splits = np.array(
            [layout.split(feature, cut, words[node.number]) for node, feature, cut, _ in taken],
            dtype=SUM,
        )
        pieces = self.node_rows.divide([entry[0].pieces for entry in taken], splits, carry=carry)
        if not self._packed:
            sums = self.node_rows.totals([left for left, _ in pieces])
            taken = [(*entry[:3], part) for entry, part in zip(taken, sums, strict=True)]
        level = []
        for (node, feature, cut, part), (left_pieces, right_pieces) in zip(
            taken, pieces, strict=True
        ):
            parts = (part, node.total - part)
            numbers = self._note(node, feature, cut, parts)
            path = (*node.path, feature)
            left = Node(numbers[0], left_pieces, parts[0], path, node.slot)
            right = Node(numbers[1], right_pieces, parts[1], path, node.slot)
            left.sibling, right.sibling = right, left
            level += [left, right]
        return level
