"""What features are worth to a model on some rows: in money, and in what they change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs, as_floats
from worthwhile.policy.encoded import EncodedPolicy
from worthwhile.policy.keys import WHOLE
from worthwhile.policy.library import LibraryPolicy
from worthwhile.policy.mixture import MixturePolicy
from worthwhile.policy.trees import TreePolicy

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

SAMPLE = 2048
"""Rows, evenly spaced, on which gains of splits are added up, at most."""

AT_ONCE = 2**20
"""Rows times trees that are walked together."""


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
    if (change := change_of(policy, X)) is not None:
        table["change"] = change
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


def change_of(policy: Any, X: npt.NDArray[Any]) -> Floats | None:
    """Mean over the rows of how far the score moves by each feature; None where no trees make it.

    A library of feature sets moves by the forest that answers a row, a mixture by both of its policies.
    """
    if isinstance(policy, EncodedPolicy):
        made, sources = change_of(policy.inner, policy.made(X)), policy.expansion.sources
        return None if made is None else np.bincount(sources, made, X.shape[1]).astype(np.float64)
    if isinstance(policy, MixturePolicy):
        first, second = change_of(policy.first, X), change_of(policy.second, X)
        if first is None or second is None:
            return None
        share = policy.coin.share / WHOLE
        return (1 - share) * first + share * second
    if isinstance(policy, LibraryPolicy):
        return _change_of_library(policy, X)
    return change_by_feature(policy.trees, X) if isinstance(policy, TreePolicy) else None


def _change_of_library(policy: LibraryPolicy, X: npt.NDArray[Any]) -> Floats:
    library, changes, ends = policy.library, np.zeros(X.shape[1]), policy.ends(X)
    for node in np.unique(ends[ends > 0]).tolist():  # nothing moves the answer of the empty set
        rows = X[ends == node]
        trees = _with_means(library.forest_of(node), X[:: -(-len(X) // SAMPLE)])
        changes += len(rows) / len(X) * change_by_feature(trees, rows)
    return changes * (library.centre[1] if library.n_outputs == 1 else 1.0)


def _with_means(trees: Trees, X: npt.NDArray[Any]) -> Trees:
    """Trees that have values at leaves alone: internal nodes get the mean over the rows that come through."""
    size, value = _sums_by_node(trees, X, np.ones((len(X), 1))), trees.value.copy()
    for at in reversed(trees.levels()):
        left, right = trees.left[at], trees.right[at]
        both = size[left] * value[left] + size[right] * value[right]
        value[at] = both / np.maximum(size[at], 1)
    return replace(trees, value=value)


def change_by_feature(trees: Trees, X: npt.NDArray[Any]) -> Floats:
    """Mean over the rows of how far the score moves at the nodes that test each feature.

    Moves of several outputs are added up. What a row's path moves altogether is the difference
    between its leaves and the roots only where all moves have one sign.
    """
    size = _sums_by_node(trees, X, np.ones((len(X), 1)))[:, 0]
    inner = np.flatnonzero(trees.feature >= 0)
    moves = np.zeros(len(inner))
    for child in (trees.left[inner], trees.right[inner]):
        moves += size[child] * np.abs(trees.value[child] - trees.value[inner]).sum(axis=1)
    changes = np.bincount(trees.feature[inner], moves, X.shape[1]).astype(np.float64)
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
    sums, step = (
        np.zeros((len(trees.feature), values.shape[1])),
        max(1, AT_ONCE // max(trees.n_trees, 1)),
    )
    for begin in range(0, len(X), step):
        _add_by_node(trees, X[begin : begin + step], values[begin : begin + step], sums)
    return sums


def _add_by_node(trees: Trees, X: npt.NDArray[Any], values: Floats, sums: Floats) -> None:
    row, at = np.tile(np.arange(len(X)), trees.n_trees), np.repeat(trees.root, len(X))
    while len(at):
        for k in range(values.shape[1]):
            sums[:, k] += np.bincount(at, values[row, k], len(sums))
        inner = trees.feature[at] >= 0
        row, at = row[inner], at[inner]
        left = trees.goes_left(at, X[row, trees.feature[at]])
        at = np.where(left, trees.left[at], trees.right[at])


def _shares(features: npt.NDArray[Any], gains: Floats, n_features: int) -> Floats:
    """Sums of gains by feature, as shares of all; 0 where nothing was gained."""
    sums = np.bincount(features, np.maximum(gains, 0.0), n_features).astype(np.float64)
    return sums / (sums.sum() or 1.0)
