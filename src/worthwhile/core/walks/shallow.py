"""Batches through shallow trees: every test of a tree for many rows at once, without a branch.

A walk decides one node after the other; for trees of a few leaves it is faster to do all tests of a
tree with vector instructions. Leaves are numbered from the left, one bit each; a row that goes right
at a node rules out the leaves below its left child, and the lowest bit that is left at the end is
the leaf it reaches (the idea of QuickScorer, Lucchese et al., SIGIR 2015). Leaves are added in the
order of the trees, so the result is that of a walk to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.walks.general import add_nodes, finish, holds

MOST_LEAVES = 16
"""Trees of more leaves are walked: a walk makes about log2(leaves) tests, this one makes them all."""

ROWS = 128
"""Rows at a time: what they hold in tested features stays in the cache for all trees."""

BRUIJN = np.uint64(0x03F79D71B4CB0A89)
"""Its products with the 64 powers of two differ in their top six bits: they tell which bit was set."""


class Tests(NamedTuple):
    """All tests of an ensemble, tree after tree, and what they rule out."""

    columns: np.ndarray  # int64 (used,): the features that are tested
    column: np.ndarray  # int32 (tests,): index into columns
    threshold: np.ndarray  # float64 (tests,)
    missing_left: np.ndarray  # bool (tests,)
    remaining: np.ndarray  # uint64 (tests,): leaves that are left when a row goes right
    first: np.ndarray  # int64 (trees + 1,): first test of each tree
    leaf: np.ndarray  # int32 (trees, 64): node of a leaf, at the place of its bit
    path: np.ndarray  # int32 (nodes, depth): features tested on the way to a node, then -1
    category: np.ndarray | None  # bool (tests,): tests for membership
    sets: np.ndarray | None  # uint64 (words,), as in Trees


def list_tests(trees):
    """The tests of an ensemble, or None where walking is faster."""
    inner = trees.feature >= 0
    if not trees.n_trees or np.add.reduceat(~inner, trees.root).max() > MOST_LEAVES:
        return None
    children = np.sort(np.concatenate([trees.left[inner], trees.right[inner], trees.root]))
    if not np.array_equal(children, np.arange(len(inner))):
        return None  # a file may hold nodes with two parents or none: safe to walk, but no trees
    below, path = _number_leaves(trees)
    leaf = np.zeros((trees.n_trees, 64), np.int32)
    ends = np.flatnonzero(~inner)
    leaf[trees.tree_of[ends], (below[ends] * BRUIJN) >> np.uint64(58)] = ends
    tests = np.flatnonzero(inner)
    columns, column = np.unique(trees.feature[tests], return_inverse=True)
    return Tests(
        columns.astype(np.int64),
        column.astype(np.int32),
        trees.threshold[tests],
        trees.missing_left[tests],
        ~below[trees.left[tests]],
        np.searchsorted(tests, trees.bounds).astype(np.int64),
        leaf,
        path,
        None if trees.category is None else trees.category[tests],
        trees.sets,
    )


def _number_leaves(trees):
    """Bits of the leaves below each node, numbered from the left, and the features on the way to it."""
    levels, n = trees.levels(), len(trees.feature)
    count, start = np.ones(n, np.uint64), np.zeros(n, np.uint64)
    for node in reversed(levels):
        count[node] = count[trees.left[node]] + count[trees.right[node]]
    path = np.full((n, len(levels)), -1, np.int32)
    for depth, node in enumerate(levels):
        left, right = trees.left[node], trees.right[node]
        start[left], start[right] = start[node], start[node] + count[left]
        for child in (left, right):
            path[child] = path[node]
            path[child, depth] = trees.feature[node]
    one = np.uint64(1)
    return ((one << count) - one) << start, path


@kernel(lean=True)
def _place(bits):
    """Where the table of leaves has the lowest bit."""
    lowest = bits & (~bits + np.uint64(1))
    return (lowest * BRUIJN) >> np.uint64(58)


@kernel()
def score(X, tests, value, output, base, average, raw, acquired, start, stop):
    """What :func:`~worthwhile.core.walks.general.walk` does, for trees of few leaves."""
    columns, column, threshold, missing_left, remaining, first, leaf, path, category, sets = tests
    n_trees = first.shape[0] - 1
    held = np.empty((columns.shape[0], ROWS))
    bits = np.empty(ROWS, np.uint64)
    nodes = np.empty(ROWS, np.int32)
    for low in range(start, stop, ROWS):
        n = min(ROWS, stop - low)
        _hold(X, columns, low, n, held)
        for tree in range(n_trees):
            bits[:] = ~np.uint64(0)
            for test in range(first[tree], first[tree + 1]):
                values, side = held[column[test]], missing_left[test]
                if _is_of_sets(category, test):
                    _rule_out_members(values, sets, threshold[test], side, remaining[test], bits)
                else:
                    _rule_out(values, threshold[test], side, remaining[test], bits)
            _find(leaf[tree], bits, nodes)
            add_nodes(raw, low, n, value, nodes, output[tree])
            if acquired.shape[0] > 0:
                _buy(path, nodes, n, acquired, low)
        finish(raw, low, low + n, base, average, n_trees)


@kernel(lean=True)
def _hold(X, columns, low, n, held):
    """Bring the tested features of some rows together, feature by feature."""
    for begin in range(0, n, 8):  # eight values fill a cache line
        end = min(begin + 8, n)
        for k in range(columns.shape[0]):
            for j in range(begin, end):
                held[k, j] = X[low + j, columns[k]]


@kernel(lean=True)
def _rule_out(values, threshold, missing_left, remaining, bits):
    """One test for all rows in hand."""
    if missing_left:
        for j in range(ROWS):
            bits[j] &= remaining if values[j] > threshold else ~np.uint64(0)
    else:
        for j in range(ROWS):
            bits[j] &= ~np.uint64(0) if values[j] <= threshold else remaining


@kernel(lean=True)
def _is_of_sets(category, test):
    """Whether a test is for membership; decided by the compiler where none is."""
    if category is None:
        return False
    return category[test]


@kernel(lean=True)
def _rule_out_members(values, sets, where, missing_left, remaining, bits):
    """One test for membership for all rows in hand."""
    if sets is not None:
        for j in range(ROWS):
            x = values[j]
            left = missing_left if x != x else holds(sets, where, x)
            bits[j] &= ~np.uint64(0) if left else remaining


@kernel(lean=True)
def _find(leaf, bits, nodes):
    """The nodes that the rows in hand reach."""
    for j in range(ROWS):
        nodes[j] = leaf[_place(bits[j])]


@kernel(lean=True)
def _buy(path, nodes, n, acquired, low):
    """Write down what the rows in hand read on their way."""
    for j in range(n):
        for k in range(path.shape[1]):
            feature = path[nodes[j], k]
            if feature >= 0:
                acquired[low + j, feature] = True
