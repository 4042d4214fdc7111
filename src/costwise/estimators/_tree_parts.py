"""Ensembles taken apart and put together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.core.trees import Trees
from costwise.policy.tree import TreePolicy

Floats = npt.NDArray[np.float64]


def without_base(trees: Trees) -> Trees:
    """The same trees, adding to nothing."""
    return replace(trees, base=np.zeros_like(trees.base))


def between(trees: Trees, start: int, stop: int) -> Trees:
    """Trees ``start`` to ``stop - 1`` alone, adding to nothing."""
    upto = trees.first(stop)
    low = len(upto.feature) if start >= upto.n_trees else int(upto.root[start])
    inner = upto.feature[low:] >= 0
    part: Trees = Trees.build(
        feature=upto.feature[low:],
        threshold=upto.threshold[low:],
        left=np.where(inner, upto.left[low:] - low, -1),
        right=np.where(inner, upto.right[low:] - low, -1),
        missing_left=upto.missing_left[low:],
        value=upto.value[low:],
        root=upto.root[start:] - low,
        output=upto.output[start:],
        base=np.zeros_like(trees.base),
    )
    return part


def join(first: Trees, second: Trees) -> Trees:
    """The trees of both, with the base of the first."""
    shift = len(first.feature)
    both: Trees = Trees.build(
        feature=np.concatenate([first.feature, second.feature]),
        threshold=np.concatenate([first.threshold, second.threshold]),
        left=np.concatenate([first.left, np.where(second.left >= 0, second.left + shift, -1)]),
        right=np.concatenate([first.right, np.where(second.right >= 0, second.right + shift, -1)]),
        missing_left=np.concatenate([first.missing_left, second.missing_left]),
        value=np.concatenate([first.value, second.value]),
        root=np.concatenate([first.root, second.root + shift]),
        output=np.concatenate([first.output, second.output]),
        base=first.base,
    )
    return both


def staged(policy: TreePolicy, X: npt.NDArray[Any], step: int) -> Iterator[Floats]:
    """Raw outputs (n, outputs) after every ``step`` trees, to the bit what those trees alone give."""
    trees = policy.trees
    total: Floats = np.zeros((len(X), trees.n_outputs))
    for start in range(0, trees.n_trees, step):
        # A walk adds tree after tree to zero and the base last; so do we, one step at a time.
        for tree in range(start, min(start + step, trees.n_trees)):
            part = TreePolicy(policy.costs, policy.output, between(trees, tree, tree + 1))
            total += part.batch(X, billed=False).raw
        yield trees.base + total
