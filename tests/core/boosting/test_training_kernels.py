"""Kernels of training against plain numpy, and the things around them."""

from __future__ import annotations

import logging
import math

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core import compile as compiling
from worthwhile.core.boosting import (
    counted_sums,
    fetching,
    gradients,
    histogram,
    leaves,
    partition,
    rounded_gradients,
    rounding,
    splitting,
)
from worthwhile.core.boosting.binning import encode_matrix, find_bins
from worthwhile.core.boosting.grower import Grown
from worthwhile.core.boosting.layout import Layout
from worthwhile.core.boosting.purchases import Purchases
from worthwhile.core.dtypes import PACKED_ROWS
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 200))
def test_packed_histograms_count_and_add(seed, n):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (n, 8), dtype=np.uint8)
    words = codes.view(np.uint64)[:, 0].copy()
    rounded = rng.integers(-(2**21), 2**21 + 1, n).astype(np.int32)
    rows = rng.permutation(n).astype(np.int32)
    found, whole, rest = (np.ones(2048, dtype=np.int64) for _ in range(3))
    for part in (found, whole, rest):
        histogram.clear(part)
    half = n // 2
    histogram.add_packed(words, rows, rounded[rows], half, n, False, found)
    histogram.add_packed(words, rows, rounded, 0, n, True, whole)
    for part, chosen in ((found, rows[half:]), (whole, rows)):
        for column in range(8):
            own = part[256 * column : 256 * (column + 1)]
            expected = np.zeros((2, 256), dtype=np.int64)
            np.add.at(expected[0], codes[chosen, column], 1)
            np.add.at(expected[1], codes[chosen, column], rounded[chosen].astype(np.int64))
            assert (own & (2**21 - 1) == expected[0]).all()
            assert (own >> 21 == expected[1]).all()
    other = whole.copy()
    histogram.subtract(other, found)
    histogram.add_packed(words, rows, rounded[rows], 0, half, False, rest)
    assert (other == rest).all()


