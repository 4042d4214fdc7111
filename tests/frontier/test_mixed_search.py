"""Searches that meet a budget by two models and a share."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import worthwhile
from worthwhile import (
    BudgetSearchCV,
    CostWeightedL1Classifier,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    PricedModel,
)
from worthwhile.datasets import make_priced_classification
from worthwhile.frontier._measure import LabelledRows
from worthwhile.frontier._mixing import share_within, with_one_map
from worthwhile.frontier._promise import Twins
from worthwhile.frontier._tune import Refit

QUICK = {"cv": 2, "refine": 0}
ERRORS = {1: {0: 600}, 0: {1: 200}}


@pytest.fixture(scope="module")
def data():
    return make_priced_classification(300, seed=6)


@pytest.fixture(scope="module")
def search(data):
    X, y, costs = data
    found = BudgetSearchCV(CostWeightedL1Classifier(costs=costs), 9, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is not None
    return found


def test_by_default_a_search_gives_one_model(data):
    X, y, costs = data
    found = BudgetSearchCV(CostWeightedL1Classifier(costs=costs), 9, **QUICK).fit(X, y)
    assert found.mixture_ is None
    assert found.policy_.coin is None


def test_the_budget_lies_between_the_two_and_is_used(search, data):
    first, second, share = search.mixture_
    frontier = search.frontier_
    assert frontier.mix
    assert frontier[first].cost < search.best_cost_ < frontier[second].cost
    assert search.best_cost_ == pytest.approx(
        (1 - share) * frontier[first].cost + share * frontier[second].cost
    )
    assert frontier[first].score < search.best_score_ < frontier[second].score
    assert search.expected_cost_ < search.best_bound_ <= 9
    assert search.best_bound_ == pytest.approx(9, abs=1e-6)
    assert search.n_refits_ >= 2


def test_cases_follow_one_of_the_two(search, data):
    X = data[0]
    keys = list(range(len(X)))
    dear = search.policy_.coin.by_keys(map(str, keys))
    policies = [search.policy_.following(side) for side in (False, True)]
    sides = [policy.serve(X.to_numpy(), policy.allowed(None)) for policy in policies]
    expected = np.where(dear[:, None], sides[1].acquired, sides[0].acquired)
    assert np.array_equal(search.acquired(X, key=keys), expected)
    assert abs(dear.mean() - search.mixture_[2]) < 0.15
    session = search.session(key=3)
    assert session.key == "3"


def test_a_mixed_search_is_saved_and_asks_alike(search, data, tmp_path):
    X = data[0]
    search.save(tmp_path / "mixed.worthwhile")
    again = worthwhile.load(tmp_path / "mixed.worthwhile")
    keys = list(range(len(X)))
    assert np.array_equal(again.cost(X, key=keys), search.cost(X, key=keys))
    for budget in (None, 4):
        bills = search.cost(X, budget, key=keys)
        for row in range(8):
            session = again.session(budget, key=keys[row])
            while wanted := session.ask():
                session.tell({name: X[name].iloc[row] for name in wanted})
            assert session.spent == bills[row]


def test_what_is_promised_is_the_bill_of_the_mixture(search):
    said = search.best_estimator_._promised()
    assert said.figures["bill"].mean == search.expected_cost_
    assert said.bound == search.best_bound_
    assert "accuracy" in said.figures


def test_the_same_search_tosses_the_same_coin(search, data):
    X, y, costs = data
    again = BudgetSearchCV(CostWeightedL1Classifier(costs=costs), 9, mix=True, **QUICK).fit(X, y)
    assert again.policy_.fingerprint() == search.policy_.fingerprint()


def test_with_money_for_the_best_nothing_is_mixed(data):
    X, y, costs = data
    found = BudgetSearchCV(CostWeightedL1Classifier(costs=costs), 1e4, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is None


@pytest.fixture(scope="module")
def by_totals(data):
    """A search by prices of errors whose budget lies between two models."""
    X, y, costs = data
    linear = CostWeightedL1Classifier(costs=costs)
    found = BudgetSearchCV(linear, 9, errors=ERRORS, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is not None
    return found


def test_two_models_are_mixed_where_errors_have_prices(by_totals, data):
    X = data[0]
    first, second, _ = by_totals.mixture_
    totals = -by_totals.frontier_.score
    assert totals[second] < -by_totals.best_score_ < totals[first]
    assert by_totals.best_bound_ <= 9
    assert by_totals.policy_.output.errors.to_dict() == worthwhile.Errors(ERRORS).to_dict()
    # Decisions are those that the mixture's own probabilities make cheapest.
    shares = by_totals.predict_proba(X, key=range(len(X)))
    expected = np.column_stack([shares[:, 1] * ERRORS[1][0], shares[:, 0] * ERRORS[0][1]])
    np.testing.assert_array_equal(
        by_totals.predict(X, key=range(len(X))), by_totals.classes_[expected.argmin(axis=1)]
    )
    assert set(by_totals.best_estimator_._promised().figures) >= {"bill", "total"}


def overconfident(rows):
    """A mixture of two stages of a booster that has learnt its rows by heart."""
    miser = GreedyMiserClassifier(
        n_rounds=150, learning_rate=0.3, min_samples_leaf=2, validation_fraction=None
    ).fit(rows.X, rows.y)
    return PricedModel.mixed(miser.at(stage=100), miser, 0.5)


def test_a_mixture_has_one_map_for_both():
    X, y, _ = make_priced_classification(2000, seed=6)
    wrong = np.random.default_rng(0).random(2000) < 0.2  # so that nobody may be sure
    y = np.where(wrong, 1 - y, y)
    rows, fresh = LabelledRows(X[:400], y[:400]), LabelledRows(X[400:], y[400:])
    folds = [(np.arange(200), np.arange(200, 400)), (np.arange(200, 400), np.arange(200))]
    sweep = SimpleNamespace(rows=rows, folds=folds)
    model = with_one_map(overconfident(rows), rows, Twins(sweep, overconfident))
    for dearer in (False, True):
        side = model.policy_.following(dearer)
        assert side.output.calibration is model.policy_.output.calibration is not None
    raw, output = model._run(fresh.X, key=range(1600)).raw, model.policy_.output

    def loss(shares):
        return -np.log(shares[np.arange(1600), fresh.y]).mean()

    assert loss(output.probabilities(raw)) < loss(output.calibrated(None).probabilities(raw)) - 0.1


def test_numbers_are_mixed_by_prices_of_their_errors(data):
    X, _, costs = data
    miser = GreedyMiserRegressor(costs=costs, n_rounds=20)
    target = X @ np.arange(X.shape[1])
    found = BudgetSearchCV(miser, 9, errors=50, mix=True, **QUICK).fit(X, target)
    assert found.mixture_ is not None
    assert found.policy_.output.calibration is None
    assert found.best_bound_ <= 9


def test_pipelines_are_mixed(data):
    X, y, costs = data
    piped = make_pipeline(StandardScaler(), CostWeightedL1Classifier(costs=costs))
    found = BudgetSearchCV(piped, 9, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is not None
    assert found.cost(X, key=np.arange(len(X))).mean() < 12


def calibrated(costs, kind):
    return CostWeightedL1Classifier(costs=costs, calibrate=kind)


@pytest.fixture(scope="module")
def with_map(data):
    X, y, costs = data
    return BudgetSearchCV(calibrated(costs, "isotonic"), 9, mix=True, **QUICK).fit(X, y)


def test_calibrate_gives_a_mixture_one_map_of_that_kind(search, with_map, data):
    X, keys = data[0], range(len(data[0]))
    assert with_map.mixture_ == search.mixture_, "what is swept is not calibrated"
    assert with_map.estimator.calibrate == "isotonic"
    output = with_map.policy_.output
    assert output.calibration.kind == "isotonic"
    assert np.array_equal(with_map.acquired(X, key=keys), search.acquired(X, key=keys))
    assert np.array_equal(with_map.predict(X, key=keys), search.predict(X, key=keys))
    raw = search.best_estimator_._run(X, key=keys).raw
    assert np.array_equal(with_map.predict_proba(X, key=keys), output.probabilities(raw))
    said = [
        found.best_estimator_._promised().figures["calibration"] for found in (search, with_map)
    ]
    assert said[0] != said[1], "the promise is of probabilities behind the map"


def test_calibrate_false_is_no_map(search, data):
    X, y, costs = data
    found = BudgetSearchCV(calibrated(costs, False), 9, mix=True, **QUICK).fit(X, y)
    assert found.policy_.output.calibration is None
    assert found.mixture_ == search.mixture_


def test_what_stands_alone_has_the_map_that_was_asked_for(data):
    X, y, costs = data
    found = BudgetSearchCV(calibrated(costs, "sigmoid"), 1e4, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is None
    assert found.best_estimator_.calibration_["kind"] == "sigmoid"


def test_a_pipeline_that_is_mixed_has_the_map_of_its_last_step(data):
    X, y, costs = data
    piped = make_pipeline(StandardScaler(), calibrated(costs, "sigmoid"))
    found = BudgetSearchCV(piped, 9, mix=True, **QUICK).fit(X, y)
    assert found.mixture_ is not None
    assert found.policy_.output.calibration.kind == "sigmoid"


def test_a_journal_of_calibrated_sweeps_is_not_that_of_a_mixture(data, tmp_path):
    X, y, costs = data
    few = {**QUICK, "trade_off": [{"lam": 0.1}, {"lam": 0.01}], "resume": tmp_path / "journal"}
    BudgetSearchCV(calibrated(costs, "sigmoid"), 9, **few).fit(X, y)
    with pytest.raises(ValueError, match="estimator"):
        BudgetSearchCV(calibrated(costs, "sigmoid"), 9, mix=True, **few).fit(X, y)


def test_what_cannot_be_mixed_is_refused_before_training(data):
    X, y, costs = data
    deciding = CostWeightedL1Classifier(costs=costs, errors=5)
    with pytest.raises(ValueError, match=r"errors is given.*give errors to the search"):
        BudgetSearchCV(deciding, 9, mix=True).fit(X, y)
    with pytest.raises(ValueError, match="there are queries"):
        BudgetSearchCV(GreedyMiserRegressor(costs=costs), 9, mix=True).fit(
            X, y, qid=np.arange(len(y)) // 10
        )


class Flat:
    """Bills every row the same."""

    def __init__(self, bill):
        self.bill = bill

    def predict(self, X):
        return np.zeros(len(X))

    def cost(self, X):
        return np.full(len(X), float(self.bill))


@pytest.mark.parametrize("n_new", [100, math.inf])
def test_the_share_is_the_largest_that_keeps_the_budget(n_new):
    rows = LabelledRows(np.zeros((50, 1)), np.zeros(50))
    refits = (Refit(Flat(2), {}, 2.0, 2.0, 2.5), Refit(Flat(10), {}, 10.0, 10.5, 12.5))
    share, bound = share_within(refits, rows, 6.0, 0.95, n_new)
    assert bound == pytest.approx(6.0)
    assert bound <= 6.0
    expected = 2 + share * 8.5
    margin = 0.5 + share * 1.5
    noise = 1.6448536**2 * 64 * share * (1 - share) / n_new
    assert expected + math.sqrt(margin**2 + noise) == pytest.approx(6.0)
    more, _ = share_within(refits, rows, 6.0, 0.95, math.inf)
    assert share <= more
