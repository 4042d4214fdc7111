"""Small nodes that are not sorted: the same trees as from sorted columns, and when that is so."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core.forest import greedy_tree
from worthwhile.core.forest.class_data import prepare
from worthwhile.core.forest.draws import PAPER, SMALL, between, stream, uniform
from worthwhile.core.forest.few_draws import FEW, HEAVIEST, _draw, applies
from worthwhile.core.forest.greedy_tree import GreedyTree, Prices
from worthwhile.core.forest.impurity import EXPECTED, GINI, MINIMAX, PAIRS, Impurity
from worthwhile.core.threads import Threads

MEAN = Impurity(PAIRS, criterion=EXPECTED)
DRAWS = (20, 10, 5)


def grow(X, y, weights, prices, seed, free=False):
    with Threads(1) as threads:
        data = prepare(X, "random", threads)
    begin, opens = np.zeros(X.shape[1] + 1), np.empty(0)
    tree = GreedyTree(
        data, y.astype(np.int32), int(y.max()) + 1, MEAN, DRAWS,
        Prices(np.asarray(prices, dtype=float), begin, opens, np.empty(0), free), 12,
    )  # fmt: skip
    return tree.grow(weights, seed)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.sampled_from([2, 9, 60, SMALL + 50]), d=st.sampled_from([1, 4, 19]),
    free=st.booleans(),
)  # fmt: skip
def test_trees_are_those_from_sorted_columns(seed, n, d, free):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(float)
    tied = rng.random(d) < 0.5
    X[:, tied] = np.round(2 * X[:, tied])
    X[:, rng.random(d) < 0.2] = rng.random(n)[:, None] > 0.7  # columns of two states, or one
    y, weights = rng.integers(0, 4, size=n), rng.integers(0, 4, size=n).astype(float)
    weights[0], prices = 1.0, rng.integers(0, 3, size=d)
    asked = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy_tree, "applies", lambda *a: bool(asked.append(applies(*a))))
        slow = grow(X, y, weights, prices, seed, free)
    fast = grow(X, y, weights, prices, seed, free)
    assert asked in ([True], [])  # large nodes may have left no small ones
    for name in ("feature", "threshold", "missing_left", "left", "right", "counts"):
        assert getattr(fast, name).tobytes() == getattr(slow, name).tobytes(), name


@pytest.mark.parametrize("middle", [0.0, 1.0, -1.0, 3e5])
@pytest.mark.parametrize("width", [1e-44, 1e-3, 1.0])
def test_rounded_thresholds_part_single_values_as_they_are_drawn(middle, width):
    low = np.float32(middle - width)
    high = max(np.float32(middle + width), np.nextafter(low, np.float32(np.inf)))
    cuts = np.zeros((50, 1), dtype=np.float32)
    key = stream(np.uint64(5), np.int64(3), np.int64(0))
    _draw(np.float64(low), np.float64(high), key, cuts, cuts.view(np.int32), 0)
    for draw in range(50):
        t = between(np.float64(low), np.float64(high), uniform(key, draw))
        near = np.float32(t)
        lower, upper = (np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf))
        for x in (low, lower, near, upper, high):
            assert (x <= cuts[draw, 0]) == (np.float64(x) <= t)


def test_it_is_used_only_where_sums_are_exact_and_draws_few():
    ones = np.ones(4)
    assert applies(MEAN, DRAWS, True, ones)
    assert applies(MEAN, DRAWS, True, HEAVIEST * ones)
    assert not applies(MEAN, DRAWS, False, ones)
    assert not applies(MEAN, DRAWS, True, (HEAVIEST + 1) * ones)
    assert not applies(MEAN, DRAWS, True, 0.5 * ones)
    assert not applies(MEAN, (FEW + 1,) * 3, True, ones)
    assert not applies(MEAN, PAPER, True, ones)
    assert not applies(MEAN, (0, 0, 0), True, ones)
    for other in (
        Impurity(PAIRS, 1.0, criterion=EXPECTED), Impurity(PAIRS, criterion=MINIMAX),
        Impurity(GINI, criterion=EXPECTED),
    ):  # fmt: skip
        assert not applies(other, DRAWS, True, ones)


@pytest.mark.parametrize("column", [0, 1])
def test_matrices_know_whether_a_value_is_missing(column):
    X = np.arange(12.0).reshape(6, 2)
    with Threads(1) as threads:
        assert prepare(X, "random", threads).complete
        X[2, column] = np.nan
        assert not prepare(X, "random", threads).complete
        X[:, column] = np.nan
        assert not prepare(X, "random", threads).complete
