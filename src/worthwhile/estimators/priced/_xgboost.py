"""The trees of a fitted XGBoost model, from its own JSON."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees, join_nodes
from worthwhile.costs import Costs
from worthwhile.estimators.priced._columns import (
    AS_A_WHOLE,
    CategorySets,
    assemble,
    comes_from,
    is_booster,
    refuse_booster,
)
from worthwhile.policy.base import Policy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Array = npt.NDArray[Any]

VALUES = (
    "reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "reg:absoluteerror", "reg:quantileerror",
    "reg:expectileerror", "rank:pairwise", "rank:ndcg", "rank:map",
)  # fmt: skip
"""Objectives whose raw output is the prediction. A custom one is stored as the first of these."""

NEVER = -1e308
"""A threshold below every float32."""


def from_xgboost(model: Any, costs: Costs) -> Policy | None:
    """Read the trees of an ``XGBClassifier``, ``XGBRegressor``, ``XGBRanker`` or ``Booster``.

    None for other models, and for what these trees cannot express (objectives with another link,
    linear boosters, leaves with a vector of targets): such models are read as a whole. A number
    that stands for missing values is refused. An estimator stopped
    early is read up to its best round, as it predicts. Internal nodes hold the mean of their leaves
    by Hessian (XGBoost's cover): the weights that XGBoost keeps there lack the learning rate.

    Notes
    -----
    XGBoost adds in float32; here the same float32 leaves are added in float64.

    Examples
    --------
    >>> from_xgboost("not a model", None) is None
    True
    """
    if not comes_from(model, "xgboost"):
        return None
    booster = model if is_booster(model) else model.get_booster()
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    output = _output(model, learner)
    boosted, dropped = learner["gradient_booster"], None
    if boosted["name"] == "dart":
        boosted, dropped = boosted["gbtree"], boosted["weight_drop"]
    vectors = "model" in boosted and any(
        int(tree["tree_param"]["size_leaf_vector"]) > 1
        for tree in boosted["model"].get("trees", ())
    )
    if output is None or not boosted.get("model", {}).get("trees") or vectors:
        refuse_booster(model, learner["objective"]["name"])
        return None
    if not is_booster(model) and not math.isnan(model.missing):
        raise ValueError(
            f"model takes {model.missing} for a missing value: put NaN there and train again with missing=nan, "
            + AS_A_WHOLE
        )
    n_trees = _used(model, boosted["model"])
    sets = CategorySets(costs, _levels(boosted["model"]))
    trees = _read(learner, boosted["model"], dropped, n_trees, sets)
    return sets.dress(TreePolicy(costs, output, trees))


def _levels(model: dict[str, Any]) -> dict[int, list[Any]]:
    """Values of the categories of columns that XGBoost numbered itself: those of a frame."""
    encoders = (model.get("cats") or {}).get("enc") or []
    return {
        column: _texts(encoder) if "offsets" in encoder else encoder["values"]
        for column, encoder in enumerate(encoders)
        if encoder["values"]
    }


def _texts(encoder: dict[str, Any]) -> list[str]:
    """Texts that lie one after the other, as bytes, with the places where they begin and end."""
    letters = bytes(value % 256 for value in encoder["values"])
    return [letters[a:b].decode() for a, b in itertools.pairwise(encoder["offsets"])]


def _output(model: Any, learner: dict[str, Any]) -> Output | None:
    name = learner["objective"]["name"]
    if name in VALUES:
        return Output("value")
    classes = getattr(model, "classes_", None)
    if classes is None and not is_booster(model):
        return None  # a regressor with a classifier's objective predicts probabilities
    count = max(2, int(learner["learner_model_param"]["num_class"]))
    classes = np.arange(count) if classes is None else np.asarray(classes)
    kinds = {
        "binary:logistic": "log-odds", "binary:hinge": "score", "multi:softprob": "logits", "multi:softmax": "logits",
    }  # fmt: skip
    # Several labels per row come as several outputs: not a classification into one of the classes.
    single = int(learner["learner_model_param"].get("num_target", "1")) == 1
    return Output(kinds[name], classes) if name in kinds and single else None


def _used(model: Any, trees: dict[str, Any]) -> int:
    """Number of trees that predict: those up to the best round, if it stopped early."""
    best = None if is_booster(model) else getattr(model, "best_iteration", None)
    if best is None:
        return len(trees["trees"])
    rounds = trees.get("iteration_indptr")
    if rounds is None:  # older files
        per_round = len(trees["trees"]) // max(1, model.get_booster().num_boosted_rounds())
        return int((best + 1) * per_round)
    return int(rounds[best + 1])


def _read(
    learner: dict[str, Any], model: dict[str, Any], dropped: Any, n_trees: int, sets: CategorySets
) -> Trees:
    trees = model["trees"][:n_trees]
    # What dropping trees has left of each.
    kept = np.ones(n_trees) if dropped is None else np.asarray(dropped[:n_trees], dtype=np.float64)
    nodes, root = join_nodes(
        [_nodes(tree, share, sets) for tree, share in zip(trees, kept, strict=True)]
    )
    output = np.asarray(model["tree_info"][:n_trees])
    return assemble(nodes, root, _base(learner), output, single=True, sets=sets.all)


def _nodes(tree: dict[str, Any], kept: float, sets: CategorySets) -> dict[str, Array]:
    """Nodes of one tree, whose values count ``kept`` times."""

    def read(name: str, dtype: Any) -> Array:
        return np.asarray(tree[name], dtype=dtype)

    left, column = read("left_children", np.int64), read("split_indices", np.int64)
    right, missing_left = read("right_children", np.int64), read("default_left", bool)
    # XGBoost goes left iff x < condition, in float32.
    condition = read("split_conditions", np.float32)
    before = np.nextafter(condition, np.float32(-np.inf))
    threshold = np.where(np.isfinite(before), before.astype(np.float64), NEVER)
    category = np.zeros(len(left), dtype=bool)
    for node, start, size in zip(
        *(tree.get(f"categories_{name}", ()) for name in ("nodes", "segments", "sizes")),
        strict=True,
    ):
        category[node] = True
        threshold[node] = sets.add(int(column[node]), tree["categories"][start : start + size])
    # Members of XGBoost's sets go right.
    left, right = np.where(category, right, left), np.where(category, left, right)
    return {
        "feature": column,
        "threshold": threshold,
        "left": left,
        "right": right,
        "missing_left": missing_left != category,
        "category": category,
        "value": (condition.astype(np.float64) * kept)[:, None],
        "weight": read("sum_hessian", np.float64),
    }


def _base(learner: dict[str, Any]) -> Array:
    """Raw output before any tree: stored as a prediction, one for all outputs or one for each."""
    settings = learner["learner_model_param"]
    text = settings["base_score"].strip("[]")
    base = np.array([float(part) for part in text.split(",")], dtype=np.float32).astype(np.float64)
    if learner["objective"]["name"] == "binary:logistic":
        base = -np.log(1.0 / base - 1.0)
    n_outputs = max(1, int(settings["num_class"]), int(settings.get("num_target", "1")))
    return np.array(np.broadcast_to(base, n_outputs))
