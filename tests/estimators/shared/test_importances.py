"""What features are worth: money that adds up to the bill, changes counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile import Costs, GreedyMiserClassifier, PricedModel
from worthwhile.core.trees import Trees
from worthwhile.estimators._shared import importances
from worthwhile.estimators._shared.importances import change_by_feature, money_by_feature
from worthwhile.policy.trees import TreePolicy

HEART = worthwhile.datasets.load_heart()


@pytest.mark.parametrize(
    "model",
    [
        GreedyMiserClassifier(lam=1e-4, n_rounds=10, costs=HEART.costs).fit(HEART.data, HEART.target),
        PricedModel(
            DecisionTreeClassifier(max_depth=4, random_state=0).fit(HEART.data, HEART.target), HEART.costs
        ),
        PricedModel(LogisticRegression(max_iter=2000).fit(HEART.data, HEART.target), HEART.costs),
    ],
    ids=["boosted", "tree", "linear"],
)  # fmt: skip
def test_money_adds_up_to_the_mean_bill(model):
    table = model.importances(HEART.data)
    assert table["feature"].tolist() == HEART.data.columns.tolist()
    assert table["money"].sum() == pytest.approx(model.cost(HEART.data).mean())
    np.testing.assert_allclose(table["share"], model.acquired(HEART.data).mean(axis=0))
    assert ("change" in table) == (
        not isinstance(getattr(model, "model", None), LogisticRegression)
    )
    if "change" in table:
        assert set(np.flatnonzero(table["change"])) <= set(np.flatnonzero(table["share"]))
        assert table["change"].max() > 0


def test_a_fee_is_divided_among_what_was_bought_behind_it():
    costs = Costs([1, 2, 4], {"lab": {"fee": 6, "features": [0, 1]}})
    acquired = np.array([[True, True, False], [True, False, True]])
    # 6 is due twice: halved in the first row, all for feature 0 in the second.
    assert money_by_feature(costs, acquired).tolist() == [1 + (3 + 6) / 2, 1 + 3 / 2, 2]


def test_the_forests_of_a_library_are_walked_as_it_walks_them():
    X, y, costs = worthwhile.datasets.make_priced_classification(300, seed=0)
    X.iloc[::7, 0] = np.nan
    model = worthwhile.BudgetClassifier(costs=costs, n_trees=6, random_state=0).fit(X, y)
    policy, rows = model.policy_, X.to_numpy()
    ends = policy.ends(rows)
    for node in np.unique(ends[ends > 0]).tolist():
        trees, own = policy.library.forest_of(node), rows[ends == node]
        raw = TreePolicy(costs, policy.output, trees).batch(own).raw
        np.testing.assert_allclose(policy.absolute(raw), policy.batch(own).raw, rtol=1e-5)


def test_many_rows_are_walked_in_blocks(monkeypatch):
    model = PricedModel(
        DecisionTreeClassifier(max_depth=4, random_state=0).fit(HEART.data, HEART.target)
    )
    whole = model.importances(HEART.data)["change"].to_numpy()
    monkeypatch.setattr(importances, "AT_ONCE", 50)
    assert model.importances(HEART.data)["change"].to_numpy() == pytest.approx(whole)


@pytest.mark.parametrize("average", [False, True])
def test_changes_by_hand(average):
    # x0 <= 0 -> -1, else x1 <= 0 -> 2, else 6 (4 in between); the root says 1. A tree without a test.
    trees = Trees.build(
        feature=[0, -1, 1, -1, -1, -1], threshold=[0.0] * 6, left=[1, -1, 3, -1, -1, -1],
        right=[2, -1, 4, -1, -1, -1], value=[[1.0], [-1.0], [4.0], [2.0], [6.0], [9.0]], root=[0, 5],
        base=[0.0], average=average,
    )  # fmt: skip
    X = np.array([[-1.0, 5.0], [1.0, -1.0]])
    expected = np.array([(2 + 3) / 2, 2 / 2]) / (2 if average else 1)
    assert change_by_feature(trees, X).tolist() == expected.tolist()
