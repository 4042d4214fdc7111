from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import linear as naive
from worthwhile.core.linear.coordinate_descent import descend


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
@settings(max_examples=30, deadline=None)
def test_coordinate_descent_ends_where_the_conditions_hold(seed, lam):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 6))
    gram, cross = X.T @ X / 50, X.T @ rng.normal(size=(50, 1)) / 50 + rng.normal(size=(6, 1))
    penalty = lam * rng.integers(0, 4, size=6).astype(float)
    B = np.zeros((6, 1))
    rounds = descend(gram, np.ascontiguousarray(cross), penalty, B, cross.copy(), 1e-18, 5000)
    assert 1 <= rounds < 5000
    assert naive.l1_slack(gram, cross, B, penalty) < 1e-6


def test_outputs_share_supports_and_dead_columns_stay_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[:, 3] = 0.0
    gram, cross = X.T @ X / 80, X.T @ np.column_stack([X[:, 0], X[:, 0] + 0.1 * X[:, 1]]) / 80
    B = np.zeros((4, 2))
    descend(gram, np.ascontiguousarray(cross), np.full(4, 0.3), B, cross.copy(), 1e-15, 1000)
    assert (B[0] != 0).all()
    assert (B[1:] == 0).all()
