"""The two half steps of ADAPT against generic solvers, and what must hold for any input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import adapt as naive
from worthwhile import Costs
from worthwhile.core import links
from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators.gates._linear_fista import Problem, Weights, solve, spread
from worthwhile.estimators.gates._shares import nearest_log_odds, shares_kl, shares_lstsq

seeds = st.integers(0, 10_000)


def losses(seed, n=12, scale=3.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * scale, rng.exponential(size=n) * 2, rng.exponential(size=n) * 2


@given(seeds, st.floats(0.02, 0.98))
@settings(max_examples=25, deadline=None)
def test_opt1_matches_a_generic_convex_solver(seed, p_full):
    gate, l1, l0 = losses(seed, scale=1.0)
    found = shares_kl(gate, l1 - l0, p_full)
    expected = naive.opt1(gate, l1, l0, p_full)
    assert naive.opt1_value(found.q, gate, l1, l0) <= (
        naive.opt1_value(expected, gate, l1, l0) + 1e-9
    )
    np.testing.assert_allclose(found.q, expected, atol=2e-5)


@given(seeds, st.floats(0.0, 1.0), st.floats(0.1, 30))
@settings(max_examples=50, deadline=None)
def test_opt1_is_feasible_with_complementary_slackness(seed, p_full, scale):
    gate, l1, l0 = losses(seed, n=50, scale=scale)
    found = shares_kl(gate, l1 - l0, p_full)
    assert found.beta >= 0
    assert np.mean(found.q) <= p_full
    if 0 < found.beta < np.inf:
        assert np.mean(found.q) == pytest.approx(p_full, abs=1e-8)


def test_opt1_does_not_change_when_both_losses_shift():
    gate, l1, l0 = losses(0, n=40)
    one, other = shares_kl(gate, l1 - l0, 0.3), shares_kl(gate, (l1 + 8) - (l0 + 8), 0.3)
    np.testing.assert_allclose(one.q, other.q, atol=1e-12)


def test_opt1_sends_nobody_at_zero_and_is_free_at_one():
    gate, l1, l0 = losses(1, n=40)
    assert not shares_kl(gate, l1 - l0, 0.0).q.any()
    np.testing.assert_array_equal(shares_kl(gate, l1 - l0, 1.0).q, links.sigmoid(gate + (l1 - l0)))


def test_opt1_with_equality_reaches_the_share_from_below_too():
    gate, l1, l0 = losses(2, n=40)
    at_most = shares_kl(gate - 9, l1 - l0, 0.6)
    equal = shares_kl(gate - 9, l1 - l0, 0.6, equal=True)
    assert np.mean(at_most.q) < 0.2
    assert np.mean(equal.q) == pytest.approx(0.6, abs=1e-8)
    assert equal.beta < 0
    assert shares_kl(gate, l1 - l0, 1.0, equal=True).q.tolist() == [1.0] * 40


def test_opt1_survives_huge_scores():
    found = shares_kl(np.array([1e4, -1e4, 0.0]), np.array([0.0, 0.0, 30.0]), 0.5)
    assert np.isfinite(found.q).all()
    assert np.mean(found.q) <= 0.5


@given(seeds, st.floats(0.05, 3.0))
@settings(max_examples=20, deadline=None)
def test_lstsq_rows_find_the_global_minimum(seed, kappa):
    rng = np.random.default_rng(seed)
    gate, slope = rng.normal(size=6) * 4, rng.normal(size=6) * 15
    found = nearest_log_odds(gate, slope, kappa)
    for s, g, c in zip(found, gate, slope, strict=True):
        best = naive.lstsq_log_odds(g, c, kappa)

        def value(x, g=g, c=c):
            return c * links.sigmoid(x) + kappa * (x - g) ** 2

        assert value(s) <= value(best) + 1e-8


def test_lstsq_rows_with_two_minima_are_searched_beside_rows_with_one():
    gate, slope, kappa = np.array([4.25, 1.0]), np.array([25.0, 0.0]), 0.64
    found = nearest_log_odds(gate, slope, kappa)
    best = naive.lstsq_log_odds(gate[0], slope[0], kappa)
    np.testing.assert_allclose(found, [best, 1.0], atol=1e-5)


@given(seeds, st.floats(0.01, 1.0))
@settings(max_examples=20, deadline=None)
def test_lstsq_shares_keep_the_limit(seed, p_full):
    gate, l1, l0 = losses(seed, n=40)
    found = shares_lstsq(gate, l1 - l0, p_full, 1.0)
    assert np.mean(found.q) <= p_full
    assert found.beta >= 0
    assert np.abs(found.log_odds).max() <= 12


def problem_of(seed, n=60, d=4, n_classes=2, kappa=0.0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    q = rng.random(n)
    s = rng.normal(size=n)
    return Problem(Z, rng.integers(0, n_classes, n), n_classes, q, s, kappa, spread(Z))


def zeros(problem):
    k = 1 + problem.n_cheap
    return Weights(np.zeros((problem.Z.shape[1], k)), np.zeros(k))


PRICES = [
    Costs([1, 2, 1, 4]),
    Costs([0, 1, 1, 2], {"sensor": {"fee": 3, "features": [1, 2]}}),
    Costs([0, 0, 1, 0], {"a": {"fee": 2, "features": [0, 1]}, "b": {"fee": 1, "features": [3]}}),
]


@pytest.mark.parametrize("costs", PRICES)
@pytest.mark.parametrize(("n_classes", "kappa"), [(2, 0.0), (3, 0.0), (2, 1.0)])
def test_opt2_matches_a_generic_solver(costs, n_classes, kappa):
    for seed, gamma in ((0, 0.003), (1, 0.02), (2, 0.2)):
        problem, penalty = (
            problem_of(seed, n_classes=n_classes, kappa=kappa),
            PricePenalty.of(costs, gamma),
        )
        weights, value = solve(problem, penalty, zeros(problem), tol=1e-13, max_iter=20_000)
        given_ = (
            problem.Z, problem.codes, problem.q, problem.log_odds, kappa, penalty.price, penalty.members, penalty.fee,
        )  # fmt: skip
        assert value == pytest.approx(naive.opt2_value(*weights, *given_), abs=1e-12)
        generic = naive.opt2(*given_[:2], problem.n_cheap, *given_[2:])
        assert value <= generic + 1e-7
        assert value == pytest.approx(generic, abs=5e-4)


@given(seeds, st.floats(0.0, 0.3), st.sampled_from([2, 3]), st.sampled_from([0.0, 0.5, 2.0]))
@settings(max_examples=30, deadline=None)
def test_opt2_never_ends_above_its_start(seed, gamma, n_classes, kappa):
    problem = problem_of(seed, n_classes=n_classes, kappa=kappa)
    rng = np.random.default_rng(seed)
    k = 1 + problem.n_cheap
    start = Weights(rng.normal(size=(4, k)) * 3, rng.normal(size=k))
    penalty = PricePenalty.of(PRICES[seed % 3], gamma)
    first = problem.value(start.scores(problem.Z)) + penalty.value(start.coef)
    for steps in (1, 5, 40):
        weights, value = solve(problem, penalty, start, tol=0, max_iter=steps)
        assert value <= first
        assert value == problem.value(weights.scores(problem.Z)) + penalty.value(weights.coef)


def test_a_sensor_enters_or_stays_out_as_a_whole():
    problem = problem_of(5)
    costs = Costs(
        [0, 0, 0, 0], {"a": {"fee": 1, "features": [0, 1]}, "b": {"fee": 1, "features": [2, 3]}}
    )
    for gamma in np.geomspace(0.01, 1, 12):
        weights, _ = solve(
            problem, PricePenalty.of(costs, gamma), zeros(problem), tol=1e-12, max_iter=5000
        )
        used = (weights.coef != 0).any(axis=1)
        assert used[0] == used[1]
        assert used[2] == used[3]
