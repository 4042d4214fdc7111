"""Quantiles of the rows of every node of a tree: leaf values of the absolute and the quantile loss."""

from __future__ import annotations

import numpy as np


def weighted_quantile(ordered, weight, share):
    """Quantile of values in ascending order; halfway where it falls between two of them.

    ``weight`` are whole numbers (or None), and equal repetition.
    """
    count = np.arange(1, len(ordered) + 1) if weight is None else np.cumsum(weight)
    wanted = share * float(count[-1])
    place = min(int(np.searchsorted(count, wanted)), len(ordered) - 1)
    if count[place] == wanted and place + 1 < len(ordered):
        return ordered[place] / 2 + ordered[place + 1] / 2
    return ordered[place]


def node_quantiles(values, weight, leaf, children, share):
    """Quantile of the values (n,) that lie below each node, float64 (nodes,).

    Parameters
    ----------
    values : float64 (n,)
        One number of each row.
    weight : int64 (n,), or empty
        Whole weights of the rows; empty for unit weights.
    leaf : integer (n,)
        Leaf of each row.
    children : integer (nodes, 2)
        Left and right child, after their parent in the order of nodes; -1 at leaves.
    share : float
        Which quantile.

    Examples
    --------
    >>> tree = np.array([[1, 2], [-1, -1], [-1, -1]])
    >>> values = np.array([5.0, 1.0, 2.0, 8.0, 9.0])
    >>> node_quantiles(values, np.empty(0, np.int64), np.array([1, 1, 1, 2, 2]), tree, 0.5).tolist()
    [5.0, 2.0, 8.5]
    """
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
