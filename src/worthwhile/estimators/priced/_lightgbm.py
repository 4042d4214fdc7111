"""The trees of a fitted LightGBM model, from the text of its model file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees, join_nodes
from worthwhile.costs import Costs
from worthwhile.estimators.priced._columns import (
    AS_A_WHOLE,
    CategorySets,
    assemble,
    bits_of,
    comes_from,
    is_booster,
    refuse_booster,
)
from worthwhile.policy.base import Policy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Array = npt.NDArray[Any]

VALUES = (
    "regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom", "",
)  # fmt: skip
"""Objectives whose raw output is the prediction; nothing is said about custom ones."""

CATEGORICAL, DEFAULT_LEFT, ZERO, NAN = 1, 2, 1 << 2, 2 << 2
"""Bits of a node's decision type; the last two are the kind of missing value."""


def from_lightgbm(model: Any, costs: Costs) -> Policy | None:
    """Read the trees of a ``LGBMClassifier``, ``LGBMRegressor``, ``LGBMRanker`` or ``Booster``.

    None for other models, and for what these trees cannot express (objectives with another link,
    linear leaves): such models are read as a whole. Zeros that stand for missing values are
    refused. A model stopped early is read up to its best round. Internal nodes
    hold the mean of their leaves by training rows, not LightGBM's own internal values, which are
    Newton steps and for some losses (L1, quantiles) of another kind than the leaves.

    Examples
    --------
    >>> from_lightgbm("not a model", None) is None
    True
    """
    if not comes_from(model, "lightgbm"):
        return None
    booster = model if is_booster(model) else model.booster_
    head, *trees = _sections(booster.model_to_string(num_iteration=booster.best_iteration or -1))
    found = _output(model, head)
    if found is None or not trees or any(tree.get("is_linear", "0") != "0" for tree in trees):
        refuse_booster(model, head.get("objective", ""))
        return None
    output, factor = found
    sets = CategorySets(costs, _levels(booster, head))
    return sets.dress(TreePolicy(costs, output, _read(head, trees, factor, sets)))


def _levels(booster: Any, head: dict[str, str]) -> dict[int, list[Any]]:
    """Values of the categories of columns that LightGBM numbered itself: those of pandas' type."""
    stored = booster.pandas_categorical or []
    infos = head["feature_infos"].split()
    # Columns of categories have a list of their codes in place of a range; constant ones have nothing.
    coded = [k for k, info in enumerate(infos) if not info.startswith("[") and info != "none"]
    if stored and len(coded) != len(stored):
        raise ValueError(
            f"model has categories of pandas' type in {len(stored)} columns and categories with codes in {len(coded)}, "
            f"so it is not known which is which: leave constant columns out and train again, {AS_A_WHOLE}"
        )
    return dict(zip(coded, stored, strict=True)) if stored else {}


def _sections(text: str) -> Iterator[dict[str, str]]:
    """Head and trees of a model file, each as names and unread values."""
    for part in text.partition("end of trees")[0].split("\nTree="):
        yield dict(line.partition("=")[::2] for line in part.splitlines())


def _output(model: Any, head: dict[str, str]) -> tuple[Output, float] | None:
    """What the sum over trees means, and the factor that makes it a log-odds."""
    name, *options = [*head.get("objective", "").split(), ""]
    if name in VALUES and "sqrt" not in options:
        return Output("value"), 1.0
    classes = getattr(model, "classes_", None)
    if name in ("multiclass", "multiclassova"):
        classes = np.arange(int(head["num_class"])) if classes is None else np.asarray(classes)
        # One-against-all gives sigmoids that do not add to 1: only their order is kept.
        return Output("logits" if name == "multiclass" else "scores", classes), 1.0
    if name == "binary" and (classes is not None or is_booster(model)):
        sigmoid = [float(option[8:]) for option in options if option.startswith("sigmoid:")]
        classes = np.array([0, 1]) if classes is None else np.asarray(classes)
        return Output("log-odds", classes), sigmoid[0] if sigmoid else 1.0
    return None


def _read(
    head: dict[str, str], trees: list[dict[str, str]], factor: float, sets: CategorySets
) -> Trees:
    n_outputs = int(head["num_tree_per_iteration"])
    average = "average_output" in head  # random forests
    nodes, root = join_nodes([_nodes(tree, sets) for tree in trees])
    # A forest divides by its rounds, flat trees by the number of trees.
    nodes["value"] = nodes["value"] * (factor * (n_outputs if average else 1))
    output = np.arange(len(trees)) % n_outputs
    return assemble(nodes, root, np.zeros(n_outputs), output, average=average, sets=sets.all)


def _nodes(tree: dict[str, str], sets: CategorySets) -> dict[str, Array]:
    """Nodes of one tree: first the internal ones, then the leaves."""

    def read(name: str, dtype: Any = np.float64) -> Array:
        return np.array(tree.get(name, "").split(), dtype=dtype)

    n_leaves = int(tree["num_leaves"])
    leaves, inner = np.zeros(n_leaves), n_leaves - 1
    kind, column = read("decision_type", np.int64), read("split_feature", np.int64)
    category = kind & CATEGORICAL != 0
    if ((kind & ZERO != 0) & ~category).any():
        raise ValueError(
            "model takes zeros for missing values (zero_as_missing=True): train it without that, "
            + AS_A_WHOLE
        )
    threshold = read("threshold")
    # Without missing values in training LightGBM reads NaN as 0.
    missing_left = np.where(kind & NAN != 0, kind & DEFAULT_LEFT != 0, threshold >= 0.0)
    missing_left &= ~category  # empty values are in no set
    bounds, words = read("cat_boundaries", np.int64), read("cat_threshold", np.int64)
    for node in np.flatnonzero(category):
        number = int(threshold[node])
        codes = bits_of(words[bounds[number] : bounds[number + 1]])
        threshold[node] = sets.add(int(column[node]), codes)

    def child(name: str) -> Array:
        to = read(name, np.int64)  # -1 is the first leaf, -2 the second
        return np.concatenate([np.where(to >= 0, to, inner - to - 1), leaves - 1]).astype(np.int64)

    count = read("leaf_count")
    return {
        "feature": np.concatenate([column, leaves.astype(np.int64)]),
        "threshold": np.concatenate([threshold, leaves]),
        "left": child("left_child"),
        "right": child("right_child"),
        "missing_left": np.concatenate([missing_left, leaves > 0]),
        "category": np.concatenate([category, leaves > 0]),
        "value": np.concatenate([np.zeros(inner), read("leaf_value")])[:, None],
        "weight": np.concatenate([np.zeros(inner), count if len(count) == n_leaves else leaves]),
    }
