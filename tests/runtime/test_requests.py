"""Requests with prices, budgets and gaps of their own."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pytest

from tests.ensembles import random_costs, random_rows, random_trees
from worthwhile import Costs, PricedModel, Session
from worthwhile.exceptions import CostsError
from worthwhile.policy import Output, TreePolicy, run_case

COSTS = Costs({"age": 1, "chol": 5}, {"blood": {"fee": 2, "features": ["chol"]}}, evaluation=3)


def test_prices_of_today_change_what_is_named():
    today = COSTS.today({"chol": 4.5, "blood": 0, "evaluation": 1})
    assert today.price(["age", "chol"], 2) == 7.5
    assert COSTS.price(["age", "chol"], 2) == 14
    assert COSTS.today(today) is today
    assert COSTS.today({}) == COSTS
    assert Costs([1, 2]).today({1: Decimal("0.1")}).prices == {0: 1, 1: Decimal("0.1")}


@pytest.mark.parametrize(
    ("prices", "text"),
    [
        ([1, 2], "prices is a list: give a mapping from features and groups"),
        ({"ldl": 1}, "unknown feature 'ldl'"),
        ({"chol": -1}, "price of 'chol' is -1"),
        ({"blood": "2"}, "fee of group 'blood' is '2'"),
        (Costs({"age": 1, "chol": 5}), "prices has other features, groups or requirements"),
        (Costs([1, 5]), "prices has other features, groups or requirements"),
    ],
)
def test_wrong_prices_of_today_are_refused(prices, text):
    with pytest.raises(CostsError, match=text):
        COSTS.today(prices)


def test_a_name_of_a_feature_and_a_group_is_refused():
    costs = Costs({"blood": 1}, {"blood": {"fee": 1, "features": ["blood"]}})
    with pytest.raises(CostsError, match="'blood', which is a feature and a group: give a Costs"):
        costs.today({"blood": 2})


def policy_of(seed, **more):
    rng = np.random.default_rng(seed)
    trees, costs = random_trees(rng, n_trees=5, **more), random_costs(rng, names=True)
    return TreePolicy(costs, Output("value"), trees), random_rows(rng, 40), rng


@pytest.mark.parametrize("seed", range(6))
def test_a_budget_per_row_is_each_rows_budget(seed):
    policy, X, rng = policy_of(seed)
    limits = rng.integers(0, policy.costs.flat.total, len(X))
    limits[::7] = 2**62
    outcome = policy.serve(X, limits)
    for row, limit in enumerate(limits.tolist()):
        raw, bought, _ = run_case(policy, X[row], limit)
        assert (raw == outcome.raw[row]).all()
        assert (bought == outcome.acquired[row]).all()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [None, 3 * 10**9])
def test_trees_without_some_columns_are_those_of_a_session(seed, limit):
    policy, X, rng = policy_of(seed)
    missing = rng.choice(5, size=2, replace=False).tolist()
    outcome = policy.serve(X, limit, unavailable=missing)
    assert not outcome.acquired[:, missing].any()
    for row, values in enumerate(X[:10]):
        names = policy.costs.names_of(missing)
        budget = None if limit is None else limit / 10**9
        session = Session(policy, budget=budget, unavailable=names)
        while wanted := session.ask():
            session.tell({name: values[int(name[1:])] for name in wanted})
        assert session.prediction == outcome.raw[row, 0]
        assert session.spent == policy.costs.price(outcome.acquired[row])
        again = Session.from_dict(policy, json.loads(json.dumps(session.to_dict())))
        assert again.prediction == session.prediction


def fitted():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    return PricedModel(tree, [1, 2, 3]), X


def test_refusals_of_requests():
    model, X = fitted()
    with pytest.raises(ValueError, match=r"budget has shape \(2,\) for 80 rows: give one number"):
        model.predict(X, budget=[1, 2])
    with pytest.raises(ValueError, match="budget is -1"):
        model.predict(X[:2], budget=[1, -1])
    with pytest.raises(CostsError, match="unavailable is 'f0': give a list of features"):
        model.predict(X, unavailable="f0")
    with pytest.raises(CostsError, match="unknown feature 7"):
        model.session(unavailable=[7])
    with pytest.raises(ValueError, match=r"budget has shape \(1,\) for 2 ids"):
        model.predict_with({0: list, 1: list, 2: list}, [0, 1], budget=[1])


def test_extractors_at_prices_of_today_with_a_budget_per_id():
    model, X = fitted()
    fetch = {column: (lambda ids, c=column: [X[i, c] for i in ids]) for column in range(3)}
    prices = {0: 10, 1: Decimal("0.5")}
    budgets = [0, 10, np.inf]
    answers = model.predict_with(fetch, [0, 1, 2], budget=budgets, prices=prices)
    np.testing.assert_array_equal(answers.spent, model.cost(X[:3], budgets, prices=prices))
    np.testing.assert_array_equal(answers.predictions, model.predict(X[:3], budgets, prices=prices))
    assert not model.policy_.chooses_by_price
