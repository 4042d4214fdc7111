"""The whole frontier from one training."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import worthwhile
from worthwhile import BudgetClassifier, Costs
from worthwhile.estimators.budget import budget_classifier
from worthwhile.estimators.budget._payoff import Classes
from worthwhile.runtime import UNAVAILABLE


@pytest.fixture(scope="module")
def data():
    """Column 0 tells most, column 1 half as much, column 2 a little, the others nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    return X, (X[:, 0] + 0.6 * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)


def fitted(data, **params):
    return BudgetClassifier(n_trees=16, random_state=0, **params).fit(*data)


@pytest.fixture(scope="module")
def model(data):
    """Fitted with unit prices; nobody changes it."""
    return fitted(data)


def test_the_frontier_rises_from_nothing(model):
    lines = model.frontier_
    assert lines["cost"].iloc[0] == 0
    assert (np.diff(lines["cost"]) >= 0).all()
    assert (np.diff(lines["score"]) >= 0).all()
    assert lines["score"].iloc[-1] > 0.9


def test_a_point_costs_about_what_the_frontier_says(data, model):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 5))
    for stage, (cost, error) in enumerate(model.frontier_[["cost", "cost_error"]].to_numpy()):
        assert abs(model.at(stage=stage).cost(X).mean() - cost) < 0.15 + 4 * error


def test_a_budget_is_kept_and_used(data, model):
    for budget in (0.5, 1, 1.7, 3):
        cost = model.at(budget=budget).cost(data[0]).mean()
        assert cost <= budget
    assert model.at(budget=3).cost(data[0]).mean() > 1.5
    own = fitted(data, budget=1.7)
    assert (own.predict(data[0]) == model.at(budget=1.7).predict(data[0])).all()


def test_no_budget_is_the_cheapest_about_as_good_as_the_best(model):
    lines = model.frontier_
    best = lines.iloc[-1]  # scores do not fall
    assert best["score"] == lines["score"].max()
    enough = lines["score"] >= best["score"] - best["score_error"]
    assert model.point_ == int(np.argmax(enough))


def test_more_money_buys_better_answers(data, model):
    scores = [model.at(budget=budget).score(*data) for budget in (0, 1, 2, 3)]
    assert scores == sorted(scores)
    assert scores[-1] > scores[0] + 0.3


def test_at_leaves_the_model_as_it_is(data, model):
    before = model.cost(data[0])
    model.at(budget=0)
    assert np.array_equal(model.cost(data[0]), before)


def test_a_dear_twin_of_a_cheap_column_is_hardly_bought(data):
    X, y = data
    both = np.column_stack([X[:, 0], X])
    model = BudgetClassifier(costs=[9, 1, 1, 1, 1, 1], n_trees=8, random_state=0).fit(both, y)
    bought = model.at(budget=2).acquired(both).mean(axis=0)
    assert bought[0] < 0.05 < 0.5 < bought[1]


def test_a_group_with_a_fee_is_one_purchase(data):
    costs = Costs([0, 0, 1, 1, 1], groups={"panel": {"fee": 2, "features": [0, 1]}})
    model = fitted(data, costs=costs)
    bought = model.at(budget=2.5).acquired(data[0])
    assert (bought[:, 0] == bought[:, 1]).all()
    assert bought[:, 0].any()


def test_what_is_free_is_always_known(data):
    model = fitted(data, costs=[0, 1, 1, 1, 1])
    assert model.at(budget=0).score(*data) > 0.75
    assert model.at(budget=0).cost(data[0]).max() == 0


def test_scaling_prices_and_budget_changes_nothing(data, model):
    scaled = fitted(data, costs=np.full(5, 4.0))
    for budget in (0.5, 1.7, 3):
        a, b = model.at(budget=budget), scaled.at(budget=4 * budget)
        assert np.array_equal(a.acquired(data[0]), b.acquired(data[0]))
        assert np.array_equal(a.predict_proba(data[0]), b.predict_proba(data[0]))


