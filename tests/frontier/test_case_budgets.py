"""Budgets for each case are points of their own, and the way to a model that buys nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import worthwhile
from worthwhile import BudgetSearchCV, Frontier, GreedyMiserClassifier, compare, load
from worthwhile.costs import Costs
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.frontier import train_choice
from worthwhile.frontier._stages import case_budgets


def _twenty(n=500, seed=0):
    """Twenty equal features, each a fifth of the answer."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    return X, (X.sum(axis=1) > 0).astype(int)


def test_budgets_span_the_prices():
    assert case_budgets(Costs(np.zeros(3))) == []
    found = case_budgets(Costs(np.ones(20)))
    assert found[0] == 0
    assert found[1] == 1
    assert found[-1] == 10
    six = case_budgets(Costs(np.logspace(-3, 3, 7)))
    assert six == sorted(six)
    assert max(b / a for a, b in itertools.pairwise(six[1:])) < 3


def test_a_comparison_reports_what_a_model_does_within_a_budget():
    X, y = _twenty()
    found = compare(X, y, None, ["greedy-miser"], [3], n_splits=1, effort=2)
    points = list(found.frontier("greedy-miser", 0))
    limited = [point for point in points if point.case_budget is not None]
    assert limited
    assert all(point.cost <= point.case_budget for point in limited)
    assert Frontier.from_dict(found.frontier("greedy-miser", 0).to_dict()).points == tuple(points)
    choice = found.best(budget=3)
    model = train_choice(choice, X, y)
    if choice.points[0].case_budget is not None:
        assert model.cost(X).max() <= choice.points[0].case_budget


def test_a_search_may_choose_a_limit_and_keeps_it_in_the_file(tmp_path):
    X, y = _twenty()
    booster = GreedyMiserClassifier(n_rounds=10)
    search = BudgetSearchCV(
        booster, budget=3, cv=2, trade_off=[{"lam": 0.0}], refine=0, horizon=np.inf
    ).fit(X, y)
    limits = {point.case_budget for point in search.frontier_}
    assert {0.0, 1.0} <= limits
    assert search.cost(X).mean() <= 3
    search.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.predict(X) == search.predict(X)).all()
    assert (again.cost(X) == search.cost(X)).all()
    if search.best_case_budget_ is not None:
        assert search.cost(X).max() <= search.best_case_budget_


def test_a_budget_below_everything_gives_the_model_that_buys_nothing():
    heart = worthwhile.datasets.load_heart()
    booster = GreedyMiserClassifier(costs=heart.costs, n_rounds=5)
    search = BudgetSearchCV(booster, budget=0.5, cv=2, trade_off=[{"lam": 0.0}], refine=0)
    with pytest.warns(WorthwhileWarning, match="buys nothing"):
        search.fit(heart.data, heart.target)
    assert search.cost(heart.data).max() == 0
    assert search.best_cost_ == 0
