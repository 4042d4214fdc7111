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
from worthwhile.estimators.priced._columns import assemble, refuse_categories
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
    Categorical features are refused. Internal nodes hold the mean of their leaves by training
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
    if model.is_categorical_ is not None and model.is_categorical_.any():
        refuse_categories(costs, int(np.flatnonzero(model.is_categorical_)[0]))
    nodes, root = join_nodes(
        [_histogram_nodes(tree.nodes) for round_ in model._predictors for tree in round_]
    )
    base = np.ravel(model._baseline_prediction)
    output = np.arange(len(root)) % len(base)
    return TreePolicy(costs, _output(model, len(base)), assemble(nodes, root, base, output))


def _histogram_nodes(records: Array) -> dict[str, Array]:
    """Nodes of a tree of ``HistGradientBoosting...``."""
    leaf = records["is_leaf"].astype(bool)
    return {
        "feature": records["feature_idx"].astype(np.int64),
        "threshold": records["num_threshold"],
        "left": np.where(leaf, -1, records["left"].astype(np.int64)),
        "right": np.where(leaf, -1, records["right"].astype(np.int64)),
        "missing_left": records["missing_go_to_left"].astype(bool),
        "value": records["value"][:, None],
        "weight": records["count"],
    }
