"""The trees of a fitted LightGBM model, node by node, so that each row pays for its own paths."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from costwise.core.trees import Trees
from costwise.costs import Costs
from costwise.policy.base import Policy
from costwise.policy.output import Output
from costwise.policy.tree import TreePolicy

VALUES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank")
"""Objectives whose raw output is the prediction."""


def from_lightgbm(model: Any, costs: Costs) -> Policy | None:
    """Read the trees of a ``LGBMClassifier``, ``LGBMRegressor``, ``LGBMRanker`` or ``Booster``.

    None for other models, and for what these trees cannot express (objectives with another link,
    random forests, linear leaves): such models are read as a whole. Categorical splits and zeros
    that stand for missing values are refused.

    Examples
    --------
    >>> from_lightgbm("not a model", None) is None
    True
    """
    lightgbm = sys.modules.get("lightgbm")  # a model of it can only come from a loaded library
    if lightgbm is None or not isinstance(model, (lightgbm.LGBMModel, lightgbm.Booster)):
        return None
    booster = model.booster_ if isinstance(model, lightgbm.LGBMModel) else model
    dump = booster.dump_model(num_iteration=booster.best_iteration or -1)
    output = _output(model, dump)
    if output is None or dump.get("average_output") or _linear(dump):
        return None
    return TreePolicy(costs, output, read_dump(dump))


def _output(model: Any, dump: Mapping[str, Any]) -> Output | None:
    objective = str(dump.get("objective", "")).split()
    name, options = (objective[0], objective[1:]) if objective else ("", [])
    if name in VALUES and "sqrt" not in options:
        return Output("value")
    classes = getattr(model, "classes_", None)
    if name == "binary" and "sigmoid:1" in options:
        return Output("log-odds", np.array([0, 1]) if classes is None else np.asarray(classes))
    if name == "multiclass":
        count = int(dump["num_class"])
        return Output("logits", np.arange(count) if classes is None else np.asarray(classes))
    return None


def _linear(dump: Mapping[str, Any]) -> bool:
    """Whether leaves hold linear models."""
    if not dump["tree_info"]:
        return False
    node = dump["tree_info"][-1]["tree_structure"]
    while "left_child" in node:
        node = node["left_child"]
    return "leaf_coeff" in node


def read_dump(dump: Mapping[str, Any]) -> Trees:
    """Make flat trees of ``Booster.dump_model()``, the parents before their children."""
    n_outputs = int(dump["num_tree_per_iteration"])
    nodes = _Nodes()
    root = []
    for tree in dump["tree_info"]:
        root.append(len(nodes.feature))
        nodes.add(tree["tree_structure"])
    return Trees.build(
        feature=nodes.feature,
        threshold=nodes.threshold,
        left=nodes.left,
        right=nodes.right,
        missing_left=nodes.missing_left,
        value=np.array(nodes.value, dtype=np.float64).reshape(-1, 1),
        root=root,
        base=np.zeros(n_outputs),
        output=np.arange(len(root)) % n_outputs,
    )


class _Nodes:
    """Nodes in the making."""

    def __init__(self) -> None:
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.missing_left: list[bool] = []
        self.value: list[float] = []

    def add(self, node: Mapping[str, Any]) -> None:
        """Add a tree; a stack instead of recursion, since LightGBM grows chains."""
        waiting: list[tuple[Mapping[str, Any], int, list[int]]] = [(node, -1, self.left)]
        while waiting:
            node, parent, side = waiting.pop()
            here = len(self.feature)
            if parent >= 0:
                side[parent] = here
            self._append(node)
            if "split_index" in node:
                waiting += [
                    (node["right_child"], here, self.right),
                    (node["left_child"], here, self.left),
                ]

    def _append(self, node: Mapping[str, Any]) -> None:
        inner = "split_index" in node
        self.left.append(-1)
        self.right.append(-1)
        self.value.append(float(node["internal_value" if inner else "leaf_value"]))
        if not inner:
            self.feature.append(-1)
            self.threshold.append(0.0)
            self.missing_left.append(False)
            return
        if node["decision_type"] != "<=":
            raise ValueError(
                f"model has a split of type {node['decision_type']!r} on feature {node['split_feature']}: models with "
                "categorical splits cannot be priced by row; encode categories as numbers."
            )
        if node["missing_type"] == "Zero":
            raise ValueError(
                "model takes zeros for missing values (zero_as_missing=True): train it without that."
            )
        threshold = float(node["threshold"])
        self.feature.append(int(node["split_feature"]))
        self.threshold.append(threshold)
        # Without missing values in training LightGBM reads NaN as 0.
        learned = node["missing_type"] == "NaN"
        self.missing_left.append(bool(node["default_left"]) if learned else threshold >= 0.0)
