"""What the leaves of given trees should say, fitted for all trees together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.forest.prefix_bills import Prefixes
from worthwhile.core.threads import Threads
from worthwhile.core.trees import Trees
from worthwhile.costs import FlatCosts

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[Any]

RATE, RIDGE = 0.3, 1.0
"""Share of a Newton step that is taken, and what is added to the curvature of a leaf (rows)."""


def read_targets(codes: Ints, classes: npt.NDArray[Any], weight: Floats) -> Floats:
    """What the probabilities should be: one column of two classes, else one per class."""
    absent = np.flatnonzero(np.bincount(codes, weight, len(classes)) <= 0)
    if len(absent):
        raise ValueError(
            f"y has no row of class {classes[absent].tolist()[0]!r} with a weight > 0: give rows of every class."
        )
    targets = (codes[:, None] == np.arange(len(classes))).astype(np.float64)
    return targets[:, 1:] if len(classes) == 2 else targets


def refitted(
    trees: Trees, X: Floats, targets: Floats, weight: Floats, costs: FlatCosts, threads: Threads,
    n_sweeps: int,
) -> Trees:  # fmt: skip
    """The same trees, whose leaves add up to log-odds (one target column) or logits (one per class).

    Sweeps go from tree to tree; each leaf takes part of the Newton step of the log loss that its rows
    ask for, given what all other trees say. The leaves of one tree share no rows, so that their steps
    are independent. No sum depends on the number of threads.
    """
    rows, ends = Prefixes(X, trees, costs), []
    first = trees.bounds
    for tree in range(trees.n_trees):
        rows.follow(tree, threads)
        ends.append(rows.ends - first[tree])
    binary = targets.shape[1] == 1
    shares = np.average(targets, axis=0, weights=weight)
    base = np.log(shares / (1 - shares)) if binary else np.log(shares)
    total = np.tile(base, (len(X), 1))
    value = np.zeros((len(trees.feature), targets.shape[1]))
    reached = np.zeros(len(value))
    for tree, at in enumerate(ends):
        reached[first[tree] : first[tree + 1]] = np.bincount(at, weight, np.diff(first)[tree])
    for _ in range(n_sweeps):
        for tree, at in enumerate(ends):
            own = value[first[tree] : first[tree + 1]]
            proba = links.sigmoid(total) if binary else links.softmax(total)
            gradient = (targets - proba) * weight[:, None]
            curvature = proba * (1 - proba) * weight[:, None]
            step = RATE * _sums(at, gradient, len(own)) / (_sums(at, curvature, len(own)) + RIDGE)
            own += step
            total += step[at]
    return replace(
        trees, value=_with_means(trees, value, reached), base=base, average=False,
        output=np.zeros_like(trees.output),
    )  # fmt: skip


def _sums(at: Ints, columns: Floats, size: int) -> Floats:
    """Sums of each column over the rows of each node."""
    return np.column_stack([np.bincount(at, column, size) for column in columns.T])


def _with_means(trees: Trees, value: Floats, reached: Floats) -> Floats:
    """Values of the leaves, and at other nodes their mean: walks may have to stop there."""
    value, reached = value.copy(), reached.copy()
    for at in reversed(trees.levels()):
        left, right = trees.left[at], trees.right[at]
        both = reached[left] + reached[right]
        part = np.where(both > 0, reached[left], 0.5) / np.where(both > 0, both, 1.0)
        value[at] = part[:, None] * value[left] + (1 - part)[:, None] * value[right]
        reached[at] = both
    return value
