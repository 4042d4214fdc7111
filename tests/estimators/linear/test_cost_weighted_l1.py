from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LinearRegression

from worthwhile import Costs, CostWeightedL1Classifier, CostWeightedL1Regressor
from worthwhile.estimators.linear import _l1_path as l1
from worthwhile.estimators.linear._l1_path import falling

PRICES = np.array([1.0, 2, 3, 0, 5])
GROUPS = {"g": {"fee": 4, "features": [1, 2]}}


def make(seed, n=300, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 5, 0.2, 1, 3] + 2
    y = X[:, 0] + 0.1 * X[:, 1] + 2 * X[:, 2] + 0.2 * X[:, 3] + 0.5 * rng.normal(size=n)
    return X, y


@pytest.mark.parametrize("lam", [0.2, 0.02, 0.001])
def test_regression_is_the_lasso_on_standardised_columns(lam):
    X, y = make(0)
    prices = np.array([1.0, 2, 3, 1, 5])
    model = CostWeightedL1Regressor(lam, costs=prices).fit(X, y)
    Z, t = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    lasso = Lasso(alpha=lam / 2, fit_intercept=False, tol=1e-12).fit(Z / prices, t)
    np.testing.assert_allclose(
        model.predict(X), lasso.predict(Z / prices) * y.std() + y.mean(), rtol=1e-4
    )


def test_without_penalty_it_is_least_squares():
    X, y = make(1)
    model = CostWeightedL1Regressor(0, costs=PRICES, tol=1e-16).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-5)


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_coefficients_satisfy_the_optimality_conditions(groups, classes):
    X, y = make(2)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    lam, costs = 0.01, Costs(PRICES, groups)
    model = CostWeightedL1Classifier(lam, costs=costs, tol=1e-16, max_iter=20000).fit(X, labels)
    tree, scale = model.policy_.tree, X.std(0)
    B = np.zeros((5, tree.n_outputs))
    B[tree.own(0)] = tree.coefficient * scale[tree.own(0)][:, None]
    P = model.predict_proba(X)
    wanted = labels[:, None] == np.arange(classes)
    error = (P - wanted)[:, 1:] if classes == 2 else P - wanted
    slope = ((X - X.mean(0)) / scale).T @ error / len(X)
    np.testing.assert_allclose(error.mean(axis=0), 0.0, atol=1e-6)
    length = np.sqrt((B**2).sum(axis=1))
    for a in range(5):
        push = slope[a].copy()
        if groups and a in (1, 2) and length[[1, 2]].any():
            push += lam * 4 * B[a] / np.sqrt((length[[1, 2]] ** 2).sum())
        if length[a] > 0:
            np.testing.assert_allclose(push, -lam * PRICES[a] * B[a] / length[a], atol=1e-5)
        elif not (groups and a in (1, 2)):
            assert np.sqrt((push**2).sum()) <= lam * PRICES[a] + 1e-6


def test_fees_keep_a_group_out_until_it_is_worth_it():
    X, y = make(3)
    bills = []
    for lam in (0.3, 0.03, 0.0003):
        model = CostWeightedL1Regressor(lam, costs=Costs(PRICES, GROUPS)).fit(X, y)
        bills.append(model.cost(X[:1])[0])
    plain = CostWeightedL1Regressor(0.05, costs=PRICES).fit(X, y)
    dear = {"g": {"fee": 25, "features": [1, 2]}}
    fee = CostWeightedL1Regressor(0.05, costs=Costs(PRICES, dear)).fit(X, y)
    assert set(fee.policy_.reads.tolist()) < set(plain.policy_.reads.tolist())
    assert bills == sorted(bills)


def test_every_row_pays_the_whole_support_and_free_features_come_first():
    X, y = make(4)
    model = CostWeightedL1Regressor(0.01, costs=PRICES).fit(X, y)
    assert len(np.unique(model.acquired(X), axis=0)) == 1
    assert model.policy_.tree.own(0)[0] == 3
    assert model.acquired(X, budget=0).nonzero()[1].tolist() == [3] * len(X)


