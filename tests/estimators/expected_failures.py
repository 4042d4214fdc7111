"""scikit-learn's checks that an estimator fails on purpose, each with the reason.

``tests/estimators/test_laws.py`` runs all checks and also makes sure that those listed
here still fail, so that the table cannot grow stale.
"""

WEIGHTS_AND_VALIDATION = (
    "a random share of the rows is kept for pruning: repeated rows may be divided, a heavy one not"
)

RANDOM_SAMPLES = "rows are held out, and thresholds drawn, at random per row and node: repeated rows change the draws"

VOTES_AND_COUNTS = (
    "the majority of the trees predicts, leaf counts give probabilities, as in the paper"
)

BOOTSTRAP = (
    "the forest that stands in for the existing model draws rows: repeated rows change the draws"
)

RANDOM_ROWS = "a tree sees a random part of the rows: repeated rows change the draws"

FOLDS = "copies of a heavy row are in one fold, repeated rows in several"

ROUNDING = "sums of weighted and of repeated rows round otherwise: probabilities differ by up to 2e-8, 1e-9 is allowed"

EXPECTED_FAILURES: dict[str, dict[str, str]] = {
    "AdaptiveBoostingClassifier": {"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    "AdaptiveLinearClassifier": {"check_sample_weight_equivalence_on_dense_data": BOOTSTRAP},
    "BudgetClassifier": {"check_sample_weight_equivalence_on_dense_data": RANDOM_ROWS},
    "BudgetRegressor": {"check_sample_weight_equivalence_on_dense_data": RANDOM_ROWS},
    "BudgetedForestClassifier": {
        "check_sample_weight_equivalence_on_dense_data": RANDOM_SAMPLES,
        "check_classifiers_train": VOTES_AND_COUNTS,
    },
    "DynamicSelectionClassifier": {"check_sample_weight_equivalence_on_dense_data": FOLDS},
    "ForwardForestClassifier": {"check_sample_weight_equivalence_on_dense_data": RANDOM_ROWS},
    "SubmodularTreeClassifier": {"check_sample_weight_equivalence_on_dense_data": ROUNDING},
    "StaticOrderClassifier": {"check_sample_weight_equivalence_on_dense_data": FOLDS},
    "PrunedForestClassifier": {
        "check_sample_weight_equivalence_on_dense_data": RANDOM_SAMPLES,
        "check_classifiers_train": VOTES_AND_COUNTS,
        "check_decision_proba_consistency": VOTES_AND_COUNTS,
    },
    "CostSensitiveTreeClassifier": {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_AND_VALIDATION
    },
    "CostSensitiveTreeRegressor": {
        "check_sample_weight_equivalence_on_dense_data": WEIGHTS_AND_VALIDATION
    },
}

DENSE = "check_sample_weight_equivalence_on_dense_data"
for _reasons in EXPECTED_FAILURES.values():
    if DENSE in _reasons:  # sparse tables are made dense first
        _reasons[DENSE.replace("dense", "sparse")] = _reasons[DENSE]
