"""Joined, cut and picked ensembles hold the trees they say, to the bit; the twin is a list of nested tuples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import nested, random_costs, random_rows, random_trees
from worthwhile.core.trees import Trees, join_nodes
from worthwhile.policy import Output, TreePolicy


def listed(trees):
    """The ensemble as a plain list: each tree with the output that it adds to."""
    return [
        (int(output), nested(trees, root))
        for output, root in zip(trees.output, trees.root, strict=True)
    ]


def same_bits(one, other):
    assert (one.average, one.single) == (other.average, other.single)
    arrays, twins = one.arrays(), other.arrays()
    assert arrays.keys() == twins.keys()
    for name, array in arrays.items():
        twin = twins[name]
        assert (array.dtype, array.shape) == (twin.dtype, twin.shape), name
        assert array.tobytes() == twin.tobytes(), name


@st.composite
def ensembles(draw, n_parts=1):
    """Parts of one kind, some of them without trees."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = {
        "n_outputs": draw(st.integers(1, 3)),
        "vector": draw(st.booleans()),
        "average": draw(st.booleans()),
        "single": draw(st.booleans()),
        "categories": draw(st.booleans()),
    }
    parts = [random_trees(rng, n_trees=draw(st.integers(0, 5)), **kind) for _ in range(n_parts)]
    return parts if n_parts > 1 else parts[0]


@given(ensembles(n_parts=3))
@settings(max_examples=60, deadline=None)
def test_joined_parts_are_the_trees_of_all_and_cutting_gives_each_part_back(parts):
    joined = Trees.join(parts)
    assert joined.problem(5) is None
    assert listed(joined) == [tree for part in parts for tree in listed(part)]
    ends = np.cumsum([part.n_trees for part in parts])
    for part, end in zip(parts, ends, strict=True):
        cut = joined.between(end - part.n_trees, end)
        same_bits(cut, replace(part, base=parts[0].base))


@given(ensembles(n_parts=2), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_joined_boosters_add_what_their_parts_add(parts, seed):
    rng = np.random.default_rng(seed)
    X, costs, output = random_rows(rng, 30), random_costs(rng), Output("value")
    # Whole numbers add up to the same bits in any order.
    first, second = (
        replace(part, value=np.round(4 * part.value), base=np.round(part.base), average=False)
        for part in parts
    )
    raw = [
        TreePolicy(costs, output, trees).batch(X).raw
        for trees in (Trees.join([first, second]), first, second.without_base())
    ]
    assert np.array_equal(raw[0], raw[1] + raw[2])


@given(ensembles(), st.integers(0, 6), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_a_cut_is_a_slice_of_the_list_of_trees(trees, start, stop):
    part = trees.between(start, stop)
    assert listed(part) == listed(trees)[start:stop]
    assert part.problem(5) is None
    assert part.base.tobytes() == trees.base.tobytes()
    same_bits(trees.first(stop), trees.between(0, stop))


@given(ensembles(), st.data())
@settings(max_examples=60, deadline=None)
def test_only_takes_trees_in_any_order(trees, data):
    order = data.draw(st.permutations(range(trees.n_trees)))
    order = order[: data.draw(st.integers(0, trees.n_trees))]
    some = trees.only(order)
    assert listed(some) == [listed(trees)[tree] for tree in order]
    assert some.problem(5) is None
    if order:
        same_bits(some, Trees.join([trees.between(tree, tree + 1) for tree in order]))


def naively_pruned(trees, node, expanded):
    """The tuples below a node, cut off where nodes are not expanded."""
    if not expanded[node]:
        return (trees.value[node].tolist(),)
    *test, _, _ = nested(trees, node)
    children = (trees.left[node], trees.right[node])
    return (*test, *(naively_pruned(trees, child, expanded) for child in children))


@given(ensembles(), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_pruned_trees_end_where_nodes_are_not_expanded(trees, seed):
    expanded = (trees.feature >= 0) & (np.random.default_rng(seed).random(len(trees.feature)) < 0.7)
    for parent in range(len(expanded)):  # parents come first
        if trees.feature[parent] >= 0 and not expanded[parent]:
            expanded[[trees.left[parent], trees.right[parent]]] = False
    pruned = trees.pruned(expanded)
    assert pruned.problem(5) is None
    assert [tree for _, tree in listed(pruned)] == [
        naively_pruned(trees, root, expanded) for root in trees.root
    ]
    # Nothing but what a walk can reach is kept.
    assert len(pruned.feature) == trees.n_trees + 2 * expanded.sum()


@given(ensembles())
@settings(max_examples=30, deadline=None)
def test_nodes_know_their_tree_and_trees_what_they_test(trees):
    tests = trees.tests(5)
    assert tests.shape == (trees.n_trees, 5)
    for tree in range(trees.n_trees):
        own = trees.between(tree, tree + 1)
        assert np.flatnonzero(tests[tree]).tolist() == own.features.tolist()
        assert (trees.tree_of[trees.root[tree] :][: len(own.feature)] == tree).all()
    assert len(trees.tree_of) == len(trees.feature)
    assert np.diff(trees.bounds).sum() == len(trees.feature)


@given(ensembles())
@settings(max_examples=30, deadline=None)
def test_levels_hold_every_internal_node_once_after_its_parent(trees):
    levels = trees.levels()
    depth = np.zeros(len(trees.feature), dtype=int)
    for node in np.flatnonzero(trees.feature >= 0):
        depth[[trees.left[node], trees.right[node]]] = depth[node] + 1
    for level, nodes in enumerate(levels):
        assert (depth[nodes] == level).all()
    assert sorted(np.concatenate([*levels, []])) == np.flatnonzero(trees.feature >= 0).tolist()


@pytest.mark.parametrize(("width", "expected"), [(1, 3), (3, 1)])
def test_a_round_reaches_all_outputs(width, expected):
    assert Trees.none(np.zeros(3), width).per_round == expected


def test_no_trees_answer_with_their_base():
    trees = Trees.none([0.5, 1.5])
    assert trees.problem(2) is None
    policy = TreePolicy(random_costs(np.random.default_rng(0)), Output("value"), trees)
    assert policy.batch(np.zeros((2, 5))).raw.tolist() == [[0.5, 1.5]] * 2


def test_joined_nodes_keep_leaves_and_whatever_else_they_hold():
    stump = {"left": np.array([1, -1, -1]), "right": np.array([2, -1, -1]), "weight": np.arange(3)}
    leaf = {"left": np.array([-1]), "right": np.array([-7]), "weight": np.array([9])}
    nodes, first = join_nodes([stump, leaf, stump])
    assert first.tolist() == [0, 3, 4]
    assert nodes["left"].tolist() == [1, -1, -1, -1, 5, -1, -1]
    assert nodes["right"].tolist() == [2, -1, -1, -1, 6, -1, -1]
    assert nodes["weight"].tolist() == [0, 1, 2, 9, 0, 1, 2]


def test_cutting_at_the_front_copies_nothing():
    trees = random_trees(np.random.default_rng(0))
    assert all(
        np.shares_memory(a, b)
        for a, b in zip(trees.first(2).arrays().values(), trees.arrays().values(), strict=True)
    )
