"""GreedyTree: a classification tree grown on minimax cost-weighted stumps.

Python decides about large nodes, level by level and with arrays over all nodes of a level; two
kernels touch their rows, :func:`worthwhile.core.forest.stump_choice.choose_stumps` and :func:`divide_nodes`.
Small nodes are handed to :func:`worthwhile.core.forest.subtrees.grow_subtrees`. Trees share nothing that they
write to, so that many can grow at the same time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import ROW, SUM
from worthwhile.core.forest.draws import SCAN, SMALL
from worthwhile.core.forest.few_draws import applies
from worthwhile.core.forest.impurity import evaluate_rows
from worthwhile.core.forest.stump_choice import choose_stumps
from worthwhile.core.forest.stumps import GO_LEFT, HEAVIER
from worthwhile.core.forest.subtrees import grow_subtrees

_U = np.uint64


@dataclass(frozen=True, eq=False)
class ClassTree:
    """One tree, parents before children; children are indices within the tree, -1 at leaves.

    Attributes
    ----------
    feature, threshold, missing_left, left, right : arrays (nodes,)
        As in :class:`worthwhile.core.trees.Trees`.
    counts : float64 (nodes, classes)
        Weight of each class among the training rows that reach a node.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    right: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, eq=False)
class Prices:
    """What the risk charges for a feature, in any unit.

    Attributes
    ----------
    own, fee : float64
        Price of each feature, and the fees.
    begin, opens : int32
        Which fees each feature opens, as in :class:`worthwhile.costs.FlatCosts`.
    free_on_path : bool
        Charge what the path to a node has bought like the cheapest feature. The paper always charges
        the full price.
    """

    own: np.ndarray
    begin: np.ndarray
    opens: np.ndarray
    fee: np.ndarray
    free_on_path: bool = False

    @property
    def flat(self):
        """The same as a tuple for kernels."""
        return (
            bool(self.free_on_path), np.ascontiguousarray(self.own, dtype=np.float64),
            np.ascontiguousarray(self.begin, dtype=np.int32), np.ascontiguousarray(self.opens, dtype=np.int32),
            np.ascontiguousarray(self.fee, dtype=np.float64),
        )  # fmt: skip


