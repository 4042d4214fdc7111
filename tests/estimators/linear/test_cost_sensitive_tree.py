from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression

from worthwhile import (
    Costs,
    CostSensitiveTreeClassifier,
    CostSensitiveTreeRegressor,
    CostWeightedL1Regressor,
)
from worthwhile.estimators.linear._cstc_fit import price_terms
from worthwhile.estimators.linear._cstc_refit import supports
from worthwhile.estimators.linear._prune import log_loss, prune, squared_loss
from worthwhile.testing import check_contract

PRICES = np.array([1.0, 2, 3, 1, 5])


def make(seed, n=250, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.3 * rng.normal(size=n)
    return X, y


@given(st.integers(0, 10_000), st.floats(0, 0.1), st.integers(1, 3))
@settings(max_examples=10, deadline=None)
def test_the_objective_never_rises(seed, lam, depth):
    X, y = make(seed, n=80)
    model = CostSensitiveTreeRegressor(lam, costs=PRICES, max_depth=depth, max_iter=5).fit(X, y)
    assert (np.diff(model.objective_) <= 0).all()


def test_one_node_without_penalties_is_least_squares():
    X, y = make(1)
    model = CostSensitiveTreeRegressor(
        0, rho=0, max_depth=1, validation_fraction=None, tol=1e-12
    ).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_logistic_node_without_penalties_is_logistic_regression(classes):
    X, y = make(15)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    model = CostSensitiveTreeClassifier(
        0, rho=0, max_depth=1, validation_fraction=None, tol=1e-12, loss="logistic"
    ).fit(X, labels)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # The ridge of the refit, 1e-4 of the loss in bits, in scikit-learn's units.
    peer = LogisticRegression(C=1 / (1e-4 * np.log(2) * len(X)), tol=1e-10, max_iter=5000)
    expected = peer.fit(Z, labels).predict_proba(Z)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=2e-3)


@given(st.integers(0, 10_000), st.floats(0, 0.1), st.integers(2, 3))
@settings(max_examples=5, deadline=None)
def test_the_logistic_objective_never_rises(seed, lam, classes):
    X, y = make(seed, n=80)
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    model = CostSensitiveTreeClassifier(
        lam, costs=PRICES, max_depth=2, max_iter=5, loss="logistic"
    ).fit(X, labels)
    assert (np.diff(model.objective_) <= 0).all()


def test_the_contract_holds_for_the_logistic_loss():
    check_contract(
        CostSensitiveTreeClassifier(0.05, max_depth=2, max_iter=5, loss="logistic"), rows=4
    )


@pytest.mark.parametrize(("kind", "lost"), [("squared", squared_loss), ("logistic", log_loss)])
def test_each_loss_prunes_by_itself(kind, lost):
    V, w = make(17)
    Y, sizes = np.where(w > 0, 1.0, -1.0)[:, None], set()
    for seed in (20, 21):
        X, y = make(seed)
        model = CostSensitiveTreeClassifier(
            0.01, max_depth=4, max_iter=8, validation_fraction=None, loss=kind
        )
        full = clone(model).fit(X, y > 0)
        pruned = full.pruned(V, w > 0)
        now = model.fit(X, y > 0, validation=(V, w > 0))
        np.testing.assert_array_equal(now.policy_.tree.upper, pruned.policy_.tree.upper)
        # Nodes speak in units of the loss; the slope of the calibration is outside.
        told = [m.policy_.scaled(1.0).batch(V).raw.reshape(len(V), 1) for m in (pruned, full)]
        below, above = (lost(raw, Y).sum() for raw in told)
        assert below <= above
        sizes.add(full.policy_.tree.n_nodes - pruned.policy_.tree.n_nodes)
    assert max(sizes) > 0


@pytest.mark.parametrize("solver", ["block", "joint"])
def test_one_node_reaches_the_weighted_lasso(solver):
    X, y = make(2)
    lam, rho = 0.05, 0.02
    model = CostSensitiveTreeRegressor(
        lam,
        rho=rho,
        costs=PRICES,
        max_depth=1,
        validation_fraction=None,
        solver=solver,
        tol=1e-12,
        max_iter=500,
    ).fit(X, y)
    Z, t = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    weights = rho + lam * PRICES
    lasso = Lasso(alpha=0.5, fit_intercept=False, tol=1e-12).fit(Z / weights, t)
    beta = lasso.coef_ / weights
    best = ((t - Z @ beta) ** 2).mean() + np.abs(beta) @ weights
    assert model.objective_[-1] == pytest.approx(best, abs=1e-4)
    assert set(model.policy_.reads.tolist()) == set(np.flatnonzero(np.abs(beta) > 1e-3).tolist())


