"""The learning rate where nobody set one: smaller on few rows, so that as many rounds are not too sure."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor


def task(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def rate(n, n_rounds=200, weight=None, **params):
    X, y = task(n)
    params = {"max_depth": 1, **params}
    return GreedyMiserClassifier(n_rounds=n_rounds, **params).fit(X, y, weight).learning_rate_


def test_rounds_times_rate_grow_with_the_root_of_the_rows():
    assert rate(2000) == rate(3000) == 0.1
    assert rate(500) == pytest.approx(0.05)
    assert rate(80) == pytest.approx(0.02)
    assert rate(500, 400) == pytest.approx(0.025)
    assert rate(500, 50) == 0.1
    assert rate(500, 0) == 0.1


def test_it_is_the_usual_one_where_the_best_round_is_kept_or_a_fit_goes_on():
    assert rate(500, validation_fraction=0.2) == 0.1
    assert rate(500, warm_start=True) == 0.1
    assert rate(500, preset="paper") == 0.1
    assert rate(500, learning_rate=0.3) == 0.3
    with pytest.raises(ValueError, match="learning_rate"):
        rate(500, learning_rate="slow")


def test_weights_count_as_rows():
    weight = np.full(250, 2.0)
    assert rate(250, weight=weight) == pytest.approx(0.05)
    X, y = task(250)
    shape = {"n_rounds": 120, "max_depth": 2}
    by_weight = GreedyMiserRegressor(**shape).fit(X, y, weight)
    repeated = GreedyMiserRegressor(**shape).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert np.array_equal(by_weight.predict(X), repeated.predict(X))


def test_probabilities_of_small_tables_are_less_sure_and_better():
    X, y = task(2200)
    losses = [
        log_loss(
            y[200:],
            GreedyMiserClassifier(learning_rate=rate).fit(X[:200], y[:200]).predict_proba(X[200:]),
        )
        for rate in ("auto", 0.1)
    ]
    assert losses[0] < losses[1] - 0.1
