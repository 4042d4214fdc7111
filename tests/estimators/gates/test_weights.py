"""Sample weights of the gated classifiers: a weight of 2 is the row given twice."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    L1GateClassifier,
    datasets,
)
from worthwhile.estimators.gates._shares import shares_kl, shares_lstsq

MODELS = {
    "boosting": (AdaptiveBoostingClassifier, {"n_rounds": 6, "max_iter": 2, "gamma": 0.001}),
    "newton": (
        AdaptiveBoostingClassifier,
        {"n_rounds": 6, "max_iter": 2, "gamma": 0.001, "newton": True},
    ),
    "linear": (AdaptiveLinearClassifier, {"max_iter": 6, "p_full": 0.4}),
    "lstsq": (AdaptiveLinearClassifier, {"max_iter": 4, "p_full": 0.4, "distance": "lstsq"}),
    "penalised": (
        AdaptiveLinearClassifier,
        {"max_iter": 6, "p_full": 0.5, "refit_supports": False},
    ),
    "l1": (L1GateClassifier, {"C": 0.1, "correct_weight": 0.3}),
    "l1 on nothing": (L1GateClassifier, {"n_features": 0, "correct_weight": 0.3}),
}


@pytest.fixture(scope="module")
def data():
    X, y, costs = datasets.make_priced_classification(
        240, 0, n_signals=3, n_noise=2, n_classes=3, missing=0.05
    )
    existing = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X.fillna(0), y)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    return X, y, costs, existing, weight


def build(name, data, **extra):
    cls, params = MODELS[name]
    return cls(data[3], costs=data[2], random_state=0, **params, **extra)


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_repetitions(data, name):
    X, y, _, existing, weight = data
    proba = existing.predict_proba(X.fillna(0))
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = build(name, data).fit(X, y, weight, existing_proba=proba)
    repeated = build(name, data).fit(X.iloc[rows], y[rows], existing_proba=proba[rows])
    plain = build(name, data).fit(X, y, existing_proba=proba)
    for policy in ("gate", "cheap"):
        one, other, without = (
            getattr(m.policy_, policy).batch(X.to_numpy()).raw for m in (weighted, repeated, plain)
        )
        np.testing.assert_allclose(one, other, atol=1e-4)
        assert name == "l1 on nothing" or np.abs(one - without).max() > 1e-2
    np.testing.assert_array_equal(weighted.acquired(X), repeated.acquired(X))


def test_rows_set_aside_count_as_their_weights_say(data):
    X, y, *_ = data
    # Nearly all the weight is on rows that one constant answer is right about.
    weight = np.where(y == 1, 1000.0, 1.0)
    kept = build("l1", data, budget=0.0).fit(X, y, weight)
    assert kept.trace_.query("cost == 0")["score"].max() > 0.99
    assert build("l1", data, budget=0.0).fit(X, y).trace_.query("cost == 0")["score"].max() < 0.7


def test_mean_share_is_weighted():
    rng = np.random.default_rng(1)
    gate, excess, weight = rng.normal(size=50), rng.normal(size=50), rng.random(50)
    for found in (
        shares_kl(gate, excess, 0.2, weight=weight),
        shares_lstsq(gate, excess, 0.2, 1.0, weight=weight),
    ):
        assert np.average(found.q, weights=weight) == pytest.approx(0.2, abs=1e-6)
        assert np.mean(found.q) != pytest.approx(0.2, abs=1e-4)


def test_a_class_without_any_weight_is_refused(data):
    X, y, *_ = data
    with pytest.raises(ValueError, match=r"sample_weight is 0 for every row of class"):
        build("l1", data).fit(X, y, (y != 2).astype(float))
