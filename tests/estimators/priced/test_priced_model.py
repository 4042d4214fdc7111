"""A priced model is what its parameters are now: other prices, other models, models fitted again."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from tests.estimators.priced.foreign_models import lgbm, xgb
from worthwhile import Costs, PricedModel
from worthwhile.datasets import make_priced_classification


@pytest.fixture(scope="module")
def data():
    return make_priced_classification(150, 0, n_signals=2, n_noise=1)


MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=3, random_state=0),
    "forest": lambda: RandomForestClassifier(3, max_depth=3, random_state=0),
    "logistic": lambda: LogisticRegression(),
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "deep": lambda: make_pipeline(
        ColumnTransformer([("scaled", StandardScaler(), slice(0, 3))], remainder="passthrough"),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ),
    "search": lambda: GridSearchCV(
        DecisionTreeClassifier(random_state=0), {"max_depth": [2]}, cv=2
    ),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), cv=2),
    "lightgbm": lambda: lgbm("LGBMClassifier"),
    "xgboost": lambda: xgb("XGBClassifier"),
    "ours": lambda: worthwhile.GreedyMiserClassifier(n_rounds=3, min_samples_leaf=5),
}


def says(model, X):
    return [model.predict_proba(X).tolist(), model.acquired(X).tolist(), model.cost(X).tolist()]


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_fitted_again_is_used_as_it_is_now(data, name):
    X, y, costs = data
    model = MODELS[name]().fit(X, y)
    priced = PricedModel(model, costs)
    before = says(priced, X[:5])
    session = priced.session()
    other = np.where(np.arange(len(y)) % 3 == 0, "maybe", np.where(y == 1, "no", "yes"))
    if name == "xgboost":
        other = np.unique(other, return_inverse=True)[1]
    model.fit(X, other)
    assert priced.classes_.tolist() == np.unique(other).tolist()
    assert says(priced, X[:5]) == says(PricedModel(model, costs), X[:5]) != before
    assert priced.session().policy is priced.policy_ is not session.policy
    assert priced.policy_.fingerprint() == PricedModel(model, costs).policy_.fingerprint()
    assert len(priced.predict_proba(X[:1])[0]) == 3


def test_a_forest_that_grows_on_is_used_as_it_is_now(data):
    X, y, costs = data
    forest = RandomForestClassifier(2, max_depth=2, warm_start=True, random_state=0).fit(X, y)
    priced = PricedModel(forest, costs)
    assert priced.policy_.trees.n_trees == 2
    forest.set_params(n_estimators=4).fit(X, y)
    assert priced.policy_.trees.n_trees == 4


def test_a_model_that_learns_on_is_used_as_it_is_now(data):
    X, y, costs = data
    X, costs = X.fillna(0).to_numpy(), Costs(list(costs.prices.values()))
    model = SGDClassifier(loss="log_loss", random_state=0).partial_fit(X, y, classes=[0, 1])
    priced = PricedModel(model, costs)
    before = priced.policy_.fingerprint()
    model.partial_fit(X, 1 - y)
    assert priced.predict_proba(X) == pytest.approx(model.predict_proba(X))
    assert priced.policy_.fingerprint() != before


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_booster_that_is_boosted_on_is_used_as_it_is_now(data, library):
    module = pytest.importorskip(library)
    X, y, _ = data
    X = X.to_numpy()
    if library == "lightgbm":
        train = module.Dataset(X, y, free_raw_data=False)
        booster = module.Booster({"objective": "binary", "verbose": -1}, train)
        booster.update()
        booster.update()
        more = booster.update
    else:
        train = module.DMatrix(X, y)
        booster = module.train({"objective": "binary:logistic"}, train, 2)

        def more():
            booster.update(train, 2)

    priced = PricedModel(booster)
    assert priced.policy_.trees.n_trees == 2
    more()
    assert priced.policy_.trees.n_trees == 3


@pytest.mark.parametrize("name", ["tree", "pipeline"])
def test_other_parameters_are_used_at_once(data, name):
    X, y, costs = data
    model, other = MODELS[name]().fit(X, y), MODELS[name]().fit(X, 1 - y)
    priced = PricedModel(model, costs)
    assert priced.cost(X).tolist() == costs.price(priced.acquired(X)).tolist()
    double = Costs({name: 2 * price for name, price in costs.prices.items()})
    priced.set_params(costs=double)
    assert priced.costs_ == double
    assert priced.cost(X).tolist() == double.price(priced.acquired(X)).tolist()
    priced.set_params(model=other)
    assert (priced.predict(X) == other.predict(X)).all()
    priced.set_params(costs=None)
    assert priced.costs_.total == X.shape[1]
    with pytest.raises(ValueError, match="no price for"):
        priced.set_params(costs={"a": 1}).predict(X)
    assert (priced.set_params(costs=costs).predict(X) == other.predict(X)).all()


def test_another_fallback_and_background_are_used_at_once(data):
    X, y, costs = data
    priced = PricedModel(LogisticRegression().fit(X.fillna(0), y), costs, fallback=0)
    assert priced.predict(X[:2].fillna(0), budget=0).tolist() == [0, 0]
    priced.set_params(fallback=1)
    assert priced.predict(X[:2].fillna(0), budget=0).tolist() == [1, 1]
    priced.set_params(fallback=None, background=X)
    assert priced.policy_.fill is not None


@pytest.mark.parametrize("name", ["tree", "logistic"])
@pytest.mark.parametrize("how", ["file", "clone of it", "pickle of it"])
def test_a_model_from_a_file_takes_other_prices_and_keeps_the_rest(data, name, how, tmp_path):
    X, y, costs = data
    X = X.fillna(0)
    made = PricedModel(MODELS[name]().fit(X, y), costs, fallback=1)
    made.save(tmp_path / "model.worthwhile")
    model = worthwhile.load(tmp_path / "model.worthwhile")
    if how == "clone of it":
        model = clone(model)
    elif how == "pickle of it":
        model = pickle.loads(pickle.dumps(model))
    assert says(model, X) == says(made, X)
    assert (model.predict(X, budget=0) == made.predict(X, budget=0)).all()
    double = Costs({name: 2 * price for name, price in costs.prices.items()})
    model.set_params(costs=double)
    assert model.cost(X).tolist() == double.price(made.acquired(X)).tolist()
    assert (model.predict(X, budget=0) == made.predict(X, budget=0)).all()
    if name == "logistic":
        model.model.fit(X, np.where(y == 1, "no", "yes"))
        assert model.predict(X).tolist() == model.model.predict(X).tolist()
        model.set_params(model=MODELS["tree"]().fit(X, y))
        assert model.predict_proba(X).tolist() == model.model.predict_proba(X).tolist()


def test_nothing_is_made_anew_while_nothing_changes(data):
    X, y, costs = data
    for make in MODELS.values():
        priced = PricedModel(make().fit(X.fillna(0), y), costs)
        policy = priced.policy_
        priced.predict(X[:3].fillna(0))
        priced.session().ask()
        assert priced.policy_ is policy