def test_support_without_rho_is_that_of_cost_weighted_l1():
    X, y = make(3)
    for lam in (0.3, 0.1, 0.02):
        tree = CostSensitiveTreeRegressor(
            lam, rho=0, costs=PRICES, max_depth=1, validation_fraction=None, tol=1e-11, max_iter=500
        ).fit(X, y)
        single = CostWeightedL1Regressor(lam, costs=PRICES).fit(X, y)
        assert tree.policy_.reads.tolist() == single.policy_.reads.tolist()


def test_a_huge_price_of_money_buys_nothing():
    X, y = make(4)
    model = CostSensitiveTreeRegressor(1e4, costs=PRICES, max_depth=2).fit(X, y)
    assert model.cost(X).max() == 0.0
    np.testing.assert_allclose(model.predict(X), model.predict(X)[0])


def test_dearer_money_buys_less():
    X, y = make(5)
    bills = [
        CostSensitiveTreeRegressor(lam, costs=PRICES, max_depth=2, random_state=0)
        .fit(X, y)
        .cost(X)
        .mean()
        for lam in (1.0, 0.1, 0.01, 0.0001)
    ]
    assert bills == sorted(bills)
    assert bills[0] < bills[-1]


def test_both_solvers_come_to_similar_objectives():
    X, y = make(6)
    block, joint = (
        CostSensitiveTreeRegressor(
            0.01,
            costs=PRICES,
            max_depth=2,
            solver=solver,
            tol=tol,
            max_iter=300,
            validation_fraction=None,
        ).fit(X, y)
        for solver, tol in (("block", 1e-6), ("joint", 1e-9))
    )
    assert block.objective_[-1] <= 1.02 * joint.objective_[-1]


def test_pruning_on_validation_rows_never_raises_their_loss():
    X, y = make(7)
    V, w = make(8)
    model = CostSensitiveTreeRegressor(
        0.01, costs=PRICES, max_depth=3, validation_fraction=None
    ).fit(X, y)
    tree = model.policy_.tree
    smaller, kept = prune(tree, V, w[:, None])
    assert smaller.problem(5) is None
    assert smaller.n_nodes == len(kept) <= tree.n_nodes
    pruned = CostSensitiveTreeRegressor(0.01, costs=PRICES, max_depth=3).fit(
        X, y, validation=(V, w)
    )
    assert pruned.policy_.tree.n_nodes == smaller.n_nodes
    assert ((pruned.predict(V) - w) ** 2).sum() <= ((model.predict(V) - w) ** 2).sum()
    assert np.array_equal(pruned.policy_.tree.intercept, smaller.intercept)


def test_fees_are_price_terms_of_their_own():
    costs = Costs(
        PRICES, groups={"g": {"fee": 25, "features": [1, 2]}, "free": {"fee": 0, "features": [3]}}
    )
    price, member = price_terms(costs)
    assert price.tolist() == [1, 2, 3, 1, 5, 25]
    assert member[:, 5].tolist() == [0, 1, 1, 0, 0]
    X, y = make(10)
    cheap = CostSensitiveTreeRegressor(
        0.05, costs=PRICES, max_depth=1, validation_fraction=None
    ).fit(X, y)
    fee = CostSensitiveTreeRegressor(0.05, costs=costs, max_depth=1, validation_fraction=None).fit(
        X, y
    )
    assert {1, 2} <= set(cheap.policy_.reads.tolist())
    assert not {1, 2} & set(fee.policy_.reads.tolist())


def test_several_classes_share_supports():
    X, y = make(11, n=400)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = CostSensitiveTreeClassifier(0.002, costs=PRICES, max_depth=2, random_state=0).fit(
        X, labels
    )
    assert model.score(X, labels) > 0.5
    assert model.policy_.tree.n_outputs == 3
    assert model.shares_[0] == 1.0
    assert len(model.trace_) <= 2


def test_small_coefficients_leave_the_support():
    B = np.zeros((4, 1, 1))
    B[:3, 0, 0] = [1.0, 5e-4, 2e-3]
    assert supports(B)[:, 0].tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        ("rows", "validation is a str: give a pair"),
        ((np.zeros((2, 5)), np.array([0, 7])), "validation has the label"),
    ],
)
def test_bad_validation_rows_are_refused(validation, message):
    X, y = make(12)
    with pytest.raises(ValueError, match=message):
        CostSensitiveTreeClassifier(max_depth=1).fit(X, (y > 0).astype(int), validation=validation)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": -1}, "'lam' parameter"),
        ({"solver": "newton"}, "'solver' parameter"),
        ({"tau": 0}, "'tau' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = make(13)
    with pytest.raises(ValueError, match=message):
        CostSensitiveTreeRegressor(**parameters).fit(X, y)


def test_grid_runs_from_cheap_models_to_dear_ones():
    X, y = make(14)
    grid = [point["lam"] for point in CostSensitiveTreeRegressor(costs=PRICES).trade_off_grid(X, y)]
    assert grid == sorted(grid, reverse=True)
    assert CostSensitiveTreeRegressor(costs=np.zeros(5)).trade_off_grid(X, y) == [{"lam": 0.0}]
