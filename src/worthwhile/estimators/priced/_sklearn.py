"""The trees of scikit-learn: single ones, and those of its two kinds of gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from worthwhile.core.trees import join_nodes
from worthwhile.costs import Costs
from worthwhile.estimators.priced._columns import CategorySets, assemble, bits_of
from worthwhile.policy.base import Policy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Array = npt.NDArray[Any]

GRADIENT = (GradientBoostingClassifier, GradientBoostingRegressor)
HISTOGRAM = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def from_sklearn_boosting(model: Any, costs: Costs) -> Policy | None:
    """Read the trees of ``GradientBoosting...`` and ``HistGradientBoosting...``.

    None for other models, for losses with another link (Poisson, gamma) and for boosting that
    starts from a model of yours, which reads features itself: such models are read as a whole.
    Internal nodes hold the mean of their leaves by training
    weight (scikit-learn's own are residuals before the Newton step). ``GradientBoosting...``
    refuses NaN, so nothing was learned about it: it follows the larger share of the training data.

    Examples
    --------
    >>> from_sklearn_boosting("not a model", None) is None
    True
    """
    if isinstance(model, GRADIENT):
        return _gradient(model, costs)
    if isinstance(model, HISTOGRAM):
        return _histogram(model, costs)
    return None


def tree_nodes(member: Any) -> dict[str, Array]:
    """Nodes of a fitted decision tree with one output."""
    tree = member.tree_
    return {
        "feature": tree.feature,
        "threshold": tree.threshold,
        "left": tree.children_left,
        "right": tree.children_right,
        "missing_left": tree.missing_go_to_left.astype(bool),
        "value": tree.value[:, 0, :],
        "weight": tree.weighted_n_node_samples,
    }


def _output(model: Any, n_outputs: int) -> Output:
    if not is_classifier(model):
        return Output("value")
    return Output("log-odds" if n_outputs == 1 else "logits", np.asarray(model.classes_))


def _gradient(model: Any, costs: Costs) -> Policy | None:
    constant = isinstance(model.init_, (DummyClassifier, DummyRegressor)) or model.init_ == "zero"
    if not constant:
        return None
    nodes, root = join_nodes([tree_nodes(member) for member in model.estimators_.ravel()])
    left, right, weight = nodes["left"], nodes["right"], nodes["weight"]
    nodes["missing_left"] = (left >= 0) & (weight[left] >= weight[right])
    # The exponential loss fits half the log-odds.
    factor = 2.0 if model.loss == "exponential" else 1.0
    nodes["value"] = nodes["value"] * (model.learning_rate * factor)
    n_outputs = model.estimators_.shape[1]
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    output = np.arange(len(root)) % n_outputs
    flat = assemble(nodes, root, factor * base, output, single=True)
    return TreePolicy(costs, _output(model, n_outputs), flat)


def _histogram(model: Any, costs: Costs) -> Policy | None:
    if not is_classifier(model) and model.loss in ("gamma", "poisson"):
        return None
    columns, levels = _histogram_columns(model)
    sets = CategorySets(costs, levels)
    nodes, root = join_nodes(
        [_histogram_nodes(tree, columns, levels, sets) for round_ in model._predictors for tree in round_]
    )  # fmt: skip
    base = np.ravel(model._baseline_prediction)
    output = np.arange(len(root)) % len(base)
    trees = assemble(nodes, root, base, output, sets=sets.all)
    return sets.dress(TreePolicy(costs, _output(model, len(base)), trees))


def _histogram_columns(model: Any) -> tuple[Array, dict[int, Any]]:
    """Column of each feature as the trees number them, and the values of the categories of columns.

    Where there are categories, they come first, numbered in the order of their values.
    """
    if model.is_categorical_ is None or not model.is_categorical_.any():
        return np.arange(model.n_features_in_), {}
    coded = np.flatnonzero(model.is_categorical_)
    found = model._preprocessor.named_transformers_["encoder"].categories_
    levels = [[v for v in values.tolist() if v == v and v is not None] for values in found]
    columns = np.concatenate([coded, np.flatnonzero(~model.is_categorical_)])
    return columns, dict(zip(coded.tolist(), levels, strict=True))


def _histogram_nodes(
    tree: Any, columns: Array, levels: dict[int, Any], sets: CategorySets
) -> dict[str, Array]:
    """Nodes of a tree of ``HistGradientBoosting...``."""
    records = tree.nodes
    leaf = records["is_leaf"].astype(bool)
    column, threshold = columns[records["feature_idx"]], np.array(records["num_threshold"])
    left, right = (np.where(leaf, -1, records[side].astype(np.int64)) for side in ("left", "right"))
    missing_left = records["missing_go_to_left"].astype(bool)
    category = records["is_categorical"].astype(bool) & ~leaf
    # Values that are new go where empty ones go. Here they go right, so where that is the left side
    # there, the sides are exchanged, and the set is that of the known values of the other one.
    swapped = category & missing_left
    for node in np.flatnonzero(category):
        own = int(column[node])
        codes = set(bits_of(tree.raw_left_cat_bitsets[records["bitset_idx"][node]]))
        if swapped[node]:
            codes = set(range(len(levels[own]))) - codes
        threshold[node] = sets.add(own, sorted(codes))
    return {
        "feature": column,
        "threshold": threshold,
        "left": np.where(swapped, right, left),
        "right": np.where(swapped, left, right),
        "missing_left": missing_left & ~category,
        "category": category,
        "value": records["value"][:, None],
        "weight": records["count"],
    }
