"""Weights of rows and classes, for every estimator: what they mean, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.estimators.small import make, public_estimators
from worthwhile import EarlyExitClassifier, GreedyMiserClassifier
from worthwhile.estimators._shared.weights import copies_by_weight
from worthwhile.frontier._measure import takes

NAMES = public_estimators()
CLASSIFIERS = [name for name in NAMES if name.endswith("Classifier")]
WITH_MODEL = ("EarlyExitClassifier",)
"""What weighs classes only through the model it is given."""


def task(n=160):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.9, "rare", "usual")


def fixed(name):
    """A small estimator with a seed, where it has one."""
    model = make(name)
    seed = {"random_state": 0} if "random_state" in model.get_params() else {}
    return model.set_params(**seed)


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_takes_weights_of_rows(name):
    assert takes(make(name).fit, "sample_weight")


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_weights_of_classes_are_weights_of_their_rows(name):
    if name in WITH_MODEL:
        assert "class_weight" not in make(name).get_params()
        return
    X, y = task()
    row = np.random.default_rng(1).integers(1, 3, len(y)).astype(float)
    by_class = fixed(name).set_params(class_weight={"rare": 3, "usual": 1})
    by_class.fit(X, y, sample_weight=row)
    by_row = fixed(name).fit(X, y, sample_weight=row * np.where(y == "rare", 3, 1))
    assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    assert np.array_equal(by_class.acquired(X), by_row.acquired(X))


def test_early_exits_pass_weights_to_the_model_that_they_train():
    X, y = task()
    weight = np.where(y == "rare", 8.0, 1.0)
    trained = EarlyExitClassifier(GreedyMiserClassifier(n_rounds=9)).fit(X, y, sample_weight=weight)
    given = EarlyExitClassifier(GreedyMiserClassifier(n_rounds=9).fit(X, y, weight)).fit(X, y)
    assert np.array_equal(trained.predict_proba(X), given.predict_proba(X))


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("weight", [-np.ones(160), np.ones(159), np.zeros(160)])
def test_early_exits_refuse_weights_that_are_none(weight, fitted):
    """Whether a model is trained with them or not."""
    X, y = task()
    model = GreedyMiserClassifier(n_rounds=9).fit(X, y) if fitted else None
    with pytest.raises(ValueError, match=r"(?i)sample.weight"):
        EarlyExitClassifier(model).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in WITH_MODEL])
def test_a_heavy_class_is_predicted_more_often(name):
    X, y = task(300)
    new = np.random.default_rng(1).normal(size=(200, 4))
    plain = fixed(name).fit(X, y).predict_proba(new)[:, 0].mean()
    heavy = fixed(name).fit(X, y, sample_weight=np.where(y == "rare", 8.0, 1.0))
    assert heavy.predict_proba(new)[:, 0].mean() > plain + 0.02


@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if name not in WITH_MODEL])
def test_weights_that_are_none_are_refused(name):
    X, y = task(60)
    with pytest.raises(ValueError, match="class_weight"):
        make(name).set_params(class_weight="fair").fit(X, y)
    with pytest.raises(ValueError, match="class_weight has the weight -1: give weights of 0 or m"):
        make(name).set_params(class_weight={"rare": -1, "usual": 1}).fit(X, y)
    with pytest.raises(ValueError, match="Negative values in data passed to `sample_weight`"):
        make(name).fit(X, y, sample_weight=-np.ones(len(y)))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30).filter(any))
def test_whole_weights_become_that_many_copies(weights):
    weight = np.array(weights, dtype=float)
    copies = np.bincount(copies_by_weight(weight, len(weight)), minlength=len(weight))
    if weight.sum() <= 4 * len(weight):
        assert copies.tolist() == weights
    assert (copies[weight == 0] == 0).all()


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30), st.floats(0.01, 100))
def test_other_weights_become_copies_within_one_of_their_share_whatever_their_unit(weights, unit):
    weight = np.array(weights)
    copies = np.bincount(copies_by_weight(weight, len(weight)), minlength=len(weight))
    if (weight != np.round(weight)).any():
        assert copies.sum() == 2 * len(weight)
        share = weight * 2 * len(weight) / weight.sum()
        assert (np.abs(copies - share) <= 1 + 1e-9).all()


def test_no_class_that_has_weight_is_lost():
    weight, labels = np.array([1000.0, 1000, 1e-4, 2e-4]), np.array(["a", "a", "b", "b"])
    assert copies_by_weight(weight, 4).max() == 1
    assert copies_by_weight(weight, 4, labels).tolist() == [*copies_by_weight(weight, 4), 3]