def test_the_path_buys_more_as_the_penalty_falls():
    X, y = make(5)
    trace = CostWeightedL1Regressor(0.001, costs=PRICES, n_path=15).fit(X, y).trace_
    assert (np.diff(trace.lam) < 0).all()
    assert trace.lam.iloc[-1] == 0.001
    assert (np.diff(trace.score) >= -1e-9).all()
    assert trace.features.iloc[0] <= 2 < trace.features.iloc[-1]


def test_a_path_is_as_good_as_a_cold_start():
    X, y = make(6)
    labels = y > np.median(y)
    path = CostWeightedL1Classifier(0.003, costs=PRICES, tol=1e-14).fit(X, labels)
    cold = CostWeightedL1Classifier(0.003, costs=PRICES, tol=1e-14, n_path=1).fit(X, labels)
    np.testing.assert_allclose(path.decision_function(X), cold.decision_function(X), atol=1e-4)
    assert path.n_iter_ > 0


def test_paths_start_below_the_silencing_penalty():
    assert falling(1.0, 2.0, 5) == [2.0]
    assert falling(0.0, 0.1, 5) == [0.1]
    steps = falling(1.0, 0.01, 5)
    assert len(steps) == 4
    assert steps[-1] == 0.01
    assert falling(1.0, 0.0, 3)[-1] == 0.0


def test_grids_run_from_the_first_purchase_to_nearly_everything():
    X, y = make(7)
    for model, target in (
        (CostWeightedL1Regressor(), y),
        (CostWeightedL1Classifier(), y > np.median(y)),
    ):
        grid = model.trade_off_grid(X, target)
        bills = [
            type(model)(**point, costs=np.ones(5)).fit(X, target).cost(X[:1])[0]
            for point in (grid[0], grid[-1])
        ]
        assert bills[0] <= 2
        assert bills[1] >= 4
    assert CostWeightedL1Regressor(costs=np.zeros(5)).trade_off_grid(X, y) == [{"lam": 0.0}]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"lam": -1}, "'lam' parameter"), ({"n_path": 0}, "'n_path' parameter")],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = make(8)
    with pytest.raises(ValueError, match=message):
        CostWeightedL1Regressor(**parameters).fit(X, y)


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_many_columns_give_the_model_that_few_would(kind, groups, monkeypatch):
    X, y = make(4)
    X[::7, 2] = np.nan
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    if kind == "numbers":
        model = CostWeightedL1Regressor(0.02, tol=1e-16, max_iter=20000)
    else:
        model = CostWeightedL1Classifier(0.01, tol=1e-16, max_iter=20000)
        y = np.digitize(y, np.quantile(y, [0.5] if kind == "two classes" else [0.3, 0.6]))
    model.set_params(costs=Costs(PRICES, groups))
    few, grid = model.fit(X, y, weight).policy_, model.trade_off_grid(X, y)
    monkeypatch.setattr(l1, "WIDE", 2)
    many = model.fit(X, y, weight).policy_
    assert many.reads.tolist() == few.reads.tolist()
    assert 0 < len(many.reads) < 5 or kind != "numbers"
    np.testing.assert_allclose(many.batch(X).raw, few.batch(X).raw, atol=1e-6)
    assert model.trade_off_grid(X, y) == grid


@pytest.mark.parametrize("kind", [CostWeightedL1Classifier, CostWeightedL1Regressor])
def test_no_number_is_kept_for_each_pair_of_many_columns(kind, monkeypatch):
    monkeypatch.setattr(l1, "WIDE", 2048)  # as beyond the usual limit, in less time
    X = np.random.default_rng(0).normal(size=(20, l1.WIDE + 1))
    y = X[:, 0] > 0
    tracemalloc.start()
    try:
        model = kind(lam=0.2, tol=1e-3).fit(X, y)
        model.trade_off_grid(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0 in model.policy_.reads
    assert peak < 20 * X.nbytes < 8 * l1.WIDE**2
