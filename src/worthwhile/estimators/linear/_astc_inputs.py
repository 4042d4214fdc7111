"""What the linear models read: columns, or the outputs of decision trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.linear import greedy_selection as gr
from worthwhile.costs import Costs
from worthwhile.estimators.linear._cstc_fit import price_terms
from worthwhile.policy.linear_tree_inputs import all_outputs
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
        return all_outputs(self.trees, X)

    def terms(self, costs: Costs) -> tuple[Floats, Floats]:
        """Prices, and which trees (n_trees, T) each is the price of: a feature or a fee that they need."""
        price, member = price_terms(costs)
        needs = self.prices.needs.astype(np.float64)
        return price, (needs @ member > 0).astype(np.float64)
