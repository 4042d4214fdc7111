"""The penalty of prices and fees against loops, and FISTA against scikit-learn's lasso."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso

from tests.naive import proximal as naive
from worthwhile import Costs
from worthwhile.estimators._shared.proximal import PricePenalty, fista

seeds = st.integers(0, 10_000)
steps = st.floats(0.01, 3)


def penalty_of(seed, d=7):
    """Prices, some of them 0, and three groups, one of them without members."""
    rng = np.random.default_rng(seed)
    price = rng.exponential(size=d) * (rng.random(d) < 0.8)
    group = rng.choice([-1, 0, 1], size=d)
    return PricePenalty(price, group[:, None] == np.arange(3), rng.exponential(size=3))


def nested_penalty(seed, d=7):
    """Groups within groups, two of them with the same members."""
    rng = np.random.default_rng(seed)
    inner = rng.random(d) < 0.4
    outer, other = (
        inner | (rng.random(d) < 0.3),
        ~inner & (rng.random(d) < 0.5) & (rng.random() < 0.5),
    )
    other &= ~outer
    members = np.column_stack([outer, inner, other, inner, np.ones(d, dtype=bool)])
    price = rng.exponential(size=d) * (rng.random(d) < 0.8)
    return PricePenalty(price, members, rng.exponential(size=5) * 0.5)


def tangled_penalty(seed, d=7):
    """Groups that share rows in any pattern."""
    rng = np.random.default_rng(seed)
    price = rng.exponential(size=d) * (rng.random(d) < 0.8)
    return PricePenalty(price, rng.random((d, 4)) < 0.5, rng.exponential(size=4) * 0.5)


ANY = [penalty_of, nested_penalty, tangled_penalty]


def parts(penalty):
    return penalty.price, penalty.members, penalty.fee


def least_squares(seed, n=60, d=7, k=2):
    """Gradient and curvature of half a mean of squares."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3)
    Y = X @ (rng.normal(size=(d, k)) * (rng.random((d, 1)) < 0.5)) + rng.normal(size=(n, k))
    gram, cross = X.T @ X / n, X.T @ Y / n
    return X, Y, lambda W: gram @ W - cross, float(np.linalg.eigvalsh(gram)[-1])


@given(seeds, steps, st.sampled_from([penalty_of, nested_penalty]))
@settings(max_examples=50, deadline=None)
def test_penalty_and_proximal_step_are_those_of_the_loops(seed, step, kind):
    penalty, W = kind(seed), np.random.default_rng(seed).normal(size=(7, 3)) * 2
    W[seed % 7] = 0.0
    assert penalty.value(W) == pytest.approx(naive.penalty(W, *parts(penalty)), abs=1e-12)
    expected = naive.prox(W, step, *parts(penalty))
    np.testing.assert_allclose(penalty.prox(W, step), expected, atol=1e-12)


@given(seeds, steps, st.sampled_from(ANY))
@settings(max_examples=50, deadline=None)
def test_proximal_step_is_the_minimum_that_defines_it(seed, step, kind):
    rng = np.random.default_rng(seed)
    penalty, W = kind(seed), rng.normal(size=(7, 3)) * 2

    def value(V):
        return np.sum((V - W) ** 2) / 2 + step * penalty.value(V)

    found = penalty.prox(W, step)
    nearby = [found + rng.normal(size=W.shape) * size for size in (1e-4, 1e-2, 1.0) for _ in "123"]
    nearby += [found * (rng.random((7, 1)) < 0.5) for _ in "123"]
    assert value(found) <= min(map(value, nearby)) + 1e-12


def test_a_proximal_step_leaves_its_argument_alone():
    penalty, W = penalty_of(0), np.ones((7, 2))
    penalty.prox(W, 1.0)
    assert (W == 1.0).all()


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_some_rows_with_a_free_intercept_are_shrunk_as_among_all(seed):
    penalty = penalty_of(seed)
    rng = np.random.default_rng(seed)
    W, rows = rng.normal(size=(7, 2)), np.flatnonzero(rng.random(7) < 0.6)
    W[np.setdiff1d(np.arange(7), rows)] = 0.0
    small = penalty.select(rows).with_intercept()
    out = small.prox(np.vstack([W[rows], [5.0, -6.0]]), 0.4)
    np.testing.assert_array_equal(out[:-1], penalty.prox(W, 0.4)[rows])
    assert out[-1].tolist() == [5.0, -6.0]


