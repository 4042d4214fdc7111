"""Batches through the forests of a library: the votes of one node's trees, and the cells of its rows."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel

NODE = np.dtype([("threshold", np.float64), ("feature", np.int32), ("child", np.int32)])
"""A node in 16 bytes: twice the column and one more where missing values go left, -1 at a leaf;
the left child, which the right one follows, or the number of the leaf."""

BLOCK = 64
"""Rows that go through one tree after the other together."""


@kernel()
def add_votes(X, rows, nodes, root, start, held, share, raw, low, high):
    """Give rows ``rows[low:high]`` the mean of the leaves that they come to, (len(rows), outputs).

    ``raw`` must come in as zeros; a row's sums run in the order of the trees.
    """
    at, moving = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int64)
    for first in range(low, high, BLOCK):
        last = min(first + BLOCK, high)
        for tree in range(root.shape[0]):
            top = root[tree]
            for j in range(last - first):
                at[j], moving[j] = top, j
            count = last - first if nodes[top]["feature"] >= 0 else 0
            while count > 0:
                kept = 0
                for m in range(count):
                    j = moving[m]
                    node = nodes[at[j]]
                    x = X[rows[first + j], node["feature"] >> 1]
                    left = x <= node["threshold"]
                    if x != x:
                        left = (node["feature"] & 1) == 1
                    following = node["child"] + (0 if left else 1)
                    at[j] = following
                    moving[kept] = j  # stays in the list only if it has not come to a leaf
                    kept += 1 if nodes[following]["feature"] >= 0 else 0
                count = kept
            for j in range(last - first):
                leaf = nodes[at[j]]["child"]
                for entry in range(start[leaf], start[leaf + 1]):
                    raw[first + j, held[entry]] += share[entry]
        for i in range(first, last):
            for k in range(raw.shape[1]):
                raw[i, k] = raw[i, k] / root.shape[0]


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
