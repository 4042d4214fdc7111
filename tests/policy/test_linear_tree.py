from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import linear as naive
from worthwhile.costs import Costs
from worthwhile.policy.base import run_case
from worthwhile.policy.linear_tree import LinearTree, LinearTreePolicy
from worthwhile.policy.output import Output

UPPER = {"tree": [1, 3, -1, -1, -1], "chain": [1, 2, -1], "one": [-1]}
LOWER = {"tree": [2, 4, -1, -1, -1], "chain": [-1, -1, -1], "one": [-1]}


def make(seed, shape="tree", m=1, evaluation=0):
    rng = np.random.default_rng(seed)
    d, k = 6, len(UPPER[shape])
    own = [rng.permutation(d)[: rng.integers(0, 4)] for _ in range(k)]
    entries = sum(len(o) for o in own)
    tree = LinearTree(
        features=np.concatenate(own).astype(np.int32),
        start=np.cumsum([0] + [len(o) for o in own]).astype(np.int32),
        coefficient=rng.normal(size=(entries, m)),
        intercept=rng.normal(size=(k, m)),
        direction=rng.normal(size=(k, m)),
        threshold=0.3 * rng.normal(size=k),
        upper=np.array(UPPER[shape], dtype=np.int32),
        lower=np.array(LOWER[shape], dtype=np.int32),
        mean=rng.normal(size=d),
    )
    costs = Costs(
        rng.integers(0, 5, size=d),
        groups={"g": {"fee": 2, "features": [0, 1, 2]}},
        evaluation=evaluation,
    )
    output = Output("value")
    X = rng.normal(size=(15, d))
    X[rng.random(X.shape) < 0.1] = np.nan
    return LinearTreePolicy(costs, output, tree, 1.7), X


