"""Greedy trees against the naive twin, on random, tied, constant, missing and tiny inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costwise.core.class_data import prepare
from costwise.core.greedy_tree import GreedyTree, Prices
from costwise.core.impurity import EXPECTED, MINIMAX, PAIRS, POWERS, Impurity
from costwise.core.stumps import (
    FEW,
    RANDOM,
    SCAN,
    SMALL,
    TOP,
    between,
    draw_gap,
    n_stumps,
    sample_gap,
    sort_small,
    sort_values,
    uniform,
)
from costwise.core.threads import Threads
from tests.naive import forest as naive

UNLIMITED = 2**31 - 1


def grow(X, y, impurity, mode, prices, weights=None, seed=0, max_depth=UNLIMITED, free=False):
    d = X.shape[1]
    with Threads(1) as threads:
        data = prepare(X, mode, threads)
    tree = GreedyTree(
        data, y.astype(np.int32), int(y.max()) + 1, impurity, RANDOM if mode == "random" else SCAN,
        Prices(np.asarray(prices, dtype=float), np.full(d, -1), np.empty(0), free), max_depth,
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

    def check(node, rows):
        assert np.bincount(y[rows], minlength=3).tolist() == tree.counts[node].tolist()
        if tree.feature[node] < 0:
            return
        x = X[rows, tree.feature[node]]
        goes = np.where(np.isnan(x), tree.missing_left[node], x <= tree.threshold[node])
        check(tree.left[node], rows[goes])
        check(tree.right[node], rows[~goes])

    check(0, np.arange(n))
    leaf = tree.feature < 0
    assert all(Impurity(PAIRS).of(c) == 0 for c in tree.counts[leaf])


def test_missing_against_the_rest_is_a_split():
    X = np.array([[1.0], [1.0], [np.nan], [np.nan]])
    for mode in ("random", "exact", "histogram"):
        tree = grow(X, np.array([0, 0, 1, 1]), Impurity(PAIRS), mode, [1.0])
        assert tree.threshold[0] == TOP
        assert not tree.missing_left[0]
        assert len(tree.feature) == 3


def test_gap_by_gap_sampling_has_the_distribution_of_drawing():
    values = np.array([0.0, 0.05, 0.06, 0.2, 0.5, 0.52, 1.0])
    score = np.array([1.0, 0.0, 3.0, 4.0, 2.0, 5.0, np.inf])  # gap 1 is best and only 1 % wide
    n_draws = 4000
    hits = np.zeros((2, len(values)))
    for key in range(n_draws):
        seed = np.uint64(key * 7919 + 1)
        place, threshold = sample_gap(values, len(values), score.copy(), seed, 10.0)
        hits[0, place] += 1
        assert values[place] <= threshold < values[place + 1]
        place, threshold = draw_gap(values, len(values), score.copy(), seed, 10.0)
        hits[1, place] += 1
        assert values[place] <= threshold < values[place + 1]
    share = 1 - 0.99**20
    assert hits[:, 1] / n_draws == pytest.approx([share, share], abs=0.03)
    assert np.abs(hits[0] - hits[1]).max() / n_draws < 0.04


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
    assert [n_stumps(n) for n in (2, 500, 501, 2000, 2001)] == [20, 20, 40, 40, 80]
    assert FEW < SMALL == 500


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


def test_what_is_on_the_path_is_free_if_asked_for():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1200, 3))
    y = (X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=1200) > 0).astype(int)
    paid, free = (grow(X, y, Impurity(PAIRS), "exact", [1, 1, 1], free=f) for f in (False, True))
    assert paid.feature[0] == free.feature[0]

    def check(node, path):
        if free.feature[node] < 0:
            return
        if path and not set(path) >= {free.feature[node]}:
            # Something new is bought only when nothing that is owned helps any more.
            rows_left = free.counts[node]
            assert rows_left.min() > 0
        check(free.left[node], [*path, free.feature[node]])
        check(free.right[node], [*path, free.feature[node]])

    check(0, [])
    assert (free.feature == free.feature[0]).sum() > (paid.feature == paid.feature[0]).sum()
