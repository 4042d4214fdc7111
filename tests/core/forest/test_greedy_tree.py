"""Greedy trees against the naive twin, on random, tied, constant, missing and tiny inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import forest as naive
from worthwhile.core.forest.class_data import prepare
from worthwhile.core.forest.draws import PAPER, SCAN, SMALL, between, n_stumps, uniform
from worthwhile.core.forest.greedy_tree import GreedyTree, Prices
from worthwhile.core.forest.impurity import EXPECTED, MINIMAX, PAIRS, POWERS, Impurity
from worthwhile.core.forest.pair_gaps import hit_gap, scan_pairs, to_the_power
from worthwhile.core.forest.stumps import (
    CELLS,
    TOP,
    count_intervals,
    draw_gap,
    draw_thresholds,
    sort_small,
    sort_values,
)
from worthwhile.core.threads import Threads

UNLIMITED = 2**31 - 1


def grow(X, y, impurity, mode, prices, weights=None, seed=0, max_depth=UNLIMITED, free=False):
    d = X.shape[1]
    with Threads(1) as threads:
        data = prepare(X, mode, threads)
    tree = GreedyTree(
        data, y.astype(np.int32), int(y.max()) + 1, impurity, PAPER if mode == "random" else SCAN,
        Prices(np.asarray(prices, dtype=float), np.zeros(d + 1), np.empty(0), np.empty(0), free), max_depth,
    )  # fmt: skip
    return tree.grow(np.ones(len(y)) if weights is None else weights, seed)


def preorder(tree, node=0):
    mine = [
        (int(tree.feature[node]), float(tree.threshold[node]), bool(tree.missing_left[node]),
         tree.counts[node].tolist())
    ]  # fmt: skip
    if tree.feature[node] < 0:
        return mine
    return mine + preorder(tree, tree.left[node]) + preorder(tree, tree.right[node])


def table(draw):
    n, d, k = draw(st.integers(2, 25)), draw(st.integers(1, 4)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    X = rng.integers(0, draw(st.integers(1, 9)), size=(n, d)).astype(float)
    X[:, 0] = rng.normal(size=n) if draw(st.booleans()) else X[:, 0]
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    return X, rng.integers(0, k, size=n), rng.integers(0, 3, size=n), rng.integers(0, 4, size=d)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), alpha=st.sampled_from([0.0, 0.5, 1.0, 3.0]), expected=st.booleans())
def test_exact_tree_is_the_naive_tree(data, alpha, expected):
    X, y, weights, prices = data.draw(st.composite(table)())
    weights[0], y[0] = max(weights[0], 1), y.max()
    impurity = Impurity(PAIRS, alpha, criterion=EXPECTED if expected else MINIMAX)
    tree = grow(X, y, impurity, "exact", prices, weights.astype(float))
    twin = naive.greedy_tree(
        X, y, weights, [int(p) for p in prices], lambda c: naive.pairs(c, alpha), int(y.max()) + 1,
        expected=expected,
    )  # fmt: skip
    assert [node[:2] + node[3:] for node in preorder(tree)] == [
        node[:2] + node[3:] for node in naive.flatten(twin)
    ]
    inner = [node for node in naive.flatten(twin) if node[0] >= 0]
    assert [node[2] for node in preorder(tree) if node[0] >= 0] == [node[2] for node in inner]


@pytest.mark.parametrize("impurity", [Impurity(PAIRS), Impurity(PAIRS, 2.0), Impurity(POWERS, 3.0)])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_histogram_is_exact_up_to_255_values_in_large_nodes_too(impurity, missing):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, size=(3 * SMALL, 5)).astype(float)
    X[:, 4] = X[:, 4] > 30
    X[rng.random(X.shape) < missing] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) + rng.normal(0, 40, len(X)) > 200).astype(
        int
    )
    exact, histogram = (grow(X, y, impurity, m, np.ones(5)) for m in ("exact", "histogram"))
    assert preorder(exact) == preorder(histogram)


def test_exact_large_nodes_take_the_naive_split():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=SMALL + 40), rng.integers(0, 6, SMALL + 40)]).astype(float)
    X[:20, 1] = np.nan
    y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
    ones = np.ones(len(y), dtype=int)
    tree = grow(X, y, Impurity(PAIRS), "exact", [1, 1], max_depth=1)
    best = naive.greedy_tree(X, y, ones, [1, 1], lambda c: naive.pairs(c, 0), 2)
    assert preorder(tree)[0][:2] == naive.flatten(best)[0][:2]


def root_score(X, y, tree, impurity):
    if tree.feature[0] < 0:
        return impurity.of(tree.counts[0])
    return max(impurity.of(tree.counts[tree.left[0]]), impurity.of(tree.counts[tree.right[0]]))


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([5, 30, 300, SMALL + 100, 2300]))
def test_random_risk_is_never_below_exact_risk(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    y = (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)
    y[0], y[1] = 0, 1
    impurity = Impurity(PAIRS)
    random, exact = (
        grow(X, y, impurity, mode, np.ones(3), seed=seed, max_depth=1)
        for mode in ("random", "exact")
    )
    assert root_score(X, y, random, impurity) >= root_score(X, y, exact, impurity)


@pytest.mark.parametrize("n", [12, 200, SMALL + 200, 2300])
def test_random_trees_count_what_their_thresholds_part(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 4)).astype(np.float32).astype(float)
    X[:, 3] = X[:, 3] > 0
    X[rng.random(X.shape) < 0.05] = np.nan
    y = rng.integers(0, 3, size=n)
    tree = grow(X, y, Impurity(PAIRS), "random", np.ones(4), seed=5)
    check_counts(tree, X, y)
    leaf = tree.feature < 0
    assert all(Impurity(PAIRS).of(c) == 0 for c in tree.counts[leaf])


@pytest.mark.parametrize("mode", ["random", "exact", "histogram"])
def test_columns_of_two_values_are_parted_in_large_nodes_too(mode):
    # Mostly the lower value, and mostly the higher one: the rarer of them is the bit that is kept.
    rng = np.random.default_rng(0)
    X = (rng.random((4 * SMALL, 6)) < [0.1, 0.9, 0.3, 0.7, 0.4, 0.6]).astype(float)
    y = (X @ [1, -2, 3, -1, 2, -3] + rng.normal(size=len(X)) > 0).astype(int)
    tree = grow(X, y, Impurity(PAIRS), mode, np.ones(6), seed=5)
    assert set(tree.feature[:3].tolist()) - {-1}
    check_counts(tree, X, y)


def check_counts(tree, X, y):
    """Every node holds the rows that the thresholds above it send there."""

    def check(node, rows):
        found = np.bincount(y[rows], minlength=tree.counts.shape[1])
        assert found.tolist() == tree.counts[node].tolist()
        if tree.feature[node] < 0:
            return
        x = X[rows, tree.feature[node]]
        goes = np.where(np.isnan(x), tree.missing_left[node], x <= tree.threshold[node])
        check(tree.left[node], rows[goes])
        check(tree.right[node], rows[~goes])

    check(0, np.arange(len(y)))


def test_missing_against_the_rest_is_a_split():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    for mode in ("random", "exact", "histogram"):
        tree = grow(X, np.array([0, 0, 1, 1]), Impurity(PAIRS), mode, [1.0])
        assert tree.threshold[0] == TOP
        assert not tree.missing_left[0]
        assert len(tree.feature) == 3


def test_one_random_number_has_the_distribution_of_many_thresholds():
    values = np.array([0.0, 0.05, 0.06, 0.06, 0.2, 0.5, 0.52, 1.0])
    score = np.array([9.0, 3.0, 1.0, 0.0, 2.0, 4.0, 5.0, np.inf])  # gap 2 has no width
    low, high, n, n_draws = 1, 6, len(values), 4000
    draws = (9, 9, 3)
    hits = np.zeros((2, n + 1))
    for key in range(n_draws):
        seed = np.uint64(key * 7919 + 1)
        for i, (place, threshold) in enumerate(
            (hit_gap(values, n, score, low, high, 3, seed, draws),
             draw_gap(values, n, score, low, high, seed, draws))
        ):  # fmt: skip
            hits[i, place] += 1
            assert place < 0 or values[place] <= threshold < values[place + 1]
    best = 1 - 0.86**3
    assert hits[:, 3] / n_draws == pytest.approx([best, best], abs=0.03)
    assert hits[:, -1] / n_draws == pytest.approx([0.53**3] * 2, abs=0.03)
    assert np.abs(hits[0] - hits[1]).max() / n_draws < 0.04


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 4), minimax=st.booleans())
def test_scores_of_gaps_are_the_naive_ones(seed, k, minimax):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    classes, weights = rng.integers(0, k, n).astype(np.int32), rng.integers(1, 4, n).astype(float)
    order = rng.permutation(n).astype(np.int32)
    whole = np.bincount(classes, weights, 5)
    left = np.cumsum(np.eye(5)[classes[order]] * weights[order][:, None], axis=0)[:-1]
    each = [
        [float(naive.pairs(side, 0)) for side in (c.tolist(), (whole - c).tolist())] for c in left
    ]
    mean = [(c.sum() * a + (whole - c).sum() * b) for c, (a, b) in zip(left, each, strict=True)]
    expected = np.array([max(pair) for pair in each] if minimax else mean)
    bar = float(np.quantile(expected, 0.7)) / (1 if minimax else whole.sum()) + 0.001
    score = np.zeros(n)
    low, high, place = scan_pairs(
        order, n, classes, weights, whole, minimax, bar, np.empty(5), score
    )
    below = np.flatnonzero(expected < bar * (1 if minimax else whole.sum()))
    assert low <= below.min()
    assert below.max() < high
    assert score[low:high].tolist() == expected[low:high].tolist()
    assert score[place] == expected.min()


def test_intervals_count_what_lies_between_thresholds():
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.exponential(size=300), np.full(50, 0.25)]).astype(np.float32)
    classes = rng.integers(0, 3, len(values)).astype(np.int32)
    low, high = float(values.min()), float(values.max())
    for count in (1, 7, 80):
        thresholds, counters = np.empty(count + 1), np.empty((count + 1, 3))
        table = np.empty(CELLS * count + 2, np.int64)
        place = draw_thresholds(low, high, count, np.uint64(3), thresholds, table, np.empty(count))
        count_intervals(
            values, len(values), classes, np.ones(len(values)), *place, count, thresholds, table, counters
        )  # fmt: skip
        assert (np.diff(thresholds) >= 0).all()
        drawn = [between(low, high, uniform(np.uint64(3), j)) for j in range(count)]
        assert sorted(drawn) == thresholds[:-1].tolist()
        at = np.searchsorted(thresholds, values.astype(float), side="left")
        naive_counts = np.zeros((count + 1, 3))
        np.add.at(naive_counts, (at, classes), 1.0)
        assert (counters == naive_counts).all()


def test_sorts_are_sorts():
    rng = np.random.default_rng(0)
    for n in (1, 2, 17, SMALL):
        for values in (rng.normal(size=n), rng.integers(0, 3, n).astype(float), np.exp(30 * rng.normal(size=n)),
                       np.where(rng.random(n) < 0.3, np.inf, 1e308 * rng.choice([-1, 1], n))):  # fmt: skip
            out, order = np.empty(n), np.empty(n, np.int32)
            sort_small(values, n, out, order, np.empty(n + 2, np.int32))
            assert out.tolist() == sorted(values.tolist())
            assert values[order].tolist() == out.tolist()
            copy = values.copy()
            sort_values(copy, n, order)
            assert copy.tolist() == sorted(values.tolist())
            assert values[order].tolist() == copy.tolist()


def test_numbers_of_stumps_are_the_papers():
    assert [n_stumps(n, PAPER) for n in (2, 500, 501, 2000, 2001)] == [20, 20, 40, 40, 80]
    assert SMALL == 500
    assert [to_the_power(0.5, count) for count in (0, 1, 5, 20)] == [1, 0.5, 0.5**5, 0.5**20]


def test_random_numbers_are_uniform_and_stay_inside():
    draws = np.array([uniform(np.uint64(7), i) for i in range(20000)])
    assert 0 < draws.min() < draws.max() < 1
    assert np.histogram(draws, 10, (0, 1))[0] == pytest.approx(np.full(10, 2000), rel=0.12)
    assert between(1.0, np.nextafter(1.0, 2.0), 0.9) == 1.0
    assert between(-1e308, 1.7e308, 0.5) < 1.7e308


def test_extreme_values_do_not_break_cells():
    X = np.concatenate([np.full((400, 1), -3e38), np.full((400, 1), 3e38), np.zeros((3, 1))])
    y = (X[:, 0] > 0).astype(int)
    for mode in ("random", "exact", "histogram"):
        tree = grow(X, y, Impurity(PAIRS), mode, [1.0])
        leaf = tree.feature < 0
        assert (tree.counts[leaf].min(axis=1) == 0).all()
    with pytest.raises(ValueError, match="Rescale the column"):
        grow(X * 1e10, y, Impurity(PAIRS), "random", [1.0])


def test_what_is_on_the_path_counts_like_the_cheapest_if_asked_for():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] + 0.3 * rng.normal(size=1200) > 0).astype(int)
    paid, free = (grow(X, y, Impurity(PAIRS), "exact", [1.2, 1, 1], free=f) for f in (False, True))
    assert paid.feature[0] == free.feature[0] == 1
    # Once bought, the dear feature is as cheap as the others, and still not all that is read.
    assert (free.feature == 0).sum() > (paid.feature == 0).sum()
    assert set(free.feature[free.feature >= 0]) == {0, 1, 2}
    equal = [grow(X, y, Impurity(PAIRS), "exact", [1, 1, 1], free=f) for f in (False, True)]
    assert np.array_equal(equal[0].feature, equal[1].feature)
