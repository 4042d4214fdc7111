"""The trees of scikit-learn's two kinds of gradient boosting."""

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

from costwise.costs import Costs
from costwise.estimators._foreign_common import assemble, refuse_categories
from costwise.policy.base import Policy
from costwise.policy.output import Output
from costwise.policy.tree import TreePolicy

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


def _output(model: Any, n_outputs: int) -> Output:
    if not is_classifier(model):
        return Output("value")
    return Output("log-odds" if n_outputs == 1 else "logits", np.asarray(model.classes_))


def _gradient(model: Any, costs: Costs) -> Policy | None:
    constant = isinstance(model.init_, (DummyClassifier, DummyRegressor)) or model.init_ == "zero"
    if not constant:
        return None
    trees = [member.tree_ for member in model.estimators_.ravel()]
    root = np.cumsum([0] + [tree.node_count for tree in trees])
    start = np.repeat(root[:-1], np.diff(root))

    def joined(name: str) -> Array:
        return np.concatenate([getattr(tree, name) for tree in trees])

    left, right, weight = (
        joined(name) for name in ("children_left", "children_right", "weighted_n_node_samples")
    )
    leaf = left < 0
    left, right = np.where(leaf, -1, left + start), np.where(leaf, -1, right + start)
    # The exponential loss fits half the log-odds.
    factor = 2.0 if model.loss == "exponential" else 1.0
    nodes = {
        "feature": joined("feature"),
        "threshold": joined("threshold"),
        "left": left,
        "right": right,
        "missing_left": ~leaf & (weight[left] >= weight[right]),
        "value": joined("value")[:, 0, :] * (model.learning_rate * factor),
        "weight": weight,
    }
    n_outputs = model.estimators_.shape[1]
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    output = np.arange(len(trees)) % n_outputs
    flat = assemble(nodes, root[:-1], factor * base, output, single=True)
    return TreePolicy(costs, _output(model, n_outputs), flat)


def _histogram(model: Any, costs: Costs) -> Policy | None:
    if not is_classifier(model) and model.loss in ("gamma", "poisson"):
        return None
    if model.is_categorical_ is not None and model.is_categorical_.any():
        refuse_categories(costs, int(np.flatnonzero(model.is_categorical_)[0]))
    trees = [tree.nodes for round_ in model._predictors for tree in round_]
    root = np.cumsum([0] + [len(tree) for tree in trees])
    start = np.repeat(root[:-1], np.diff(root))
    joined = np.concatenate(trees)
    leaf = joined["is_leaf"].astype(bool)
    nodes = {
        "feature": joined["feature_idx"].astype(np.int64),
        "threshold": joined["num_threshold"],
        "left": np.where(leaf, -1, joined["left"].astype(np.int64) + start),
        "right": np.where(leaf, -1, joined["right"].astype(np.int64) + start),
        "missing_left": joined["missing_go_to_left"].astype(bool),
        "value": joined["value"][:, None],
        "weight": joined["count"],
    }
    base = np.ravel(model._baseline_prediction)
    output = np.arange(len(trees)) % len(base)
    return TreePolicy(costs, _output(model, len(base)), assemble(nodes, root[:-1], base, output))