@settings(max_examples=5, deadline=None)
@given(
    st.integers(0, 2**16), st.sampled_from([100, 9_000]), st.sampled_from([2, 3]), st.integers(1, 8)
)
def test_rows_of_weight_one_are_counted_as_any_others(seed, n, width, columns):
    """In wide bins, of which those without weight hold anything, and may hold something already."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 200, (n, 8), dtype=np.uint8)
    words = codes.view(np.uint64)[:, 0].copy()
    statistics = rng.integers(-(2**21), 2**21 + 1, (n, width))
    statistics[:, 0] = 1
    rows = rng.permutation(n).astype(np.int32)
    pieces = partition.gather_pieces([partition.chunks(n)])
    before = rng.integers(-5, 5, (columns, 256, width))
    before[:, :, 0] = rng.integers(0, 2, (columns, 256))
    expected = before * (before[:, :, :1] != 0)
    for column in range(columns):
        np.add.at(expected[column], codes[:, column], statistics)
    for most in (0, 8_192, 2**21 - 1):
        found = before.ravel().copy()
        room = counted_sums.room_to_count()
        counted_sums.add_pieces(words, rows, statistics, pieces, 0, len(pieces), most, room, found)
        found = found.reshape(before.shape)
        assert (found[:, :, 0] == expected[:, :, 0]).all()
        assert (found * (found[:, :, :1] != 0) == expected).all()


@pytest.mark.compiled
def test_more_rows_than_one_number_counts():
    n = 2**21 + 10_000
    words, rows = np.zeros(n, dtype=np.uint64), np.arange(n, dtype=np.int32)
    statistics = np.full((n, 2), -(2**21))
    statistics[:, 0] = 1
    pieces, found = partition.gather_pieces([partition.chunks(n)]), np.zeros(512, dtype=np.int64)
    room = counted_sums.room_to_count()
    counted_sums.add_pieces(
        words, rows, statistics, pieces, 0, len(pieces), PACKED_ROWS, room, found
    )
    assert found[:2].tolist() == [n, -(2**21) * n]


@pytest.mark.compiled
def test_asking_ahead_is_an_instruction_and_changes_nothing():
    @numba.njit
    def ask(numbers, place):
        fetching.fetch(numbers, place)
        return numbers[place]

    assert ask(np.arange(9), np.uint64(7)) == 7
    assert any("llvm.prefetch" in text for text in ask.inspect_llvm().values())


def test_packed_sums_hold_the_largest_case():
    n = 2**21 - 1
    packed = sum([((-(2**21)) << 21) + 1] * 3) // 3 * n  # n rows of the most negative gradient
    assert packed >> 21 == -(2**21) * n
    assert packed & (2**21 - 1) == n
    assert -(2**63) <= packed < 2**63


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**16), st.integers(1, 20000), st.booleans())
def test_partition_keeps_order_and_carries_gradients(seed, n, missing_left):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 12, (1, n, 8), dtype=np.uint8)
    words = np.ascontiguousarray(codes.view(np.uint64)[:, :, 0])
    rounded = rng.integers(-9, 9, n).astype(np.int32)
    # byte 3 holds a feature of 4 states (3 bins and missing) with stride 2
    splits = np.array([[0, 3, 2, 4, 3, 0, 0, 2 * 1 + missing_left, 0, 0, 0, 0]], dtype=np.int64)
    pieces = partition.gather_pieces([partition.chunks(n)])
    rows, carried = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    partition.divide(words, rows, rounded, carried, True, True, splits, pieces, 0, len(pieces))
    state = (codes[0, :, 3] // 2) % 4
    goes = np.where(state == 3, missing_left, state <= 1)
    for _, low, high, lefts in pieces:
        here = np.arange(low, high)
        expected = np.concatenate([here[goes[here]], here[~goes[here]]])
        assert lefts == goes[here].sum()
        assert (rows[low:high] == expected).all()
        assert (carried[low:high] == rounded[expected]).all()
    # once more, from where the rows are now, with gradients moved in place
    again = rows.copy()
    partition.divide(words, rows, carried, carried, False, True, splits, pieces, 0, len(pieces))
    assert (rows == again).all()
    assert (carried == rounded[rows]).all()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=50))
def test_rounding_is_to_nearest_on_the_scale_of_the_largest(values):
    with Threads(1) as threads:
        found = rounding.Rounder(1, len(values), threads)(np.array([values]))
    out = found.values[0].tolist()
    assert found.exponent == rounding.exponent(max(map(abs, values)))
    assert out == [round(math.ldexp(v, found.exponent)) for v in values]
    assert found.squares == sum(v**2 for v in out)
    assert found.total == [sum(out)]
    largest = max(map(abs, values))
    assert largest < 1e-140 or 2**20 <= max(map(abs, out)) <= 2**21


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("loss", [gradients.squared, gradients.logistic, gradients.multinomial])
def test_slopes_in_one_pass_are_the_rounded_gradients(loss, together):
    rng = np.random.default_rng(0)
    kernel = getattr(rounded_gradients, f"round_{loss.__name__}")
    outputs, n = (3 if loss is gradients.multinomial else 1), 2 * rounded_gradients.HELD + 77
    y = rng.integers(0, max(2, outputs), n) * 1.0
    base = rng.normal(size=outputs)
    with Threads(2) as threads:
        at = rounded_gradients.RoundedGradients(
            kernel, y, np.empty(0), outputs, together=together, curved=True, threads=threads
        )
        for scale in (5.0, 0.01):
            total, out = scale * rng.normal(size=(outputs, n)), np.empty((outputs, n))
            value, found = at(total, base)
            exact = gradients.in_parts(loss, total, base, y, np.empty(0), out, threads)
            assert value == pytest.approx(exact, rel=1e-12)
            parts = [out] if together else [row[None, :] for row in out]
            for rounded, part in zip(found, parts, strict=True):
                expected = rounding.Rounder(len(part), n, threads)(
                    part, np.abs(part) * (1 - np.abs(part))
                )
                assert rounded.exponent == expected.exponent
                assert (rounded.values == expected.values).all()
                assert (rounded.total, rounded.squares) == (expected.total, expected.squares)
                if loss is not gradients.squared:
                    assert (rounded.curvature == expected.curvature).all()


@pytest.mark.parametrize("loss", [gradients.squared, gradients.logistic, gradients.multinomial])
def test_a_step_is_added_to_the_scores_once_before_their_slopes_are_taken(loss):
    rng = np.random.default_rng(0)
    outputs, n = (3 if loss is gradients.multinomial else 1), rounded_gradients.HELD + 77
    y, base = rng.integers(0, max(2, outputs), n) * 1.0, np.zeros(outputs)
    leaf, values = rng.integers(0, 4, n).astype(np.uint16), 100.0 * rng.normal(size=(outputs, 4))
    total = 0.01 * rng.normal(size=(outputs, n))
    after = total + values[:, leaf]
    kernel = getattr(rounded_gradients, f"round_{loss.__name__}")
    with Threads(2) as threads:
        first, second = (
            rounded_gradients.RoundedGradients(
                kernel, y, np.empty(0), outputs, together=True, curved=False, threads=threads
            )
            for _ in range(2)
        )
        first(total, base)
        # The scale changes with the step, so that the pass is run twice.
        value, (found,) = first(total, base, leaves.Step(leaf, values))
        expected_value, (expected,) = second(after, base)
        assert (total == after).all()
        assert value == expected_value
        assert (found.values == expected.values).all()
        by_itself = after - values[:, leaf]
        leaves.Step(leaf, values).add(by_itself, threads)
        assert by_itself == pytest.approx(after)


def test_integer_weights_round_to_themselves():
    weights = np.array([1.0, 3.0, 1000.0])
    rounded, power = rounding.round_weights(weights, 3)
    assert (rounded == weights * 2.0**power).all()


@pytest.mark.parametrize("loss", [gradients.squared, gradients.logistic, gradients.multinomial])
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_the_slopes_of_the_losses(loss, weighted):
    rng = np.random.default_rng(0)
    outputs = 3 if loss is gradients.multinomial else 1
    n = 40
    y = (
        rng.normal(size=n)
        if loss is gradients.squared
        else rng.integers(0, max(2, outputs), n) * 1.0
    )
    weights = rng.random(n) + 0.5 if weighted else np.empty(0)
    total, base = 5 * rng.normal(size=(outputs, n)), rng.normal(size=outputs)
    out, none = np.empty((outputs, n)), np.empty((outputs, 0))
    with Threads(1) as threads:
        value = gradients.in_parts(loss, total, base, y, weights, out, threads)
        assert value == gradients.in_parts(loss, total, base, y, weights, none, threads)
        for k in range(outputs):
            for i in range(0, n, 7):
                moved = []
                for step in (1e-6, -1e-6):
                    other = total.copy()
                    other[k, i] += step
                    moved.append(gradients.in_parts(loss, other, base, y, weights, none, threads))
                slope = (moved[0] - moved[1]) / 2e-6
                weight = weights[i] if weighted else 1.0
                assert slope == pytest.approx(-out[k, i] * weight, abs=1e-7)


def test_log_losses_are_accurate_far_out():
    with Threads(1) as threads:
        for score, y in ((800.0, 0.0), (-800.0, 1.0), (30.0, 1.0), (0.0, 1.0), (1e-9, 0.0)):
            loss = gradients.in_parts(
                gradients.logistic, np.array([[score]]), np.zeros(1), np.array([y]), np.empty(0),
                np.empty((1, 0)), threads,
            )  # fmt: skip
            exact = np.logaddexp(0.0, -score if y else score)
            assert loss == pytest.approx(exact, rel=1e-14)


def test_ties_go_to_lower_price_then_feature_then_node():
    gain = np.array([[5.0, 7.0, 6.0], [7.0, 5.0, -np.inf]])
    prices = np.array([[1.0, 1.0, 0.0]])
    pending = np.array([True, True])
    none = np.empty((0, 3))
    # at rate 1: net 4, 6, 6 and 6, 4: the free feature 2 of node 0 first
    assert splitting.choose(gain, 1.0, prices, 1.0, pending, 0.0, none) == 2
    # at rate 0: net 7 twice at the same price: the lower feature, of node 1
    assert splitting.choose(gain, 1.0, np.ones((1, 3)), 0.0, pending, 0.0, none) == 3
    pending[1] = False
    assert splitting.choose(gain, 1.0, np.ones((1, 3)), 0.0, pending, 0.0, none) == 1
    assert splitting.choose(gain, 1.0, np.ones((1, 3)), 0.0, pending, 7.0, none) == -1
    assert splitting.choose(gain, 1.0, np.ones((1, 3)), 1e6, pending, -np.inf, none) == 1


def test_noise_chooses_among_splits_of_a_node_that_cost_nothing_and_never_what_is_bought():
    gain = np.array([[5.0, 4.0, 8.0, 0.0], [1.0, 3.0, -np.inf, 4.9]])
    prices, pending = np.array([[0.0, 0.0, 2.0, 0.0]]), np.array([True, True])
    factor = np.array([[1.0, 2.0, 99.0, 99.0], [99.0, 1.0, 99.0, 1.0]])

    def pick(rate, floor=0.0):
        return splitting.choose(gain, 1.0, prices, rate, pending, floor, factor)

    assert pick(1.0) == 2  # net 5, 4, 6, 0: bought, as without noise
    assert pick(2.0) == 1  # net 5, 4, 4, 0: of the costless ones 5 and 8 with noise
    assert pick(2.0, 4.5) == 0  # that of 4 is not worth the floor
    assert pick(0.0) == 2  # nothing costs anything
    assert pick(9.0, 5.0) == -1
    pending[0] = False
    assert pick(9.0) == 4
    assert pick(9.0, 1.0) == 7


def test_purchases_wait_until_settled_where_asked_to():
    billion = 10**9
    bought = Purchases(FlatCosts.of([billion] * 2, [[0], [0]], [3 * billion]), at_once=False)
    bought.taken(1)
    assert bought.prices().tolist() == [[4.0, 4.0]]
    bought.settle()
    assert bought.prices().tolist() == [[1.0, 0.0]]
    bought.taken(0)
    bought.taken(0)
    assert bought.total == 5 * billion
    assert bought.order == [1, 0]


def test_a_route_ends_where_the_splits_lead():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (300, 3)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    grown = Grown()
    for _ in range(5):
        grown.add(np.zeros(2))
    grown.feature[:2], grown.cut[:2] = [1, 2], [2 * 1 + 1, 2 * 3]
    grown.left[:2], grown.right[:2] = [1, 3], [2, 4]
    with Threads(2) as threads:
        bins = find_bins(X, np.empty(0, dtype=np.int64), threads)
        layout = Layout.plan(bins)
        words = encode_matrix(X, bins, layout, threads)
        leaf = leaves.Route(grown, layout).leaves(words, threads)
        at_root = np.where(np.isnan(X[:, 1]), True, X[:, 1] <= bins.threshold(1, 1))
        below = np.where(np.isnan(X[:, 2]), False, X[:, 2] <= bins.threshold(2, 3))
        expected = np.where(at_root, np.where(below, 3, 4), 2)
        assert (leaf == expected).all()
        for weights in (np.empty(0, dtype=np.int64), rng.integers(1, 2**20, 300)):
            curvature = rng.integers(0, 2**30, (2, 300))
            for rows in (None, np.arange(0, 300, 3, dtype=np.int32)):
                found = leaves.curvature_sums(leaf, rows, curvature, 30, weights, 5, threads)
                chosen = np.arange(300) if rows is None else rows
                w = weights[chosen] if len(weights) else np.ones(len(chosen))
                for node in range(5):
                    at = leaf[chosen] == node
                    exact = (curvature[:, chosen][:, at] / 2.0**30 * w[at]).sum(axis=1)
                    assert found[node] == pytest.approx(exact, rel=1e-7)


def test_kernels_run_only_with_their_fixed_signatures():
    for compiled in compiling.KERNELS:
        if getattr(compiled, "signatures", None):
            assert len(compiled.signatures) <= len(compiled.worthwhile_signatures), compiled


def test_first_fit_says_that_it_compiles(caplog, monkeypatch):
    with caplog.at_level(logging.WARNING, logger="worthwhile"):
        compiling.say_if_cold(splitting.choose)
        assert caplog.text == ""
        monkeypatch.setattr(compiling, "is_cold", lambda compiled: True)
        compiling.say_if_cold(splitting.choose)
    assert "compiles its kernels, once for this machine" in caplog.text
