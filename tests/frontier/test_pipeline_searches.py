"""Searches and comparisons over pipelines speak of source columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import worthwhile
from tests.estimators.priced.preprocessing import COSTS, FRONTS, MODELS, loans


@pytest.fixture(scope="module")
def table():
    return loans()


def test_searches_over_pipelines_speak_of_source_columns(table, tmp_path):
    X, y = table
    # Without noise, the model within the budget is one that buys text.
    miser = worthwhile.GreedyMiserClassifier(
        n_rounds=20, costs=COSTS, min_samples_leaf=5, split_noise=0
    )
    search = worthwhile.BudgetSearchCV(
        make_pipeline(FRONTS["one-hot, dense"](), miser),
        budget=25,
        trade_off=[{"greedymiserclassifier__lam": lam} for lam in (0.0, 0.001, 0.01)],
        scoring="neg_log_loss",
        cv=2,
        refine=0,
        tune=0,
        confidence=0.5,
    ).fit(X, y)
    assert search.costs_.features == tuple(X.columns)
    assert search.frontier_.unit == COSTS.unit
    # What it is and buys, with nothing but the pipeline of scikit-learn and the miser behind it.
    pipeline = search.best_estimator_.best_estimator_.model
    made = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(search.predict_proba(X), pipeline[-1].predict_proba(made))
    names = [name.split("__")[1] for name in pipeline[0].get_feature_names_out()]
    source = [list(X.columns).index(name.split("_")[0]) for name in names]
    expected = np.zeros(X.shape, dtype=bool)
    for row, place in zip(*np.nonzero(pipeline[-1].acquired(made)), strict=True):
        expected[row, source[place]] = True
    np.testing.assert_array_equal(search.acquired(X), expected)
    assert expected[:, 3:].any(), "text is bought"
    assert (search.predict(X) == y).mean() > 0.75
    bills = [COSTS.price(X.columns[row].tolist()) for row in search.acquired(X)]
    assert search.cost(X).tolist() == pytest.approx(bills)
    assert 0 < search.cost(X).mean() <= 25
    assert set(search.session(budget=20).ask()) <= set(X.columns)
    search.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def test_the_trade_off_of_a_pipeline_is_that_of_its_last_step(table):
    from worthwhile.frontier._pipelines import PricedPipeline

    X, y = table
    miser = worthwhile.GreedyMiserClassifier(n_rounds=4, costs=COSTS, min_samples_leaf=5)
    whole = PricedPipeline(make_pipeline(FRONTS["one-hot, dense"](), miser))
    grid = whole.trade_off_grid(X, y)
    assert grid
    assert all(list(point) == ["greedymiserclassifier__lam"] for point in grid)
    whole.set_params(**grid[-1]).fit(X, y)
    assert whole.n_rounds_ == 4
    cut = whole.at(stage=2)
    last = whole.best_estimator_.model[-1]
    made = whole.best_estimator_.model[:-1].transform(X)
    np.testing.assert_array_equal(cut.predict_proba(X), last.at(stage=2).predict_proba(made))
    # The miser inside was fitted with prices of sources: its own bill is that of the table.
    np.testing.assert_allclose(last.cost(made), whole.cost(X))


def test_compare_takes_estimators_and_pipelines_by_names_of_the_caller(table):
    X, y = table
    l1 = worthwhile.CostWeightedL1Classifier()
    mine = {"as it is": l1, "one-hot": make_pipeline(FRONTS["one-hot, dense"](), l1)}
    found = worthwhile.compare(X, y, COSTS, mine, [20], n_splits=1, effort=2)
    assert not found.failures
    assert set(found.methods) == set(mine)
    with pytest.raises(ValueError, match="methods has 'tree' as a DecisionTreeClassifier: give"):
        worthwhile.compare(X, y, COSTS, {"tree": MODELS["tree"]()})


def test_peers_take_text_too(table):
    X, y = table
    found = worthwhile.compare(X, y, COSTS, ["decision-tree"], [20], n_splits=1, effort=2)
    assert not found.failures


@pytest.mark.parametrize(
    "method", ["pruned-forest", "adaptive-linear", "adaptive-boosting", "l1-gate"]
)
def test_what_starts_from_a_forest_takes_text_too(table, method):
    X, y = table
    found = worthwhile.compare(X, y, COSTS, [method], [20], n_splits=1, effort=1)
    assert not found.failures
    assert found.methods == [method]


def test_a_search_over_a_pipeline_of_others_is_refused(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(TypeError, match="estimator ends with a LogisticRegression: a search needs"):
        worthwhile.BudgetSearchCV(pipeline, budget=3).fit(X, y)
