"""A policy behind preprocessing: tables of several columns, and states that nobody honest would write."""

import numpy as np
import pytest

from worthwhile import Costs
from worthwhile.columns import Column, Columns
from worthwhile.core.trees import Trees
from worthwhile.policy.base import run_case
from worthwhile.policy.front import Front, fed_costs
from worthwhile.policy.output import Output
from worthwhile.policy.pipeline import PipelinePolicy
from worthwhile.policy.trees import TreePolicy

COSTS = Costs({"job": 2, "home": 3, "age": 5})
TOGETHER = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""What job (two levels, then nothing) and home make together."""


def policy():
    """Is the age above 30? If so, what do job and home say together."""
    columns = Columns(
        [Column("category", ("cook", "smith")), Column("category", ("own", "rent")), Column()]
    )
    front = Front(columns, [(2,), (0, 1), ()], {0: (("minus", 30.0),)}, {1: TOGETHER}, {2: 1.0})
    trees = Trees.build(
        feature=[0, -1, 1, -1, 2, -1, -1], threshold=[0.0, 0, 0.5, 0, 0.5, 0, 0],
        left=[1, -1, 3, -1, 5, -1, -1], right=[2, -1, 4, -1, 6, -1, -1],
        value=[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0]], root=[0], base=[0.0],
    )  # fmt: skip
    inner = TreePolicy(fed_costs(COSTS, front), Output("value"), trees)
    return PipelinePolicy(COSTS, Output("value"), front, inner)


ROWS = np.array([[0.0, 1.0, 40.0], [0.0, 0.0, 40.0], [np.nan, np.nan, 40.0], [1.0, 0.0, 20.0]])


def test_a_table_of_two_columns_is_read_with_both_and_bills_both():
    outcome = policy().batch(ROWS)
    assert outcome.raw.ravel().tolist() == [6.0, 3.0, 6.0, 1.0]
    assert outcome.acquired.tolist() == [[True] * 3] * 3 + [[False, False, True]]


@pytest.mark.parametrize("limit", [None, 0, 5, 7, 8, 10])
@pytest.mark.parametrize("missing", [(), (0,), (2,)])
def test_a_case_ends_where_the_batch_does(limit, missing):
    limit = None if limit is None else limit * 10**9
    expected = policy().serve(ROWS, limit, unavailable=missing)
    for row, values in enumerate(ROWS):
        raw, bought, _ = run_case(policy(), values, limit, missing)
        assert raw.tolist() == expected.raw[row].tolist()
        assert bought.tolist() == expected.acquired[row].tolist()


def test_it_is_read_back_from_its_state():
    again = PipelinePolicy.from_state(COSTS, Output("value"), policy().state())
    assert again.batch(ROWS).raw.tolist() == policy().batch(ROWS).raw.tolist()
    assert again.fingerprint() == policy().fingerprint()


@pytest.mark.parametrize(
    ("settings", "arrays", "message"),
    [
        ({}, {"inner": None}, "inner is not a policy"),
        ({}, {"table 1": TOGETHER[0]}, "not an axis for each column"),
        ({}, {"table 1": TOGETHER.astype(np.float32)}, "not a list of numbers"),
        ({}, {"table 1": np.full((3, 3), np.inf)}, "not a list of numbers"),
        ({}, {"table 1": np.zeros((0, 3))}, "not a list of numbers"),
        ({}, {"table 9": TOGETHER}, "an index is not below 3"),
        ({}, {"filler": np.array([0.0, np.nan, 0.0])}, "filler is not a finite number"),
        ({}, {"filler": np.zeros(2)}, "filler is not a finite number"),
        ({"sources": [[2], [1, 0], []]}, {}, "sources are not in order"),
        ({"sources": [[2], [0, 7], []]}, {}, "an index is not below 3"),
        ({"sources": [[2], [0, 1]]}, {}, "an index is not below 2"),
        ({"sources": [[1, 2], [0, 1], []]}, {}, "fed by others"),
        ({"ops": [[0, [["power", 2.0]]]]}, {}, "an operation is unknown"),
        ({"ops": [[0, [["minus", 1e200]]]]}, {}, "a number is not finite"),
        ({"constants": [[2, float("nan")]]}, {}, "a number is not finite"),
        ({"constants": []}, {}, "the transformer is missing"),
        ({"names": ["a"]}, {}, "names do not fit"),
        ({"no_empty": [5]}, {}, "an index is not below 3"),
        ({"columns": [{"kind": "number"}]}, {}, "columns do not fit"),
        ({"made": [{"kind": "soup"}]}, {}, "soup"),
    ],
)
def test_hostile_states_are_refused(settings, arrays, message):
    honest = policy().state()
    given = {name: array for name, array in {**honest[1], **arrays}.items() if array is not None}
    with pytest.raises(ValueError, match=message):
        PipelinePolicy.from_state(COSTS, Output("value"), ({**honest[0], **settings}, given))
