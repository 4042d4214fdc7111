"""Prediction when features cost money or time.

Everything public is importable from here; nothing is imported before it is used, so that
``import worthwhile`` stays cheap and using a stored model needs no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worthwhile._lazy import lazy

if TYPE_CHECKING:
    from worthwhile import datasets, exceptions, metrics, plots, testing
    from worthwhile.columns.parquet import ParquetTable
    from worthwhile.core.compile import warm_up
    from worthwhile.costs import Costs, Errors
    from worthwhile.estimators.boosting import (
        FeatureSubsets,
        GreedyMiserClassifier,
        GreedyMiserRegressor,
    )
    from worthwhile.estimators.budget import BudgetClassifier, BudgetRegressor
    from worthwhile.estimators.exits import EarlyExitClassifier, EarlyExitRegressor
    from worthwhile.estimators.forest import (
        BudgetedForestClassifier,
        ForwardForestClassifier,
        PrunedForestClassifier,
    )
    from worthwhile.estimators.gates import (
        AdaptiveBoostingClassifier,
        AdaptiveLinearClassifier,
        L1GateClassifier,
    )
    from worthwhile.estimators.linear import (
        CascadeClassifier,
        CostSensitiveTreeClassifier,
        CostSensitiveTreeRegressor,
        CostWeightedL1Classifier,
        CostWeightedL1Regressor,
        SubmodularTreeClassifier,
        SubmodularTreeRegressor,
    )
    from worthwhile.estimators.priced import PricedModel
    from worthwhile.estimators.selection import DynamicSelectionClassifier, StaticOrderClassifier
    from worthwhile.frontier import BudgetSearchCV, Comparison, Frontier, compare
    from worthwhile.persist import load, load_policy, save
    from worthwhile.runtime import Extractors, Ledger, Session
    from worthwhile.runtime.query import QuerySession

__version__ = "0.2.0"

_HOME = {
    "BudgetedForestClassifier": "worthwhile.estimators.forest",
    "AdaptiveBoostingClassifier": "worthwhile.estimators.gates",
    "AdaptiveLinearClassifier": "worthwhile.estimators.gates",
    "BudgetClassifier": "worthwhile.estimators.budget",
    "BudgetRegressor": "worthwhile.estimators.budget",
    "BudgetSearchCV": "worthwhile.frontier",
    "CascadeClassifier": "worthwhile.estimators.linear",
    "Comparison": "worthwhile.frontier",
    "CostSensitiveTreeClassifier": "worthwhile.estimators.linear",
    "CostSensitiveTreeRegressor": "worthwhile.estimators.linear",
    "CostWeightedL1Classifier": "worthwhile.estimators.linear",
    "CostWeightedL1Regressor": "worthwhile.estimators.linear",
    "Costs": "worthwhile.costs",
    "DynamicSelectionClassifier": "worthwhile.estimators.selection",
    "EarlyExitClassifier": "worthwhile.estimators.exits",
    "EarlyExitRegressor": "worthwhile.estimators.exits",
    "Errors": "worthwhile.costs",
    "Extractors": "worthwhile.runtime",
    "FeatureSubsets": "worthwhile.estimators.boosting",
    "ForwardForestClassifier": "worthwhile.estimators.forest",
    "Frontier": "worthwhile.frontier",
    "GreedyMiserClassifier": "worthwhile.estimators.boosting",
    "GreedyMiserRegressor": "worthwhile.estimators.boosting",
    "L1GateClassifier": "worthwhile.estimators.gates",
    "Ledger": "worthwhile.runtime",
    "ParquetTable": "worthwhile.columns.parquet",
    "PricedModel": "worthwhile.estimators.priced",
    "PrunedForestClassifier": "worthwhile.estimators.forest",
    "QuerySession": "worthwhile.runtime.query",
    "Session": "worthwhile.runtime",
    "StaticOrderClassifier": "worthwhile.estimators.selection",
    "SubmodularTreeClassifier": "worthwhile.estimators.linear",
    "SubmodularTreeRegressor": "worthwhile.estimators.linear",
    "compare": "worthwhile.frontier",
    "load": "worthwhile.persist",
    "load_policy": "worthwhile.persist",
    "save": "worthwhile.persist",
    "warm_up": "worthwhile.core.compile",
}
"""Where each public name lives."""

_MODULES = ("datasets", "exceptions", "metrics", "plots", "testing")

__all__ = [
    "AdaptiveBoostingClassifier",
    "AdaptiveLinearClassifier",
    "BudgetClassifier",
    "BudgetRegressor",
    "BudgetSearchCV",
    "BudgetedForestClassifier",
    "CascadeClassifier",
    "Comparison",
    "CostSensitiveTreeClassifier",
    "CostSensitiveTreeRegressor",
    "CostWeightedL1Classifier",
    "CostWeightedL1Regressor",
    "Costs",
    "DynamicSelectionClassifier",
    "EarlyExitClassifier",
    "EarlyExitRegressor",
    "Errors",
    "Extractors",
    "FeatureSubsets",
    "ForwardForestClassifier",
    "Frontier",
    "GreedyMiserClassifier",
    "GreedyMiserRegressor",
    "L1GateClassifier",
    "Ledger",
    "ParquetTable",
    "PricedModel",
    "PrunedForestClassifier",
    "QuerySession",
    "Session",
    "StaticOrderClassifier",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
    "__version__",
    "compare",
    "datasets",
    "exceptions",
    "load",
    "load_policy",
    "metrics",
    "plots",
    "save",
    "testing",
    "warm_up",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = lazy(__name__, _HOME, _MODULES)
