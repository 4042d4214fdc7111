"""Batches through the forests of a library: the votes of one node's trees, and the cells of its rows.

Trees compare codes, not values: of a value, the code of a column is the number of its thresholds that are
smaller, so ``value <= threshold`` says the same as ``code <= number of the threshold``, to the last bit. Codes
of some rows lie together in the cache, a node takes eight bytes, and the rows go down a tree side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worthwhile.core.compile import kernel

NODE = np.dtype([("test", np.uint32), ("child", np.uint32)])
"""The column among those of the forest, a bit for missing values that go left, and the number of the
threshold; the left child, which the right one follows, or what a leaf says."""

CUT = np.dtype([("threshold", np.float64), ("feature", np.int32), ("child", np.int32)])
"""A node that sorts rows into cells: twice the column and one more where missing values go left, -1 at a
cell; the left child, which the right one follows, or the number of the cell."""

CUT_BITS = 12
LEAF = EMPTY = (1 << CUT_BITS) - 1
"""Stands for a threshold in leaves: no code is larger. It is the code of missing values."""

MOST_COLUMNS, MOST_NODES = 1 << (31 - CUT_BITS), 1 << 31

PURE = 1 << 31
"""Set where a leaf says nothing but one output, with a share of 1; otherwise it has a number."""

BLOCK = 512
"""Rows that go through one tree after the other together."""

_U, _U32 = np.uint64, np.uint32


class Forest(NamedTuple):
    """The trees of one set, as the kernel walks them."""

    nodes: np.ndarray  # NODE (nodes,)
    root: np.ndarray  # int64 (trees,)
    columns: np.ndarray  # int64 (used,): what is tested
    first: np.ndarray  # int64 (used + 1,): where the thresholds of each begin
    thresholds: np.ndarray  # float64, ascending for each column


def lay_out(feature, threshold, child, root, low, leaves):
    """The trees of one set in this form, or None where they do not fit.

    Parameters
    ----------
    feature, threshold, child : (nodes,)
        As in :class:`~worthwhile.policy.library.Library`, of these trees alone.
    root : (trees,)
        Their first nodes.
    low : int
        Number of the first node in the library, which children and roots are counted with.
    leaves : tuple of start, held, share
        What leaves say.
    """
    inner = np.flatnonzero(feature >= 0)
    columns, place = np.unique(feature[inner] >> 1, return_inverse=True)
    order = np.lexsort((threshold[inner], place))
    here, cuts = place[order], threshold[inner][order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (here[1:] != here[:-1]) | (cuts[1:] != cuts[:-1])
    first = np.searchsorted(here[new], np.arange(len(columns) + 1))
    if len(feature) >= MOST_NODES or len(columns) >= MOST_COLUMNS:
        return None
    if len(columns) and np.diff(first).max() >= EMPTY:
        return None
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1 - first[here]
    nodes = np.empty(len(feature), dtype=NODE)
    ends = np.flatnonzero(feature < 0)
    nodes["test"][ends], nodes["child"][ends] = LEAF, _sayings(child[ends], leaves)
    nodes["test"][inner] = (2 * place + (feature[inner] & 1) << CUT_BITS) + number
    nodes["child"][inner] = child[inner] - low
    columns = columns.astype(np.int64)
    return Forest(nodes, root.astype(np.int64) - low, columns, first.astype(np.int64), cuts[new])


def _sayings(leaf, leaves):
    """What leaves of these numbers say."""
    start, held, share = leaves
    said = leaf.astype(np.uint32)
    single = np.flatnonzero(start[leaf + 1] - start[leaf] == 1)
    entry = start[leaf[single]]
    pure = share[entry] == 1
    said[single[pure]] = PURE + held[entry[pure]].astype(np.int64)
    return said


@kernel(lean=True)
def _look_up(X, rows, low, n, forest, codes):
    """Write the codes (n, columns) of rows ``rows[low:low + n]``; whether a value is missing."""
    missing = False
    for k in range(forest.columns.shape[0]):
        column = forest.columns[k]
        own = forest.thresholds[forest.first[k] : forest.first[k + 1]]
        for j in range(n):
            x = np.float64(X[rows[low + j], column])
            below, left = 0, own.shape[0]
            while left > 1:  # as often for every value: nothing to guess wrong
                half = left >> 1
                below += half if own[below + half - 1] < x else 0
                left -= half
            below += 1 if own[below] < x else 0
            codes[j, k] = below if x == x else EMPTY
            missing |= x != x
    return missing


@kernel(lean=True)
def _descend(nodes, root, n, codes, missing, at, going):
    """Take ``n`` rows down a tree; ``at`` becomes what their leaves say."""
    values, width = codes.reshape(codes.size), _U(codes.shape[1])
    for j in range(n):
        at[j], going[j] = root, j
    left = n
    while left > 0:
        kept = _U(0)
        for i in range(left):
            j = _U(going[i])
            node = nodes[_U(at[j])]
            test = node["test"]
            cut = test & _U32(LEAF)
            code = _U32(values[j * width + _U(test >> _U32(CUT_BITS + 1))])
            right = _U32(code > cut)
            if missing:
                right &= ~((test >> _U32(CUT_BITS)) & _U32(code == _U32(EMPTY)))
            at[j] = node["child"] + right
            going[kept] = _U32(j)
            kept += _U(cut != _U32(LEAF))
        left = np.int64(kept)


@kernel(lean=True)
def _collect(at, n, start, held, share, raw, low):
    """Add what the leaves say to rows ``low..low + n``."""
    totals, width = raw.reshape(raw.size), _U(raw.shape[1])
    for j in range(n):
        row, leaf = (_U(low) + _U(j)) * width, at[j]
        if leaf & _U32(PURE):
            totals[row + _U(leaf ^ _U32(PURE))] += 1.0
        else:
            for entry in range(start[leaf], start[leaf + _U32(1)]):
                totals[row + _U(held[entry])] += share[entry]


@kernel()
def add_votes(X, rows, forest, start, held, share, raw, low, high):
    """Give rows ``rows[low:high]`` the mean of the leaves that they come to, (len(rows), outputs).

    ``raw`` must come in as zeros; a row's sums run in the order of the trees.
    """
    n_trees = forest.root.shape[0]
    at, going = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    codes = np.zeros((min(BLOCK, high - low), max(1, forest.columns.shape[0])), np.uint16)
    for first in range(low, high, BLOCK):
        n = min(BLOCK, high - first)
        missing = _look_up(X, rows, first, n, forest, codes)
        for tree in range(n_trees):
            _descend(forest.nodes, forest.root[tree], n, codes, missing, at, going)
            _collect(at, n, start, held, share, raw, first)
        for i in range(first, first + n):
            for k in range(raw.shape[1]):
                raw[i, k] = raw[i, k] / n_trees


@kernel()
def find_cells(X, rows, seen, nodes, root, cell, low, high):
    """Cell of rows ``rows[low:high]``; columns after those of X are those of ``seen``."""
    n_features = X.shape[1]
    for i in range(low, high):
        at = root
        while nodes[at]["feature"] >= 0:
            column = nodes[at]["feature"] >> 1
            own = column < n_features
            x = np.float64(X[rows[i], column]) if own else seen[i, column - n_features]
            left = x <= nodes[at]["threshold"]
            if x != x:
                left = (nodes[at]["feature"] & 1) == 1
            at = nodes[at]["child"] + (0 if left else 1)
        cell[i] = nodes[at]["child"]
