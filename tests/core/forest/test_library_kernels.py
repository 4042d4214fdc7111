"""Kernels behind a library of feature sets, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from tests.naive import library as naive
from worthwhile.core.forest.bagged_trees import Kind, Rows, grow
from worthwhile.core.forest.library_induction import Library, follow, induce
from worthwhile.core.forest.library_votes import EMPTY, add_votes, lay_out
from worthwhile.core.forest.value_cells import grow_cells


def table(seed, n=60, d=4, n_classes=3, lost=True, numbers=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 6, size=(d, n)).astype(np.uint8)
    codes[0] = 3  # constant
    missing = np.full(d, -1)
    if lost:
        codes[1, rng.random(n) < 0.3] = 6
        missing[1] = 6
    slot = rng.integers(0, n_classes, n).astype(np.int32)
    if numbers:
        slot[:] = 0
    weight = rng.integers(1, 4, n).astype(np.float64)
    amount = weight * rng.integers(-3, 4, n) if numbers else weight
    return Rows(codes, missing, slot, amount, weight)


def same(a, b):
    if isinstance(a, tuple) != isinstance(b, tuple):
        return False
    if not isinstance(a, tuple):
        return np.array_equal(a, b)
    return a[:2] == b[:2] and same(a[2], b[2]) and same(a[3], b[3])


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize(("n_pool", "n_sample"), [(60, 20), (60, 45), (48, 30)])
def test_a_tree_is_the_slow_one(random, numbers, n_pool, n_sample):
    for seed in range(12):
        data = table(seed, lost=seed % 2 == 0, numbers=numbers)
        kind = Kind(
            1 if numbers else 3, 1, n_pool, n_sample, 2, 1 + seed % 3, random,
            np.uint64(1000 + seed),
        )  # fmt: skip
        votes, asked = np.zeros((60, kind.n_outputs)), np.zeros(60, np.int32)
        arrays = grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
        trees, expected, times = naive.grow(data, kind, range(4))
        assert same(naive.nested(arrays, kind.n_outputs), trees[0])
        assert np.array_equal(asked, times)
        np.testing.assert_allclose(votes, expected, rtol=1e-6)


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
@pytest.mark.parametrize("min_leaf", [1, 7])
@pytest.mark.parametrize("d", [4, 40])
def test_rows_that_weigh_one_are_counted_to_the_same_trees(random, n_classes, min_leaf, d):
    for seed in range(4):
        drawn = table(seed, n=400, d=d, n_classes=n_classes, lost=seed % 2 == 0)
        drawn.codes[2] = np.random.default_rng(seed).integers(
            0, 255, 400
        )  # more codes than rows in a node
        kind = Kind(n_classes, 5, 400, 250, d - seed, min_leaf, random, np.uint64(seed))
        grown = []
        for weight in (1.0, 2.0):  # twice the weight is the same question, and is not counted
            every = np.full(400, weight)
            votes, asked = np.zeros((400, n_classes)), np.zeros(400, np.int32)
            data = Rows(drawn.codes, drawn.missing, drawn.slot, every, every)
            trees = grow(data, kind, np.arange(d, dtype=np.int32), votes, asked)
            grown.append([*trees, votes, asked])
        assert all(np.array_equal(one, two) for one, two in zip(*grown, strict=True))


def test_rows_vote_only_in_trees_that_did_not_see_them():
    data = table(0)
    kind = Kind(3, 30, 60, 40, 2, 1, False, np.uint64(7))
    votes, asked = np.zeros((60, 3)), np.zeros(60, np.int32)
    grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
    assert asked.sum() == 30 * 20
    assert asked.min() > 0
    np.testing.assert_allclose(votes.sum(axis=1), asked, rtol=1e-5)
    # A label that only the row itself has cannot be guessed by trees that did not see it.
    data.slot[5] = 2
    data.slot[np.arange(60) != 5] = np.arange(59) % 2
    votes[:], asked[:] = 0.0, 0
    grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
    assert votes[5, 2] == 0
    assert votes[:, 2].sum() > 0


def test_rows_outside_the_pool_vote_in_every_tree_and_are_never_grown_on():
    data = table(0)
    kind = Kind(3, 30, 50, 40, 2, 1, False, np.uint64(7))
    votes, asked = np.zeros((60, 3)), np.zeros(60, np.int32)
    before = grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
    assert (asked[50:] == 30).all()
    assert asked[:50].sum() == 30 * 10
    data.slot[50:] = (data.slot[50:] + 1) % 3
    after = grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_a_part_of_the_rows_does_not_change_with_what_others_run():
    data = table(3)
    kind = Kind(3, 5, 60, 40, 2, 1, False, np.uint64(7))
    found = []
    for _ in range(2):
        votes, asked = np.zeros((60, 3)), np.zeros(60, np.int32)
        found.append([*grow(data, kind, np.arange(4, dtype=np.int32), votes, asked), votes])
    assert all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_cells_are_the_slow_ones(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 8, size=(3, 90)).astype(np.uint8)
    targets = rng.normal(size=(90, 2)) + 2.0 * (codes[:1].T > 4) * [[1, -1]]
    handicap = np.array([30.0 * (seed % 2), 0.0, 0.0])
    feature, _, child, cell = grow_cells(codes, targets, handicap, 9, 5, 4.0)
    parts = {frozenset(np.flatnonzero(cell == c).tolist()) for c in range(cell.max() + 1)}
    assert parts == naive.cells(codes, targets, handicap, 9, 5, 4.0)
    assert sorted(child[feature < 0]) == list(range(len(parts)))


def test_what_does_not_differ_is_not_cut():
    codes = np.arange(90).reshape(1, 90).astype(np.uint8)
    assert len(grow_cells(codes, np.zeros((90, 2)), np.zeros(1), 5, 9, 1.0)[0]) == 1


@pytest.mark.parametrize("falling", [0.0, 12.0])
@pytest.mark.parametrize("stops", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(8))
def test_choices_are_the_slow_ones(seed, stops, falling):
    rng = np.random.default_rng(seed)
    n_nodes, n = 5, 40
    payoff = rng.random((n_nodes, n)) + 0.2 * np.arange(n_nodes)[:, None]
    counts = rng.integers(1, 7, n_nodes)
    cell = np.array([rng.integers(0, count, n) for count in counts], dtype=np.int32)
    first = np.cumsum([0, *counts])
    edges = [(a, b, float(b - a) ** 0.9) for a in range(n_nodes) for b in range(a + 1, n_nodes)]
    start = np.searchsorted([a for a, _, _ in edges], np.arange(n_nodes + 1))
    library = Library(
        payoff, cell, first, start, np.array([b for _, b, _ in edges], dtype=np.int32),
        np.array([p for *_, p in edges]),
    )  # fmt: skip
    allowed = np.ones(n_nodes, dtype=bool)
    allowed[3] = seed % 2 == 0
    for rate in (0.01, 0.1, 0.3):
        choice = np.empty(first[-1], dtype=np.int32)
        induce(library, allowed, rate, 5.0, falling, 0.3, stops, choice)
        expected, value = naive.induce(
            payoff, cell, first, edges, allowed, rate, 5.0, falling, 0.3, stops
        )
        assert np.array_equal(choice, expected)
        end, bill = np.empty(n, dtype=np.int32), np.empty(n)
        follow(library, choice, end, bill)
        assert allowed[end].all()
        if not stops:
            np.testing.assert_allclose(payoff[end, np.arange(n)] - rate * bill, value[0])


def test_of_purchases_with_the_same_end_the_more_telling_comes_first():
    payoff = np.array([[0.0] * 4, [0.1] * 4, [0.4] * 4, [1.0] * 4])  # nothing, either of two, both
    library = Library(
        payoff, np.zeros((4, 4), dtype=np.int32), np.arange(5), np.array([0, 2, 3, 4, 4]),
        np.array([1, 2, 3, 3], dtype=np.int32), np.ones(4),
    )  # fmt: skip
    for stops, first in ((0.0, 0), (0.02, 1)):
        choice = np.empty(4, dtype=np.int32)
        induce(library, np.ones(4, dtype=bool), 0.01, 0.0, 0.0, 0.0, stops, choice)
        assert choice[0] == first


def test_surer_rows_go_on_only_after_those_that_are_less_sure():
    """Few rows of the middle cell happen to gain most; many would not."""
    gain = np.repeat([0.3, 0.5, 0.1], [40, 10, 40])
    library = Library(
        np.array([np.zeros(90), gain]), np.array([np.repeat([0, 1, 2], [40, 10, 40]), np.zeros(90)], np.int32),
        np.array([0, 3, 4]), np.array([0, 1, 1]), np.array([1], np.int32), np.ones(1),
    )  # fmt: skip
    for falling, expected in ((0.0, [-1, 0, -1]), (1e4, [-1, -1, -1])):
        choice = np.empty(4, dtype=np.int32)
        induce(library, np.ones(2, dtype=bool), 0.4, 0.0, falling, 0.0, 0.0, choice)
        assert choice[:3].tolist() == expected
    induce(library, np.ones(2, dtype=bool), 0.32, 0.0, 1e4, 0.0, 0.0, choice)
    assert choice[:3].tolist() == [0, 0, -1]


THRESHOLDS = np.array(
    [-np.finfo(float).max, -1.5, -0.0, 0.1, 0.1 + 1e-12, 2.0, np.finfo(float).max]
)


def random_tree(rng, n_leaves, depth=0):
    """A nested tree over three columns."""
    if depth == 6 or rng.random() < 0.2:
        return int(rng.integers(n_leaves))
    below = [random_tree(rng, n_leaves, depth + 1) for _ in range(2)]
    return (int(rng.integers(3)), float(rng.choice(THRESHOLDS)), bool(rng.integers(2)), *below)


def flat_tree(tree, low):
    """Feature, threshold and child of its nodes, numbered from ``low`` on, siblings side by side."""
    nodes, waiting = [tree], [0]
    lines = {}
    for at in waiting:
        tree = nodes[at]
        if not isinstance(tree, tuple):
            lines[at] = (-1, 0.0, tree)
            continue
        column, threshold, missing_left, left, right = tree
        lines[at] = (2 * column + missing_left, threshold, low + len(nodes))
        waiting += [len(nodes), len(nodes) + 1]
        nodes += [left, right]
    return [lines[at] for at in range(len(nodes))]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(4))
def test_votes_are_the_slow_ones(seed, dtype):
    rng = np.random.default_rng(seed)
    start = np.array(
        [0, 1, 3, 6, 7]
    )  # a leaf of one class, of two, of three, and one of half a class
    held = np.array([1, 0, 2, 0, 1, 2, 2], dtype=np.int32)
    share = np.array([1, 0.3, 0.7, 0.1, 0.6, 0.3, 0.5], dtype=np.float32)
    trees = [random_tree(rng, 4) for _ in range(7)] + [2]
    low, lines, root = 5, [], []  # as if other forests stood before
    for tree in trees:
        root.append(low + len(lines))
        lines += flat_tree(tree, root[-1])
    feature, threshold, child = (np.array(part) for part in zip(*lines, strict=True))
    forest = lay_out(feature, threshold, child, np.array(root), low, (start, held, share))
    near = np.concatenate([THRESHOLDS, np.nextafter(THRESHOLDS, 0), [np.nan, np.inf, -np.inf, 0.0]])
    with np.errstate(over="ignore"):
        X = rng.choice(np.append(near, np.nextafter(THRESHOLDS, 9)), (1100, 4)).astype(dtype)
    rows = rng.permutation(1100)[:1050]
    raw = np.zeros((len(rows), 3))
    add_votes(X, rows, forest, start, held, share, raw, 0, 600)
    add_votes(X, rows, forest, start, held, share, raw, 600, len(rows))
    for i, row in enumerate(rows):
        assert np.array_equal(raw[i], naive.votes(X[row], trees, (start, held, share), 3)), row


def test_too_many_thresholds_for_codes_are_left_to_others():
    n = EMPTY
    feature, child = np.full(2 * n + 1, -1), np.zeros(2 * n + 1, dtype=np.int64)
    feature[0 : 2 * n : 2], child[0 : 2 * n : 2] = 0, np.arange(1, 2 * n, 2)
    feature[:-1:2], feature[1::2] = 0, -1
    threshold = np.linspace(1, 0, 2 * n + 1)
    leaves = (np.array([0, 1]), np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.float32))
    assert lay_out(feature, threshold, child, np.array([0]), 0, leaves) is None
    few = slice(2, None)
    assert lay_out(feature[few], threshold[few], child[few], np.array([2]), 2, leaves) is not None
