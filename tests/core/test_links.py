"""Links: right numbers, no overflow, and one row alone gives the bits it gives in a batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core import links

scores = st.lists(st.floats(-900, 900), min_size=1, max_size=40)


@settings(max_examples=50, deadline=None)
@given(raw=scores)
def test_sigmoid_equals_its_definition(raw):
    expected = [1 / (1 + math.exp(-x)) if x > -700 else 0.0 for x in raw]
    np.testing.assert_allclose(links.sigmoid(raw), expected, rtol=1e-14, atol=1e-300)
    np.testing.assert_allclose(
        links.log_sigmoid(raw),
        [-math.log1p(math.exp(-x)) if x > -30 else x for x in raw],
        rtol=1e-12,
    )


@settings(max_examples=50, deadline=None)
@given(
    raw=st.lists(st.lists(st.floats(-900, 900), min_size=3, max_size=3), min_size=1, max_size=20)
)
def test_softmax_equals_its_definition(raw):
    soft = links.softmax(raw)
    for row, values in zip(soft, raw, strict=True):
        top = max(values)
        powers = [math.exp(v - top) for v in values]
        np.testing.assert_allclose(row, [p / math.fsum(powers) for p in powers], rtol=1e-13, atol=0)
    assert abs(soft.sum(axis=1) - 1).max() < 1e-12
    for row, values in zip(links.log_softmax(raw), raw, strict=True):
        top = max(values)
        log_sum = math.log(math.fsum(math.exp(v - top) for v in values))
        np.testing.assert_allclose(row, [v - top - log_sum for v in values], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 33, 1000])
def test_a_row_alone_has_the_bits_it_has_in_a_batch(n):
    raw = np.random.default_rng(n).normal(scale=9, size=(n, 4))
    for link in (links.softmax, links.log_softmax, links.row_sums):
        batch = link(raw)
        assert all(link(raw[[i]])[0].tobytes() == batch[i].tobytes() for i in range(n))
        assert link(np.asfortranarray(raw)).tobytes() == batch.tobytes()
    for link in (links.sigmoid, links.log_sigmoid):
        batch = link(raw[:, 1])
        assert all(link(raw[i : i + 1, 1])[0] == batch[i] for i in range(n))


def test_extremes_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert links.sigmoid([1e308, -1e308]).tolist() == [1.0, 0.0]
        assert links.softmax([[8e307, -8e307]]).tolist() == [[1.0, 0.0]]
        assert links.log_sigmoid([-1e308]).tolist() == [-1e308]


def test_row_sums_add_from_left_to_right():
    row = [1e16, 1.0, -1e16, 1.0]
    assert links.row_sums(np.array([row])).tolist() == [((1e16 + 1.0) - 1e16) + 1.0]
