"""What features are worth to a model on some rows: in money, and in what they change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs, as_floats
from worthwhile.policy.trees import TreePolicy

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

SAMPLE = 2048
"""Rows, evenly spaced, on which gains of splits are added up, at most."""


class NoGains:
    """In the place of ``feature_importances_``, says where to look; a fit that has some covers it.

    Examples
    --------
    >>> class Model:
    ...     feature_importances_ = NoGains()
    >>> hasattr(Model(), "feature_importances_")
    False
    """

    def __get__(self, model: Any, owner: type) -> Any:
        raise AttributeError(
            f"this {owner.__name__} has no feature_importances_: they are known of fitted ensembles of trees, as long "
            "as these are whole. importances(X) tells for every model what its features cost and change."
        )


def importances(
    costs: Costs, acquired: npt.NDArray[np.bool_], policy: Any, X: npt.NDArray[Any]
) -> pd.DataFrame:
    """Per feature: share of the rows that buy it, mean money for it, mean change of the score."""
    import pandas as pd

    table: dict[str, Any] = {
        "feature": list(costs.features),
        "share": acquired.mean(axis=0),
        "money": money_by_feature(costs, acquired),
    }
    if isinstance(policy, TreePolicy):
        table["change"] = change_by_feature(policy.trees, X)
    return pd.DataFrame(table)


def money_by_feature(costs: Costs, acquired: npt.NDArray[np.bool_]) -> Floats:
    """Mean amount per row; a fee is divided evenly among what was bought behind it."""
    money: Floats = acquired.mean(axis=0) * as_floats(costs.flat.price)
    opens = costs.lists[1]
    for number, fee in enumerate(as_floats(costs.flat.fee).tolist()):
        members = [f for f, fees in enumerate(opens) if number in fees]
        bought = acquired[:, members]
        money[members] += fee * (bought / np.maximum(bought.sum(axis=1), 1)[:, None]).mean(axis=0)
    return money


def change_by_feature(trees: Trees, X: npt.NDArray[Any]) -> Floats:
    """Mean over the rows of how far the score moves at the nodes that test each feature.

    Moves of several outputs are added up. What a row's path moves altogether is the difference
    between its leaves and the roots only where all moves have one sign.
    """
    X = X.astype(np.float32) if trees.single else X
    changes, rows = np.zeros(X.shape[1]), np.arange(len(X))
    for root in trees.root:
        at = np.full(len(X), root)
        while (inner := trees.feature[at] >= 0).any():
            feature = np.maximum(trees.feature[at], 0)
            left = trees.goes_left(at, X[rows, feature])
            after = np.where(inner, np.where(left, trees.left[at], trees.right[at]), at)
            moved = np.abs(trees.value[after] - trees.value[at]).sum(axis=1)
            np.add.at(changes, feature, moved)  # 0 where a row has arrived
            at = after
    return changes / len(X) / (trees.n_trees if trees.average else 1)


def impurity_by_feature(
    trees: Trees, X: npt.NDArray[Any], codes: Ints, n_classes: int, weight: Floats | None = None
) -> Floats:
    """What splits on each feature (d,) take off the Gini impurity of some rows; they add up to 1.

    Parameters
    ----------
    trees : Trees
    X, codes
        Rows and their classes; of many, some are taken.
    n_classes : int
    weight : float64 (n,), optional
        What each row counts.

    Examples
    --------
    >>> stump = Trees.build(feature=[1, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1],
    ...                     right=[2, -1, -1], value=[[0.3], [0.0], [1.0]], root=[0], base=[0.0])
    >>> impurity_by_feature(stump, np.array([[0, 0], [0, 1.0]]), np.array([0, 1]), 2).tolist()
    [0.0, 1.0]
    """
    rows = np.arange(0, len(X), -(-len(X) // SAMPLE))
    share = np.ones(len(rows)) if weight is None else weight[rows]
    one_hot = np.zeros((len(rows), n_classes))
    one_hot[np.arange(len(rows)), codes[rows]] = share
    counts = _sums_by_node(trees, X[rows], one_hot)
    size = counts.sum(axis=1)
    mass = size - (counts**2).sum(axis=1) / np.maximum(size, 1e-300)
    inner = np.flatnonzero(trees.feature >= 0)
    gains = mass[inner] - mass[trees.left[inner]] - mass[trees.right[inner]]
    # Trees count alike, as in scikit-learn, whatever they gain.
    tree = trees.tree_of[inner]
    total = np.bincount(tree, gains, trees.n_trees)[tree]
    return _shares(trees.feature[inner], gains / np.maximum(total, 1e-300), X.shape[1])


def spread_by_feature(trees: Trees, X: npt.NDArray[Any]) -> Floats:
    """How much of the spread of some rows' scores the splits on each feature (d,) make; they add up to 1.

    For trees whose nodes hold means, that is what they take off the squared error. Parameters as for
    :func:`impurity_by_feature`.
    """
    rows = np.arange(0, len(X), -(-len(X) // SAMPLE))
    size = _sums_by_node(trees, X[rows], np.ones((len(rows), 1)))[:, 0]
    inner = np.flatnonzero(trees.feature >= 0)
    left, right = trees.left[inner], trees.right[inner]
    apart = ((trees.value[left] - trees.value[right]) ** 2).sum(axis=1)
    gains = size[left] * size[right] / np.maximum(size[inner], 1) * apart
    return _shares(trees.feature[inner], gains, X.shape[1])


def _sums_by_node(trees: Trees, X: npt.NDArray[Any], values: Floats) -> Floats:
    """Sums of the values (n, k) of the rows that get to each node, (nodes, k)."""
    X = X.astype(np.float32) if trees.single else X
    sums = np.zeros((len(trees.feature), values.shape[1]))
    row, at = np.tile(np.arange(len(X)), trees.n_trees), np.repeat(trees.root, len(X))
    while len(at):
        for k in range(values.shape[1]):
            sums[:, k] += np.bincount(at, values[row, k], len(sums))
        inner = trees.feature[at] >= 0
        row, at = row[inner], at[inner]
        left = trees.goes_left(at, X[row, trees.feature[at]])
        at = np.where(left, trees.left[at], trees.right[at])
    return sums


def _shares(features: npt.NDArray[Any], gains: Floats, n_features: int) -> Floats:
    """Sums of gains by feature, as shares of all; 0 where nothing was gained."""
    sums = np.bincount(features, np.maximum(gains, 0.0), n_features).astype(np.float64)
    return sums / (sums.sum() or 1.0)
