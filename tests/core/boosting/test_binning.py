"""Bins: thresholds between distinct values, codes that agree with raw comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from worthwhile.core.boosting import layout as layouts
from worthwhile.core.boosting.binning import encode_matrix, find_bins
from worthwhile.core.boosting.layout import BINS, FEATURE, STATES, STRIDE, Layout, find_exclusive
from worthwhile.core.dtypes import BLOCK, MAX_BINS
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings

NO_WEIGHTS = np.empty(0, dtype=np.int64)


def binned(X, weights=NO_WEIGHTS, n_threads=1):
    with Threads(n_threads) as threads:
        bins = find_bins(X, weights, threads)
        layout = Layout.plan(bins, find_exclusive([X], bins, threads))
        return bins, layout, encode_matrix(X, bins, layout, threads)


def states_of(feature, layout, words):
    """The states of one feature, read back from the code words."""
    column = layout.column(feature)
    _, stride, states, _, up, _ = layout.members[layout.place[feature]]
    codes = (words[column // BLOCK] >> np.uint64(8 * (column % BLOCK))) & np.uint64(255)
    digit = (codes.astype(int) // stride) % states
    return digit if up == 0 else (digit == up).astype(int)


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 40), st.integers(1, 12)),
        elements=st.one_of(
            st.just(np.nan),
            st.integers(-3, 3).map(float),
            st.floats(allow_infinity=False, allow_nan=False),
        ),
    )
)
def test_codes_take_the_side_that_raw_values_take(X):
    bins, layout, words = binned(X)
    for f in range(X.shape[1]):
        x = X[:, f]
        seen = x[~np.isnan(x)]
        assert bins.count[f] == max(1, len(np.unique(seen)))
        assert bins.missing[f] == np.isnan(x).any()
        if layout.place[f] < 0:
            assert bins.count[f] + bins.missing[f] == 1
            continue
        states = states_of(f, layout, words)
        assert ((states >= bins.count[f]) == np.isnan(x)).all()
        for cut in range(bins.count[f]):
            left = states[~np.isnan(x)] <= cut
            assert (left == (seen <= bins.threshold(f, cut))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("order", ["C", "F"])
def test_all_number_types_and_orders(dtype, order):
    X = np.random.default_rng(0).normal(0, 50, (500, 20))
    X = np.asarray((X > 0 if dtype == np.bool_ else X).astype(dtype), order=order)
    bins, layout, words = binned(X)
    for f in range(20):
        expected = np.unique(X[:, f], return_inverse=True)[1]
        if bins.count[f] == len(np.unique(X[:, f])):
            assert (states_of(f, layout, words) == expected).all()
        else:
            assert bins.count[f] > 240


def test_adjacent_floats_are_kept_apart():
    a = 1.0
    b = np.nextafter(a, 2)
    tiny = np.nextafter(0, 1)
    X = np.array([[a, tiny], [b, 0.0]])
    bins, _, _ = binned(X)
    assert bins.thresholds[0, 0] == a
    assert 0.0 <= bins.thresholds[1, 0] < tiny


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 5), st.sampled_from([0.0, 0.3, 0.9]))
def test_many_values_make_even_bins_in_which_common_values_stand_alone(seed, times, common):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=4000)
    x[rng.random(4000) < common] = 0.0
    bins, layout, words = binned(x[:, None])
    assert bins.count[0] <= MAX_BINS
    states = states_of(0, layout, words)
    sizes = np.bincount(states)
    light = (x != 0.0).sum()
    if common:
        assert set(x[states == states[x == 0.0][0]]) == {0.0}
        sizes = np.delete(sizes, states[x == 0.0][0])
    assert sizes.max() <= 2 * light / MAX_BINS + 1
    repeated = binned(np.repeat(x, times)[:, None])[0]
    assert (repeated.thresholds == bins.thresholds).all()
    weighted = binned(x[:, None], np.full(4000, times, dtype=np.int64))[0]
    assert (weighted.thresholds == bins.thresholds).all()


def test_many_common_values_leave_room_for_the_others():
    rng = np.random.default_rng(0)
    common = rng.choice(100, size=20000) * 1.0
    x = np.concatenate([common, rng.uniform(0, 100, 20000)])
    bins, layout, words = binned(x[:, None])
    assert bins.count[0] <= MAX_BINS
    sizes = np.bincount(states_of(0, layout, words))
    assert sizes.max() < 0.03 * len(x)


def test_integer_weights_make_the_bins_of_repeated_rows():
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=2000), rng.integers(1, 9, 2000)
    weighted = binned(x[:, None], weights)[0]
    repeated = binned(np.repeat(x, weights)[:, None])[0]
    assert (weighted.thresholds == repeated.thresholds).all()


def test_features_with_few_states_share_columns():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(0, 2, (100, 16)), rng.normal(size=(100, 1)) * 0 + np.arange(100)[:, None]]
    )
    X = np.column_stack([X, np.zeros(100), rng.integers(0, 3, 100)])
    _, layout, words = binned(X)
    assert layout.place[17] == -1
    assert words.shape == (1, 100)
    for f in [*range(17), 18]:
        assert (states_of(f, layout, words) == np.unique(X[:, f], return_inverse=True)[1]).all()
    products = [
        np.prod(layout.members[a:b, STATES])
        for a, b in zip(layout.offsets, layout.offsets[1:], strict=False)
    ]
    assert max(products) <= 256
    assert sorted(layout.members[:, FEATURE]) == [*range(17), 18]
    assert (layout.members[:, STRIDE] >= 1).all()
    assert (layout.members[:, BINS] <= layout.members[:, STATES]).all()


def spread(categories, k):
    """One column for each of the categories 0..k-1; others are none of them."""
    return (np.asarray(categories)[:, None] == np.arange(k)).astype(float)


def test_features_that_are_never_up_together_share_a_digit(monkeypatch):
    monkeypatch.setattr(layouts, "TRIED", 44 * 100)
    rng = np.random.default_rng(0)
    n = 300
    colour, shape = rng.integers(0, 40, n), rng.integers(0, 4, n)
    X = np.column_stack([spread(shape, 4), rng.integers(0, 2, n), spread(colour, 39)])
    _, layout, words = binned(X, n_threads=2)
    assert words.shape == (1, n)
    assert len({layout.column(f) for f in range(X.shape[1])}) == 2  # 5 * 40 states, and 2
    for f in range(X.shape[1]):
        assert (states_of(f, layout, words) == X[:, f]).all()
    # One row that is not among those tried first is enough.
    both = X.copy()
    both[1, 5:7] = 1.0
    for matrices in ([both], [X, both[1:2]]):
        with Threads(1) as threads:
            found = find_exclusive(matrices, find_bins(both, NO_WEIGHTS, threads), threads)
        assert found == [[0, 1, 2, 3]]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 60), st.booleans())
def test_sharing_digits_changes_no_tree(seed, n, weighted):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            spread(rng.integers(0, 5, n), 4),
            rng.normal(size=n).round(1),
            spread(rng.integers(0, 3, n), 3),
        ]
    )
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    prices = Costs(rng.integers(0, 3, X.shape[1])).flat
    gradients = rng.normal(size=(1, n))
    grown = []
    with Threads(1) as threads:
        data = BinnedData.prepare(X, threads, weight)
        apart = Layout.plan(data.bins)
        words = encode_matrix(X, data.bins, apart, threads)
        for rows in (data, replace(data, layout=apart, words=words)):
            settings_ = BoosterSettings(lam=0.01, max_depth=3, min_samples_leaf=1)
            tree = Booster(rows, prices, settings_, threads).grow(gradients)
            grown.append((tree.grown.feature, tree.grown.cut, tree.value.tolist()))
    assert grown[0] == grown[1]


def test_threads_do_not_matter():
    X = np.random.default_rng(0).normal(size=(3000, 40))
    X[X < -1] = np.nan
    one, two = binned(X), binned(X, n_threads=2)
    assert (one[2] == two[2]).all()
    assert (one[0].thresholds == two[0].thresholds).all()


@pytest.mark.compiled
def test_read_only_data_compiles_nothing_new():
    from worthwhile.core.boosting import binning

    X = np.asfortranarray(np.random.default_rng(0).normal(size=(50, 9)))
    X.flags.writeable = False
    binned(X)
    assert len(binning.encode.signatures) <= 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 3000), st.sampled_from([1.0, 30.0, 300.0, 1e6]))
def test_going_from_bin_to_bin_is_the_same_as_row_by_row(seed, n, fineness):
    # Weights of one take the long way, no weights the short one where there are no heavy values.
    X = np.round(np.random.default_rng(seed).normal(size=(n, 2)) * fineness)
    long, _, _ = binned(X, np.ones(n, dtype=np.int64))
    short, _, _ = binned(X)
    assert (long.thresholds == short.thresholds).all()
    assert (long.count == short.count).all()
