"""The tables of a library of feature sets: forests, cells and choices; everything checked that a walk trusts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.policy.base import are_moderate

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

DTYPES = {
    "member": "b1", "score": "f8", "prior": "f8", "centre": "f8",
    "feature": "i4", "threshold": "f8", "child": "i4", "root": "i4", "trees": "i8",
    "start": "i8", "held": "i4", "share": "f4",
    "cut_feature": "i4", "cut_threshold": "f8", "cut_child": "i4", "cut_root": "i4", "cells": "i8",
    "choice": "i4", "rate": "f8",
}  # fmt: skip
"""Arrays of a library by name."""

LARGEST_SHARE = 1e4
"""What a leaf may add to the mean of its set's trees, or take from it: sums stay exact enough."""

DIMENSIONS = {"member": 2, "choice": 2}
"""Of those that are not lists."""


@dataclass(frozen=True, eq=False)
class Library:
    """Feature sets with a forest each, and for every point of the frontier what to buy next.

    Attributes
    ----------
    member : bool (nodes, d)
        What is known at a node. Node 0 has nothing; larger sets come later.
    score : float64 (nodes,)
        How good the answers of a node are on average.
    prior : float64 (outputs,)
        The answer of node 0.
    centre : float64 (2,)
        What 0 and 1 stand for in the leaves of trees for numbers: an answer, and a difference.
    feature, threshold, child : (tree nodes,)
        Trees of all forests: twice the column and one more where missing values go left, -1 at
        leaves; values up to the threshold go left; the left child, followed by the right one, or
        the number of the leaf.
    root : int32 (trees,)
        First node of each tree.
    trees : int64 (nodes + 1,)
        First tree of each node's forest; node 0 has none.
    start : int64 (leaves + 1,)
        Where the entries of a leaf begin in ``held`` (outputs) and ``share`` (their values).
    cut_feature, cut_threshold, cut_child, cut_root
        The same for the small trees that sort rows into cells, one per node. Columns from d on
        are the outputs of the node's forest, and then the largest of them.
    cells : int64 (nodes + 1,)
        Number of the first cell of each node.
    choice : int32 (points, cells)
        The node that a cell goes on to, -1 to stop.
    rate : float64 (points,)
        What a unit of money is worth at a point, in units of the score.
    """

    member: npt.NDArray[np.bool_]
    score: Floats
    prior: Floats
    centre: Floats
    feature: Array
    threshold: Floats
    child: Array
    root: Array
    trees: Array
    start: Array
    held: Array
    share: Array
    cut_feature: Array
    cut_threshold: Floats
    cut_child: Array
    cut_root: Array
    cells: Array
    choice: Array
    rate: Floats

    @property
    def n_nodes(self) -> int:
        """Number of feature sets."""
        return len(self.member)

    @property
    def n_outputs(self) -> int:
        """Classes, or 1."""
        return len(self.prior)

    @property
    def n_seen(self) -> int:
        """Columns about the answer that cuts may test: the outputs, and the largest of several."""
        return self.n_outputs + (self.n_outputs > 1)

    def root_of(self, node: int) -> Array:
        """First nodes of the trees of a node's forest."""
        return self.root[self.trees[node] : self.trees[node + 1]]

    def nodes_of(self, node: int) -> tuple[int, int]:
        """Where the tree nodes of a node's forest begin and end; not for node 0."""
        last = int(self.trees[node + 1])
        end = int(self.root[last]) if last < len(self.root) else len(self.feature)
        return int(self.root[self.trees[node]]), end

    def forest_of(self, node: int) -> Trees:
        """The forest of a node, not node 0, as trees that have values at their leaves alone."""
        low, high = self.nodes_of(node)
        test, child = self.feature[low:high], self.child[low:high]
        inner, value = test >= 0, np.zeros((high - low, self.n_outputs))
        for at in np.flatnonzero(~inner).tolist():
            entries = slice(self.start[child[at]], self.start[child[at] + 1])
            value[at, self.held[entries]] = self.share[entries]
        return Trees.build(
            feature=np.where(inner, test >> 1, -1), threshold=self.threshold[low:high],
            left=np.where(inner, child - low, -1), right=np.where(inner, child - low + 1, -1),
            missing_left=inner & (test & 1 == 1), value=value, root=self.root_of(node) - low,
            base=np.zeros(self.n_outputs), average=True,
        )  # fmt: skip

    def arrays(self) -> dict[str, Array]:
        """By name, for model files."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def problem(self, n_features: int) -> str | None:
        """What makes the tables unsafe to walk, in words; None if nothing does."""
        return (
            self._problem_of_sets(n_features)
            or self._problem_of_forests(n_features)
            or self._problem_of_leaves()
            or self._problem_of_cells(n_features)
            or self._problem_of_choices()
        )

    def _problem_of_sets(self, n_features: int) -> str | None:
        n = self.n_nodes
        if n < 1 or self.member.shape[1] != n_features or self.n_outputs < 1:
            return "sets do not fit the features"
        if self.member[0].any():
            return "the first set is not empty"
        if len(self.score) != n or len(self.trees) != n + 1 or len(self.cells) != n + 1:
            return "node tables differ in length"
        if len(self.centre) != 2:
            return "the centre is not two numbers"
        numbers = (self.score, self.prior, self.share, self.rate, self.threshold, self.centre)
        if not all(np.isfinite(array).all() for array in (*numbers, self.cut_threshold)):
            return "a value is not a finite number"
        if (self.rate < 0).any():
            return "money has a negative worth"
        if not are_moderate(self.score, self.prior, self.rate, self.centre):
            return "a number is too large to be multiplied"
        return None

    def _problem_of_forests(self, n_features: int) -> str | None:
        n, n_trees = len(self.feature), len(self.root)
        if len(self.threshold) != n or len(self.child) != n:
            return "tree nodes differ in length"
        if not _ascends(self.trees, n_trees) or (np.diff(self.trees)[1:] < 1).any():
            return "a set has no forest"
        if self.trees[1] != 0:
            return "the empty set has a forest"
        if not _roots(self.root, n):
            return "roots are not ascending node numbers from 0"
        ends = np.append(self.root[1:], n)
        end = np.repeat(ends, np.diff(np.append(self.root, n))) if n_trees else np.zeros(0)
        owner = np.repeat(np.arange(self.n_nodes), np.diff(self.trees))
        node = np.repeat(owner, np.diff(np.append(self.root, n))) if n_trees else owner
        if problem := _problem_of_tests(self.feature, self.child, end, n_features):
            return problem
        inner = self.feature >= 0
        if not self.member[node[inner], self.feature[inner] >> 1].all():
            return "a tree tests a feature that its set does not have"
        leaf = self.child[~inner]
        if len(leaf) and (leaf.min() < 0 or leaf.max() >= len(self.start) - 1):
            return "a leaf has a number that does not exist"
        return None

    def _problem_of_leaves(self) -> str | None:
        if len(self.held) != len(self.share) or not _ascends(self.start, len(self.held)):
            return "leaves do not fit their entries"
        if len(self.held) and (self.held.min() < 0 or self.held.max() >= self.n_outputs):
            return "a leaf has an output that does not exist"
        if self.n_outputs == 1:
            return None
        if not self._is_one(self.prior.sum()) or (self.prior < 0).any() or not self._adds_up():
            return "a leaf has shares of classes that are no probabilities"
        return None

    def _adds_up(self) -> bool:
        """Whether all leaves of a tree have one sum, and those of a set's trees are 1 on average.

        So are then the answers to any row; trees that correct others may have less than 0 of a class.
        """
        if len(self.share) and np.abs(self.share).max() > LARGEST_SHARE:
            return False
        total = np.append(0.0, np.cumsum(self.share, dtype=np.float64))
        sums = total[self.start[1:]] - total[self.start[:-1]]
        ends = np.flatnonzero(self.feature < 0)
        tree = np.searchsorted(self.root, ends, side="right") - 1
        of_tree = np.zeros(len(self.root))
        of_tree[tree] = sums[self.child[ends]]
        if (np.abs(sums[self.child[ends]] - of_tree[tree]) > 1e-3).any():
            return False
        count = np.diff(self.trees)[1:]
        node = np.repeat(np.arange(len(count)), count)
        return self._is_one(np.bincount(node, of_tree, len(count)) / count)

    @staticmethod
    def _is_one(sums: Any) -> bool:
        return bool((np.abs(sums - 1) <= 1e-3).all())

    def _problem_of_cells(self, n_features: int) -> str | None:
        n = len(self.cut_feature)
        if len(self.cut_threshold) != n or len(self.cut_child) != n:
            return "cuts differ in length"
        if len(self.cut_root) != self.n_nodes or not _roots(self.cut_root, n):
            return "not every set has cuts"
        sizes = np.diff(np.append(self.cut_root, n))
        end = np.repeat(np.append(self.cut_root[1:], n), sizes)
        node = np.repeat(np.arange(self.n_nodes), sizes)
        wide = n_features + self.n_seen
        if problem := _problem_of_tests(self.cut_feature, self.cut_child, end, wide):
            return problem
        known = np.hstack([self.member, np.ones((self.n_nodes, self.n_seen), dtype=bool)])
        inner = self.cut_feature >= 0
        if not known[node[inner], self.cut_feature[inner] >> 1].all():
            return "a cut tests a feature that its set does not have"
        if not _ascends(self.cells, int(self.cells[-1])):
            return "cells are not ascending"
        cell, owner = self.cut_child[~inner], node[~inner]
        if ((cell < self.cells[owner]) | (cell >= self.cells[owner + 1])).any():
            return "a cell belongs to another set"
        return None

    def _problem_of_choices(self) -> str | None:
        points, cells = self.choice.shape
        if points < 1 or len(self.rate) != points or cells != self.cells[-1]:
            return "choices do not fit points and cells"
        if ((self.choice < -1) | (self.choice >= self.n_nodes)).any():
            return "a choice leads to a set that does not exist"
        node = np.repeat(np.arange(self.n_nodes), np.diff(self.cells))
        pairs = np.unique(
            np.stack([np.broadcast_to(node, self.choice.shape), self.choice]).reshape(2, -1), axis=1
        )
        here, there = pairs[:, pairs[1] >= 0]
        if (there <= here).any() or (self.member[here] & ~self.member[there]).any():
            return "a choice does not lead to a larger set"
        return None


def _ascends(bounds: Array, end: int) -> bool:
    """Whether bounds go from 0 to the end without falling."""
    return bool(bounds[0] == 0 and bounds[-1] == end and (bounds[1:] >= bounds[:-1]).all())


def _roots(root: Array, n: int) -> bool:
    """Whether roots are node numbers that ascend from 0."""
    if not len(root):
        return n == 0
    return bool(root[0] == 0 and (root[1:] > root[:-1]).all() and root[-1] < n)


def _problem_of_tests(feature: Array, child: Array, end: Array, n_features: int) -> str | None:
    """What is wrong with columns and children of trees whose nodes end at ``end``."""
    if ((feature < -1) | (feature >= 2 * n_features)).any():
        return "a node tests a feature that does not exist"
    inner = feature >= 0
    here = np.arange(len(feature))
    # Compared one by one in int64: a hostile child of int32 may wrap around when 1 is added.
    follows = child.astype(np.int64)
    if (inner & ((follows <= here) | (follows + 1 >= end))).any():
        return "a child does not come after its parent within its tree"
    return None
