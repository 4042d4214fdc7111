"""Model files of version 0.1.0, format 1: their names become those of today, and nothing else happens here.

The document that comes out is checked like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

RENAMED = {
    "AdaptiveBoostingClassifier": {"n_iterations": "max_iter"},
    "BudgetedForestClassifier": {"max_trees": "n_trees"},
    "CascadeClassifier": {"n_trees": "n_rounds"},
    "CostSensitiveTreeClassifier": {"depth": "max_depth"},
    "CostSensitiveTreeRegressor": {"depth": "max_depth"},
    "DynamicSelectionClassifier": {"n_iterations": "max_iter"},
    "SubmodularTreeClassifier": {"depth": "max_depth"},
    "SubmodularTreeRegressor": {"depth": "max_depth"},
}
"""Parameters by class: what they were called, and what they are called now."""

MISERS = ("GreedyMiserClassifier", "GreedyMiserRegressor")


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """The document of a file of format 1 as one of format 2."""
    return {**document, "format": 2, "model": _estimator(document["model"])}


def _value(node: Any) -> Any:
    """Any part of the tree, with the estimators in it."""
    if isinstance(node, list):
        return [_value(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {key: TAGS.get(key, _value)(item) for key, item in node.items()}


def _policy(content: dict[str, Any]) -> dict[str, Any]:
    return {**content, "settings": _value(content["settings"])}


def _estimator(content: dict[str, Any]) -> dict[str, Any]:
    content = {
        **content,
        **{part: _value(content[part]) for part in ("params", "fitted", "policy")},
    }
    kind, params = content["class"], content["params"]
    names = RENAMED.get(kind, {})
    params = {names.get(name, name): value for name, value in params.items()}
    if kind in MISERS:
        params["preset"] = _preset(params.pop("init"), params["preset"])
    return {**content, "params": params}


def _preset(init: Any, preset: Any) -> Any:
    """One preset for what were two parameters; the authors' start, whichever, is in the trees."""
    if preset != "equation":
        return preset
    return "default" if init == "prior" else "paper"


TAGS: dict[str, Callable[[Any], Any]] = {
    "$estimator": _estimator,
    "$policy": _policy,
    "$costs": lambda content: content,  # groups may have any name, a tag's too
}
