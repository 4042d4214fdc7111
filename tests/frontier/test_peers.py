"""Peers pay exactly for what their trees read."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from tests.naive.foreign_trees import lightgbm_paths
from worthwhile import datasets
from worthwhile.costs import Costs
from worthwhile.estimators.priced._lightgbm import from_lightgbm
from worthwhile.frontier import _peers


@pytest.fixture(scope="module")
def data():
    return datasets.make_priced_classification(300, seed=0, n_classes=3, missing=0.1)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_lightgbm_trees_predict_and_pay_as_lightgbm_walks(data, n_classes):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, costs = data
    values = X.to_numpy()
    y = np.nan_to_num(values).sum(axis=1) if n_classes == 0 else y % n_classes
    kind = lightgbm.LGBMRegressor if n_classes == 0 else lightgbm.LGBMClassifier
    model = kind(n_estimators=6, num_leaves=8, verbose=-1, n_jobs=1).fit(values, y)
    policy = from_lightgbm(model, costs)
    outcome = policy.batch(values)
    if n_classes:
        ours, theirs = policy.output.probabilities(outcome.raw), model.predict_proba(values)
    else:
        ours, theirs = outcome.raw[:, 0], model.predict(values)
    assert np.abs(ours - theirs).max() < 1e-12
    for i in range(0, 300, 50):
        assert set(np.flatnonzero(outcome.acquired[i])) == set(lightgbm_paths(model, values[i]))
    assert policy.trees.problem(X.shape[1]) is None


def test_without_missing_values_in_training_lightgbm_reads_nan_as_zero(data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, costs = data
    model = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1).fit(
        np.nan_to_num(X.to_numpy()) - 0.5, y
    )
    policy = from_lightgbm(model, costs)
    ours = policy.output.probabilities(policy.batch(X.to_numpy()).raw)
    assert np.abs(ours - model.predict_proba(X.to_numpy())).max() < 1e-12


def test_what_lightgbm_trees_cannot_say_is_refused_or_read_whole(data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, costs = data
    values, small = np.nan_to_num(X.to_numpy()), {"n_estimators": 2, "verbose": -1, "n_jobs": 1}
    assert from_lightgbm(object(), costs) is None
    poisson = lightgbm.LGBMRegressor(objective="poisson", **small).fit(values, y)
    assert from_lightgbm(poisson, costs) is None
    linear = lightgbm.LGBMRegressor(linear_tree=True, **small).fit(values, y)
    assert from_lightgbm(linear, costs) is None
    zero = lightgbm.LGBMRegressor(zero_as_missing=True, **small).fit(values, y)
    with pytest.raises(ValueError, match=r"zero_as_missing=True.: train it without that"):
        from_lightgbm(zero, costs)
    codes = np.random.default_rng(0).integers(0, 9, (300, 1)).astype(float)
    category = lightgbm.LGBMRegressor(**small).fit(codes, codes[:, 0] % 2, categorical_feature=[0])
    read = from_lightgbm(category, Costs([1]))
    assert read is not None
    np.testing.assert_allclose(read.batch(codes).raw[:, 0], category.predict(codes))


def test_foreign_trees_can_be_cut_and_keep_names(data):
    X, y, costs = data
    forest = _peers.random_forest(costs, True, 0).set_params(model__n_estimators=7).fit(X, y)
    assert forest.n_rounds_ == 7
    assert forest.feature_names_in_.tolist() == list(X.columns)
    cut = forest.at(stage=2)
    assert (cut.cost(X) <= forest.cost(X)).all()
    assert cut.predict_proba(X).shape == (300, 3)
    assert cut.score(X, y) > 0.6


def test_selection_by_gain_per_price_reads_no_more_than_selected(data):
    pytest.importorskip("lightgbm")
    X, y, costs = data
    model = _peers.lightgbm_static(costs, True, 0).set_params(n_best=2, model__n_estimators=5)
    assert model.fit(X, y).acquired(X).any(axis=0).sum() <= 2


def test_penalties_of_cegb_buy_less_when_they_are_high(data):
    pytest.importorskip("lightgbm")
    X, y, costs = data
    model = _peers.lightgbm_cegb(costs, True, 0, rows=len(y))
    grid = model.trade_off_grid(X, y)
    dear, cheap = (
        model.set_params(**step).fit(X, y).acquired(X).sum() for step in (grid[0], grid[-1])
    )
    assert dear < cheap


def test_first_use_penalties_of_catboost_buy_less_when_they_are_high(data):
    pytest.importorskip("catboost")
    X, y, costs = data
    model = _peers.catboost(costs, True, 0, rows=len(y)).set_params(model__iterations=4)
    grid = model.trade_off_grid(X, y)
    dear, cheap = (
        clone(model).set_params(**step).fit(X, y).acquired(X).sum() for step in (grid[0], grid[-1])
    )
    assert dear < cheap


def test_other_models_pay_for_every_column_they_may_use(data):
    X, y, costs = data
    model = _peers.Priced(LogisticRegression(max_iter=20), costs=costs).fit(X.fillna(0), y)
    assert (model.cost(X.fillna(0)) == costs.total).all()
    assert not hasattr(model, "n_rounds_")
    trees = _peers.Priced(HistGradientBoostingClassifier(max_iter=2), costs=costs).fit(X, y)
    assert trees.cost(X).mean() < costs.total