def test_prices_and_fees_are_those_of_the_costs():
    costs = Costs([1, 0, 2.5], {"g": {"fee": 2, "features": [1, 2]}})
    penalty = PricePenalty.of(costs, 10.0)
    assert penalty.price.tolist() == [10.0, 0.0, 25.0]
    assert penalty.members.tolist() == [[False], [True], [True]]
    assert penalty.fee.tolist() == [20.0]
    assert PricePenalty.of(costs).price.tolist() == [1.0, 0.0, 2.5]


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
def test_fista_finds_the_lasso_of_scikit_learn(alpha):
    X, Y, gradient, curvature = least_squares(3, k=1)
    price = np.array([1.0, 2, 3, 1, 5, 1, 2]) * alpha
    penalty = PricePenalty(price, np.zeros((7, 0), dtype=bool), np.zeros(0))
    found, taken = fista(
        gradient, penalty.prox, np.zeros((7, 1)), curvature, tol=1e-24, max_iter=5000
    )
    lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-14, max_iter=10**6)
    lasso.fit(X / (price / alpha), Y[:, 0])
    np.testing.assert_allclose(found[:, 0], lasso.coef_ / (price / alpha), atol=1e-9)
    assert ((found[:, 0] == 0) == (lasso.coef_ == 0)).all()
    assert taken < 5000  # it ended by itself


@given(seeds, st.floats(0.01, 1))
@settings(max_examples=30, deadline=None)
def test_fista_ends_where_the_optimality_conditions_hold(seed, strength):
    _, _, gradient, curvature = least_squares(seed)
    whole = penalty_of(seed)
    penalty = PricePenalty(strength * whole.price, whole.members, strength * whole.fee)
    start = np.random.default_rng(seed).normal(size=(7, 2))
    found, _ = fista(gradient, penalty.prox, start, curvature, tol=1e-24, max_iter=20_000)
    assert naive.lasso_slack(gradient(found), found, *parts(penalty)) < 1e-8


def test_momentum_and_its_restart_save_steps():
    """Without momentum a badly conditioned problem takes many more; without restart, it swings."""
    scale = np.geomspace(1, 1000, 20)[:, None]

    def gradient(W):
        return scale * (W - 1.0)

    def keep(W, step):
        return W

    start = np.zeros((20, 1))
    found, taken = fista(gradient, keep, start, 1000.0, tol=1e-20, max_iter=10_000)
    np.testing.assert_allclose(found, 1.0, atol=1e-7)
    assert taken < 2000


def test_fista_stops_at_the_most_steps_and_counts_them():
    _, _, gradient, curvature = least_squares(1)
    prox = penalty_of(1).prox
    one, taken = fista(gradient, prox, np.zeros((7, 2)), curvature, tol=0, max_iter=1)
    assert taken == 1
    plain = prox(-gradient(np.zeros((7, 2))) / curvature, 1 / curvature)
    np.testing.assert_allclose(one, plain, rtol=1e-12)


@given(seeds, st.sampled_from(ANY))
@settings(max_examples=30, deadline=None)
def test_nothing_priced_enters_at_the_silencing_strength(seed, kind):
    rng = np.random.default_rng(seed)
    penalty, gradient = kind(seed), rng.normal(size=(7, 2))
    top = penalty.silencing(gradient)
    out = penalty.prox(-gradient, top * (1 + 1e-12))
    total = penalty.price + penalty.members @ penalty.fee
    assert not out[total > 0].any()
    single = PricePenalty(penalty.price, np.zeros((7, 0), dtype=bool), np.zeros(0))
    if (penalty.price > 0).any():
        assert single.prox(-gradient, 0.999 * single.silencing(gradient))[penalty.price > 0].any()
