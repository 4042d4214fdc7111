"""Deep trees laid out anew: every row ends where a plain walk ends, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import random_costs, random_rows, random_trees
from tests.naive import walk as naive
from worthwhile.core.trees import Trees
from worthwhile.core.walks import deep
from worthwhile.policy import Output, TreePolicy

KINDS = st.sampled_from(
    [
        {"n_outputs": 1},
        {"n_outputs": 3},
        {"n_outputs": 4, "vector": True, "average": True},
        {"n_outputs": 2, "vector": True, "single": True},
    ]
)


def walk_deep(trees, X, billed=True):
    """Values, purchases, and whether the values allowed it, whatever the number of rows."""
    raw = np.zeros((len(X), trees.n_outputs))
    acquired = np.zeros(X.shape if billed else (0, 0), dtype=bool)
    exact = np.ones(1, dtype=bool)
    deep.walk_deep(
        X, deep.lay_out(trees), trees.single, trees.base, trees.average, raw, acquired, exact, 0, len(X)
    )  # fmt: skip
    return raw, acquired, bool(exact[0])


def stump(threshold, **more):
    return Trees.build(
        feature=[0, -1, -1], threshold=[threshold, 0, 0], left=[1, -1, -1], right=[2, -1, -1],
        value=[[0.0], [1.0], [2.0]], root=[0], base=[0.0], **more,
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), kind=KINDS, n_trees=st.integers(1, 5), depth=st.integers(0, 13),
    missing=st.booleans(),
)  # fmt: skip
def test_rows_end_where_the_twin_ends(seed, kind, n_trees, depth, missing):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_trees=n_trees, depth=depth, **kind)
    trees.value[rng.random(trees.value.shape) < 0.4] = 0.0
    X = random_rows(rng, 23).astype(np.float32).astype(np.float64)
    X = X if missing else np.nan_to_num(X)
    raw, acquired, exact = walk_deep(trees, X)
    assert exact
    for row, values in enumerate(X):
        expected, bought = naive.walk(trees, values)
        assert raw[row].tobytes() == np.array(expected).tobytes()
        assert set(np.flatnonzero(acquired[row])) == bought
    unbilled, nothing, _ = walk_deep(trees, X.astype(np.float32), billed=False)
    assert unbilled.tobytes() == raw.tobytes()
    assert len(nothing) == 0


@pytest.mark.parametrize("threshold", [0.1, -0.1, 1e300, -1e300, 0.0, 1.0, 1e-50, -1e-50])
def test_thresholds_rounded_to_float32_part_the_same_values(threshold):
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
    around = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    X = np.array([*around, -np.inf, np.inf, 0.0, -0.0, 3.4e38, -3.4e38], dtype=np.float32)[:, None]
    raw, _, exact = walk_deep(stump(threshold), X)
    assert exact
    assert raw[:, 0].tolist() == [1.0 if x <= threshold else 2.0 for x in X[:, 0].astype(float)]


def test_values_that_are_no_float32_numbers_are_left_to_the_plain_walk():
    X = np.full((600, 2), 0.5)
    X[599, 1] = 0.1  # never tested: it does not matter
    assert walk_deep(stump(0.5), X)[2]
    X[599, 0] = np.nextafter(0.5, 1)
    assert not walk_deep(stump(0.5), X)[2]
    costs = random_costs(np.random.default_rng(0), 2)
    policy = TreePolicy(costs, Output("value"), stump(0.5))
    policy._tests = ()  # as if the trees were too deep to be scored
    outcome = policy.batch(X)
    assert policy._deep, "laid out, but of no use here"
    assert outcome.raw[:, 0].tolist() == [1.0] * 599 + [2.0]
    assert (outcome.acquired == [True, False]).all()
    rounded = TreePolicy(costs, Output("value"), stump(0.5, single=True))
    assert rounded.batch(X).raw[599, 0] == 1.0, "rounding is what these trees ask for"


@pytest.mark.parametrize("n_features", [64, 65, 200])
def test_many_rows_through_wide_deep_trees_equal_few(n_features):
    rng = np.random.default_rng(n_features)
    trees = random_trees(rng, n_trees=3, n_features=n_features, depth=10, n_outputs=2, vector=True)
    X = np.round(2 * random_rows(rng, 5000, n_features)) / 2
    policy = TreePolicy(random_costs(rng, n_features), Output("value"), trees)
    few = policy.batch(X[:40])
    assert policy._deep is None, "not worth it for so few"
    outcome = policy.batch(X)
    assert policy._deep
    whole = walk_deep(trees, X)  # rows of more than one block
    assert whole[0].tobytes() == outcome.raw.tobytes()
    assert (whole[1] == outcome.acquired).all()
    assert outcome.raw[:40].tobytes() == few.raw.tobytes()
    assert (outcome.acquired[:40] == few.acquired).all()
    for part in (slice(4960, 5000), slice(2490, 2530)):
        again = policy.batch(X[part])
        assert again.raw.tobytes() == outcome.raw[part].tobytes()
        assert (again.acquired == outcome.acquired[part]).all()


def test_what_is_no_tree_or_too_large_is_walked(monkeypatch):
    rng = np.random.default_rng(0)
    twice = Trees.build(
        [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [1, -1, -1], [[0.0], [1.0], [2.0]], [0], [0.0]
    )
    assert twice.problem(1) is None, "walking it is safe"
    assert deep.lay_out(twice) is None, "a node with two parents has no place of its own"
    assert deep.lay_out(Trees.build([], [], [], [], np.zeros((0, 1)), [], [0.0])) is None
    trees = random_trees(rng, depth=9, n_features=30)
    assert deep.lay_out(trees) is not None
    monkeypatch.setattr(deep, "MOST_FEATURES", len(trees.features) - 1)
    assert deep.lay_out(trees) is None
    monkeypatch.setattr(deep, "MOST_FEATURES", 512)
    monkeypatch.setattr(deep, "MOST_VALUES", trees.value.size - 1)
    assert deep.lay_out(trees) is None
    monkeypatch.setattr(deep, "MOST_VALUES", trees.value.size)
    monkeypatch.setattr(deep, "MOST_NODES", 5)
    assert deep.lay_out(trees) is None


def test_leaves_that_say_the_same_share_it():
    rng = np.random.default_rng(1)
    trees = random_trees(rng, n_trees=6, depth=8, n_outputs=3, vector=True)
    trees.value[:] = np.eye(3)[rng.integers(3, size=len(trees.value))]
    assert len(deep.lay_out(trees).where) == 3