@kernel(
    "void(float32[:,:,::1], uint64[:,::1], int32[::1], float64[::1], int32[::1], int64[:,::1],"
    " int32[::1], float64[::1], boolean[::1], int32[::1], int64[::1], float64[:,::1])"
)
def divide_nodes(
    blocks, bits, classes, weights, rows, nodes, place, cut, flag, spare, n_left, left_counts
):
    """Sort the rows of every node, left rows first, order kept; note how many and of which classes.

    ``place`` is where the node's feature lies. ``flag``: whether missing values, or rows whose bit
    is set, go left.
    """
    per_line = blocks.shape[2]
    for i in range(nodes.shape[0]):
        start, stop = nodes[i, 0], nodes[i, 1]
        at, bit = place[i], np.int64(-2 - place[i])
        border, set_left, others_left = cut[i], _U(flag[i]), _U(not flag[i])
        # Written to both sides, one side advances: no jump to mispredict.
        left, right = _U(start), _U(0)
        for j in range(start, stop):
            row = rows[j]
            if at >= 0:
                x = np.float64(blocks[at // per_line, np.uint32(row), at % per_line])
                goes = _U(x <= border) | (set_left & _U(x != x))
            else:
                word = bits[np.uint32(row), bit // 64]
                goes = ((word >> _U(bit % 64)) & _U(1)) ^ others_left
            rows[left] = row
            spare[right] = row
            left += goes
            right += _U(1) - goes
        for j in range(right):
            rows[left + j] = spare[j]
        for j in range(start, np.int64(left)):
            row = np.uint32(rows[j])
            left_counts[i, classes[row]] += weights[row]
        n_left[i] = np.int64(left) - start


class GreedyTree:
    """Grows trees on one matrix.

    Parameters
    ----------
    data : ClassData
        The matrix.
    classes : int32 (n,)
        Class of each row.
    n_classes : int
        Number of classes.
    impurity : Impurity
        What to reduce.
    draws : tuple of 3 ints
        Random stumps per feature in large, middle and small nodes, or SCAN.
    prices : Prices
        What features cost.
    max_depth : int
        Levels of splits.
    """

    def __init__(self, data, classes, n_classes, impurity, draws, prices, max_depth):
        self.data, self.classes, self.n_classes = data, classes, n_classes
        self.impurity, self.draws, self.prices, self.max_depth = impurity, draws, prices, max_depth
        self._room = _Room()

    def grow(self, weights, seed):
        """Grow one tree on the rows with positive weight; ``weights`` float64 (n,)."""
        data, k = self.data, self.n_classes
        rows = np.flatnonzero(weights > 0).astype(ROW)
        arrays = (data.blocks, data.bits, self.classes, weights, rows)
        counts = np.zeros((1, k))
        counts[0] = np.bincount(self.classes[rows], weights=weights[rows], minlength=k)
        nodes = np.array([[0, len(rows), 0]], dtype=SUM)
        paths = np.zeros((1, data.n_features if self.prices.free_on_path else 0), dtype=bool)
        spare = np.empty_like(rows)
        levels, total, small = [], 1, []
        for depth in range(self.max_depth + 1):
            level = _Level(counts)
            levels.append(level)
            large = nodes[:, 1] - nodes[:, 0] > SMALL
            if not large.all():
                small.append(
                    _Waiting(nodes[~large], depth, paths[~large] if paths.size else paths[:0])
                )
            split = np.flatnonzero(large)
            if len(split) and depth < self.max_depth:
                split = self._choose(arrays, nodes, level, paths, seed, split)
            if not len(split) or depth == self.max_depth:
                break
            lefts, sizes = self._divide(arrays, spare, nodes[split], level, split)
            level.left[split] = total + 2 * np.arange(len(split))
            counts = np.stack([lefts, counts[split] - lefts], axis=1).reshape(-1, k)
            if paths.size:
                paths = paths[split]
                paths[np.arange(len(split)), level.feature[split]] = True
                paths = np.repeat(paths, 2, axis=0)
            middles = nodes[split, 0] + sizes
            starts = np.stack([nodes[split, 0], middles], axis=1).ravel()
            stops = np.stack([middles, nodes[split, 1]], axis=1).ravel()
            nodes = np.stack([starts, stops, total + np.arange(2 * len(split))], axis=1)
            total += 2 * len(split)
        return self._finish(_Level.joined(levels), small, arrays, seed)

    def _choose(self, arrays, nodes, level, paths, seed, large):
        """Choose the stumps of large, impure nodes; return which nodes are split."""
        whole = np.empty(len(large))
        counts = np.ascontiguousarray(level.counts[large])
        evaluate_rows(self.impurity.flat, counts, whole)
        mixed = large[whole > 0]
        m, data = len(mixed), self.data
        if not m:
            return mixed
        feature, cuts = np.full(m, -1, dtype=np.int32), np.zeros((m, 2))
        side = np.zeros(m, dtype=SUM)
        choose_stumps(
            self._room.take("tile", (arrays[0].shape[2] * len(arrays[4]),), np.float32),
            self.impurity.flat, self.draws, np.uint64(seed), *arrays[:2], data.column_feature,
            data.bit_feature, *arrays[2:], self.prices.flat, paths[mixed] if paths.size else paths,
            nodes[mixed], counts[whole > 0], whole[whole > 0], feature, cuts, side,
        )  # fmt: skip
        level.feature[mixed], level.cuts[mixed], level.side[mixed] = feature, cuts, side
        return mixed[feature >= 0]

    def _divide(self, arrays, spare, nodes, level, split):
        """Move the rows; return class weights and numbers of rows on the left."""
        place = self.data.place[level.feature[split]]
        bits = place < -1
        flag = level.side[split] == GO_LEFT
        flag[bits] = self.data.bit_low[-2 - place[bits]]
        sizes = np.empty(len(nodes), dtype=SUM)
        left = np.zeros((len(nodes), self.n_classes))
        cut = np.ascontiguousarray(level.cuts[split, 0])
        divide_nodes(*arrays, nodes, place, cut, flag, spare, sizes, left)
        return left, sizes

    def _finish(self, tree, small, arrays, seed):
        """Grow the subtrees of small nodes, and turn cuts into thresholds."""
        total, data = len(tree.feature), self.data
        if small:
            nodes = np.concatenate([waiting.nodes for waiting in small])
            paths = np.concatenate([waiting.paths for waiting in small])
            # A subtree of n rows has at most n leaves.
            tree = tree.extended(2 * int((nodes[:, 1] - nodes[:, 0]).sum()), self._room)
            few = applies(self.impurity, self.draws, data.complete, arrays[3])
            total = grow_subtrees(
                few, self.impurity.flat, self.draws, np.uint64(seed), np.int64(self.max_depth), *arrays[:2],
                data.column_feature, data.bit_feature, data.place, data.bit_low, *arrays[2:],
                self.prices.flat, paths, nodes, np.int64(total), tree.feature, tree.left, tree.cuts,
                tree.side, tree.counts,
            )  # fmt: skip
        feature, left, counts = (
            tree.feature[:total].copy(),
            tree.left[:total].copy(),
            tree.counts[:total].copy(),
        )
        inner = np.flatnonzero(feature >= 0)
        threshold, missing_left = np.zeros(total), np.zeros(total, dtype=bool)
        threshold[inner] = self._thresholds(feature[inner], tree.cuts[inner])
        weight = counts.sum(axis=1)
        heavier = weight[left[inner]] >= weight[left[inner] + 1]
        side = tree.side[inner]
        missing_left[inner] = np.where(side == HEAVIER, heavier, side == GO_LEFT)
        return ClassTree(
            feature, threshold, missing_left, left, np.where(left >= 0, left + 1, -1), counts
        )

    def _thresholds(self, feature, cuts):
        """Thresholds in the user's values."""
        data = self.data
        place = data.place[feature]
        threshold = cuts[:, 0].copy()
        if self.draws == SCAN:
            threshold = data.thresholds(feature, cuts)
        bits = place < -1
        threshold[bits] = data.bit_value[-2 - place[bits]]
        return threshold


class _Waiting:
    """Small nodes of one level."""

    def __init__(self, nodes, depth, paths):
        self.nodes = np.ascontiguousarray(np.column_stack([nodes, np.full(len(nodes), depth)]))
        self.paths = paths


class _Level:
    """The nodes of one level while their tree grows."""

    NAMES = ("feature", "left", "cuts", "side", "counts")

    def __init__(self, counts):
        m = len(counts)
        self.counts = counts
        self.feature, self.left = np.full(m, -1, dtype=np.int32), np.full(m, -1, dtype=np.int32)
        self.cuts, self.side = np.zeros((m, 2)), np.zeros(m, dtype=SUM)

    @classmethod
    def joined(cls, levels):
        """All levels as one."""
        whole = cls(np.concatenate([level.counts for level in levels]))
        for name in cls.NAMES[:-1]:
            setattr(whole, name, np.concatenate([getattr(level, name) for level in levels]))
        return whole

    def extended(self, by, room):
        """The same with room for more nodes, whose content is left over from other trees."""
        longer = object.__new__(_Level)
        for name in self.NAMES:
            have = getattr(self, name)
            setattr(longer, name, room.take(name, (len(have) + by, *have.shape[1:]), have.dtype))
            getattr(longer, name)[: len(have)] = have
        return longer


class _Room(threading.local):
    """Large arrays of each thread that one tree after the other writes to.

    The system hands out new ones cleared, which takes time.
    """

    def take(self, name, shape, dtype):
        """An array of this shape, with anything in it."""
        have = self.__dict__.get(name)
        if have is None or len(have) < shape[0]:
            have = self.__dict__[name] = np.empty(shape, dtype=dtype)
        return have[: shape[0]]
