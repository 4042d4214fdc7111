"""Cutting splits of a tree of linear models that do not help on validation rows, and those rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from worthwhile.estimators._shared.validation import read_validation, split_rows
from worthwhile.policy.linear_tree import LinearTree

Floats = npt.NDArray[np.float64]

SMALLEST_SPLIT = 20
"""With fewer rows than this none are held out: one or two would cut splits at random."""


def pruning_rows(
    estimator: Any, X: Any, y: npt.NDArray[Any], validation: Any
) -> tuple[npt.NDArray[np.intp], tuple[Any, Any] | None]:
    """Training rows, and the data to prune on: given, held out, or None, and nothing is pruned.

    ``y`` are class codes where the estimator has classes.
    """
    rows = np.arange(len(X))
    if validation is not None:
        return rows, read_validation(estimator, validation, outputs=y.shape[1:])
    if estimator.validation_fraction is None or len(X) < SMALLEST_SPLIT:
        return rows, None
    rng = check_random_state(estimator.random_state)
    codes = y if hasattr(estimator, "classes_") else None
    kept, held = split_rows(len(X), estimator.validation_fraction, rng, codes)
    return kept, (X[held], y[held]) if len(held) else None


def squared_loss(outputs: Floats, Y: Floats) -> Floats:
    """Of each row."""
    lost: Floats = np.add.reduce((outputs - Y) ** 2, axis=1)
    return lost


def log_loss(outputs: Floats, Y: Floats) -> Floats:
    """Of each row: of +-1 for one output, of 0/1 columns for several."""
    if Y.shape[1] == 1:
        return np.logaddexp(0.0, -Y[:, 0] * outputs[:, 0])
    lost: Floats = np.logaddexp.reduce(outputs, axis=1) - np.add.reduce(Y * outputs, axis=1)
    return lost


LOSSES = {"squared": squared_loss, "logistic": log_loss}


def prune(
    tree: LinearTree, X: Any, Y: Floats, kind: str = "squared"
) -> tuple[LinearTree, list[int]]:
    """Cut every split that does not lower the loss of the validation rows that reach it.

    Splits below which no validation row arrives go too. Also the old numbers of the nodes kept.
    """
    lost = LOSSES[kind]
    K = tree.n_nodes
    rows: list[npt.NDArray[np.intp]] = [np.arange(0)] * K
    rows[0] = np.arange(len(X))
    loss = np.zeros(K)
    for k in range(K):
        outputs = tree.evaluate(k, X[rows[k]].T[tree.own(k)].T)
        loss[k] = np.add.reduce(lost(outputs, Y[rows[k]]))
        up = tree.score(k, outputs) > tree.threshold[k]
        for child, part in ((tree.upper[k], rows[k][up]), (tree.lower[k], rows[k][~up])):
            if child >= 0:
                rows[child] = part
    upper, lower = tree.upper.copy(), tree.lower.copy()
    for k in range(K - 1, -1, -1):
        children = [int(c) for c in (upper[k], lower[k]) if c >= 0]
        if not children:
            continue
        outputs = tree.evaluate(k, X[rows[k]].T[tree.own(k)].T)
        each = lost(outputs, Y[rows[k]])
        up = tree.score(k, outputs) > tree.threshold[k]
        stay = sum(
            float(np.add.reduce(each[side]))
            for side, c in ((up, upper[k]), (~up, lower[k]))
            if c < 0
        )
        below = stay + sum(loss[c] for c in children)
        if below < loss[k] and all(len(rows[c]) for c in children):
            loss[k] = below
        else:
            upper[k] = lower[k] = -1
    return keep_reachable(tree, upper, lower)


def keep_reachable(
    tree: LinearTree, upper: npt.NDArray[np.int32], lower: npt.NDArray[np.int32]
) -> tuple[LinearTree, list[int]]:
    """The tree with new children, without the nodes that no row can reach any more."""
    kept, waiting = [], [0]
    while waiting:
        k = waiting.pop(0)
        kept.append(k)
        waiting += [int(c) for c in (upper[k], lower[k]) if c >= 0]
    new = np.full(tree.n_nodes + 1, -1, dtype=np.int32)
    new[kept] = np.arange(len(kept))
    entries = np.concatenate([np.arange(tree.start[k], tree.start[k + 1]) for k in kept])
    smaller = LinearTree(
        features=tree.features[entries],
        start=np.cumsum([0] + [len(tree.own(k)) for k in kept]).astype(np.int32),
        coefficient=tree.coefficient[entries],
        intercept=tree.intercept[kept],
        direction=tree.direction[kept],
        threshold=tree.threshold[kept],
        upper=new[upper[kept]],
        lower=new[lower[kept]],
        mean=tree.mean,
    )
    return smaller, kept
