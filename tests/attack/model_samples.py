"""Models of every kind for the attack on model files, each small."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from tests.attack.session_subjects import priced_frame
from tests.estimators.small import make, public_estimators
from worthwhile import Costs, PricedModel
from worthwhile.datasets import make_lender, make_priced_classification

OVER_COLUMNS = (
    "BudgetClassifier", "CascadeClassifier", "CostWeightedL1Classifier", "DynamicSelectionClassifier",
    "GreedyMiserClassifier", "L1GateClassifier",
)  # fmt: skip
"""One estimator for each thing that is made of text, categories and dates."""

WITHIN = ("BudgetClassifier", "GreedyMiserClassifier", "L1GateClassifier", "StaticOrderClassifier")
"""Estimators that are also trained under fees within fees, requirements and ceilings."""


def sample_models() -> dict[str, Any]:
    """Fitted models by name: every public estimator, and what the others do not reach."""
    return {**_plain(), **_under_fees(), **_over_columns(), **_pipelines()}


def _plain() -> dict[str, Any]:
    """Every public estimator and two wrapped forests, over plain numbers."""
    X, y, costs = make_priced_classification(150, seed=2)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y)
    regression = RandomForestRegressor(2, max_depth=3, random_state=0).fit(X.to_numpy(), y)
    models = {
        "PricedModel-classifier": PricedModel(forest, costs),
        "PricedModel-regressor": PricedModel(regression),
        "PricedModel-mixed": _mixed(forest, X, y, costs),
    }
    for name in public_estimators():
        models[name] = make(name).fit(X, y.astype(float) if name.endswith("Regressor") else y)
    return models


def _mixed(forest: Any, X: Any, y: Any, costs: Costs) -> PricedModel:
    """Two models of different libraries, and a coin."""
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    return PricedModel.mixed(PricedModel(tree, costs), PricedModel(forest, costs), 0.4, seed=7)


def _under_fees() -> dict[str, Any]:
    X, y, costs = priced_frame()
    return {f"{name}-fees": make(name).set_params(costs=costs).fit(X, y) for name in WITHIN}


def _over_columns() -> dict[str, Any]:
    X, y, costs = lender()
    return {
        f"{name}-columns": make(name).set_params(costs=costs).fit(X, y) for name in OVER_COLUMNS
    }


def lender() -> tuple[Any, np.ndarray[Any, Any], Costs]:
    """Text, categories, dates and booleans, under fees within fees, requirements and a ceiling."""
    X, y, costs = make_lender(150, seed=3)
    data = costs.to_dict()
    data["groups"]["office"] = {"fee": "0.31", "features": ["town"]}
    for group in costs.groups:
        data["groups"][group]["within"] = ["office"]
    data["requires"] = [["savings", ["checking"]]]
    return X, y, Costs.from_dict({**data, "ceilings": ["defaults"], "evaluation": "0.01"})


def _pipelines() -> dict[str, Any]:
    """Preprocessing that is kept as arrays, and such that stays a transformer of another library."""
    X, y, costs = lender()
    X = X.drop(columns=["birth", "customer_since", "employed"]).astype({"defaults": float})
    numbers = ["amount", "months", "score", "defaults"]
    text = ["town", "checking", "savings", "housing"]
    hot = OneHotEncoder(handle_unknown="ignore", max_categories=6)
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), hot)
    both = make_column_transformer((filled, text), (SimpleImputer(), numbers))
    models = {
        "forest": RandomForestClassifier(3, max_depth=4, random_state=0),
        "linear": LogisticRegression(max_iter=500),
        "ours": worthwhile.GreedyMiserClassifier(n_rounds=3),
    }
    found = {}
    for name, model in models.items():
        fitted = make_pipeline(clone(both), model).fit(X, y)
        found[f"PricedModel-arrays-{name}"] = PricedModel(fitted, costs.select(X.columns))
    squeezed = make_pipeline(StandardScaler(), PCA(2), clone(models["forest"]))
    squeezed.fit(X[numbers].fillna(0), y)
    found["PricedModel-foreign-forest"] = PricedModel(squeezed, costs.select(numbers))
    return found
