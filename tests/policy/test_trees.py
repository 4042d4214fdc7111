"""Trees as buyers: order of purchases, refusals, reading files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import random_costs, random_rows, random_trees
from tests.naive import walk as naive
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.policy import Output, TreePolicy


def two_stumps(**options):
    """The first tree tests feature 1, the second feature 0 and then 2."""
    trees = Trees.build(
        feature=[1, -1, -1, 0, 2, -1, -1, -1], threshold=[0.5, 0, 0, 0.5, 0.5, 0, 0, 0],
        left=[1, -1, -1, 4, 5, -1, -1, -1], right=[2, -1, -1, 7, 6, -1, -1, -1],
        value=[[0.5], [0], [1], [10], [20], [30], [40], [50]], root=[0, 3], base=[100.0], **options,
    )  # fmt: skip
    return TreePolicy(Costs([1, 2, 4]), Output("value"), trees)


def test_a_round_asks_in_the_order_of_the_trees():
    case = two_stumps().begin()
    assert case.wants(None) == [(1,), (0,)]
    case.learn(1, 0.0)
    assert case.wants(None) == [(0,)]
    case.learn(0, 0.0)
    assert case.wants(None) == [(2,)]
    case.learn(2, 1.0)
    assert case.wants(None) == []
    assert case.answer().tolist() == [100.0 + 0.0 + 40.0]


def test_a_round_ends_before_the_next_begins():
    """The second tree could go on to feature 2, but the first still waits for 1."""
    case = two_stumps().begin()
    assert case.wants(None) == [(1,), (0,)]
    case.learn(0, 0.0)
    assert case.answer().tolist() == [100.0 + 0.5 + 20.0], "an answer uses all that is known"
    assert case.wants(None) == [(1,)]
    case.learn(1, 0.0)
    assert case.wants(None) == [(2,)]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), looks=st.booleans())
def test_one_at_a_time_or_all_at_once_buys_in_the_same_order(seed, looks):
    rng = np.random.default_rng(seed)
    policy = TreePolicy(random_costs(rng), Output("value"), random_trees(rng, n_trees=6))
    row, orders = random_rows(rng, 1)[0], []
    for at_a_time in (1, 5):
        case, order = policy.begin(), []
        while wanted := case.wants(None)[:at_a_time]:
            order += [feature for (feature,) in wanted]
            case.learn_all({feature: float(row[feature]) for (feature,) in wanted})
            if looks:
                case.answer()
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(orders[0]) == len(set(orders[0]))


def test_refused_features_leave_their_trees_at_the_mean():
    case = two_stumps().begin()
    case.wants(None)
    case.refuse((0,))
    assert case.wants(None) == [(1,)]
    case.learn(1, 1.0)
    assert case.wants(None) == []
    assert case.answer().tolist() == [100.0 + 1.0 + 10.0]


def test_refused_features_that_turn_up_are_used():
    case = two_stumps().begin()
    case.wants(None)
    case.refuse((0,))
    case.refuse((2,))
    case.learn(0, 0.0)
    assert case.wants(None) == [(1,)], "2 is still refused"
    assert case.answer().tolist() == [100.0 + 0.5 + 20.0]
    case.learn(2, 0.0)
    assert case.answer().tolist() == [100.0 + 0.5 + 30.0]


@pytest.mark.parametrize("looks", [False, True])
def test_values_known_before_the_start_are_not_wanted(looks):
    case = two_stumps().begin()
    case.learn(0, 1.0)
    if looks:
        assert case.answer().tolist() == [100.0]
    assert case.wants(None) == [(1,)]
    assert case.answer().tolist() == [100.0 + 0.5 + 50.0]


def test_before_the_start_the_answer_is_the_base():
    assert two_stumps().begin().answer().tolist() == [100.0]
    assert two_stumps(average=True).begin().answer().tolist() == [100.0]


def test_only_trees_whose_evaluation_is_paid_are_walked():
    trees = two_stumps().trees
    policy = TreePolicy(Costs([1, 2, 4], evaluation=1), Output("value"), trees)
    for left, used, wants in (
        (None, 2, [(1,), (0,)]),
        (2 * 10**9, 2, [(1,), (0,)]),
        (10**9, 1, [(1,)]),
        (1, 0, []),
    ):
        case = policy.begin()
        assert case.wants(left) == wants
        assert case.evaluated == used


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(5)))
def test_learning_in_any_order_leads_to_the_leaves_of_the_twin(seed, order):
    rng = np.random.default_rng(seed)
    trees = random_trees(rng, n_outputs=2, vector=True, average=True, categories=seed % 2 == 1)
    policy, row = TreePolicy(random_costs(rng), Output("value"), trees), random_rows(rng, 1)[0]
    case = policy.begin()
    case.wants(None)
    for feature in order:
        case.learn(feature, row[feature])
    assert case.wants(None) == []
    assert case.answer().tolist() == naive.walk(trees, row)[0]


def test_reads_are_the_columns_that_some_node_tests():
    assert two_stumps().reads.tolist() == [0, 1, 2]
    only = Trees.build([-1], [0], [-1], [-1], [[1.0]], [0], [0.0])
    assert TreePolicy(Costs([1]), Output("value"), only).reads.tolist() == []


def test_state_reads_back_to_the_same_policy():
    policy = two_stumps(average=True, single=True)
    again = TreePolicy.from_state(policy.costs, policy.output, policy.state())
    assert again.fingerprint() == policy.fingerprint()
    assert (again.trees.average, again.trees.single) == (True, True)


def changed(settings=None, drop=None, **arrays):
    state = two_stumps().state()
    kept = {name: array for name, array in state[1].items() if name != drop}
    return {**state[0], **(settings or {})}, {**kept, **arrays}


def test_nodes_of_sets_read_back_and_ask_for_no_array_where_there_are_none():
    rng = np.random.default_rng(0)
    trees = random_trees(rng, n_trees=5, categories=True)
    policy = TreePolicy(random_costs(rng), Output("value"), trees)
    again = TreePolicy.from_state(policy.costs, policy.output, policy.state())
    assert again.fingerprint() == policy.fingerprint()
    X = random_rows(rng, 50)
    assert again.batch(X).raw.tobytes() == policy.batch(X).raw.tobytes()
    assert not {"category", "sets"} & set(two_stumps().state()[1])


BAD_STATES = [
    (changed(category=np.zeros(8, bool)), "arrays are"),
    (changed(sets=np.zeros(2, np.uint64)), "arrays are"),
    (changed(category=np.zeros(8, bool), sets=np.zeros(2)), "array sets has not the dtype u8"),
    (changed(category=np.ones(8, bool), sets=np.zeros(2, np.uint64)), "looks into a set"),
    (changed(drop="root"), "arrays are"),
    (changed(more=np.zeros(1)), "arrays are"),
    (changed(feature=np.zeros(8, np.int64)), "array feature has not the dtype i4"),
    (changed(threshold=[0.0] * 8), "array threshold has not the dtype f8"),
    (changed(value=np.zeros(8)), "array value has 1 dimensions"),
    (changed(root=np.zeros((2, 1), np.int32)), "array root has 2 dimensions"),
    (changed({"average": 1}), "average is 1, not true or false"),
    (changed({"single": None}), "single is None, not true or false"),
    (changed(left=np.zeros(8, np.int32)), "a child does not come after its parent"),
]


@pytest.mark.parametrize(("state", "text"), BAD_STATES)
def test_unsafe_states_are_refused(state, text):
    with pytest.raises(ValueError, match=text):
        TreePolicy.from_state(Costs([1, 2, 4]), Output("value"), state)


def test_outputs_must_fit_the_classes():
    with pytest.raises(ValueError, match="1 raw outputs for 3"):
        TreePolicy.from_state(
            Costs([1, 2, 4]), Output("logits", np.arange(3)), two_stumps().state()
        )


def forest(value, base, average=True):
    """One leaf with these values, as it is stored."""
    trees = Trees.build([-1], [0], [-1], [-1], [value], [0], base, average=average)
    return {"average": average, "single": False}, trees.arrays()


TWO = np.arange(2)
BAD_SHARES = [
    (Output("probabilities", TWO), forest([0.5, 1.5], [0.5, 0.5]), "not between 0 and 1"),
    (Output("probabilities", TWO), forest([-0.1, 1], [0.5, 0.5]), "not between 0 and 1"),
    (Output("probabilities", TWO), forest([0, 1], [0.5, 2]), "not between 0 and 1"),
    (Output("probabilities", TWO), forest([0, 1], [0, 1], False), "come from forests"),
    (Output("probabilities", TWO), forest([1], [0, 1]), "come from forests"),
    (Output("votes", TWO), forest([1, 0, -1, 2], [1, 0, 1, 0]), "give no probabilities"),
    (Output("votes", TWO), forest([1, 0, 0, 0], [1, 0, 1, 0]), "give no probabilities"),
    (Output("votes", TWO), forest([1, 0, 1, 0], [1, 0, 0, 0]), "give no probabilities"),
    (Output("votes", TWO), forest([1, 0, 1e308, 1e308], [1, 0, 1, 0]), "give no probabilities"),
]


@pytest.mark.parametrize(("output", "state", "text"), BAD_SHARES)
def test_values_that_give_no_probabilities_are_refused(output, state, text):
    with pytest.raises(ValueError, match=text):
        TreePolicy.from_state(Costs([1]), output, state)


def test_probabilities_and_votes_are_read():
    TreePolicy.from_state(Costs([1]), Output("probabilities", TWO), forest([0, 1], [0.5, 0.5]))
    TreePolicy.from_state(
        Costs([1]), Output("votes", TWO), forest([9, 0, 2, 0], [0, 1, 3, 4], False)
    )
