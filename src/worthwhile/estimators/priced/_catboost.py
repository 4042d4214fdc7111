"""The trees of a fitted CatBoost model, from its own JSON."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees, join_nodes
from worthwhile.costs import Costs
from worthwhile.estimators.priced._catboost_categories import (
    CategorySplits,
    Test,
    category_columns,
)
from worthwhile.estimators.priced._columns import AS_A_WHOLE, assemble, comes_from
from worthwhile.policy.base import Policy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Array = npt.NDArray[Any]

VALUES = (
    "RMSE", "MAE", "Quantile", "Expectile", "MAPE", "Huber", "LogCosh", "Lq", "MultiRMSE", "YetiRank",
    "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "QueryRMSE", "QuerySoftMax", "StochasticRank",
    "LambdaMart", "MultiQuantile",
)  # fmt: skip
"""Losses whose raw output is the prediction."""

CLASSES = {
    "Logloss": "log-odds",
    "CrossEntropy": "log-odds",
    "MultiClass": "logits",
    "MultiClassOneVsAll": "scores",
}
"""Losses of classifiers. One-against-all gives sigmoids that do not add to 1: their order is kept."""

MOST_NODES = 2**26


def from_catboost(model: Any, costs: Costs, sample: Any = None) -> Policy | None:
    """Read the trees of a ``CatBoostClassifier``, ``CatBoostRegressor``, ``CatBoostRanker`` or ``CatBoost``.

    None for other models, and for losses with another link (Poisson, Tweedie): such models are
    read as a whole. Columns of text or embeddings are refused. Categories need a ``sample`` of rows
    that has all of them: CatBoost keeps their hashes alone. Symmetric trees test
    their splits in the order in which they were learned; every row reads all features of such a
    tree, so its bills differ only under a budget. Internal nodes hold the mean of their leaves by
    training weight.

    Examples
    --------
    >>> from_catboost("not a model", None) is None
    True
    """
    if not comes_from(model, "catboost"):
        return None
    for kind in ("text", "embedding"):
        if indices := getattr(model, f"get_{kind}_feature_indices")():
            raise ValueError(
                f"model reads feature {costs.name(int(indices[0]))!r} as {kind}: turn it into numbers and train again."
            )
    columns = category_columns(model, costs, sample)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        dump = json.loads(path.read_text())
    output = _output(model)
    if output is None or not (dump.get("oblivious_trees") or dump.get("trees")):
        return None
    if columns is None:
        return TreePolicy(costs, output, _read(dump, _float_tests(dump)))
    splits = CategorySplits(model, dump["features_info"], columns, costs)
    splits.check(dump.get("ctr_data") or {})
    if not splits.are_readable(dump):
        return None
    tests = splits.tests(dump["oblivious_trees"], _float_tests(dump))
    inner = TreePolicy(splits.input_costs, output, _read(dump, tests, splits.sets))
    return splits.dress(inner)


def _output(model: Any) -> Output | None:
    if type(model).__name__ == "CatBoost":  # which predicts raw values by default
        return Output("value")
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else np.array([])
    if loss in CLASSES and len(classes):
        if len(classes) == 2 and (border := model.get_probability_threshold()) != 0.5:
            raise ValueError(
                f"model has a probability threshold of {border:g}, and here the likelier class is predicted: undo it "
                "with model.set_probability_threshold(0.5), and compare predict_proba with yours."
            )
        return Output(CLASSES[loss], classes)
    return Output("value") if loss in VALUES or loss.startswith("PythonUserDefined") else None


def _float_tests(dump: dict[str, Any]) -> Callable[[dict[str, Any]], Test]:
    """From a split of CatBoost by a number to a test of ours."""
    floats = dump["features_info"].get("float_features", ())
    column = [int(feature["flat_feature_index"]) for feature in floats]
    # Empty values lie below all borders unless the model learned that they lie above.
    above = [feature["nan_value_treatment"] == "AsTrue" for feature in floats]

    def read(split: dict[str, Any]) -> Test:
        number = split["float_feature_index"]
        return Test(column[number], float(np.float32(split["border"])), not above[number])

    return read


def _read(
    dump: dict[str, Any], read: Callable[[dict[str, Any]], Test], sets: Sequence[Sequence[int]] = ()
) -> Trees:
    scale, bias = dump["scale_and_bias"]
    width = len(bias)
    if "oblivious_trees" in dump:
        parts = _symmetric(dump["oblivious_trees"], width, read)
    else:
        parts = [_nested(tree, width, read) for tree in dump["trees"]]
    nodes, root = join_nodes(parts)
    nodes["value"] = nodes["value"] * float(scale)
    return assemble(nodes, root, np.asarray(bias, dtype=np.float64), single=True, sets=sets)


def _symmetric(
    trees: list[dict[str, Any]], width: int, read: Callable[[dict[str, Any]], Test]
) -> list[dict[str, Array]]:
    """Trees with one split per level; bit k of a leaf's number is the outcome of split k."""
    needed = sum(2 ** (len(tree["splits"] or ()) + 1) for tree in trees)
    if needed > MOST_NODES:
        raise ValueError(
            f"model has {len(trees)} symmetric trees with {needed:,} nodes, more than {MOST_NODES:,} to walk through: "
            f"train fewer or shallower trees, {AS_A_WHOLE}"
        )
    shapes: dict[int, tuple[Array, Array, Array]] = {}
    return [_one_symmetric(tree, width, shapes, read) for tree in trees]


