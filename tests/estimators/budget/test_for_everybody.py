"""Policies that buy one set for every row, where rules learned from few rows stop too early."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from worthwhile import BudgetClassifier
from worthwhile.estimators.budget import _fit, _induction
from worthwhile.estimators.budget._promise import Promise, dearer_and_better


def votes(n, seed, d=12):
    """Every column says a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, d)) + 0.45 * (2 * y[:, None] - 1), y


def line_of(*score, bill):
    return Promise(
        np.array(bill, dtype=float), np.zeros(len(bill)), np.array(score), np.zeros(len(bill))
    )


def test_with_few_rows_all_is_bought_where_all_is_better():
    fresh, truth = votes(4000, 99)
    reached = []
    for seed in range(4):
        model = BudgetClassifier(n_trees=16, random_state=0).fit(*votes(150, seed))
        rich = model.at(budget=12)
        assert (rich.cost(fresh) == rich.cost(fresh)[0]).all()
        assert model.frontier_.score.is_monotonic_increasing
        said = rich.frontier_.iloc[rich.point_]
        assert said["cost_error"] == 0.0
        reached.append(rich.score(fresh, truth))
        assert abs(said["score"] - reached[-1]) < 3 * said["score_error"]
    assert np.mean(reached) > 0.88


def test_without_folds_all_is_the_last_line():
    X, y = votes(150, 0)
    model = BudgetClassifier(costs=range(1, 13), n_trees=8, cross_validated=False, random_state=0)
    dear = model.fit(X, y).at(stage=model.n_stages_ - 1)
    assert (dear.cost(X) == 78).all()
    assert dear.acquired(X).all()


def test_a_budget_of_the_price_of_everything_allows_everything():
    """Three tenths are no float: what all rows pay is the amount of money all the same."""
    X, y = votes(60, 0, d=6)
    model = BudgetClassifier(costs=[0.1] * 6, n_trees=4, cross_validated=False, random_state=0)
    model = model.fit(X, y)
    assert (model.at(stage=model.n_stages_ - 1).cost(X) == 0.6).all()
    assert model.frontier_["bound"].iloc[-1] == 0.6
    assert model.at(budget=0.6).point_ == model.n_stages_ - 1


@pytest.mark.parametrize(("n", "apart"), [(600, False), (1090, False), (1100, True), (1500, True)])
def test_hardly_any_rows_that_are_left_judge_nothing(monkeypatch, n, apart):
    monkeypatch.setattr(_induction, "ROWS", 600)
    own, fresh = _induction._deal(SimpleNamespace(n_pool=n, n_rows=n), 0, 600)
    assert len(own) == 600
    assert np.array_equal(own, fresh) != apart
    assert not apart or not set(own) & set(fresh)


def test_where_one_column_says_all_nobody_buys_the_rest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    model = BudgetClassifier(n_trees=12, random_state=0).fit(X, (X[:, 2] > 0).astype(int))
    assert model.at(budget=6).cost(X).mean() < 3


@pytest.mark.parametrize("better", [True, False])
def test_with_many_rows_those_that_no_choice_was_made_on_say_so(monkeypatch, better):
    monkeypatch.setattr(_fit, "MOST_ROWS", 1000)
    monkeypatch.setattr(_induction, "ROWS", 500)
    monkeypatch.setattr(_induction, "MORE_ROWS", 500)
    monkeypatch.setattr(
        _fit, "dearer_and_better", lambda _, more: [len(more.bill) - 1] if better else []
    )
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 8))
    y = (X[:, 0] > 0).astype(int)
    model = BudgetClassifier(costs=np.ones(8), n_trees=12, random_state=0).fit(X, y)
    last = model.at(stage=model.n_stages_ - 1)
    assert (last.cost(X) == 8).all() == better
    assert (np.diff(model.frontier_.cost) > 0).all()


def test_lines_for_everybody_are_dearer_and_better():
    others = line_of(0.5, 0.8, 0.7, bill=[0, 4, 2])  # by their bills: 0.5, 0.7, 0.8
    more = line_of(0.9, 0.6, 0.82, 0.84, bill=[1, 5, 6, 7])
    assert dearer_and_better(others, more) == [2, 3]
    assert dearer_and_better(others, line_of(0.9, 0.6, bill=[5, 6])) == []  # 0.75 in the mean
    assert dearer_and_better(others, line_of(0.9, bill=[4])) == []
    assert dearer_and_better(others, line_of(bill=[])) == []
