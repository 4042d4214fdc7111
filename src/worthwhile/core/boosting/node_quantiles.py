"""Quantiles of the rows of every node of a tree: leaf values of the absolute and the quantile loss."""

from __future__ import annotations

import numpy as np

from worthwhile.core.collective import ALONE

DIGIT = 4
"""Bits of a quantile that ranks find at a time."""

_TOP = np.uint64(1 << 63)


def weighted_quantile(ordered, weight, share):
    """Quantile of values in ascending order; halfway where it falls between two of them.

    ``weight`` are whole numbers (or None), and equal repetition.
    """
    count = np.arange(1, len(ordered) + 1) if weight is None else np.cumsum(weight)
    wanted = share * float(count[-1])
    place = min(int(np.searchsorted(count, wanted)), len(ordered) - 1)
    between = count[place] == wanted and place + 1 < len(ordered)
    if between and ordered[place] < ordered[place + 1]:
        return ordered[place] / 2 + ordered[place + 1] / 2
    return ordered[place]


def node_quantiles(values, weight, leaf, children, share, everybody=ALONE):
    """Quantile of the values (n,) that lie below each node, float64 (nodes,).

    Parameters
    ----------
    values : float64 (n,)
        One number of each row.
    weight : int64 (n,), or empty
        Whole weights of the rows, those of 0 as if the row were not there; empty for unit weights.
    leaf : integer (n,)
        Leaf of each row.
    children : integer (nodes, 2)
        Left and right child, after their parent in the order of nodes; -1 at leaves.
    share : float
        Which quantile.
    everybody : Collective
        Ranks whose rows count too.

    Examples
    --------
    >>> tree = np.array([[1, 2], [-1, -1], [-1, -1]])
    >>> values = np.array([5.0, 1.0, 2.0, 8.0, 9.0])
    >>> node_quantiles(values, np.empty(0, np.int64), np.array([1, 1, 1, 2, 2]), tree, 0.5).tolist()
    [5.0, 2.0, 8.5]
    """
    if len(weight):
        there = weight > 0
        values, weight, leaf = values[there], weight[there], leaf[there]
    values = values + 0.0  # of two zeros, which are equal, one would come first by chance
    if everybody.size > 1:
        return _SharedRows(values, weight, leaf, children, everybody).quantiles(share)
    order = np.argsort(values, kind="stable")
    node, found = leaf[order].astype(np.intp), np.zeros(len(children))
    held = [None] * len(children)
    by_leaf = np.argsort(node, kind="stable")  # within a leaf still in ascending order
    bounds = np.searchsorted(node[by_leaf], np.arange(len(children) + 1))
    for number in range(len(children) - 1, -1, -1):
        left, right = children[number]
        if left < 0:
            places = by_leaf[bounds[number] : bounds[number + 1]]
        else:
            places = np.sort(np.concatenate([held[left], held[right]]), kind="stable")
            held[left] = held[right] = None
        held[number] = places
        if len(places):
            rows = order[places]
            own = weight[rows] if len(weight) else None
            found[number] = weighted_quantile(values[rows], own, share)
    return found


class _SharedRows:
    """Rows of which other ranks have more: quantiles are found digit by digit, by counting.

    What is exchanged does not grow with the rows. Values are compared as whole numbers in their order.
    """

    def __init__(self, values, weight, leaf, children, everybody):
        order = np.lexsort((values, leaf))
        mass = weight[order] if len(weight) else np.ones(len(order), dtype=np.int64)
        self._keys, self._mass = _keys(values[order]), np.concatenate([[0], np.cumsum(mass)])
        self._bounds = np.searchsorted(leaf[order], np.arange(len(children) + 1))
        self._above, self._everybody, self._count = _paths(children), everybody, len(children)

    def _own(self):
        """Nodes on the way to each leaf that has rows here; first and last of these rows."""
        for leaf, path in self._above.items():
            low, high = self._bounds[leaf : leaf + 2]
            if low < high:
                yield path, low, high

    def _weight_up_to(self, keys):
        """Weight of the rows of each node that are up to each of some keys (nodes, k)."""
        found = np.zeros(keys.shape, dtype=np.int64)
        for path, low, high in self._own():
            places = np.searchsorted(self._keys[low:high], keys[path].ravel(), side="right")
            found[path] += (self._mass[low + places] - self._mass[low]).reshape(len(path), -1)
        return self._everybody.sum(found)

    def _next(self, keys):
        """The smallest key of each node that is above another (nodes,); the largest there is where none is."""
        found = np.zeros(self._count, dtype=np.uint64)
        for path, low, high in self._own():
            places = low + np.searchsorted(self._keys[low:high], keys[path], side="right")
            there = places < high
            found[path[there]] = np.maximum(found[path[there]], ~self._keys[places[there]])
        return ~self._everybody.max(found)

    def quantiles(self, share):
        """As :func:`weighted_quantile` over the rows of all ranks, for each node."""
        last = np.full((self._count, 1), ~np.uint64(0))
        total = self._weight_up_to(last)[:, 0]
        wanted, key = share * total.astype(np.float64), np.zeros(self._count, dtype=np.uint64)
        for shift in range(64 - DIGIT, -1, -DIGIT):
            digits = np.arange(1, 1 << DIGIT, dtype=np.uint64) << np.uint64(shift)
            below = self._weight_up_to(key[:, None] + digits - np.uint64(1))
            key += (below < wanted[:, None]).sum(axis=1).astype(np.uint64) << np.uint64(shift)
        found = np.where(total > 0, key, _TOP)
        further = self._next(found)
        between = (self._weight_up_to(found[:, None])[:, 0] == wanted) & (further != last[0])
        low, high = _values(found), _values(np.where(between, further, found))
        return np.where(between, low / 2 + high / 2, low)


def _paths(children):
    """Nodes from the root to each leaf."""
    path, leaves = {0: [0]}, {}
    for number, pair in enumerate(children.tolist()):
        if pair[0] < 0:
            leaves[number] = np.array(path[number])
        for child in pair if pair[0] >= 0 else ():
            path[child] = [*path[number], child]
    return leaves


def _keys(values):
    """Whole numbers in the order of the values."""
    bits = values.view(np.uint64)
    return np.where(bits >= _TOP, ~bits, bits | _TOP)


def _values(keys):
    """The values of keys."""
    return np.where(keys >= _TOP, keys & ~_TOP, ~keys).view(np.float64)
