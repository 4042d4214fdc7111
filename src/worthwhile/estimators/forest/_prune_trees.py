"""From forests and boosted trees that people have to trees that can be pruned, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.estimators.forest._votes import votes
from worthwhile.estimators.forest.budgeted_forest import BudgetedForestClassifier
from worthwhile.estimators.priced.priced_model import FORESTS, PricedModel, from_sklearn_trees
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]


class Prunable(NamedTuple):
    """Trees, what their nodes say, and what is lost by stopping at them.

    Attributes
    ----------
    trees : Trees
        The ensemble.
    output : Output
        How its raw output becomes a prediction.
    labels : int64 (nodes,)
        Class that each node votes for.
    errors : float64 (nodes,)
        What stopping at each node gets wrong, as a share of the rows or of the score.
    voting : bool
        Whether a tree that is pruned to its root may be left out.
    """

    trees: Trees
    output: Output
    labels: npt.NDArray[np.int64]
    errors: Floats
    voting: bool


def prunable(forest: Any, classes: Any, costs: Costs, X: Floats, share: Floats) -> Prunable:
    """Read a fitted model; ``X`` and ``share`` are the pruning rows and their weights, adding to 1."""
    if isinstance(forest, PricedModel) and isinstance(forest.model, FORESTS):
        forest = forest.model
    if isinstance(forest, PricedModel):
        policy = forest._inner_policy
        if isinstance(policy, TreePolicy) and policy.output.classes is not None:
            labels = np.zeros(len(policy.trees.feature), dtype=np.int64)
            return Prunable(
                policy.trees, policy.output, labels, score_changes(policy.trees, X, share), False
            )
    trees, counts = _voting_trees(forest, costs)
    total = counts[trees.root].sum(axis=1)[trees.tree_of]
    errors = (counts.sum(axis=1) - counts.max(axis=1)) / total
    labels = np.argmax(counts, axis=1).astype(np.int64)
    return Prunable(trees, Output("votes", classes), labels, errors, True)


def score_changes(trees: Trees, X: Floats, share: Floats) -> Floats:
    """Mean squared change of a tree's part of the score when its walks stop at a node, (nodes,).

    Scaled so that stopping at all roots changes 1 on average over the trees.
    """
    X = X.astype(np.float32) if trees.single else X
    changes = np.zeros(len(trees.feature))
    rows = np.arange(len(X))
    for root in trees.root:
        at = np.full(len(X), root)
        met = [at]
        while (inner := trees.feature[at] >= 0).any():
            values = X[rows, np.maximum(trees.feature[at], 0)]
            left = trees.goes_left(at, values)
            at = np.where(inner, np.where(left, trees.left[at], trees.right[at]), at)
            met.append(at)
        for nodes in met[:-1]:
            passing = trees.feature[nodes] >= 0
            change = ((trees.value[at] - trees.value[nodes]) ** 2).sum(axis=1)
            changes += np.bincount(nodes, share * change * passing, len(changes))
    whole = changes[trees.root].sum()
    return changes * (trees.n_trees / whole) if whole > 0 else changes


def _voting_trees(forest: Any, costs: Costs) -> tuple[Trees, Floats]:
    """A forest as trees that vote, and the weights of the classes at its nodes."""
    if isinstance(forest, BudgetedForestClassifier):
        trees = forest._inner_policy.trees
        if not trees.n_trees:
            raise ValueError(
                "forest has no trees: its budget did not pay for one. Give it a larger budget."
            )
        return trees, trees.value[:, trees.n_outputs // 2 :]
    policy = from_sklearn_trees(forest, costs) if hasattr(forest, "n_outputs_") else None
    if not isinstance(policy, TreePolicy) or policy.output.classes is None:
        raise TypeError(
            f"forest is a {type(forest).__name__}: give a BudgetedForestClassifier, a RandomForestClassifier, "
            "ExtraTreesClassifier or DecisionTreeClassifier of scikit-learn, or a PricedModel of boosted trees that "
            "classify."
        )
    members = getattr(forest, "estimators_", None) or [forest]
    weight = np.concatenate([member.tree_.weighted_n_node_samples for member in members])
    counts = policy.trees.value * weight[:, None]
    prior = counts[policy.trees.root].sum(axis=0)
    prior = np.concatenate([prior, prior]) / prior.sum()
    return replace(policy.trees, value=votes(counts), base=prior), counts