def _one_symmetric(
    tree: dict[str, Any],
    width: int,
    shapes: dict[int, tuple[Array, Array, Array]],
    read: Callable[[dict[str, Any]], Test],
) -> dict[str, Array]:
    tests = [read(split) for split in tree["splits"] or ()]
    depth = len(tests)
    if depth not in shapes:
        inner = np.arange(2**depth - 1)
        leaf = np.arange(2**depth)
        reversed_bits = sum(((leaf >> k) & 1) << (depth - 1 - k) for k in range(depth)) + 0 * leaf
        level = np.floor(np.log2(inner + 1)).astype(np.int64)
        children = np.concatenate([2 * inner + 1, np.full(2**depth, -1)])
        shapes[depth] = level, reversed_bits, children
    level, leaves, children = shapes[depth]
    below = np.zeros(2**depth)
    values = np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, width)
    weights = np.asarray(tree.get("leaf_weights") or below, dtype=np.float64)
    asked = _columns_of(tests)
    return {
        **{
            name: np.concatenate([asked[name][level], below.astype(asked[name].dtype)])
            for name in asked
        },
        "left": children,
        "right": np.where(children >= 0, children + 1, -1),
        "value": np.concatenate([np.zeros((len(level), width)), values[leaves]]),
        "weight": np.concatenate([np.zeros(len(level)), weights[leaves]]),
    }


def _columns_of(tests: Sequence[Test]) -> dict[str, Array]:
    """Tests as columns of nodes."""
    kinds = {"feature": np.int64, "threshold": np.float64, "missing_left": bool, "category": bool}
    return {
        name: np.array([getattr(test, name) for test in tests], dtype=kind)
        for name, kind in kinds.items()
    }


def _nested(
    tree: dict[str, Any], width: int, read: Callable[[dict[str, Any]], Test]
) -> dict[str, Array]:
    """A tree of another growing policy, node within node."""
    tests: list[Test] = []
    value, weight = list[Any](), list[float]()
    children: tuple[list[int], list[int]] = ([], [])
    waiting = [(tree, -1, 0)]
    while waiting:
        node, parent, side = waiting.pop()
        here = len(tests)
        if parent >= 0:
            children[side][parent] = here
        for sides in children:
            sides.append(-1)
        split = node.get("split")
        tests.append(read(split) if split else Test(0, 0.0, False))
        value.append(np.zeros(width) if split else np.reshape(node["value"], width))
        weight.append(0.0 if split else node.get("weight", 0.0))
        if split:
            waiting += [(node["right"], here, 1), (node["left"], here, 0)]
    return {
        **_columns_of(tests),
        "left": np.array(children[0], dtype=np.int64),
        "right": np.array(children[1], dtype=np.int64),
        "value": np.array(value, dtype=np.float64),
        "weight": np.array(weight, dtype=np.float64),
    }
