"""A policy over columns that are made from those that are bought."""

import numpy as np
import pytest

from worthwhile import Costs
from worthwhile.columns import Expansion
from worthwhile.core.trees import Trees
from worthwhile.policy.base import read_inner, run_case
from worthwhile.policy.encoded import EncodedPolicy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

TABLE = {0: np.array([[0.9], [0.1], [0.5], [np.nan]])}


def policy(costs=None):
    """A tree on the score of a category, then on a number."""
    trees = Trees.build(
        feature=[0, 1, -1, -1, -1], threshold=[0.4, 2.0, 0, 0, 0], left=[1, 2, -1, -1, -1],
        right=[4, 3, -1, -1, -1], value=[[0.0], [1.0], [2.0], [3.0], [4.0]], root=[0], base=[0.0],
    )  # fmt: skip
    costs = Costs({"job": 2, "age": 3}) if costs is None else costs
    expansion = Expansion(TABLE, {}, 2)
    return EncodedPolicy(
        costs, Output("value"), expansion, TreePolicy(costs, Output("value"), trees)
    )


def test_batches_walk_by_the_table_and_bill_the_sources():
    X = np.array([[1.0, 1.0], [0.0, np.nan], [2.0, 9.0], [np.nan, 9.0]])
    outcome = policy().batch(X)
    assert outcome.raw.ravel().tolist() == [2.0, 4.0, 4.0, 4.0]
    assert outcome.acquired.tolist() == [[True, True], *[[True, False]] * 3]


@pytest.mark.parametrize("limit", [None, 0, 2 * 10**9, 4 * 10**9, 5 * 10**9])
def test_a_case_ends_where_the_batch_does(limit):
    X = np.array([[1.0, 1.0], [0.0, 5.0], [7.0, 5.0], [np.nan, 1.0]])
    expected = policy().batch(X, limit)
    for row, values in enumerate(X):
        raw, bought, _ = run_case(policy(), values, limit)
        assert raw.tolist() == expected.raw[row].tolist()
        assert bought.tolist() == expected.acquired[row].tolist()


def test_it_is_read_back_from_its_state_under_other_prices():
    other = Costs({"job": 7, "age": 1})
    again = EncodedPolicy.from_state(other, Output("value"), policy().state())
    assert again.inner.costs.price(["job"]) == 7
    X = np.array([[1.0, 1.0]])
    assert again.batch(X).raw.tolist() == policy().batch(X).raw.tolist()


def damage(settings, arrays, **changes):
    arrays = {name: array for name, array in {**arrays, **changes}.items() if array is not None}
    return settings, arrays


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inner": None}, "inner is not a policy"),
        ({"table 0": np.zeros((3, 2))}, "inner has 2 columns, 3 are made"),
        ({"table 0": np.zeros(3)}, "is not a table"),
        ({"table 0": np.zeros((3, 1), dtype=np.float32)}, "is not a table"),
        ({"table 0": np.array([[np.nan], [0.0]])}, "not finite"),
        ({"table 5": np.zeros((3, 1))}, "no column for 'table 5'"),
        ({"table x": np.zeros((3, 1))}, "no column for 'table x'"),
    ],
)
def test_hostile_states_are_refused(changes, message):
    settings, arrays = policy().state()
    with pytest.raises(ValueError, match=message):
        EncodedPolicy.from_state(
            policy().costs, Output("value"), damage(settings, arrays, **changes)
        )


@pytest.mark.parametrize(
    "output", [Output("log-odds", np.array([0, 1])), Output("score", ["a", "b"])]
)
def test_the_policy_inside_gives_the_same_kind_of_answer(output):
    with pytest.raises(ValueError, match="inner has another output"):
        EncodedPolicy.from_state(policy().costs, output, policy().state())
    inner, rest = read_inner({"inner": policy().inner, "other": 1}, Output("value"))
    assert inner.columns is None
    assert rest == {"other": 1}


@pytest.mark.parametrize(
    "parts", [None, [], [["year"], []], [["month", "month"], []], [["month"], []]]
)
def test_hostile_parts_are_refused(parts):
    _, arrays = policy().state()
    with pytest.raises(ValueError, match=r"part|no column for"):
        EncodedPolicy.from_state(policy().costs, Output("value"), ({"parts": parts}, arrays))
