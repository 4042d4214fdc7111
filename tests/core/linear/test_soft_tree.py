from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import linear as naive
from worthwhile.estimators.linear._cstc_level import Level
from worthwhile.estimators.linear._cstc_objective import (
    EPSILON,
    LogisticObjective,
    Objective,
    Topology,
)

SHAPES = {"tree": Topology.tree(3), "chain": Topology.chain(3), "one": Topology.tree(1)}


def make(seed, shape, m=1, n=25, d=4):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    weight = rng.random(n)
    member = np.column_stack([np.eye(d), (np.arange(d) < 2).astype(float)])
    topology = SHAPES[shape]
    objective = Objective(
        [X[:10], X[10:]], rng.normal(size=(n, m)), weight / weight.sum(), rng.normal(size=m), topology,
        rng.random(d + 1), member, 0.07, 0.02, map,
    )  # fmt: skip
    K = topology.n_nodes
    return objective, 0.5 * rng.normal(size=(d + 1, K, m)), 0.3 * rng.normal(size=K)


def make_classes(seed, shape, m, sure=1.0):
    """The same problem with classes instead of numbers, and outputs of any size."""
    o, B, theta = make(seed, shape, m)
    codes = np.random.default_rng(seed).integers(0, 2 if m == 1 else m, len(o.Y))
    Y = np.where(codes == 1, 1.0, -1.0)[:, None] if m == 1 else np.eye(m)[codes]
    parts = (o.blocks, Y, o.weight, o.direction, o.topology, o.price, o.member, o.lam, o.rho, map)
    return LogisticObjective(*parts), sure * B, theta


@given(st.integers(0, 10_000), st.sampled_from(list(SHAPES)), st.sampled_from([1, 3]))
@settings(max_examples=20, deadline=None)
def test_logistic_objective_equals_the_sum_over_rows_and_paths(seed, shape, m):
    o, B, theta = make_classes(seed, shape, m)
    X = np.concatenate(o.blocks)[:, :-1]
    expected = naive.soft_objective(
        X, o.Y, o.weight, B, theta, o.direction, o.topology.upper, o.topology.lower, o.price, o.member,
        o.lam, o.rho, EPSILON, naive.bits,
    )  # fmt: skip
    assert o.value(B, theta)[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3])
def test_logistic_gradient_equals_finite_differences(m):
    o, B, theta = make_classes(3, "tree", m)
    _, G, g_theta, _ = o.value(B, theta)
    step = 1e-6
    for index in np.ndindex(B.shape):
        move = np.zeros_like(B)
        move[index] = step
        up, down = o.value(B + move, theta)[0], o.value(B - move, theta)[0]
        assert (up - down) / (2 * step) == pytest.approx(G[index], abs=1e-6)
    for k in range(len(theta)):
        move = step * (np.arange(len(theta)) == k)
        up, down = o.value(B, theta + move)[0], o.value(B, theta - move)[0]
        assert (up - down) / (2 * step) == pytest.approx(g_theta[k], abs=1e-6)


@pytest.mark.parametrize("m", [1, 3])
def test_logistic_objective_stays_finite_where_outputs_are_huge(m):
    o, B, theta = make_classes(4, "tree", m, sure=1e4)
    value, G, _, _ = o.value(B, theta)
    assert np.isfinite(value)
    assert np.isfinite(G).all()


@given(st.integers(0, 10_000), st.sampled_from(list(SHAPES)), st.integers(1, 2))
@settings(max_examples=20, deadline=None)
def test_objective_equals_the_sum_over_rows_and_paths(seed, shape, m):
    o, B, theta = make(seed, shape, m)
    X = np.concatenate(o.blocks)[:, :-1]
    value, _, _, ends = o.value(B, theta)
    expected = naive.soft_objective(
        X, o.Y, o.weight, B, theta, o.direction, o.topology.upper, o.topology.lower, o.price, o.member,
        o.lam, o.rho, EPSILON,
    )  # fmt: skip
    assert value == pytest.approx(expected, rel=1e-12)
    assert ends.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("bounded", [False, True])
def test_gradient_equals_finite_differences(shape, bounded):
    o, B, theta = make(3, shape, 2)
    bounds = o.bounds(1.5 * B) if bounded else None
    _, G, g_theta, _ = o.value(B, theta, bounds=bounds)
    step = 1e-6
    for index in np.ndindex(B.shape):
        move = np.zeros_like(B)
        move[index] = step
        up, down = (
            o.value(B + move, theta, bounds=bounds)[0],
            o.value(B - move, theta, bounds=bounds)[0],
        )
        assert (up - down) / (2 * step) == pytest.approx(G[index], abs=1e-6)
    for k in range(len(theta)):
        move = step * (np.arange(len(theta)) == k)
        up, down = (
            o.value(B, theta + move, bounds=bounds)[0],
            o.value(B, theta - move, bounds=bounds)[0],
        )
        assert (up - down) / (2 * step) == pytest.approx(g_theta[k], abs=1e-6)


@given(st.integers(0, 10_000), st.sampled_from(list(SHAPES)))
@settings(max_examples=20, deadline=None)
def test_bounds_are_above_and_touch(seed, shape):
    o, B, theta = make(seed, shape)
    value = o.value(B, theta)[0]
    assert o.value(B, theta, bounds=o.bounds(B))[0] == pytest.approx(value, rel=1e-12)
    assert o.value(B, theta, bounds=o.bounds(0.3 * B))[0] >= value


def test_gradient_of_some_nodes_is_a_part_of_the_whole():
    o, B, theta = make(5, "tree")
    _, G, g_theta, _ = o.value(B, theta)
    _, part, part_theta, _ = o.value(B, theta, o.outputs(B), None, [3, 5])
    np.testing.assert_allclose(part, G[:, [3, 5]], rtol=1e-12)
    np.testing.assert_allclose(part_theta, g_theta[[3, 5]], rtol=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(list(SHAPES)), st.integers(1, 2), st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_level_with_its_surroundings_fixed_is_the_whole_objective(seed, shape, m, bounded):
    o, B, theta = make(seed, shape, m)
    F = o.outputs(B)
    bounds = o.bounds(0.5 * B) if bounded else None
    rng = np.random.default_rng(seed)
    for nodes in o.topology.levels():
        moved, moved_theta = B.copy(), theta.copy()
        moved[:, nodes] += 0.1 * rng.normal(size=moved[:, nodes].shape)
        moved_theta[nodes] += 0.1 * rng.normal(size=len(nodes))
        own = o.outputs(np.ascontiguousarray(moved[:, nodes]))
        value, G, slopes, ends = Level(o, nodes, F, theta).value(moved, moved_theta, own, bounds)
        expected = o.value(moved, moved_theta, bounds=bounds)
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(G, expected[1][:, nodes], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(slopes, expected[2][nodes], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ends, expected[3], rtol=1e-9, atol=1e-12)
