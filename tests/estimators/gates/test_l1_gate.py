"""The L1 baseline: what it picks, and where it stays on the paper's second example."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from worthwhile import L1GateClassifier, datasets
from worthwhile.estimators.gates._linear_alternate import StandardRows
from worthwhile.estimators.gates.l1_gate import Baseline, l1_order


def test_synthetic_2_leads_the_baseline_astray():
    for shares, cost in (((0.26, 0.26, 0.24, 0.24), 1.74), ((0.25, 0.25, 0.25, 0.25), 1.75)):
        X, y, costs = datasets.make_synthetic_2(1000, shares=shares, separation=2)
        existing = SVC(gamma=1).fit(X, y)
        model = L1GateClassifier(existing, costs=costs, budget=1.9).fit(X, y, validation=(X, y))
        assert model.score(X, y) == 1.0
        assert model.cost(X).mean() == pytest.approx(cost, abs=0.005)
        cheaper = L1GateClassifier(
            existing, costs=costs, budget=1.6, validation_fraction=0.2, random_state=0
        ).fit(X, y)
        assert cheaper.score(X, y) < 0.95


def test_weights_are_those_of_an_l1_logistic_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 1] - 2 * X[:, 4] + 0.3 * X[:, 0] + rng.normal(size=300) > 0).astype(int)
    rows = StandardRows.of(X, y, 2, np.zeros(300))
    for C in (0.02, 0.1, 1.0):
        other = LogisticRegression(l1_ratio=1, C=C, solver="saga", tol=1e-8, max_iter=20_000)
        weights = np.abs(other.fit(rows.Z, y).coef_[0])
        expected = [int(a) for a in np.argsort(-weights) if weights[a] > 1e-6]
        assert list(l1_order(rows, C)) == expected


def test_weight_of_correct_rows_moves_rows_to_the_existing_model():
    X, y, costs = datasets.make_priced_classification(400, 0, n_signals=3, n_noise=2)
    sent = [
        L1GateClassifier(costs=costs, correct_weight=w, random_state=0).fit(X, y).sent(X).mean()
        for w in (0, 0.05, 0.3, 1.0)
    ]
    assert sent[0] == 1.0
    assert sent == sorted(sent, reverse=True)


def test_n_features_keeps_the_largest():
    X, y, costs = datasets.make_priced_classification(400, 0, n_signals=3, n_noise=2)
    model = L1GateClassifier(costs=costs, n_features=1, random_state=0).fit(X, y)
    assert len(np.union1d(model.policy_.gate.reads, model.policy_.cheap.reads)) <= 1
    none = L1GateClassifier(costs=costs, n_features=0, correct_weight=9, random_state=0).fit(X, y)
    assert none.cost(X)[~none.sent(X)].sum() == 0


def test_cheap_model_that_is_always_or_never_right():
    Z = np.array([[-1.0], [1.0]] * 20)
    right = StandardRows(Z, np.zeros(1), np.ones(1), (Z[:, 0] > 0).astype(np.intp), 2, np.zeros(40))
    assert Baseline(right, (0,)).fit(1.0).weights.intercept[0] < 0
    assert Baseline(right, (0,)).fit(0.0).weights.intercept[0] > 0
    assert Baseline(right, ()).fit(np.inf).weights.intercept[0] < 0


def test_grid_is_one_sweep():
    X, y, costs = datasets.make_synthetic_2(100)
    grid = L1GateClassifier(costs=costs).trade_off_grid(X, y)
    assert grid == [{"C": "auto", "correct_weight": "auto"}]
