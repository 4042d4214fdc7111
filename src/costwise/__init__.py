"""Prediction when features cost money or time.

Everything public is importable from here; nothing is imported before it is used, so that
``import costwise`` stays cheap and using a stored model needs no compiler.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "BudgetedForestClassifier": "costwise.estimators.budgeted_forest",
    "AdaptiveBoostingClassifier": "costwise.estimators.adaptive_boosting",
    "AdaptiveLinearClassifier": "costwise.estimators.adaptive_linear",
    "BudgetSearchCV": "costwise.frontier",
    "CascadeClassifier": "costwise.estimators.cascade",
    "Comparison": "costwise.frontier",
    "CostSensitiveTreeClassifier": "costwise.estimators.cost_sensitive_tree",
    "CostSensitiveTreeRegressor": "costwise.estimators.cost_sensitive_tree",
    "CostWeightedL1Classifier": "costwise.estimators.cost_weighted_l1",
    "CostWeightedL1Regressor": "costwise.estimators.cost_weighted_l1",
    "Costs": "costwise.costs",
    "DynamicSelectionClassifier": "costwise.estimators.dynamic_selection",
    "EarlyExitClassifier": "costwise.estimators.early_exit",
    "EarlyExitRegressor": "costwise.estimators.early_exit",
    "Extractors": "costwise.runtime",
    "FeatureSubsets": "costwise.estimators.feature_subsets",
    "ForwardForestClassifier": "costwise.estimators.forward_forest",
    "Frontier": "costwise.frontier",
    "GreedyMiserClassifier": "costwise.estimators.greedy_miser",
    "GreedyMiserRegressor": "costwise.estimators.greedy_miser",
    "L1GateClassifier": "costwise.estimators.l1_gate",
    "Ledger": "costwise.runtime",
    "PricedModel": "costwise.estimators.priced_model",
    "PrunedForestClassifier": "costwise.estimators.pruned_forest",
    "QuerySession": "costwise.runtime.query",
    "Session": "costwise.runtime",
    "StaticOrderClassifier": "costwise.estimators.static_order",
    "SubmodularTreeClassifier": "costwise.estimators.submodular_tree",
    "SubmodularTreeRegressor": "costwise.estimators.submodular_tree",
    "compare": "costwise.frontier",
    "load": "costwise.persist",
    "load_policy": "costwise.persist",
    "save": "costwise.persist",
    "warm_up": "costwise.core.compile",
}
"""Where each public name lives."""

_MODULES = ("datasets", "exceptions", "metrics", "plots", "testing")

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"costwise.{name}")
    raise AttributeError(f"module 'costwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
