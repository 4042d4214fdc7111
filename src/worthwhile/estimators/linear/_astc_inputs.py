"""What the linear models read: columns, or the outputs of decision trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.linear import greedy_selection as gr
from worthwhile.costs import Costs
from worthwhile.policy.linear_tree_inputs import tree_outputs
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]


class TreeInputs:
    """The trees of a fitted model as inputs, priced by the raw features they test.

    Parameters
    ----------
    model : fitted model of this library whose policy is an ensemble of trees of width 1
    costs : Costs
        Of the raw features.
    """

    def __init__(self, model: Any, costs: Costs) -> None:
        policy = getattr(model, "_inner_policy", None)
        if not isinstance(policy, TreePolicy) or policy.trees.width != 1:
            raise TypeError(
                f"trees is a {type(model).__name__}: give a fitted boosted model of this library with one value per "
                "leaf, such as GreedyMiserRegressor."
            )
        if policy.n_features != costs.n_features:
            raise ValueError(
                f"trees was fitted on {policy.n_features} columns, X has {costs.n_features}: give the columns it knows."
            )
        self.trees = policy.trees
        self.prices = gr.SharedPrices(self.trees.tests(costs.n_features), costs.flat)

    def columns(self, X: npt.NDArray[Any]) -> Floats:
        """Outputs of all trees, (n, n_trees)."""
        out = np.empty((len(X), self.trees.n_trees))
        for tree in range(self.trees.n_trees):
            out[:, tree] = tree_outputs(self.trees, tree, X)
        return out
