"""Trees of linear models whose inputs are the outputs of decision trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.policy.base import Floats, State
from worthwhile.policy.linear_tree import Ints, LinearTree, LinearTreePolicy, _Plan
from worthwhile.policy.linear_tree_case import LinearTreeCase, Lists
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy


def tree_outputs(trees: Trees, tree: int, X: npt.NDArray[Any]) -> Floats:
    """Output of one tree for all rows, (n,); only columns that it tests are looked at."""
    at = np.full(len(X), trees.root[tree])
    while True:
        rows = np.flatnonzero(trees.feature[at] >= 0)
        if not len(rows):
            return np.asarray(trees.value[at, 0], dtype=np.float64)
        here = at[rows]
        values = X[rows, trees.feature[here]]
        if trees.single:
            values = values.astype(np.float32)
        left = trees.goes_left(here, values)
        at[rows] = np.where(left, trees.left[here], trees.right[here])


def all_outputs(trees: Trees, X: npt.NDArray[Any]) -> Floats:
    """Outputs of all trees, (n, n_trees)."""
    out = np.empty((len(X), trees.n_trees))
    for tree in range(trees.n_trees):
        out[:, tree] = tree_outputs(trees, tree, X)
    return out


class TreeInputsPolicy(LinearTreePolicy):
    """Buys, for one node after the other, all features of the trees that the node reads.

    What a tree tests on a row's own way is known only while walking, so a node's trees are bought
    with all their features. At the root under a budget, training means stand for the outputs of
    trees that are not fully known.

    Parameters
    ----------
    costs : Costs
        Prices of the raw features.
    output : Output
        How raw outputs become predictions.
    tree : LinearTree
        The nodes; its features are numbers of trees.
    trees : Trees
        The decision trees, of width 1.
    scale : float
        Raw output is this times what the node says.
    """

    kind = "linear tree on trees"

    def __init__(
        self, costs: Costs, output: Output, tree: LinearTree, trees: Trees, scale: float = 1.0
    ) -> None:
        super().__init__(costs, output, tree, scale)
        self.trees = trees
        self.needs = trees.tests(costs.n_features)
        self._buys = [self._in_order(node) for node in range(tree.n_nodes)]

    def _in_order(self, node: int) -> Ints:
        """Features of a node's trees, in the order in which the trees need them."""
        found: dict[int, None] = {}
        for tree in self.tree.own(node):
            found.update(dict.fromkeys(np.flatnonzero(self.needs[tree]).tolist()))
        return np.array(list(found), dtype=np.int32)

    def buys(self, node: int) -> Ints:
        """Columns that the trees of a node test, in buying order."""
        return self._buys[node]

    def inputs(self, X: Floats) -> Floats:
        """Outputs of all trees, (n, n_trees)."""
        return all_outputs(self.trees, X)

    def with_tree(self, tree: LinearTree) -> TreeInputsPolicy:
        """The same with other nodes."""
        return TreeInputsPolicy(self.costs, self.output, tree, self.trees, self.scale)

    def begin(self) -> LinearTreeCase:
        """Start a row at the root."""
        if self._lists is None:
            self._lists = Lists(self)
        return TreeInputsCase(self._lists, self.costs.flat.evaluation, self)

    def _columns(self, X: Floats, rows: npt.NDArray[np.int64], node: int, plan: _Plan) -> Floats:
        part, own = X[rows], self.tree.own(node)
        columns = np.full((len(rows), len(own)), np.nan)
        for i, tree in enumerate(own):
            if node or plan.bought[0][self.needs[tree]].all():
                columns[:, i] = tree_outputs(self.trees, int(tree), part)
        return columns

    def state(self) -> State:
        """The arrays of the linear tree, and the decision trees as a policy of their own."""
        settings, arrays = super().state()
        inner = TreePolicy(self.costs, Output("value"), self.trees)
        return settings, {**arrays, "trees": inner}

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> TreeInputsPolicy:
        """Read and check both."""
        settings, arrays = state
        arrays = dict(arrays)
        inner = arrays.pop("trees", None)
        if not isinstance(inner, TreePolicy) or inner.n_features != costs.n_features:
            raise ValueError("trees is not a policy of trees on the same columns")
        if inner.trees.width != 1:
            raise ValueError(f"the trees have {inner.trees.width} values per node, not 1")
        # The linear tree reads trees as its columns: check it against as many.
        columns = Costs(np.ones(inner.trees.n_trees, dtype=np.int64))
        plain = LinearTreePolicy.from_state(columns, output, (settings, arrays))
        return cls(costs, output, plain.tree, inner.trees, plain.scale)


class TreeInputsCase(LinearTreeCase):
    """One row: a tree's output is known once all its features are."""

    def __init__(self, lists: Lists, evaluation: int, policy: TreeInputsPolicy) -> None:
        super().__init__(lists, evaluation)
        self._policy = policy
        self._outputs_known: dict[int, float] = {}

    def _input(self, a: int) -> float | None:
        if a in self._outputs_known:
            return self._outputs_known[a]
        tested = np.flatnonzero(self._policy.needs[a]).tolist()
        if any(feature not in self._known for feature in tested):
            return None
        row = np.full((1, self._policy.n_features), np.nan)
        row[0, tested] = [self._known[feature] for feature in tested]
        value = float(tree_outputs(self._policy.trees, a, row)[0])
        self._outputs_known[a] = value
        return value
