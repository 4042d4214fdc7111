"""``feature_importances_`` where there are trees, and a clear refusal where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import worthwhile
from worthwhile import (
    AdaptiveBoostingClassifier,
    BudgetClassifier,
    BudgetedForestClassifier,
    BudgetRegressor,
    CostWeightedL1Classifier,
    EarlyExitClassifier,
    ForwardForestClassifier,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    PrunedForestClassifier,
    SubmodularTreeClassifier,
)
from worthwhile.estimators._shared.importances import impurity_by_feature, spread_by_feature


def _rows(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 2] + 0.1 * X[:, 0] > 0).astype(int)


TREES = {
    "budgeted": lambda X, y: BudgetedForestClassifier(n_trees=5, random_state=0),
    "pruned": lambda X, y: PrunedForestClassifier(random_state=0),
    "forward": lambda X, y: ForwardForestClassifier(n_trees=6, n_search_trees=4, random_state=0),
    "exits": lambda X, y: EarlyExitClassifier(GreedyMiserClassifier(n_rounds=20)),
    "gate": lambda X, y: AdaptiveBoostingClassifier(
        LogisticRegression().fit(X, y), p_full=0.3, gamma=0.001, n_rounds=5, random_state=0
    ),
}


@pytest.mark.parametrize("name", TREES)
def test_trees_say_what_their_features_gain_and_files_keep_it(name, tmp_path):
    X, y = _rows()
    model = TREES[name](X, y).fit(X, y)
    gains = model.feature_importances_
    assert gains.shape == (4,)
    assert gains.sum() == pytest.approx(1)
    assert np.argmax(gains) == 2
    model.save(tmp_path / "m.worthwhile")
    again = worthwhile.load(tmp_path / "m.worthwhile")
    np.testing.assert_array_equal(again.feature_importances_, gains)


def test_impurity_is_that_of_scikit_learn():
    X, y = _rows()
    forest = RandomForestClassifier(5, bootstrap=False, max_depth=4, random_state=0).fit(X, y)
    trees = PricedModel(forest).policy_.trees
    found = impurity_by_feature(trees, X, y, 2)
    assert found == pytest.approx(forest.feature_importances_, abs=0.02)
    doubled = impurity_by_feature(trees, np.vstack([X, X]), np.tile(y, 2), 2)
    assert impurity_by_feature(trees, X, y, 2, np.full(len(y), 2.0)) == pytest.approx(doubled)


def test_spread_is_what_means_take_off_the_squared_error():
    X, y = _rows()
    trees = worthwhile.GreedyMiserRegressor(n_rounds=1, max_depth=2).fit(X, y * 1.0).policy_.trees
    model = worthwhile.GreedyMiserRegressor(n_rounds=1, max_depth=2).fit(X, y * 1.0)
    gains = model.feature_importances_
    assert spread_by_feature(trees, X) == pytest.approx(gains / gains.sum(), rel=1e-3)


def test_columns_are_those_of_the_table():
    X, y = _rows()
    frame = pd.DataFrame({"noise": X[:, 1], "kind": np.where(y > 0, "a", "b")})
    for cls in (BudgetedForestClassifier, PrunedForestClassifier):
        gains = cls(random_state=0).fit(frame, y).feature_importances_
        assert gains.shape == (2,)
        assert np.argmax(gains) == 1


@pytest.mark.parametrize("cls", [BudgetClassifier, BudgetRegressor])
def test_the_flagship_has_them_where_it_was_trained(cls, tmp_path):
    X, y = _rows()
    model = cls(n_trees=6, random_state=0)
    assert not hasattr(model, "feature_importances_")
    gains = model.fit(X, y.astype(float) if cls is BudgetRegressor else y).feature_importances_
    assert gains.shape == (4,)
    assert gains.sum() == pytest.approx(1)
    assert np.argmax(gains) == 2
    model.save(tmp_path / "m.worthwhile")
    again = worthwhile.load(tmp_path / "m.worthwhile")
    with pytest.raises(AttributeError, match="holds no rows"):
        _ = again.feature_importances_
    assert again.importances(X)["change"].tolist() == model.importances(X)["change"].tolist()


def test_the_flagship_tells_of_the_point_in_use():
    X, y = _rows()
    model = BudgetClassifier(costs=[1, 1, 1, 9], n_trees=6, mix=True, random_state=0).fit(X, y)
    assert not model.at(stage=0).feature_importances_.any()  # nothing is bought
    bought = model.acquired(X).any(axis=0)
    assert not model.feature_importances_[~bought].any()
    first, second, share = 0, model.n_stages_ - 1, 0.25
    changes = [model.at(stage=line).importances(X)["change"].to_numpy() for line in (first, second)]
    mixed = worthwhile.PricedModel.mixed(model.at(stage=first), model.at(stage=second), share)
    expected = (1 - share) * changes[0] + share * changes[1]
    assert mixed.importances(X)["change"].to_numpy() == pytest.approx(expected)


def test_the_flagship_tells_of_the_columns_of_the_table():
    X, y = _rows()
    frame = pd.DataFrame({"noise": X[:, 1], "kind": np.where(y > 0, "a", "b")})
    gains = BudgetClassifier(n_trees=6, random_state=0).fit(frame, y).feature_importances_
    assert gains.tolist() == [0, 1]


def test_other_trees_do_not_pretend_to_have_them():
    X, y = _rows()
    forest = BudgetedForestClassifier(n_trees=5, random_state=0).fit(X, y)
    assert not hasattr(forest.at(stage=1), "feature_importances_")
    assert hasattr(forest, "feature_importances_")
    pruned = PrunedForestClassifier(random_state=0).fit(X, y)
    assert pruned.at(lam=10.0).feature_importances_.sum() == 0  # nothing is bought


@pytest.mark.parametrize(
    "make", [CostWeightedL1Classifier, SubmodularTreeClassifier, L1GateClassifier, GreedyMiserClassifier]
)  # fmt: skip
def test_where_there_are_none_the_error_says_what_to_use(make):
    model = make()
    with pytest.raises(AttributeError, match=r"importances\(X\) tells"):
        _ = model.feature_importances_
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = model.nonsense
