"""Any existing model: it stays fitted, keeps its answers, and is asked for what it reads."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import worthwhile
from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    datasets,
)
from worthwhile.estimators.gates._existing import default_existing

CLASSES = [AdaptiveLinearClassifier, AdaptiveBoostingClassifier, L1GateClassifier]
SMALL = {
    AdaptiveLinearClassifier: {"max_iter": 4, "refit_supports": False},
    AdaptiveBoostingClassifier: {"n_rounds": 5, "max_iter": 2},
    L1GateClassifier: {"correct_weight": 0.1},
}


@pytest.fixture(scope="module")
def heart():
    data = datasets.load_heart()
    X = data.data.fillna(data.data.mean())
    return X, np.asarray(data.target), data.costs


def function(rows):
    p = 1 / (1 + np.exp(-2 * (rows["cp"] - 3.5)))
    return np.column_stack([1 - p, p])


def models(X, y, costs):
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, y)
    svm = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    return {
        "forest": forest,
        "frozen": FrozenEstimator(forest),
        "pipeline": svm,
        "ours": GreedyMiserClassifier(n_rounds=5, costs=costs).fit(X, y),
        "priced": PricedModel(svm, costs),
        "function": (function, ["cp"]),
        "bare array": RandomForestClassifier(5, max_depth=3, random_state=0).fit(X.to_numpy(), y),
    }


@pytest.mark.parametrize(
    "kind", ["forest", "frozen", "pipeline", "ours", "priced", "function", "bare array"]
)
def test_sent_rows_get_the_answer_of_the_existing_model(heart, kind):
    X, y, costs = heart
    existing = models(X, y, costs)[kind]
    model = AdaptiveLinearClassifier(existing, costs=costs, p_full=0.9, gamma=1, max_iter=4)
    model.fit(X, y)
    sent = model.sent(X)
    assert sent.any()
    if kind == "function":
        answer = np.unique(y)[np.argmax(function(X), axis=1)]
        assert model.policy_.existing.reads.tolist() == [list(X.columns).index("cp")]
    else:
        answer = existing.predict(X.to_numpy() if kind == "bare array" else X)
    np.testing.assert_array_equal(model.predict(X)[sent], answer[sent])
    np.testing.assert_allclose(model.cost(X), costs.price(model.acquired(X)))


@pytest.mark.parametrize("cls", CLASSES)
def test_existing_model_stays_fitted_when_cloned_and_searched(heart, cls):
    X, y, costs = heart
    existing = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    model = cls(existing, costs=costs, **SMALL[cls])
    twin = clone(clone(model))
    assert twin.existing is existing
    assert twin.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    name = model.trade_off_parameters[0]
    search = GridSearchCV(model, {name: [0.2, 0.6]}, cv=2, error_score="raise").fit(X, y)
    assert search.best_estimator_.existing is existing
    assert search.best_estimator_.score(X, y) > 0.6


def test_prices_of_the_existing_model_are_taken_where_none_are_given(heart):
    X, y, costs = heart
    existing = PricedModel(RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y), costs)
    model = AdaptiveBoostingClassifier(existing, **SMALL[AdaptiveBoostingClassifier]).fit(X, y)
    assert model.costs_.to_dict() == costs.to_dict()
    other = AdaptiveBoostingClassifier(
        existing, costs=np.ones(X.shape[1]), **SMALL[AdaptiveBoostingClassifier]
    ).fit(X, y)
    assert other.costs_.total == X.shape[1]


def test_out_of_fold_probabilities_change_what_is_learned(heart):
    X, y, costs = heart
    forest = RandomForestClassifier(20, random_state=0)
    honest = cross_val_predict(forest, X, y, cv=3, method="predict_proba")
    forest.fit(X, y)
    base = AdaptiveLinearClassifier(forest, costs=costs, p_full=0.9, max_iter=4)
    trusting, careful = clone(base).fit(X, y), clone(base).fit(X, y, existing_proba=honest)
    assert careful.trace_["objective"].iloc[-1] > trusting.trace_["objective"].iloc[-1]


def test_rows_set_aside_judge_the_existing_model_by_its_out_of_fold_probabilities(heart):
    X, y, costs = heart
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    wrong = np.column_stack([y == 1, y == 0]).astype(float)  # as if it were never right elsewhere
    base = L1GateClassifier(forest, costs=costs, budget=1000, out_of_fold=False, random_state=0)
    trusting, careful = clone(base).fit(X, y), clone(base).fit(X, y, existing_proba=wrong)
    assert trusting.sent(X).mean() > 0.5
    assert careful.sent(X).mean() < 0.1


def test_default_model_judges_each_row_by_trees_that_did_not_see_it(heart):
    X, y, costs = heart
    found = default_existing(X.to_numpy(), y, np.unique(y), costs, 0, 1)
    seen = found.policy.output.probabilities(found.policy.batch(X.to_numpy()).raw)
    right = np.arange(len(y)), y
    assert np.mean(seen[right]) > np.mean(found.proba[right]) + 0.1
    np.testing.assert_allclose(found.proba.sum(axis=1), 1)


def test_default_model_survives_few_rows():
    X, y = np.arange(8.0)[:, None], np.array([0, 1] * 4)
    found = default_existing(X, y, np.array([0, 1]), worthwhile.Costs([1]), 0, 1)
    assert np.isfinite(found.proba).all()


def test_stages_nest(heart):
    X, y, costs = heart
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    inner = AdaptiveBoostingClassifier(
        forest, costs=costs, n_rounds=10, max_iter=2, gamma=0.001
    ).fit(X, y)
    outer = AdaptiveLinearClassifier(inner, p_full=0.6, max_iter=4).fit(X, y)
    sent = outer.sent(X)
    np.testing.assert_array_equal(outer.predict(X)[sent], inner.predict(X)[sent])
    gate = outer.policy_.gate.batch(X.to_numpy()).acquired
    np.testing.assert_array_equal(outer.acquired(X)[sent], (gate | inner.acquired(X))[sent])
    assert (
        outer.cost(X)
        <= costs.price(gate)
        + np.maximum(inner.cost(X), costs.price(outer.policy_.cheap.batch(X.to_numpy()).acquired))
        + 1e-9
    ).all()


@pytest.mark.parametrize("kind", ["forest", "pipeline", "ours"])
def test_file_holds_the_existing_model_once_and_gives_it_back(heart, tmp_path, kind):
    X, y, costs = heart
    existing = models(X, y, costs)[kind]
    model = AdaptiveLinearClassifier(existing, p_full=0.5, costs=costs, max_iter=3).fit(X, y)
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.cost(X), model.cost(X))
    refitted = clone(again).fit(X, y)
    np.testing.assert_array_equal(refitted.predict(X), model.predict(X))
    again.save(tmp_path / "again.worthwhile")
    assert (tmp_path / "again.worthwhile").read_bytes() == (
        tmp_path / "model.worthwhile"
    ).read_bytes()


def test_a_plain_function_cannot_be_stored(heart, tmp_path):
    X, y, costs = heart
    model = AdaptiveLinearClassifier((function, ["cp"]), p_full=0.5, costs=costs, max_iter=3)
    model.fit(X, y)
    with pytest.raises(TypeError, match="plain function"):
        model.save(tmp_path / "model.worthwhile")


def test_bad_existing_models_are_refused_with_advice(heart):
    X, y, costs = heart

    def fit(existing, **extra):
        return AdaptiveLinearClassifier(existing, costs=costs, max_iter=2).fit(X, y, **extra)

    with pytest.raises(TypeError, match=r"existing is a int: give a fitted classifier"):
        fit(3)
    with pytest.raises(TypeError, match=r"give \(function, features\)"):
        fit((function,))
    with pytest.raises(NotFittedError):
        fit(RandomForestClassifier())
    with pytest.raises(ValueError, match="knows the classes"):
        fit(RandomForestClassifier(2).fit(X, y + 5))
    with pytest.raises(ValueError, match="knows the classes None"):
        fit(LinearRegression().fit(X, y))
    with pytest.raises(ValueError, match="give it the same columns"):
        fit(LogisticRegression(max_iter=5000).fit(X.iloc[:, :3], y))
    with pytest.raises(ValueError, match="existing_proba has shape"):
        fit(None, existing_proba=np.ones((3, 2)))
    with pytest.raises(ValueError, match="existing_proba has values that are not probabilities"):
        fit(None, existing_proba=np.full((len(y), 2), -1.0))
    with pytest.raises(ValueError, match="existing_proba has rows that do not add to 1"):
        fit(None, existing_proba=np.full((len(y), 2), 0.9))
    with pytest.raises(ValueError, match="the output of existing has shape"):
        fit((lambda rows: np.ones((len(rows), 3)) / 3, ["cp"]))
    with pytest.raises(worthwhile.exceptions.CostsError, match="unknown feature 'cpp'"):
        fit((function, ["cpp"]))
    with pytest.raises(ValueError, match="validation is a"):
        AdaptiveLinearClassifier(costs=costs, budget=3).fit(X, y, validation=3)
    with pytest.raises(ValueError, match="validation has the label 9"):
        AdaptiveLinearClassifier(costs=costs, budget=3).fit(X, y, validation=(X, y + 9))


def test_report_needs_one_label_per_row(heart):
    X, y, costs = heart
    model = L1GateClassifier(costs=costs, C=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y has 3 labels"):
        model.gate_report(X, y[:3])
