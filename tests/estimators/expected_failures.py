"""scikit-learn's checks that an estimator fails on purpose, each with the reason.

``tests/estimators/test_sklearn_checks.py`` runs all checks and also makes sure that those listed
here still fail, so that the table cannot grow stale.
"""

WEIGHTS_AND_VALIDATION = (
    "a share of the rows, drawn at random, is kept for pruning: a repeated row may be drawn or not, a heavy one goes whole"
)

RANDOM_SAMPLES = "rows are held out, and thresholds drawn, at random per row and node: repeated rows change the draws"

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "BudgetedForestClassifier": {"check_sample_weight_equivalence_on_dense_data": RANDOM_SAMPLES},
    "PrunedForestClassifier": {"check_sample_weight_equivalence_on_dense_data": RANDOM_SAMPLES},
    "CostSensitiveTreeClassifier": {"check_sample_weight_equivalence_on_dense_data": WEIGHTS_AND_VALIDATION},
    "CostSensitiveTreeRegressor": {"check_sample_weight_equivalence_on_dense_data": WEIGHTS_AND_VALIDATION},
}
