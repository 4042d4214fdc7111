"""Every public estimator obeys the seven laws and scikit-learn's conventions."""

from __future__ import annotations

import warnings

import pytest
from sklearn.utils.estimator_checks import check_estimator

from costwise.testing import check_contract
from tests.estimators.expected_failures import EXPECTED_FAILURES
from tests.estimators.small import SMALL, make, public_estimators


def test_table_is_complete():
    missing = set(public_estimators()) - set(SMALL)
    assert not missing, f"add {missing} to tests/estimators/small.py"


@pytest.mark.parametrize("name", public_estimators())
def test_contract(name):
    check_contract(make(name))


@pytest.mark.parametrize("name", public_estimators())
def test_scikit_learn_checks(name):
    expected = EXPECTED_FAILURES.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the checks provoke is judged by the checks
        results = check_estimator(make(name), expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    stale = {r["check_name"] for r in results if r["status"] == "passed"} & set(expected)
    assert not stale, "these checks pass now: take them out of the table"
