"""Numbers that are worth their price."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import BudgetRegressor


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, 5e6 + 3 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=600)


@pytest.fixture(scope="module")
def model(data):
    return BudgetRegressor(n_trees=24, random_state=0).fit(*data)


def test_more_money_buys_better_numbers(data, model):
    scores = [model.at(budget=budget).score(*data) for budget in (0, 1, 2)]
    assert abs(scores[0]) < 0.01
    assert 0.75 < scores[1] < scores[2]
    assert scores[2] > 0.93


def test_a_large_centre_costs_no_precision(data, model):
    shifted = BudgetRegressor(n_trees=24, random_state=0).fit(data[0], data[1] - 5e6)
    for budget in (1, 2):
        a, b = model.at(budget=budget), shifted.at(budget=budget)
        assert abs(a.score(*data) - b.score(data[0], data[1] - 5e6)) < 0.01
        assert len(np.unique(a.predict(data[0]))) > 100  # float32 has two numbers per unit there


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_dear_errors_are_worth_more_tests(data, loss):
    model = BudgetRegressor(loss=loss, n_trees=16, random_state=0).fit(*data)
    costs = [model.at(errors=price).cost(data[0]).mean() for price in (0.01, 1, 100)]
    assert costs[0] == 0
    assert costs[0] < costs[1] <= costs[2]
    lines = model.at(errors=1.0).frontier_
    np.testing.assert_allclose(lines["total"], lines["cost"] - lines["score"])


def test_the_score_is_the_share_of_the_loss_that_is_gone(data, model):
    best = model.frontier_.iloc[-1]
    assert abs(best["score"] - model.at(stage=model.n_stages_ - 1).score(*data)) < 0.1


def test_refusals(data, model):
    with pytest.raises(ValueError, match="errors is -1"):
        BudgetRegressor(errors=-1).fit(*data)
    with pytest.raises(ValueError, match="a price of errors or a stage"):
        model.at(errors=1, stage=0)
    with pytest.raises(ValueError, match="loss"):
        BudgetRegressor(loss="cubic").fit(*data)
