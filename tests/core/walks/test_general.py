"""Compiled walks against their naive twin, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import opens_of, random_costs, random_rows, random_trees
from tests.naive import walk as naive
from worthwhile.core.trees import Trees
from worthwhile.core.walks import general as walk
from worthwhile.core.walks import shallow
from worthwhile.policy import Output, TreePolicy

KINDS = st.sampled_from(
    [
        {"n_outputs": 1},
        {"n_outputs": 3},
        {"n_outputs": 3, "vector": True},
        {"n_outputs": 1, "average": True},
        {"n_outputs": 2, "vector": True, "average": True, "single": True},
        {"n_outputs": 1, "single": True},
        {"n_outputs": 2, "depth": 0},
        {"n_outputs": 1, "categories": True},
        {"n_outputs": 2, "vector": True, "single": True, "categories": True},
    ]
)


def policy_of(rng, kind, n_trees, evaluation=0):
    trees = random_trees(rng, n_trees=n_trees, **kind)
    return TreePolicy(random_costs(rng, evaluation=evaluation), Output("value"), trees)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), kind=KINDS, n_trees=st.integers(1, 6))
def test_unlimited_walks_equal_the_twin(seed, kind, n_trees):
    rng = np.random.default_rng(seed)
    policy, X = policy_of(rng, kind, n_trees), random_rows(rng, 19)
    outcome = policy.batch(X)
    for row, values in enumerate(X):
        raw, bought = naive.walk(policy.trees, values)
        assert outcome.raw[row].tolist() == raw
        assert set(np.flatnonzero(outcome.acquired[row])) == bought
    assert (outcome.evaluated == n_trees).all()
    unbilled = policy.batch(X, billed=False)
    assert unbilled.raw.tobytes() == outcome.raw.tobytes()
    assert len(unbilled.acquired) == 0


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), kind=KINDS, n_trees=st.integers(1, 6),
    evaluation=st.sampled_from(["0", "0.4"]), budget=st.integers(0, 120),
)  # fmt: skip
def test_limited_walks_equal_the_twin(seed, kind, n_trees, evaluation, budget):
    rng = np.random.default_rng(seed)
    policy, X = policy_of(rng, kind, n_trees, evaluation), random_rows(rng, 11)
    limit = budget * 10**8
    outcome, flat = policy.batch(X, limit), policy.costs.flat
    prices = flat.price.tolist(), opens_of(flat), flat.fee.tolist(), flat.evaluation
    for row, values in enumerate(X):
        raw, bought, used, spent = naive.walk_limited(policy.trees, values, *prices, limit)
        assert outcome.raw[row].tolist() == raw
        assert set(np.flatnonzero(outcome.acquired[row])) == bought
        assert outcome.evaluated[row] == used
        assert spent <= limit
        assert spent == int(policy.costs.quanta(outcome.acquired[row])) + used * flat.evaluation


def test_an_ensemble_without_trees_says_its_base_and_buys_nothing():
    for average in (False, True):
        trees = Trees.build([], [], [], [], np.zeros((0, 2)), [], [0.25, 0.75], average=average)
        policy = TreePolicy(random_costs(np.random.default_rng(0)), Output("value"), trees)
        for limit in (None, 0, 10**9):
            outcome = policy.batch(np.zeros((3, 5)), limit)
            assert outcome.raw.tolist() == [[0.25, 0.75]] * 3
            assert not outcome.acquired.any()
            assert (outcome.evaluated == 0).all()


def test_float32_rows_and_single_trees_compare_in_float32():
    tenth = np.float32(0.1)
    stump = {
        "feature": [0, -1, -1], "threshold": [float(tenth), 0, 0], "left": [1, -1, -1],
        "right": [2, -1, -1], "value": [[0.0], [1.0], [2.0]], "root": [0], "base": [0.0],
    }  # fmt: skip
    costs = random_costs(np.random.default_rng(0), 1 + 1)
    double = TreePolicy(costs, Output("value"), Trees.build(**stump))
    single = TreePolicy(costs, Output("value"), Trees.build(**stump, single=True))
    just_above = np.array([[np.nextafter(float(tenth), 1), 0.0]])
    assert double.batch(just_above).raw.item() == 2.0
    assert single.batch(just_above).raw.item() == 1.0, "rounded to float32, it is the threshold"
    assert double.batch(just_above.astype(np.float32)).raw.item() == 1.0


@pytest.mark.parametrize("n", [0, 1, 511, 512, 8193 + 8])
def test_shares_of_rows_cover_all_rows_once(n):
    rng = np.random.default_rng(n)
    policy, X = policy_of(rng, {"n_outputs": 1}, 3), random_rows(rng, n)
    outcome = policy.batch(X)
    again = np.zeros_like(outcome.raw)
    bought = np.zeros(X.shape, dtype=bool)
    trees = policy.trees
    for row in range(n):
        walk.walk(
            X, trees.packed(), trees.sets, trees.value, trees.root, trees.output, trees.base, trees.average,
            again, bought, row, row + 1,
        )  # fmt: skip
        if row > 40:
            break
    assert again[: min(n, 41)].tobytes() == outcome.raw[: min(n, 41)].tobytes()
    assert (bought[:41] == outcome.acquired[:41]).all()
    for share in (0, n // 2, max(n - 5, 0)):
        part = policy.batch(X[share : share + 5])
        assert part.raw.tobytes() == outcome.raw[share : share + 5].tobytes()


def score(policy, X, billed):
    """Values and purchases by all tests at once, whatever the number of rows."""
    trees = policy.trees
    raw = np.zeros((len(X), trees.n_outputs))
    acquired = np.zeros(X.shape if billed else (0, 0), dtype=bool)
    model = trees.value, trees.output, trees.base, trees.average
    shallow.score(X, shallow.list_tests(trees), *model, raw, acquired, 0, len(X))
    return raw, acquired


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), kind=KINDS, n_trees=st.integers(1, 6), depth=st.integers(0, 4))
def test_all_tests_at_once_end_where_a_walk_does(seed, kind, n_trees, depth):
    rng = np.random.default_rng(seed)
    policy = policy_of(rng, {"depth": depth} | kind, n_trees)
    X = random_rows(rng, shallow.ROWS + 13)
    if policy.trees.single:
        X = X.astype(np.float32)
    walked = policy.batch(X)
    for billed in (False, True):
        raw, acquired = score(policy, X, billed)
        assert raw.tobytes() == walked.raw.tobytes()
    assert (acquired == walked.acquired).all()


def test_many_rows_through_shallow_trees_equal_few():
    rng = np.random.default_rng(3)
    policy, X = policy_of(rng, {"n_outputs": 2}, 5), random_rows(rng, 700)
    outcome = policy.batch(X)
    assert policy._tests, "these rows should have been scored, not walked"
    few = policy.batch(X[:100])
    assert outcome.raw[:100].tobytes() == few.raw.tobytes()
    assert (outcome.acquired[:100] == few.acquired).all()


def test_only_small_trees_are_scored_at_once():
    rng = np.random.default_rng(0)
    assert shallow.list_tests(random_trees(rng, depth=9, n_trees=3)) is None
    stump = {"threshold": [0.5, 0, 0], "value": [[0.0], [1.0], [2.0]], "root": [0], "base": [0.0]}
    twice = Trees.build([0, -1, -1], left=[1, -1, -1], right=[1, -1, -1], **stump)
    assert twice.problem(1) is None, "walking it is safe"
    assert shallow.list_tests(twice) is None, "a node with two parents has no place of its own"