def test_a_file_holds_the_whole_frontier(tmp_path, data, model):
    model.save(tmp_path / "model.zip")
    again = worthwhile.load(tmp_path / "model.zip")
    for budget in (0, 1, 2.5):
        ours, theirs = model.at(budget=budget), again.at(budget=budget)
        assert np.array_equal(ours.predict_proba(data[0]), theirs.predict_proba(data[0]))
        assert np.array_equal(ours.cost(data[0]), theirs.cost(data[0]))


def test_what_cannot_be_had_is_done_without(data, model):
    rich = model.at(stage=len(model.frontier_) - 1)
    right = 0
    for row, label in zip(data[0][:60], data[1][:60], strict=True):
        session = rich.session()
        while wanted := session.ask():
            session.tell({f: UNAVAILABLE if f == 1 else float(row[f]) for f in wanted})
        right += session.prediction == label
        assert 1 not in session.known
    assert right > 42


def test_what_is_known_for_free_is_used(data, model):
    poor = model.at(budget=0)
    right = 0
    for row, label in zip(data[0][:60], data[1][:60], strict=True):
        session = poor.session()
        session.tell({f: float(row[f]) for f in range(5)})
        assert session.ask() == []
        assert session.spent == 0
        right += session.prediction == label
    assert right > 50


def test_a_budget_per_case_takes_the_best_set_that_fits(data, model):
    rich = model.at(stage=len(model.frontier_) - 1)
    one = rich.predict(data[0], budget=1)
    assert (rich.cost(data[0], budget=1) <= 1).all()
    assert np.mean(one == data[1]) > 0.7


def test_values_may_be_missing(data):
    X, y = data[0].copy(), data[1]
    X[::3, 0] = np.nan
    model = fitted((X, y))
    assert model.at(budget=3).score(X, y) > 0.8


def test_weights_count(data):
    X, y = data
    weight = np.where(y == 1, 10.0, 1.0)
    model = BudgetClassifier(0, n_trees=4, random_state=0).fit(X, y, sample_weight=weight)
    assert (model.predict(X) == 1).all()
    assert model.predict_proba(X)[0, 1] > 0.85


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "at takes one of budget and stage"),
        ({"budget": 1, "stage": 1}, "at takes one of budget and stage"),
        ({"stage": 1000}, "stage is 1000: the frontier has lines 0 to"),
        ({"stage": 1.5}, "stage is 1.5: the frontier has lines 0 to"),
        ({"stage": "0"}, "stage is '0': the frontier has lines 0 to"),
        ({"budget": 1, "mix": "yes"}, "mix is 'yes': give True, False"),
        ({"worth": 1, "mix": 1}, "mix is 1: give True, False"),
        ({"budget": -1}, "budget is -1"),
    ],
)
def test_at_refuses(model, given, message):
    with pytest.raises(ValueError, match=message):
        model.at(**given)


def test_weights_that_are_all_alike_change_nothing(data, model):
    weighted = BudgetClassifier(n_trees=16, random_state=0)
    weighted.fit(*data, sample_weight=np.full(len(data[0]), 0.1))
    assert weighted.policy_.fingerprint() == model.policy_.fingerprint()


def test_questions_to_a_model_that_is_not_fitted_are_refused():
    for ask in (lambda m: m.referred(np.zeros((1, 2))), lambda m: m.total_cost([[0]], [0])):
        with pytest.raises(NotFittedError):
            ask(BudgetClassifier())


def test_more_classes_than_memory_are_refused_before_work(monkeypatch):
    monkeypatch.setattr(budget_classifier, "_memory", lambda: 2.0**20)
    X = np.zeros((400, 2))
    with pytest.raises(ValueError, match=r"y has 200 classes in 400 rows: .*join rare classes"):
        BudgetClassifier().fit(X, np.arange(400) // 2)


def test_without_prices_of_errors_the_likeliest_class_is_the_decision():
    votes = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.0, 0.0, 1.0]])
    payoff = Classes(np.array([0, 1, 2]), 3, np.ones(3))
    priced = Classes(np.array([0, 1, 2]), 3, np.ones(3), 1.0 - np.eye(3))
    assert payoff.decide(votes).tolist() == priced.decide(votes).tolist() == [1, 0, 2]


def test_a_bad_budget_is_refused_before_work(data):
    with pytest.raises(ValueError, match="budget is -3"):
        fitted(data, budget=-3)
