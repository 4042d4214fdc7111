"""What features gain, as scikit-learn's users expect to find it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import worthwhile
from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor


def task(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, 3 * (X[:, 1] > 0) + 0.1 * X[:, 0] + 0.01 * rng.normal(size=n)


def test_one_split_gains_what_it_takes_off_the_squared_error():
    X, y = task()
    model = GreedyMiserRegressor(n_rounds=1, max_depth=1).fit(X, y)
    side = X[:, 1] <= model.policy_.trees.threshold[0]
    within = sum(((y[part] - y[part].mean()) ** 2).sum() for part in (side, ~side)) / len(y)
    gains = model.feature_importances_
    assert gains[1] == pytest.approx((y.var() - within) / 2, rel=1e-4)
    assert gains[[0, 2]].tolist() == [0, 0]


def test_gains_of_full_steps_add_up_to_what_the_loss_fell_by():
    X, y = task()
    model = GreedyMiserRegressor(n_rounds=5, learning_rate=1.0, max_depth=3).fit(X, y)
    fell = y.var() / 2 - model.trace_["train_loss"].iloc[-1]
    assert model.feature_importances_.sum() == pytest.approx(fell, rel=1e-3)


@pytest.mark.parametrize("leaves", ["vector", "scalar"])
def test_weights_equal_repetition_and_going_on_equals_not_having_stopped(leaves):
    X, y = task()
    labels, weight = np.digitize(y, [0.5, 2.5]), np.arange(len(y)) % 3 + 1
    shape = {"leaves": leaves, "min_samples_leaf": 5, "max_depth": 3}
    by_weight = GreedyMiserClassifier(n_rounds=4, **shape).fit(X, labels, weight)
    rows = np.repeat(np.arange(len(y)), weight)
    repeated = GreedyMiserClassifier(n_rounds=4, **shape).fit(X[rows], labels[rows])
    assert by_weight.feature_importances_ == pytest.approx(repeated.feature_importances_, rel=1e-6)
    whole = GreedyMiserClassifier(n_rounds=4, **shape).fit(X, labels)
    first = GreedyMiserClassifier(n_rounds=2, warm_start=True, **shape).fit(X, labels)
    both = first.set_params(n_rounds=4).fit(X, labels)
    assert both.feature_importances_ == pytest.approx(whole.feature_importances_)


def test_cut_models_do_not_pretend_to_know_and_files_keep_it(tmp_path):
    X, y = task()
    model = GreedyMiserRegressor(n_rounds=4).fit(X, y)
    cut = model.at(stage=2)
    assert not hasattr(cut, "feature_importances_")
    assert hasattr(model.at(stage=4), "feature_importances_")
    longer = cut.set_params(warm_start=True).fit(X, y)
    assert not hasattr(longer, "feature_importances_")
    model.save(tmp_path / "m.worthwhile")
    again = worthwhile.load(tmp_path / "m.worthwhile")
    assert np.array_equal(again.feature_importances_, model.feature_importances_)


def test_columns_are_those_of_the_table():
    X, y = task()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, len(y)), unit="D"),
        "kind": np.where(X[:, 1] > 0, "a", "b"), "noise": X[:, 2],
    })  # fmt: skip
    model = GreedyMiserRegressor(n_rounds=3).fit(frame, y)
    assert model.feature_importances_.shape == (3,)
    assert np.argmax(model.feature_importances_) == 1
