"""lam=0 is said to save nothing, once; lam="auto" saves what it can."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.estimators.boosting.miser_data import numbers
from worthwhile import BudgetSearchCV, GreedyMiserClassifier, GreedyMiserRegressor, _messages, load
from worthwhile.exceptions import WorthwhileWarning


@pytest.fixture
def fresh(monkeypatch):
    monkeypatch.setattr(_messages, "_SAID", set())


def noise_for_money(n=400):
    """One cheap column decides; the others cost much and say nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(int)


def test_nothing_saved_is_said_once_where_there_are_prices(fresh):
    X, y = noise_for_money()
    with pytest.warns(
        WorthwhileWarning, match=r"lam is 0: .* nothing is saved\. Set lam='auto'"
    ) as seen:
        GreedyMiserClassifier(costs=[1, 9, 9, 9], n_rounds=2).fit(X, y)
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GreedyMiserClassifier(costs=[1, 9, 9, 9], n_rounds=2).fit(X, y)


def test_nothing_is_said_where_nothing_could_be_saved_or_a_search_tries_it(fresh):
    X, y = noise_for_money()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GreedyMiserClassifier(n_rounds=2).fit(X, y)
        GreedyMiserClassifier(costs=[0, 0, 0, 0], n_rounds=2).fit(X, y)
        GreedyMiserClassifier(lam=0.01, costs=[1, 9, 9, 9], n_rounds=2).fit(X, y)
        miser = GreedyMiserClassifier(costs=[1, 9, 9, 9], n_rounds=2)
        trade_off = [{"lam": 0.0}, {"lam": 0.01}]
        BudgetSearchCV(miser, np.inf, cv=2, trade_off=trade_off, tune=0, refine=0).fit(X, y)


def test_auto_buys_what_is_worth_it(tmp_path):
    X, y = noise_for_money()
    dear = GreedyMiserClassifier(costs=[1, 9, 9, 9], n_rounds=10).fit(X, y)
    model = GreedyMiserClassifier(lam="auto", costs=[1, 9, 9, 9], n_rounds=10).fit(X, y)
    assert model.purchase_order_ == [0]
    assert model.lam_ > 0
    assert model.lam == "auto"
    assert model.cost(X).mean() == 1 < dear.cost(X).mean()
    assert model.score(X, y) > 0.97
    again = GreedyMiserClassifier(lam="auto", costs=[1, 9, 9, 9], n_rounds=10).fit(X, y)
    assert again.lam_ == model.lam_
    model.save(tmp_path / "model.zip")
    assert load(tmp_path / "model.zip").lam_ == model.lam_


@pytest.mark.parametrize("loss", ["squared", "absolute", "lambdarank"])
def test_auto_chooses_for_numbers_and_queries(loss):
    X, y = numbers(0, n=300)
    y = np.clip(np.round(y), 0, 4)
    qid = np.repeat(np.arange(30), 10) if loss == "lambdarank" else None
    model = GreedyMiserRegressor(lam="auto", loss=loss, n_rounds=10, costs=[1, 1, 1, 1, 50, 50])
    model.fit(X, y, qid=qid)
    assert not {4, 5} & set(model.purchase_order_)
    assert model.lam_ > 0


def test_validation_rows_choose_where_they_are_given():
    X, y = noise_for_money()
    model = GreedyMiserClassifier(lam="auto", costs=[1, 9, 9, 9], n_rounds=5)
    assert model.fit(X[:200], y[:200], validation=(X[200:], y[200:])).purchase_order_ == [0]
