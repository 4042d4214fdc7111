"""Trees: what makes arrays unsafe to walk is found before a kernel sees them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.ensembles import random_costs, random_rows, random_trees
from worthwhile.core.trees import CATEGORY, MISSING_LEFT, Trees
from worthwhile.policy import Output, TreePolicy


def two_trees(**changes):
    arrays = {
        "feature": [0, 1, -1, -1, -1, 2, -1, -1], "threshold": [0.5, 1.5, 0, 0, 0, 0.0, 0, 0],
        "left": [1, 2, -1, -1, -1, 6, -1, -1], "right": [4, 3, -1, -1, -1, 7, -1, -1],
        "value": np.arange(8.0)[:, None], "root": [0, 5], "base": [0.1, 0.2], "output": [0, 1],
    }  # fmt: skip
    return Trees.build(**{**arrays, **changes})


def changed(name, index, value):
    array = getattr(two_trees(), name).copy()
    array[index] = value
    return replace(two_trees(), **{name: array})


def test_sound_trees_have_no_problem():
    assert two_trees().problem(3) is None
    assert two_trees().features.tolist() == [0, 1, 2]
    assert (two_trees().n_trees, two_trees().n_outputs, two_trees().width) == (2, 2, 1)


def with_sets(category=(1,), threshold=0, sets=(1, 5)):
    """Two trees of which some nodes look into sets, at this place."""
    trees = two_trees()
    nodes = np.isin(np.arange(8), category)
    return replace(
        trees, category=nodes, sets=np.array(sets, dtype=np.uint64),
        threshold=np.where(nodes, threshold, trees.threshold),
    )  # fmt: skip


def test_sound_sets_have_no_problem():
    assert with_sets().problem(3) is None
    assert with_sets((0, 1, 5), 2, [1, 7, 2, 0, 2**64 - 1]).problem(3) is None


DAMAGE = [
    (lambda: replace(two_trees(), category=np.zeros(8, bool)), "sets without nodes"),
    (lambda: replace(two_trees(), sets=np.zeros(1, np.uint64)), "sets without nodes"),
    (lambda: replace(with_sets(), category=np.ones(7, bool)), "a node without a test looks"),
    (lambda: with_sets((1, 2)), "a node without a test looks into a set"),
    (lambda: with_sets(threshold=-1), "a set begins outside its array"),
    (lambda: with_sets(threshold=2), "a set begins outside its array"),
    (lambda: with_sets(threshold=0.5), "a set begins outside its array"),
    (lambda: with_sets(threshold=1e300), "a set begins outside its array"),
    (lambda: with_sets(threshold=1), "a set ends outside its array"),
    (lambda: with_sets(sets=[0, 5]), "a set ends outside its array"),
    (lambda: with_sets(sets=[2, 5]), "a set ends outside its array"),
    (lambda: with_sets(sets=[2**64 - 1, 5]), "a set ends outside its array"),
    (lambda: replace(two_trees(), threshold=np.zeros(7)), "node arrays differ in length"),
    (lambda: replace(two_trees(), left=two_trees().left[:-1]), "node arrays differ in length"),
    (lambda: replace(two_trees(), value=np.zeros((9, 1))), "node arrays differ in length"),
    (lambda: replace(two_trees(), missing_left=np.zeros(0, bool)), "node arrays differ in length"),
    (lambda: replace(two_trees(), output=np.zeros(3, np.int32)), "root and output differ"),
    (lambda: changed("root", 0, 1), "roots are not ascending"),
    (lambda: changed("root", 1, 0), "roots are not ascending"),
    (lambda: changed("root", 1, 8), "roots are not ascending"),
    (lambda: changed("root", 1, -3), "roots are not ascending"),
    (
        lambda: replace(
            two_trees(), root=np.array([0, 2**31 - 1, -10], np.int32), output=np.zeros(3, np.int32)
        ),
        "roots are not ascending",
    ),
    (lambda: changed("feature", 0, 3), r"a node tests a feature outside 0\.\.2"),
    (lambda: changed("feature", 0, -2), r"a node tests a feature outside 0\.\.2"),
    (lambda: changed("left", 0, 0), "a child does not come after its parent"),
    (lambda: changed("left", 1, 0), "a child does not come after its parent"),
    (lambda: changed("right", 1, 8), "a child does not come after its parent"),
    (lambda: changed("right", 1, 5), "within its tree"),
    (lambda: changed("left", 5, -1), "a child does not come after its parent"),
    (lambda: changed("left", 7, 3), "a child does not come after its parent"),
    (lambda: changed("threshold", 0, np.nan), "a threshold is not a finite number"),
    (lambda: changed("threshold", 5, np.inf), "a threshold is not a finite number"),
    (lambda: replace(two_trees(), value=np.zeros((8, 3))), "3 values per node for 2 outputs"),
    (lambda: replace(two_trees(), base=np.zeros(0)), "values per node for 0 outputs"),
    (lambda: changed("output", 0, 2), "a tree adds to an output that does not exist"),
    (lambda: changed("output", 0, -1), "a tree adds to an output that does not exist"),
    (lambda: replace(two_trees(), value=np.zeros((8, 2))), "name a single one"),
    (lambda: changed("value", 3, np.nan), "a value is not a finite number"),
    (lambda: changed("base", 0, np.inf), "a value is not a finite number"),
    (lambda: replace(two_trees(), value=np.full((8, 1), 1e308)), "add up to more than a number"),
    (lambda: replace(two_trees(), value=np.full((8, 1), -1e308)), "add up to more than a number"),
    (lambda: replace(two_trees(), root=np.zeros(0, np.int32), output=np.zeros(0, np.int32)), "nodes without a tree"),
    (lambda: Trees.build([], [], [], [], np.zeros((0, 1)), [], [np.nan]), "a value is not a finite"),
    (lambda: Trees.build([], [], [], [], np.zeros((0, 5)), [], [0.0, 0.0]), "5 values per node"),
]  # fmt: skip


@pytest.mark.parametrize(("damaged", "problem"), DAMAGE)
def test_each_kind_of_damage_is_found(damaged, problem):
    found = damaged().problem(3)
    assert found is not None
    assert re.search(problem, found), found


def test_the_first_trees_are_an_ensemble_of_their_own():
    rng = np.random.default_rng(3)
    trees, X, costs = random_trees(rng, 6), random_rows(rng, 20), random_costs(rng)
    for k in range(7):
        part = trees.first(k)
        assert part.n_trees == k
        assert part.problem(5) is None
    whole = TreePolicy(costs, Output("value"), trees).batch(X)
    same = TreePolicy(costs, Output("value"), trees.first(6)).batch(X)
    assert whole.raw.tobytes() == same.raw.tobytes()


def test_packed_nodes_hold_the_same_numbers():
    trees = random_trees(np.random.default_rng(0), categories=True)
    packed = trees.packed()
    for name in ("feature", "threshold", "left", "right"):
        assert (packed[name] == getattr(trees, name)).all()
    assert (packed["flags"] == MISSING_LEFT * trees.missing_left + CATEGORY * trees.category).all()


@pytest.mark.parametrize(
    ("value", "left"),
    [(0, True), (1, False), (0.9, True), (-0.5, True), (-1, False), (63, False), (66, True),
     (128, False), (1e300, False), (np.inf, False), (-np.inf, False), (np.nan, True)],
)  # fmt: skip
def test_codes_go_left_iff_they_are_in_the_set(value, left):
    """The set {0, 66} in two words; empty values go where the node says."""
    trees = Trees.build(
        [0, -1, -1], [0, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [1.0], [2.0]], [0], [0.0],
        missing_left=[True, False, False], category=[True, False, False], sets=[2, 1, 4],
    )  # fmt: skip
    assert trees.goes_left(np.zeros(1, int), np.array([value])).tolist() == [left]
    costs = random_costs(np.random.default_rng(0), 2)
    policy = TreePolicy(costs, Output("value"), trees)
    X = np.full((600, 2), float(value))
    for n in (3, 20, 600):
        assert (policy.batch(X[:n]).raw == (1.0 if left else 2.0)).all()
    case = policy.begin()
    case.wants(None)
    case.learn(0, float(value))
    assert case.answer().tolist() == [1.0 if left else 2.0]


def test_what_is_cut_off_takes_its_sets_along_and_files_hold_no_others():
    rng = np.random.default_rng(5)
    trees = random_trees(rng, 6, categories=True)
    assert set(trees.first(0).arrays()) == set(two_trees().arrays())
    one = trees.between(2, 3)
    assert len(one.arrays().get("sets", ())) < len(trees.sets)
    everything = trees.pruned(trees.feature >= 0)
    assert everything.problem(5) is None
    assert trees.pruned(np.zeros(len(trees.feature), bool)).problem(5) is None


def test_arrays_build_the_same_trees_again():
    trees = random_trees(np.random.default_rng(0), n_outputs=2, vector=True, average=True)
    again = Trees(**trees.arrays(), average=True)
    assert all(
        (a == b).all()
        for a, b in zip(trees.arrays().values(), again.arrays().values(), strict=True)
    )
