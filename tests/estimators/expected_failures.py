"""scikit-learn's checks that an estimator fails on purpose, each with the reason.

``tests/estimators/test_sklearn_checks.py`` runs all checks and also makes sure that those listed
here still fail, so that the table cannot grow stale.
"""

EXPECTED_FAILURES: dict[str, dict[str, str]] = {}
