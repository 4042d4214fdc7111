"""Searches and comparisons where errors have prices."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import worthwhile
from worthwhile import BudgetSearchCV, Errors, compare
from worthwhile.metrics import TotalCost, total_costs

ERRORS = Errors({1: {0: 60}, 0: {1: 20}}, refer=18, refer_label=-1)
COSTS = [0.5, 0.5, 2]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 1] + 1.5 * X[:, 2] + 0.5 * rng.normal(size=300) > 0).astype(int)
    return X, y


def linear():
    return worthwhile.CostWeightedL1Classifier(costs=COSTS)


def search(data, **how):
    how = {"cv": 3, "refine": 0, "tune": 0} | how
    return BudgetSearchCV(linear(), trade_off=[{"lam": v} for v in (1, 0.1, 0.001)], **how).fit(
        *data
    )


@pytest.fixture(scope="module")
def found(data):
    return search(data, errors=ERRORS)


def test_without_a_budget_the_least_total_is_found(found, data):
    X = data[0]
    assert found.best_score_ == max(point.score for point in found.frontier_)
    model = found.best_estimator_
    assert model.policy_.output.errors == ERRORS
    assert found.predict(X).tolist() == model.predict(X).tolist()
    assert found.total_cost(*data).tolist() == model.total_cost(*data).tolist()
    assert model.promise_.figures["total"].mean == pytest.approx(-found.best_score_, rel=0.25)
    assert "calibration_" in vars(model)


def test_scores_are_totals_of_models_as_they_are_swept(found, data):
    X, y = data
    folds = [rows for _, rows in _folds(data)]
    point = found.best_params_["lam"]
    totals = []
    for held in folds:
        seen = np.setdiff1d(np.arange(len(y)), held)
        model = worthwhile.CostWeightedL1Classifier(
            point, costs=COSTS, errors=ERRORS, calibrate=False
        )
        totals.append(model.fit(X[seen], y[seen]).total_cost(X[held], y[held]).mean())
    assert -found.best_score_ == pytest.approx(np.mean(totals))


def _folds(data):
    from sklearn.model_selection import check_cv

    return check_cv(3, data[1], classifier=True).split(*data)


def test_with_a_budget_both_are_kept(found, data):
    assert found.best_cost_ > 1.5
    cheap = search(data, errors=ERRORS, budget=1.5)
    assert cheap.best_cost_ <= 1.5
    assert cheap.best_score_ < found.best_score_


def test_a_budget_or_prices_of_errors_are_needed(data):
    with pytest.raises(ValueError, match="or prices of errors"):
        search(data)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"scoring": "f1"}, "errors and scoring are both given"),
        ({"errors": {"dead": {0: 1}}}, "errors names the class 'dead'"),
        ({"errors": Errors(squared=1)}, "for classes give a table or worth"),
    ],
)
def test_what_does_not_go_together_is_refused(how, message, data):
    with pytest.raises(ValueError, match=message):
        search(data, **({"errors": ERRORS} | how))


def test_a_method_that_learns_without_prices_decides_by_them(data):
    X, y = data
    forest = worthwhile.PrunedForestClassifier(costs=COSTS, random_state=0)
    chosen = BudgetSearchCV(
        forest, errors=ERRORS, cv=2, refine=0, tune=0, trade_off=[{"lam": 0.001}]
    ).fit(X, y)
    assert chosen.best_estimator_.policy_.output.errors == ERRORS
    assert set(np.unique(chosen.predict(X))) <= {-1, 0, 1}


def test_within_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), linear())
    points = [{"costweightedl1classifier__lam": 0.01}]
    chosen = BudgetSearchCV(pipeline, errors=ERRORS, cv=2, refine=0, tune=0, trade_off=points).fit(
        X, y
    )
    decided = ERRORS.decide(chosen.predict_proba(X), [0, 1])
    assert chosen.predict(X).tolist() == decided.tolist()


def test_a_journal_knows_other_prices(data, tmp_path):
    search(data, errors=ERRORS, resume=tmp_path / "journal")
    with pytest.raises(ValueError, match="errors"):
        search(data, errors=Errors(worth=3), resume=tmp_path / "journal")


def test_any_model_has_a_total(data):
    X, y = data
    prior = DummyClassifier().fit(X, y)
    decided = ERRORS.decide(prior.predict_proba(X), prior.classes_)
    assert total_costs(prior, X, y, ERRORS).tolist() == ERRORS.prices(y, decided).tolist()
    model = linear().set_params(lam=0.01).fit(X, y)
    own = model.with_errors(ERRORS)
    assert TotalCost(ERRORS)(model, X, y) == -own.total_cost(X, y).mean()
    assert TotalCost(ERRORS)(own, X, y) == -own.total_cost(X, y).mean()


def test_comparisons_speak_of_totals(data):
    X, y = data
    seen = compare(
        X,
        y,
        COSTS,
        ["cost-weighted-l1", "decision-tree"],
        [2, 100],
        errors=ERRORS,
        n_splits=2,
        effort=3,
    )
    assert seen.in_money
    table = seen.table()
    for budget, part in ((2, "budget 2"), (100, "any budget")):
        choice = seen.best(budget, ["cost-weighted-l1"])
        assert table.loc["cost-weighted-l1", (part, "total")] == pytest.approx(-choice.test_score)
    best = seen.best()
    assert best.score == max(seen.best(among=[name]).score for name in seen.methods)
    assert worthwhile.Comparison.from_dict(seen.to_dict()).in_money


def test_numbers_in_a_search():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    y = 3 * X[:, 0] + rng.normal(size=150)
    miser = worthwhile.GreedyMiserRegressor(costs=[1, 1], n_rounds=5)
    points = [{"lam": 100.0}, {"lam": 0.01}]
    bills = [
        BudgetSearchCV(miser, errors=price, cv=2, refine=0, tune=0, trade_off=points).fit(X, y)
        for price in (0.01, Errors(absolute=50))
    ]
    assert bills[0].best_cost_ == 0 < bills[1].best_cost_
