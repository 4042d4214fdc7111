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
