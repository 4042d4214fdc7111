"""What the linear models read: columns, or the outputs of decision trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.core import greedy as gr
from costwise.costs import Costs
from costwise.policy.tree import TreePolicy
from costwise.policy.tree_inputs import needs, tree_outputs

Floats = npt.NDArray[np.float64]


def plain_prices(costs: Costs) -> gr.Prices:
    """Prices of columns as they are."""
    flat = costs.flat
    return gr.Prices(flat.price, flat.group, flat.fee)


class TreeInputs:
    """The trees of a fitted model as inputs, priced by the raw features they test.

    Parameters
    ----------
    model : fitted model of this library whose policy is an ensemble of trees of width 1
    costs : Costs
        Of the raw features.
    """

    def __init__(self, model: Any, costs: Costs) -> None:
        policy = getattr(model, "policy_", None)
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
        self.prices = gr.SharedPrices(needs(self.trees, costs.n_features), plain_prices(costs))

    def columns(self, X: npt.NDArray[Any]) -> Floats:
        """Outputs of all trees, (n, n_trees)."""
        out = np.empty((len(X), self.trees.n_trees))
        for tree in range(self.trees.n_trees):
            out[:, tree] = tree_outputs(self.trees, tree, X)
        return out
