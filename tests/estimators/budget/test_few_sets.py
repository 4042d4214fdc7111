"""Where few sets can be bought, all of them are nodes, and mean bills have no gaps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from worthwhile import BudgetClassifier, Costs
from worthwhile.estimators.budget._induction import between
from worthwhile.estimators.budget._search import FEW_SETS, Shop


def calls(n: int, prices: list[float]) -> Costs:
    """Calls of two answers each, for one fee."""
    groups = {
        f"call {i}": {"fee": price, "features": [2 * i, 2 * i + 1]}
        for i, price in enumerate(prices)
    }
    return Costs(np.zeros(2 * n), groups=groups)


def test_every_set_of_calls_is_found_whole():
    found = Shop(calls(3, [1, 2, 4])).all_sets()
    pairs = [frozenset({2 * i, 2 * i + 1}) for i in range(3)]
    wanted = {
        frozenset().union(*some) for k in range(4) for some in itertools.combinations(pairs, k)
    }
    assert set(found) == wanted
    assert len(found) == len(wanted)


def test_what_is_required_comes_along():
    found = Shop(Costs([1, 2, 3], requires={2: 0})).all_sets()
    assert frozenset({2}) not in found
    assert frozenset({0, 2}) in found


def test_many_sets_are_searched_for():
    assert len(Shop(Costs(np.ones(5))).all_sets()) == FEW_SETS
    assert Shop(Costs(np.ones(6))).all_sets() is None


def judged(n: int, seed: int):
    """Three judges: the dearer, the surer, all unsure of the same rows."""
    rng = np.random.default_rng(seed)
    y, hard = rng.integers(0, 2, n), rng.random(n)
    columns = []
    for errs in (0.6, 0.3, 0.05):
        columns += [np.where(rng.random(n) < errs * hard, 1 - y, y), 1 - hard * rng.random(n)]
    return np.column_stack(columns), y


@pytest.fixture(scope="module")
def model():
    X, y = judged(1500, 2)
    return BudgetClassifier(costs=calls(3, [0.01, 1, 4]), n_trees=16, random_state=0).fit(X, y)


def test_bills_have_no_gaps(model):
    cost = model.frontier_["cost"].to_numpy()
    useful = cost[model.frontier_["score"] < model.frontier_["score"].max()]
    assert np.diff(np.append(useful, cost[len(useful)])).max() < 0.25 * cost.max()


def test_a_case_may_go_from_each_set_to_every_larger_one(model):
    X, _ = judged(1500, 1)
    seen = set()
    for stage in range(model.n_stages_):
        seen |= {tuple(row) for row in model.at(stage=stage).acquired(X)[:, ::2].tolist()}
    assert (True, False, True) in seen  # from the cheapest to the dearest, past the middle one


def test_worths_between_neighbours_are_tried_where_bills_jump():
    tasks = [(0.0, 5.0), (0.1, 5.0), (0.4, 5.0)]
    bill = np.array([4.0, 3.9, 0.5])
    assert between(tasks, bill, [2, 1, 0]) == [(pytest.approx(0.2), 5.0)]
    assert between(tasks, np.array([4.0, 3.9, 3.8]), [2, 1, 0]) == []


def test_below_the_smallest_worth_half_of_it_is_tried():
    assert between([(0.0, 5.0), (0.1, 5.0)], np.array([4.0, 0.5]), [1, 0]) == [(0.05, 5.0)]
