from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import linear as naive
from worthwhile.core.linear import moments as mo


def make(seed, n=40, d=5, m=2, holes=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(3.0, 2.0, size=(n, d)).astype(np.float32)
    if holes:
        X[rng.random((n, d)) < 0.1] = np.nan
    return X, rng.normal(size=(n, m)), rng.random(n) + 0.1


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_moments_equal_the_sum_over_rows(seed, holes):
    X, Y, weight = make(seed, holes=holes)
    shift, hole_columns = mo.column_means(X, weight)
    M = mo.moments(mo.WeightedRows(X, Y, shift, hole_columns, weight=weight))
    np.testing.assert_allclose(
        M, naive.moments(X.astype(float), Y, shift, weight), rtol=1e-10, atol=1e-10
    )


def test_column_means_leave_out_what_is_missing():
    X, _, weight = make(1)
    means, holes = mo.column_means(X, weight)
    there = ~np.isnan(X)
    expected = np.where(there, X, 0).astype(float).T @ weight / (there.T @ weight)
    np.testing.assert_allclose(means, expected, rtol=1e-12)
    assert holes.tolist() == np.flatnonzero(~there.all(axis=0)).tolist()
    assert mo.column_means(np.full((3, 1), np.nan))[0].tolist() == [0.0]


def test_blocks_do_not_change_the_sums_and_threads_do_not_change_a_bit(monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    X, Y, weight = make(2, n=300)
    shift, holes = mo.column_means(X)
    rows = mo.WeightedRows(X, Y, shift, holes, weight=weight)
    whole = mo.moments(rows)
    monkeypatch.setattr(mo, "BLOCK_ROWS", 32)
    blocked = mo.moments(rows)
    np.testing.assert_allclose(blocked, whole, rtol=1e-12, atol=1e-12)
    with ThreadPoolExecutor(3) as pool:
        assert np.array_equal(mo.moments(rows, pool.map), blocked)


def test_columns_and_border_are_parts_of_the_moments():
    X, Y, weight = make(3)
    shift, holes = mo.column_means(X)
    index = np.flatnonzero(np.arange(40) % 3)
    rows = mo.WeightedRows(X, Y, shift, holes, index, weight)
    M, d = mo.moments(rows), X.shape[1]
    np.testing.assert_allclose(mo.moment_columns(rows, [3, 0]), M[:, [3, 0]], rtol=1e-12)
    diagonal, border = mo.moment_border(rows)
    np.testing.assert_allclose(diagonal, np.diagonal(M), rtol=1e-12)
    np.testing.assert_allclose(border, M[:, d:], rtol=1e-12)
    full, part = mo.Centred.of(M, d), mo.Centred.of_border(diagonal, border, d)
    np.testing.assert_allclose(part.cross, full.cross, rtol=1e-9, atol=1e-12)
    rebuilt = part.centre_columns(mo.moment_columns(rows, [1, 4]), np.array([1, 4]))
    np.testing.assert_allclose(rebuilt, full.gram[[1, 4]], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("soft", [False, True])
def test_sibling_is_parent_minus_child(soft):
    X, Y, _ = make(4, n=200)
    shift, holes = mo.column_means(X)
    share = np.random.default_rng(0).random(200)
    if not soft:
        share = (share > 0.4).astype(float)
    child = mo.WeightedRows(X, Y, shift, holes, weight=share)
    other = mo.WeightedRows(X, Y, shift, holes, weight=1.0 - share)
    parent = mo.moments(mo.WeightedRows(X, Y, shift, holes))
    found = mo.sibling(parent, mo.moments(child), other)
    np.testing.assert_allclose(found, mo.moments(other), rtol=1e-9, atol=1e-9)


def test_a_column_lost_in_the_subtraction_is_computed_again():
    n = 100
    X = np.zeros((n, 2))
    X[:, 0] = 1e-9 * np.arange(n)
    X[:10, 0] = 1e6  # the light child holds nearly all of this column's square
    X[:, 1] = np.arange(n)
    Y, shift = np.ones((n, 1)), np.zeros(2)
    light, heavy = np.arange(10), np.arange(10, n)
    none = np.array([], dtype=int)
    parent = mo.moments(mo.WeightedRows(X, Y, shift, none))
    rows = mo.WeightedRows(X, Y, shift, none, heavy)
    found = mo.sibling(parent, mo.moments(mo.WeightedRows(X, Y, shift, none, light)), rows)
    np.testing.assert_allclose(found, mo.moments(rows), rtol=1e-12)
