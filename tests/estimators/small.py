"""Every public estimator at settings small enough to be held to everything in seconds."""

from __future__ import annotations

from typing import Any

import worthwhile

SMALL: dict[str, dict[str, Any]] = {
    "AdaptiveBoostingClassifier": {"n_rounds": 3, "max_iter": 2, "random_state": 0},
    "AdaptiveLinearClassifier": {"max_iter": 4, "random_state": 0},
    "BudgetClassifier": {"n_trees": 4, "random_state": 0},
    "BudgetRegressor": {"n_trees": 4, "random_state": 0},
    "BudgetedForestClassifier": {"n_trees": 3, "random_state": 0},
    "CascadeClassifier": {"n_rounds": 8, "n_stages": 2, "max_iter": 10, "random_state": 0},
    "CostSensitiveTreeClassifier": {"max_depth": 2, "max_iter": 2, "random_state": 0},
    "CostSensitiveTreeRegressor": {"max_depth": 2, "max_iter": 2, "random_state": 0},
    "CostWeightedL1Classifier": {"tol": 1e-6},
    "CostWeightedL1Regressor": {},
    "DynamicSelectionClassifier": {
        "lam": 0.5,
        "max_iter": 1,
        "max_examples": 1000,
        "n_folds": 3,
        "random_state": 0,
    },
    "EarlyExitClassifier": {"threshold": 0.9},
    "EarlyExitRegressor": {},
    "FeatureSubsets": {},
    "ForwardForestClassifier": {
        "n_features": 2,
        "n_trees": 2,
        "n_search_trees": 2,
        "random_state": 0,
    },
    "GreedyMiserClassifier": {"n_rounds": 4, "min_samples_leaf": 5},
    "GreedyMiserRegressor": {"n_rounds": 8, "min_samples_leaf": 5},
    "L1GateClassifier": {"C": 1.0, "random_state": 0},
    "PrunedForestClassifier": {"random_state": 0},
    "StaticOrderClassifier": {},
    "SubmodularTreeClassifier": {"budget": 5, "max_depth": 2},
    "SubmodularTreeRegressor": {"budget": 5, "max_depth": 2},
}
"""Constructor arguments by class name."""

ONE_TRADE_OFF: dict[str, dict[str, Any]] = {
    "AdaptiveBoostingClassifier": {"gamma": 0.1, "p_full": 0.5},
    "AdaptiveLinearClassifier": {"gamma": 0.1, "p_full": 0.5},
    "CascadeClassifier": {"lam": 0.01},
    "CostSensitiveTreeClassifier": {"lam": 0.01},
    "CostSensitiveTreeRegressor": {"lam": 0.01},
}
"""What spares these, in checks of conventions, the search for their own trade-off, which takes most of a fit."""

NOT_FITTED_BY_US = ("PricedModel", "BudgetSearchCV")
"""Public classes in the estimator layer that have their own tests of the laws."""


def public_estimators() -> list[str]:
    """Names of the public estimators, found where the package keeps them."""
    return sorted(
        name
        for name, home in worthwhile._HOME.items()
        if home.startswith("worthwhile.estimators.")
        and name not in NOT_FITTED_BY_US
        and name[0].isupper()
    )


def make(name: str) -> Any:
    """A small estimator of a public class."""
    return getattr(worthwhile, name)(**SMALL[name])
