"""Trees: what makes arrays unsafe to walk is found before a kernel sees them."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.ensembles import random_costs, random_rows, random_trees
from worthwhile.core.trees import Trees
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


DAMAGE = [
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
    trees = random_trees(np.random.default_rng(0))
    packed = trees.packed()
    for name in packed.dtype.names:
        assert (packed[name] == getattr(trees, name)).all()


def test_arrays_build_the_same_trees_again():
    trees = random_trees(np.random.default_rng(0), n_outputs=2, vector=True, average=True)
    again = Trees(**trees.arrays(), average=True)
    assert all(
        (a == b).all()
        for a, b in zip(trees.arrays().values(), again.arrays().values(), strict=True)
    )
