"""Greedy paths of forward selection against the naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import selection as naive
from worthwhile.core.selection.oracle_paths import follow_paths


def follow(raw, adds, labels, bought, own, fee, touches, lam, logit=False):
    m, n_factors = bought.shape
    found = np.empty(m), np.empty((m, n_factors)), np.empty(m, dtype=np.int64), np.empty(m)
    total = int(own.sum() + fee.sum())
    rows = np.arange(m)
    follow_paths(
        raw, adds, rows, labels, bought, own, fee, touches, total, lam, logit, 0, m, *found
    )
    return found


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(2, 4), st.sampled_from([0.0, 0.5]))
def test_paths_are_those_of_the_naive_twin(seed, n_factors, n_classes, lam):
    rng = np.random.default_rng(seed)
    m, base = 4, rng.normal(size=n_classes)
    adds = 2 * rng.normal(size=(m, n_factors, n_classes))
    labels, own = rng.integers(0, n_classes, m), rng.integers(1, 9, n_factors)
    fee, touches = np.array([5]), np.zeros((n_factors, 1), dtype=bool)
    touches[[0, -1]] = True
    bought = rng.random((m, n_factors)) < 0.4
    bought[:, rng.integers(n_factors)] = False
    raw = base + np.einsum("mf,mfk->mk", bought, adds)
    here, actions, best, later = follow(raw, adds, labels, bought, own, fee, touches, lam)
    for i in range(m):
        row = {
            "base": base.tolist(), "adds": adds[i].tolist(), "price": own.tolist(),
            "groups": [(5, sorted({0, n_factors - 1}))], "label": int(labels[i]),
        }  # fmt: skip
        known = set(np.flatnonzero(bought[i]).tolist())
        states, factors = naive.greedy_path(row, known, lam)
        rewards = [naive.reward(row, state, lam) for state in states]
        assert here[i] == pytest.approx(rewards[0])
        assert best[i] == factors[0]
        assert later[i] == pytest.approx(max(rewards[1:]))
        for f in range(n_factors):
            expected = -np.inf if f in known else naive.reward(row, known | {f}, lam)
            assert actions[i, f] == pytest.approx(expected)


def test_ties_go_to_the_first_factor_and_logits_may_be_the_margin():
    adds = np.array([[[0.0, 1.0], [0.0, 1.0], [3.0, 0.0]]])
    bought = np.zeros((1, 3), dtype=bool)
    own, fee, touches = np.ones(3, dtype=np.int64), np.zeros(0, np.int64), np.zeros((3, 0), bool)
    label = np.array([1])
    here, actions, best, later = follow(
        np.zeros((1, 2)), adds, label, bought, own, fee, touches, 0.3, logit=True
    )
    assert best.tolist() == [0]
    assert here.tolist() == [0.0]
    assert actions[0] == pytest.approx([0.9, 0.9, -3.1])
    assert later == pytest.approx([1.8])


def test_huge_logits_neither_overflow_nor_lose_the_sign():
    adds = np.array([[[800.0, -800.0], [-1600.0, 1600.0]]])
    own, fee, touches = np.ones(2, dtype=np.int64), np.zeros(0, np.int64), np.zeros((2, 0), bool)
    bought = np.zeros((1, 2), dtype=bool)
    _, actions, best, later = follow(
        np.zeros((1, 2)), adds, np.array([1]), bought, own, fee, touches, 0.0
    )
    assert actions.tolist() == [[-1.0, 1.0]]
    assert (best[0], later[0]) == (1, 1.0)
