"""Small policies that sessions run in tests, and a run to the end."""

from __future__ import annotations

import numpy as np

from worthwhile import Costs
from worthwhile.core.trees import Trees
from worthwhile.policy import Output, TreePolicy
from worthwhile.policy.whole import Source, WholePolicy

NAMES = ("a", "b", "c")


def chain(costs=None, output=None):
    """One tree: a, then b on the right, then c on the right; leaves 0, 1, 2, 3; means between."""
    costs = costs or Costs(
        {"a": 1, "b": 2, "c": 4}, {"g": {"fee": 0.5, "features": ["b", "c"]}}, unit="CAD"
    )
    trees = Trees.build(
        feature=[0, -1, 1, -1, 2, -1, -1], threshold=[0.5, 0, 0.5, 0, 0.5, 0, 0],
        left=[1, -1, 3, -1, 5, -1, -1], right=[2, -1, 4, -1, 6, -1, -1],
        value=[[1.5], [0], [2.0], [1], [2.5], [2], [3]], root=[0], base=[0.0],
    )  # fmt: skip
    return TreePolicy(costs, output or Output("value"), trees)


def whole(**options):
    """The sum of two features, bought together or not at all."""
    costs = Costs({"a": 4, "b": 5, "c": 1})
    source = Source(lambda rows: rows[:, 0] + rows[:, 1], "call")
    return WholePolicy(
        costs, Output("value"), source, np.array([0, 1]), np.array([-1.0]), **options
    )


def finish(session, values):
    while wanted := session.ask():
        session.tell({name: values[name] for name in wanted})
    return session


ONES = dict.fromkeys(NAMES, 1.0)
