"""Calibrated classifiers: the same purchases, bills and predictions; probabilities that hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import worthwhile
from tests.estimators.small import make, public_estimators
from worthwhile import GreedyMiserClassifier
from worthwhile.estimators._shared.calibration import fit_map

CLASSIFIERS = [name for name in public_estimators() if "calibrate" in make(name).get_params()]


def task(n=150, classes=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] + X[:, 1] + rng.normal(size=n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1]), score)
    return X, np.array(["low", "mid", "top"])[y if classes == 3 else 2 * y]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_keeps_its_bills_and_predictions(name, tmp_path):
    X, y = task()
    seed = {"random_state": 0} if "random_state" in make(name).get_params() else {}
    plain = make(name).set_params(**seed).fit(X, y)
    model = make(name).set_params(calibrate="sigmoid", **seed).fit(X, y)
    assert model.calibrate == "sigmoid"
    assert np.array_equal(model.acquired(X), plain.acquired(X))
    assert np.array_equal(model.cost(X), plain.cost(X))
    assert np.array_equal(model.predict(X), plain.predict(X))
    shares = model.predict_proba(X)
    assert not np.array_equal(shares, plain.predict_proba(X))
    model.save(tmp_path / "m.worthwhile")
    again = worthwhile.load(tmp_path / "m.worthwhile")
    assert np.array_equal(again.predict_proba(X), shares)
    assert again.policy_.fingerprint() == model.policy_.fingerprint() != plain.policy_.fingerprint()
    session = worthwhile.Session(worthwhile.load_policy(tmp_path / "m.worthwhile"))
    while wanted := session.ask():
        session.tell({column: X[5, column] for column in wanted})
    assert np.array_equal(session.probabilities, shares[5])


@pytest.mark.parametrize("kind", ["temperature", "sigmoid", "isotonic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_of_a_model_that_is_too_sure_become_better(kind, classes):
    X, y = task(600, classes)
    sure = {"n_rounds": 60, "learning_rate": 0.5, "min_samples_leaf": 2}
    plain = GreedyMiserClassifier(**sure).fit(X[:300], y[:300])
    model = GreedyMiserClassifier(**sure, calibrate=kind).fit(X[:300], y[:300])
    before, after = (log_loss(y[300:], m.predict_proba(X[300:])) for m in (plain, model))
    assert after < 0.8 * before
    if kind == "temperature":
        order = np.argsort(plain.predict_proba(X), axis=1)
        assert (np.diff(np.take_along_axis(model.predict_proba(X), order, axis=1)) >= 0).all()


def test_the_map_is_learned_from_rows_that_the_answering_models_have_not_seen():
    X, y = task(200)
    y = np.random.default_rng(1).permutation(y)  # nothing to learn: only the prior holds
    sure = {"n_rounds": 60, "learning_rate": 0.5, "min_samples_leaf": 2}
    model = GreedyMiserClassifier(**sure, calibrate="sigmoid").fit(X, y)
    assert np.abs(model.predict_proba(X)[:, 1] - 0.5).max() < 0.25


def test_two_classes_by_sigmoid_are_plain_logistic_regression():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 1)) * 3
    codes = (0.4 * z[:, 0] + 0.7 + rng.logistic(size=500) > 0).astype(np.intp)
    logs = np.column_stack([-np.log1p(np.exp(z[:, 0])), -np.log1p(np.exp(-z[:, 0]))])
    weight = rng.uniform(0.5, 2, 500)
    found = fit_map("sigmoid", logs, codes, weight)(logs)
    naive = LogisticRegression(C=1e6, tol=1e-8).fit(z, codes, weight).predict_proba(z)
    assert found == pytest.approx(naive, abs=0.01)


def test_a_table_with_categories_keeps_its_map_at_other_prices_and_stages():
    rng = np.random.default_rng(0)
    X, y = task(200)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=rng.choice(["x", "y"], 200))
    model = GreedyMiserClassifier(n_rounds=10, min_samples_leaf=5, calibrate="isotonic")
    model.fit(frame, y)
    shares = model.predict_proba(frame)
    assert np.array_equal(model.predict_proba(frame, prices={"a": 7}), shares)
    assert np.array_equal(model.at(stage=10).predict_proba(frame), shares)


def test_weights_count_in_the_map_and_a_fit_without_forgets_it():
    X, y = task(200)
    model = GreedyMiserClassifier(n_rounds=5, min_samples_leaf=5, calibrate="sigmoid")
    heavy = np.where(y == "top", 9.0, 1.0)
    weighted = model.fit(X, y, sample_weight=heavy).predict_proba(X)[:, 1].mean()
    assert weighted > model.fit(X, y).predict_proba(X)[:, 1].mean() + 0.2
    plain = GreedyMiserClassifier(n_rounds=5, min_samples_leaf=5).fit(X, y).predict_proba(X)
    assert np.array_equal(model.set_params(calibrate=None).fit(X, y).predict_proba(X), plain)


def test_what_cannot_be_calibrated_is_refused():
    X, y = task(60)
    with pytest.raises(ValueError, match="calibrate is 'platt': it is None, 'temperature', 'sigm"):
        GreedyMiserClassifier(calibrate="platt").fit(X, y)
    y[:] = "low"
    y[0] = "top"
    with pytest.raises(ValueError, match="a class of y has a single row: calibrating needs at"):
        GreedyMiserClassifier(calibrate="sigmoid").fit(X, y)
