"""Every public estimator obeys the seven laws and scikit-learn's conventions."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from tests.estimators.expected_failures import EXPECTED_FAILURES
from tests.estimators.small import ONE_TRADE_OFF, SMALL, make, public_estimators
from worthwhile.datasets import make_priced_classification
from worthwhile.testing import check_contract


def test_table_is_complete():
    missing = set(public_estimators()) - set(SMALL)
    assert not missing, f"add {missing} to tests/estimators/small.py"


@pytest.mark.parametrize("name", public_estimators())
def test_contract(name):
    check_contract(make(name))


@pytest.mark.parametrize("name", public_estimators())
def test_scikit_learn_checks(name):
    expected = EXPECTED_FAILURES.get(name, {})
    estimator = make(name).set_params(**ONE_TRADE_OFF.get(name, {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the checks provoke is judged by the checks
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    stale = {r["check_name"] for r in results if r["status"] == "passed"} & set(expected)
    assert not stale, "these checks pass now: take them out of the table"


@pytest.mark.parametrize("name", public_estimators())
def test_the_trade_off_does_not_depend_on_what_columns_are_called(name):
    """Numbers for names, as a frame has without any, are no names; prices by name need names."""
    X, y, costs = make_priced_classification(80, seed=0)
    frame = pd.DataFrame(X.to_numpy())
    estimator = make(name)
    if "costs" in estimator.get_params(deep=False):
        estimator.set_params(costs=np.array([float(price) for price in costs.prices.values()]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grids = [estimator.trade_off_grid(data, y) for data in (X, frame, frame.to_numpy())]
    assert grids[0]
    assert grids[1] == grids[0]
    assert grids[2] == grids[0]
