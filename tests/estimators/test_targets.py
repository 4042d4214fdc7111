"""Targets as people have them: of nullable types, with holes, of several kinds, far too large."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

from worthwhile import BudgetClassifier, BudgetRegressor, CostWeightedL1Classifier
from worthwhile.estimators.targets import plain_target

NAMED = ["ill", "well", "ill"]


@pytest.mark.parametrize(
    ("y", "dtype"),
    [
        (pd.Series([3, 1, 3], dtype="Int64"), np.int64),
        (pd.Series([True, False, True], dtype="boolean"), bool),
        (pd.Series([0.5, 1, 2], dtype="Float32"), np.float32),
        (pd.Series([3, 1, 3], dtype="int64[pyarrow]"), np.int64),
    ],
)
def test_nullable_types_become_those_of_numpy(y, dtype):
    found = plain_target(y)
    assert found.dtype == dtype
    assert found.tolist() == y.tolist()


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 0]), [True, False], NAMED, np.array(NAMED), np.array(NAMED, dtype=object),
        pd.Series(NAMED, dtype="string"), pd.Series(NAMED, dtype="category"), polars.Series(NAMED),
        [[0, 1], [1, 0]], None,
    ],
)  # fmt: skip
def test_others_stay_as_they_are(y):
    assert plain_target(y) is y


@pytest.mark.parametrize(
    "y",
    [
        [0.0, 1.0, np.nan], np.array([0, 1, np.nan]), ["ill", "well", None],
        np.array(["ill", "well", np.nan], dtype=object), pd.Series(["ill", "well", pd.NA], dtype="string"),
        pd.Series(["ill", "well", None], dtype="category"), pd.Series([0, 1, pd.NA], dtype="Int64"),
        polars.Series(["ill", "well", None]), pyarrow.array([0, 1, None]),
        np.array(["2020-01-01", "2021-01-01", "NaT"], dtype="datetime64[D]"),
    ],
)  # fmt: skip
def test_a_truth_that_is_not_known_is_refused_with_its_row(y):
    with pytest.raises(ValueError, match=r"y is empty in row 2 .*leave out the rows"):
        plain_target(y)


def test_text_beside_numbers_is_refused():
    with pytest.raises(ValueError, match="text and other labels, 'ill' and 3 among them"):
        plain_target(np.array(["ill", 3, "ill"], dtype=object))


@pytest.mark.parametrize("place", ["args", "kwargs"])
def test_every_fit_reads_its_targets_so(place):
    X = np.random.default_rng(0).normal(size=(40, 2))
    sick = pd.Series(X[:, 0] > 0, dtype="boolean")
    model = CostWeightedL1Classifier(1e-3)
    model = model.fit(X, sick) if place == "args" else model.fit(X, y=sick)
    assert model.classes_.dtype == bool
    assert model.predict(X).dtype == bool
    sick[3] = pd.NA
    with pytest.raises(ValueError, match="y is empty in row 3"):
        BudgetClassifier().fit(X, sick)


def test_numbers_whose_squares_overflow_are_refused():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match=r"y has a target of size .*divide the targets"):
        BudgetRegressor().fit(X, 1e200 * X[:, 0])
