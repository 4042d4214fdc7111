"""Errors with prices: answers of the least expected price, purchases that save more than they cost."""

from __future__ import annotations

import numpy as np
import pytest

import worthwhile
from worthwhile import BudgetClassifier
from worthwhile.testing import check_contract


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    return X, np.where(X[:, 0] + 0.6 * X[:, 1] + 0.5 * rng.normal(size=600) > 0, "ill", "well")


@pytest.fixture(scope="module")
def model(data):
    return BudgetClassifier(worth=10, n_trees=16, random_state=0).fit(*data)


def total(model, X, y, errors):
    """What a model costs per case: tests and errors."""
    wrong = sum(
        price * np.mean((y == true) & (model.predict(X) == answer))
        for true, prices in errors.items()
        for answer, price in prices.items()
    )
    return model.cost(X).mean() + wrong


def test_the_point_in_use_is_the_cheapest_with_about_the_least_total(model):
    """The least of many totals is so partly by chance: half a standard error decides."""
    cheaper = 0
    for worth in (2, 5, 10, 30, 100):
        priced = model.at(worth=worth)
        lines = priced.frontier_
        least = lines.iloc[int(lines["total"].argmin())]
        bar = least["total"] + 0.5 * np.hypot(least["score_error"], least["cost_error"])
        assert lines["total"].iloc[priced.point_] <= bar
        assert (lines["total"].iloc[: priced.point_] > bar).all()
        np.testing.assert_allclose(lines["total"], lines["cost"] - lines["score"])
        cheaper += priced.point_ < int(lines["total"].argmin())
    assert cheaper


def test_dear_errors_are_worth_more_tests(data, model):
    costs = [model.at(worth=worth).cost(data[0]).mean() for worth in (0.1, 5, 100)]
    assert costs[0] == 0
    assert costs[0] < costs[1] < costs[2]


def test_nothing_is_grown_again(data, model):
    again = BudgetClassifier(worth=100, n_trees=16, random_state=0).fit(*data)
    twin = model.at(worth=100)
    assert twin.worth == 100
    assert model.worth == 10
    # The search saw other prices, so the sets may differ; totals hardly do.
    errors = {"ill": {"well": 100}, "well": {"ill": 100}}
    assert abs(total(twin, *data, errors) - total(again, *data, errors)) < 3


def test_answers_shun_the_dear_error(data, model):
    errors = {"ill": {"well": 30}, "well": {"ill": 3}}
    careful = model.at(errors=errors)
    X, y = data
    missed = np.mean((y == "ill") & (careful.predict(X) == "well"))
    false = np.mean((y == "well") & (careful.predict(X) == "ill"))
    assert missed < false
    assert total(careful, X, y, errors) < total(model, X, y, errors)


def test_a_person_is_asked_where_that_is_cheaper(data, model):
    helped = model.at(worth=20, refer=5)
    sent = helped.referred(data[0])
    assert 0 < sent.mean() < 1
    sure = helped.predict_proba(data[0]).max(axis=1)
    assert sure[sent].max() < sure[~sent].min() + 1e-9
    assert not model.at(worth=10, refer=1000).referred(data[0]).any()
    with pytest.raises(ValueError, match="nothing is referred"):
        model.referred(data[0])


def test_probabilities_stay_probabilities(data, model):
    np.testing.assert_allclose(model.predict_proba(data[0]).sum(axis=1), 1)


def test_a_file_keeps_prices_but_not_what_others_need(tmp_path, data, model):
    model.save(tmp_path / "m.zip")
    again = worthwhile.load(tmp_path / "m.zip")
    assert np.array_equal(again.predict(data[0]), model.predict(data[0]))
    with pytest.raises(ValueError, match="the model was read from a file"):
        again.at(worth=3)


def test_prices_of_unknown_classes_are_refused_before_work(data):
    with pytest.raises(ValueError, match="errors names the class 'dead'"):
        BudgetClassifier(errors={"dead": {"ill": 1}}).fit(*data)


def test_at_takes_prices_or_a_line(model):
    with pytest.raises(ValueError, match="prices of errors or a stage"):
        model.at(worth=3, stage=1)


def test_laws_with_prices_of_errors():
    check_contract(BudgetClassifier(worth=8, refer=3, n_trees=3, random_state=0))
