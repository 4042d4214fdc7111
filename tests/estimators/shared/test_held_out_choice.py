"""What is left at its default chooses its trade-off on rows held out."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import (
    BudgetedForestClassifier,
    Costs,
    DynamicSelectionClassifier,
    EarlyExitClassifier,
    GreedyMiserClassifier,
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
    load,
)
from worthwhile.estimators._shared.held_out_choice import (
    choose_point,
    row_losses,
)


def _rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.7 * X[:, 1] > 0).astype(int)


def test_points_are_judged_on_rows_held_out():
    X, y = _rows()
    booster = GreedyMiserClassifier(costs=[1, 1, 50, 50], n_rounds=20)
    top = booster.lam_max(X, y)
    point = choose_point(booster, [{"lam": top}, {"lam": top / 30}, {"lam": 0.0}], X, y)
    assert 0 < point["lam"] < top
    assert choose_point(booster, [{"lam": 1.0}], X, y) == {"lam": 1.0}
    losses = row_losses(booster.fit(X, y), X, y)
    assert losses.shape == (len(X),)
    assert (losses >= 0).all()


PRICES = Costs([1, 1, 50, 50])

AUTO = {
    "astc": (SubmodularTreeClassifier(costs=PRICES, max_depth=2), "budget"),
    "forest": (BudgetedForestClassifier(costs=PRICES, n_trees=5, random_state=0), "price_power"),
    "exits": (EarlyExitClassifier(GreedyMiserClassifier(n_rounds=30), every=5, costs=PRICES), "threshold"),
    "dynamic": (
        DynamicSelectionClassifier(costs=PRICES, max_iter=1, n_folds=3, random_state=0), "lam",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AUTO)
def test_what_is_left_at_its_default_saves(name, tmp_path):
    """Two cheap columns say everything: what is chosen inside does not buy the two dear ones for all."""
    model, parameter = AUTO[name]
    X, y = _rows()
    fitted = model.fit(X, y)
    assert getattr(fitted, parameter) == "auto"
    assert not isinstance(getattr(fitted, f"{parameter}_"), str)
    assert fitted.cost(X).mean() < (100 if name == "exits" else 52)  # its trees know no prices
    assert fitted.score(X, y) > 0.85
    fitted.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert getattr(again, parameter) == "auto"
    assert (again.predict(X) == fitted.predict(X)).all()


def test_a_forest_without_a_budget_buys_what_is_dear_where_only_that_tells():
    X, y = _rows(400)
    costs = [100, 80, 1, 1]  # what is cheap says nothing
    paper = BudgetedForestClassifier(costs=costs, n_trees=10, price_power=1.0, random_state=0)
    own = BudgetedForestClassifier(costs=costs, n_trees=10, random_state=0)
    assert own.fit(X, y).score(X, y) >= paper.fit(X, y).score(X, y) - 0.02
    assert own.cost(X).mean() > 0.3 * own.costs_.total


def test_regressors_choose_too():
    X, _ = _rows()
    model = SubmodularTreeRegressor(costs=PRICES, max_depth=2).fit(X, X[:, 0] + 0.5 * X[:, 1])
    assert model.cost(X).mean() < 52
    assert model.score(X, X[:, 0] + 0.5 * X[:, 1]) > 0.9
