"""Weights of rows and classes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimators.small import make
from worthwhile.estimators._shared.weights import (
    drop_weightless,
    exact_weight,
    read_weight,
    relative_weight,
)

X = np.zeros((4, 2))
Y = np.array([0, 0, 0, 1])


def test_equal_weights_are_none():
    assert read_weight(None, X) is None
    assert read_weight(np.ones(4), X) is None
    assert read_weight(None, X, {0: 1, 1: 1}, Y) is None
    assert read_weight([2, 2, 2, 2], X).tolist() == [2, 2, 2, 2]


def test_weights_of_samples_and_classes_multiply():
    assert read_weight([1, 2, 0, 3], X, {0: 5, 1: 0.5}, Y).tolist() == [5, 10, 0, 1.5]
    assert read_weight(None, X, "balanced", Y) == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])


@pytest.mark.parametrize(
    ("weight", "of_classes", "message"),
    [
        ([1, 1, 1], None, r"sample_weight.shape"),
        ([1, -1, 1, 1], None, "Negative values"),
        ([1, 1, 1, 0], {0: 0, 1: 1}, "are zero for every row: give at least one row a weight > 0"),
        (None, {0: 1, 1: -2}, "class_weight has the weight -2: give weights of 0 or more"),
    ],
)
def test_bad_weights_are_refused(weight, of_classes, message):
    with pytest.raises(ValueError, match=message):
        read_weight(weight, X, of_classes, Y)


@pytest.mark.parametrize("size", [0.1, 7, 1e300, 1e-300])
def test_weights_that_are_all_alike_are_no_weights(size):
    assert relative_weight(np.full(160, size), 160).tolist() == [1.0] * 160
    assert relative_weight(np.array([1.0, 3.0]), 2).tolist() == [0.5, 1.5]


def test_exact_weights_add_up_the_same_in_any_order():
    weight = np.random.default_rng(0).random(3000)
    exact = exact_weight(weight, len(weight))
    assert exact == pytest.approx(weight, abs=2e-6)
    assert np.cumsum(exact)[-1] == np.cumsum(exact[::-1])[-1] == exact.sum()
    assert exact_weight(None, 3).tolist() == [1, 1, 1]
    assert exact_weight(np.array([3.0, 0.0, 7.0]), 3).tolist() == [3, 0, 7]


def test_rows_without_weight_go_from_all_arrays():
    weight, rows, none = drop_weightless(np.array([1.0, 0.0, 2.0]), np.arange(3), None)
    assert (weight.tolist(), rows.tolist(), none) == ([1, 2], [0, 2], None)
    assert drop_weightless(None, rows)[1] is rows


@pytest.mark.parametrize(
    "name",
    [
        "AdaptiveLinearClassifier", "BudgetedForestClassifier", "CostSensitiveTreeClassifier",
        "CostSensitiveTreeRegressor", "GreedyMiserClassifier", "GreedyMiserRegressor",
        "PrunedForestClassifier", "SubmodularTreeClassifier", "SubmodularTreeRegressor",
    ],
)  # fmt: skip
def test_a_row_without_weight_is_a_row_that_is_not_there(name):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    y = rows[:, 0] + rows[:, 1]
    y = y if name.endswith("Regressor") else (y > 0).astype(int)
    weight = rng.integers(0, 3, 200).astype(float)
    there = weight > 0
    fraction = {"validation_fraction": 0.2, "random_state": 0}
    all_rows = make(name).set_params(**fraction).fit(rows, y, sample_weight=weight)
    fewer = (
        make(name).set_params(**fraction).fit(rows[there], y[there], sample_weight=weight[there])
    )
    assert (all_rows.predict(rows) == fewer.predict(rows)).all()
    assert (all_rows.cost(rows) == fewer.cost(rows)).all()