@given(st.integers(0, 100_000), st.sampled_from(list(UPPER)), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_batch_walks_as_the_naive_walk(seed, shape, m):
    policy, X = make(seed, shape, m)
    outcome, leaves = policy.batch(X), policy.leaves(X)
    for i, x in enumerate(X):
        leaf, bought, visited, f = naive.walk(policy.tree, x)
        assert leaves[i] == leaf
        assert set(np.flatnonzero(outcome.acquired[i]).tolist()) == bought
        assert outcome.evaluated[i] == visited
        np.testing.assert_allclose(outcome.raw[i], 1.7 * f, rtol=1e-12)


@given(st.integers(0, 100_000), st.sampled_from(list(UPPER)), st.integers(0, 2), st.integers(0, 20))
@settings(max_examples=60, deadline=None)
def test_one_row_and_a_batch_agree_to_the_bit_under_any_budget(seed, shape, evaluation, budget):
    policy, X = make(seed, shape, 2, evaluation)
    limit = None if budget == 20 else budget * 10**9
    outcome = policy.batch(X, limit)
    quanta = (
        policy.costs.quanta(outcome.acquired) + outcome.evaluated * policy.costs.flat.evaluation
    )
    assert limit is None or (quanta <= limit).all()
    for i, row in enumerate(X):
        raw, bought, evaluated = run_case(policy, row, limit)
        assert raw.tobytes() == outcome.raw[i].tobytes()
        assert np.array_equal(bought, outcome.acquired[i])
        assert evaluated == outcome.evaluated[i]


def test_a_node_below_the_root_is_bought_whole_or_not_at_all():
    tree = LinearTree(
        features=np.array([0, 1, 2], dtype=np.int32), start=np.array([0, 1, 3, 3], dtype=np.int32),
        coefficient=np.array([[1.0], [1.0], [10.0]]), intercept=np.zeros((3, 1)), direction=np.ones((3, 1)),
        threshold=np.zeros(3), upper=np.array([1, -1, -1], dtype=np.int32),
        lower=np.array([2, -1, -1], dtype=np.int32), mean=np.zeros(3),
    )  # fmt: skip
    policy = LinearTreePolicy(Costs([1, 1, 5]), Output("value"), tree)
    x = np.array([[2.0, 3.0, 4.0]])
    assert policy.batch(x, 6 * 10**9).acquired.tolist() == [[True, False, False]]
    assert policy.batch(x, 6 * 10**9).raw[0, 0] == 2.0
    assert policy.batch(x, 7 * 10**9).raw[0, 0] == 43.0
    case = policy.begin()
    assert case.wants(None) == [(0,)]
    case.learn(0, 2.0)
    assert case.wants(None) == [(1, 2)]
    case.refuse((1, 2))
    assert case.wants(None) == []
    assert case.answer().tolist() == [2.0]


def test_the_root_is_bought_in_part_with_means_for_the_rest():
    policy, _ = make(2, "one")
    tree = replace(
        policy.tree, features=np.array([3, 4], dtype=np.int32), start=np.array([0, 2], dtype=np.int32),
        coefficient=np.array([[1.0], [2.0]]), intercept=np.zeros((1, 1)),
        mean=np.array([0.0, 0, 0, 0, 7.0, 0]),
    )  # fmt: skip
    policy = LinearTreePolicy(Costs([1, 1, 1, 2, 3, 1]), Output("value"), tree)
    x = np.arange(6.0)[None, :]
    assert policy.batch(x, 2 * 10**9).raw[0, 0] == 3.0 + 2 * 7.0
    assert policy.batch(x, 0).raw[0, 0] == 0.0 + 2 * 7.0
    assert policy.batch(x, 5 * 10**9).raw[0, 0] == 3.0 + 2 * 4.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": np.array([0, 9, 1, 1, 1, 1], dtype=np.int32)}, "rising list"),
        ({"upper": np.array([1, 0, -1, -1, -1], dtype=np.int32)}, "after its parent"),
        ({"upper": np.array([2, 3, -1, -1, -1], dtype=np.int32)}, "exactly one parent"),
        ({"upper": np.array([9, 3, -1, -1, -1], dtype=np.int32)}, "after its parent"),
        ({"threshold": np.full(5, np.nan)}, "not finite"),
        ({"threshold": np.full(5, 1e101)}, "over 1e"),
        ({"threshold": np.zeros(2)}, "array threshold has shape"),
        ({"mean": np.zeros(2)}, "array mean has shape"),
    ],
)
def test_unsafe_arrays_are_refused(change, message):
    policy, _ = make(0)
    assert policy.tree.problem(6) is None
    settings_, arrays = policy.state()
    with pytest.raises(ValueError, match=message):
        LinearTreePolicy.from_state(policy.costs, policy.output, (settings_, arrays | change))


def test_unsafe_features_and_scales_are_refused():
    policy, _ = make(1)
    settings_, arrays = policy.state()
    assert len(arrays["features"])
    for change, message in (
        (np.full_like(arrays["features"], 6), "not one of the 6 columns"),
        (np.full_like(arrays["features"], -1), "not one of the 6 columns"),
        (np.zeros_like(arrays["features"]), "a feature twice"),
    ):
        with pytest.raises(ValueError, match=message):
            LinearTreePolicy.from_state(
                policy.costs, policy.output, (settings_, arrays | {"features": change})
            )
    with pytest.raises(ValueError, match="scale is None"):
        LinearTreePolicy.from_state(policy.costs, policy.output, ({"scale": None}, arrays))
    output = Output("logits", np.arange(3))
    with pytest.raises(ValueError, match="1 raw outputs for 3"):
        LinearTreePolicy.from_state(policy.costs, output, (settings_, arrays))
    empty = {name: array[:0] for name, array in arrays.items()} | {
        "start": np.zeros(1, dtype=np.int32), "mean": arrays["mean"]
    }  # fmt: skip
    with pytest.raises(ValueError, match="no nodes"):
        LinearTreePolicy.from_state(policy.costs, policy.output, (settings_, empty))
    again = LinearTreePolicy.from_state(policy.costs, policy.output, (settings_, arrays))
    assert again.fingerprint() == policy.fingerprint()
