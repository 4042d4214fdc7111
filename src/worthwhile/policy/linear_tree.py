"""Trees of linear models as buyers: at every node one bundle of features, then up or down.

A single linear model is such a tree with one node.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import LARGEST, Floats, Outcome, Policy, State, are_moderate
from worthwhile.policy.linear_tree_case import LinearTreeCase, Lists
from worthwhile.policy.output import Output
from worthwhile.policy.till import Till
from worthwhile.policy.trees import check_arrays

Ints = npt.NDArray[np.int32]

CHUNK = 8192
"""Rows handled together in a batch, so that their columns stay in the cache."""


@dataclass(frozen=True)
class LinearTree:
    """Nodes in level order, children always after their parent.

    Attributes
    ----------
    features : int32 (entries,), columns of the nodes, one node after the other, in buying order
    start : int32 (nodes + 1,), node k owns entries ``start[k]`` to ``start[k + 1] - 1``
    coefficient : float64 (entries, m)
    intercept : float64 (nodes, m)
    direction : float64 (nodes, m), what the routing score weighs the m outputs with
    threshold : float64 (nodes,), to ``upper`` where the score is above it, else to ``lower``
    upper, lower : int32 (nodes,), -1 where the row ends here
    mean : float64 (d,), what stands for a value that is missing
    """

    features: Ints
    start: Ints
    coefficient: Floats
    intercept: Floats
    direction: Floats
    threshold: Floats
    upper: Ints
    lower: Ints
    mean: Floats

    @classmethod
    def single(
        cls, features: npt.NDArray[np.intp], coefficients: Floats, intercept: Floats, mean: Floats
    ) -> LinearTree:
        """One linear model: features in buying order, coefficients (d, m) of all columns."""
        m, ends = len(intercept), np.array([-1], dtype=np.int32)
        return cls(
            features=features.astype(np.int32), start=np.array([0, len(features)], dtype=np.int32),
            coefficient=np.ascontiguousarray(coefficients[features]).reshape(-1, m),
            intercept=intercept[None, :].copy(), direction=np.ones((1, m)), threshold=np.zeros(1),
            upper=ends, lower=ends.copy(), mean=mean,
        )  # fmt: skip

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.upper)

    @property
    def n_outputs(self) -> int:
        """Number of columns a node predicts."""
        return int(self.intercept.shape[1])

    def parents(self) -> npt.NDArray[np.int64]:
        """Parent of each node, -1 at the root."""
        parent = np.full(self.n_nodes, -1, dtype=np.int64)
        for children in (self.upper, self.lower):
            inner = np.flatnonzero(children >= 0)
            parent[children[inner]] = inner
        return parent

    def own(self, node: int) -> Ints:
        """Columns of one node."""
        return self.features[self.start[node] : self.start[node + 1]]

    def evaluate(self, node: int, columns: Floats) -> Floats:
        """Outputs of a node, (n, m), from its columns (n, own features)."""
        own = slice(self.start[node], self.start[node + 1])
        mean = self.mean[self.features[own]]
        return weighted_sum(columns, mean, self.intercept[node], self.coefficient[own])

    def score(self, node: int, outputs: Floats) -> Floats:
        """Routing score of outputs (n, m)."""
        return routing_score(outputs, self.direction[node])

    @property
    def is_moderate(self) -> bool:
        """Whether all numbers are of a size that a file may hold."""
        return are_moderate(
            self.coefficient, self.intercept, self.direction, self.threshold, self.mean
        )

    def problem(self, n_features: int) -> str | None:
        """What makes these arrays unsafe to run, or None."""
        k, entries = self.n_nodes, len(self.features)
        shapes = {
            "start": (k + 1,), "lower": (k,), "threshold": (k,), "mean": (n_features,),
            "coefficient": (entries, self.n_outputs), "direction": (k, self.n_outputs),
            "intercept": (k, self.n_outputs),
        }  # fmt: skip
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                return f"array {name} has shape {getattr(self, name).shape}, not {shape}"
        if k == 0 or self.n_outputs == 0:
            return "the tree has no nodes or no outputs"
        if (
            self.start[0] != 0
            or self.start[-1] != entries
            or (self.start[1:] < self.start[:-1]).any()
        ):
            return "array start is not a rising list of positions"
        if entries and not (self.features.min() >= 0 and self.features.max() < n_features):
            return f"a feature is not one of the {n_features} columns"
        if any(len(set(self.own(node).tolist())) < len(self.own(node)) for node in range(k)):
            return "a node has a feature twice"
        if not self.is_moderate:
            return f"a number is not finite, or over {LARGEST}"
        return self._shape_problem()

    def _shape_problem(self) -> str | None:
        k = self.n_nodes
        both = np.stack([self.upper, self.lower])
        children, owner = both[both >= 0], np.tile(np.arange(k), (2, 1))[both >= 0]
        if len(children) and not ((children > owner).all() and children.max() < k):
            return "a child does not come after its parent"
        if sorted(children.tolist()) != list(range(1, k)):
            return "a node has not exactly one parent"
        return None


def weighted_sum(columns: Floats, mean: Floats, intercept: Floats, coefficient: Floats) -> Floats:
    """Intercept plus columns (n, j) times coefficients (j, m), NaN read as the mean.

    Added column by column: BLAS would add a row alone and the same row in a batch differently.
    """
    values = columns.T.astype(np.float64, order="C")
    holes = np.isnan(values)
    if holes.any():
        values = np.where(holes, mean[:, None], values)
    out = np.empty((len(intercept), len(columns)))
    out[:] = intercept[:, None]
    term = np.empty(len(columns))
    for value, weights in zip(values, coefficient, strict=True):
        for total, weight in zip(out, weights, strict=True):
            total += np.multiply(value, weight, out=term)
    return out.T


def routing_score(outputs: Floats, direction: Floats) -> Floats:
    """Outputs (n, m) weighed with a direction (m,), added in column order."""
    score = np.zeros(len(outputs))
    for c in range(outputs.shape[1]):
        score += outputs[:, c] * direction[c]
    return score


class LinearTreePolicy(Policy):
    """Buys the features of one node after the other on the row's own path.

    Under a budget, a node below the root is bought whole or not at all, and the answer comes from
    the deepest node that is fully known. At the root the features are bought one by one, and
    training means stand for those that were not to be had. A node counts as evaluated from the
    moment it is reached and its evaluation fits the budget.

    Parameters
    ----------
    costs, output
        As for every policy.
    tree : LinearTree
        The nodes.
    scale : float
        Raw output is this times what the node says.
    """

    kind = "linear tree"

    def __init__(self, costs: Costs, output: Output, tree: LinearTree, scale: float = 1.0) -> None:
        super().__init__(costs, output)
        self.tree = tree
        self.scale = scale
        self._lists: Lists | None = None

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns of all nodes."""
        return np.flatnonzero(self.path_masks().any(axis=0))

    def buys(self, node: int) -> Ints:
        """Columns that a node needs, in buying order."""
        return self.tree.own(node)

    def path_masks(self) -> npt.NDArray[np.bool_]:
        """What a row has bought once it stands at a node: (nodes, d)."""
        masks = np.zeros((self.tree.n_nodes, self.n_features), dtype=bool)
        for node, parent in enumerate(self.tree.parents()):
            if parent >= 0:
                masks[node] = masks[parent]
            masks[node, self.buys(node)] = True
        return masks

    def begin(self) -> LinearTreeCase:
        """Start a row at the root."""
        if self._lists is None:
            self._lists = Lists(self)
        return LinearTreeCase(self._lists, self.costs.flat.evaluation)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows, level by level: rows at one node are handled together."""
        n = len(X)
        raw = np.empty((n, self.tree.n_outputs))
        acquired = np.zeros((n if billed else 0, self.n_features), dtype=bool)
        evaluated = np.zeros(n, dtype=np.int64)
        plan = _Plan(self, limit)
        for first in range(0, n, CHUNK):
            part = slice(first, min(first + CHUNK, n))
            # Infinities are refused by whoever asked, with the row and the feature.
            with np.errstate(invalid="ignore", over="ignore"):
                outputs, reached, evaluated[part] = self._descend(X[part], plan)
                raw[part] = outputs * self.scale
            if billed:
                acquired[part] = plan.bought[reached]
        return Outcome(raw, acquired, evaluated)

    def inputs(self, X: Floats) -> Floats:
        """What the nodes read, (n, inputs)."""
        return X

    def with_tree(self, tree: LinearTree) -> LinearTreePolicy:
        """The same with other nodes."""
        return LinearTreePolicy(self.costs, self.output, tree, self.scale)

    def scaled(self, scale: float) -> Self:
        """The same with another scale."""
        other = copy(self)
        other.scale, other._lists = scale, None
        return other

    def leaves(self, X: Floats) -> npt.NDArray[np.int64]:
        """Node in which each row ends without a budget, (n,)."""
        plan = _Plan(self, None)
        parts = [self._descend(X[i : i + CHUNK], plan)[1] for i in range(0, len(X), CHUNK)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def _descend(
        self, X: Floats, plan: _Plan
    ) -> tuple[Floats, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        tree, n = self.tree, len(X)
        outputs, reached = np.empty((n, tree.n_outputs)), np.zeros(n, dtype=np.int64)
        evaluated = np.zeros(n, dtype=np.int64)
        if not plan.evaluates[0]:
            outputs[:] = tree.evaluate(0, np.full((1, len(tree.own(0))), np.nan))
            return outputs, reached, evaluated
        waiting = [(0, np.arange(n))]
        while waiting:
            node, rows = waiting.pop()
            evaluated[rows] += 1
            if not plan.enters[node]:
                continue
            columns = self._columns(X, rows, node, plan)
            outputs[rows] = here = tree.evaluate(node, columns)
            reached[rows] = node
            if (tree.upper[node] < 0 and tree.lower[node] < 0) or plan.stops[node]:
                continue
            above = tree.score(node, here) > tree.threshold[node]
            for child, part in ((tree.upper[node], rows[above]), (tree.lower[node], rows[~above])):
                if child >= 0 and len(part) and plan.evaluates[child]:
                    waiting.append((int(child), part))
        return outputs, reached, evaluated

    def _columns(self, X: Floats, rows: npt.NDArray[np.int64], node: int, plan: _Plan) -> Floats:
        own = self.tree.own(node)
        columns: Floats = X[rows].T[own].T
        if node == 0:
            # A value that was not bought must not be looked at, whatever it is.
            columns[:, ~plan.bought[0][own]] = np.nan
        return columns

    def state(self) -> State:
        """The arrays of the tree."""
        return {"scale": self.scale}, {
            f.name: getattr(self.tree, f.name) for f in fields(self.tree)
        }

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> LinearTreePolicy:
        """Read and check the arrays of the tree."""
        settings, arrays = state
        expected = {
            "features": "i4", "start": "i4", "coefficient": "f8", "intercept": "f8",
            "direction": "f8", "threshold": "f8", "upper": "i4", "lower": "i4", "mean": "f8",
        }  # fmt: skip
        check_arrays(arrays, expected, {"coefficient": 2, "intercept": 2, "direction": 2})
        scale = settings.get("scale")
        if not isinstance(scale, float) or not are_moderate(scale):
            raise ValueError(f"scale is {scale!r}, not a finite number")
        tree = LinearTree(**arrays)
        if problem := tree.problem(costs.n_features):
            raise ValueError(problem)
        if output.n_raw is not None and output.n_raw != tree.n_outputs:
            raise ValueError(f"{tree.n_outputs} raw outputs for {output.n_raw}")
        return cls(costs, output, tree, scale)


class _Plan:
    """What a budget allows at each node: it is the same for all rows that get there.

    Attributes
    ----------
    evaluates : whether the node's evaluation fits when a row gets there
    enters : whether its features then fit as well
    stops : whether rows end here for lack of a feature (the root only)
    bought : what a row has when it ends here, (nodes, d)
    """

    def __init__(self, policy: LinearTreePolicy, limit: int | None) -> None:
        tree, flat = policy.tree, policy.costs.flat
        k = tree.n_nodes
        self.bought = policy.path_masks()
        self.evaluates, self.enters = np.ones(k, dtype=bool), np.ones(k, dtype=bool)
        self.stops = np.zeros(k, dtype=bool)
        if limit is None:
            return
        parent, depth = tree.parents(), np.zeros(k, dtype=np.int64)
        quanta = policy.costs.quanta(self.bought)
        for node in range(1, k):
            depth[node] = depth[parent[node]] + 1
            stages = int(flat.evaluation) * (int(depth[node]) + 1)
            self.evaluates[node] = int(quanta[parent[node]]) + stages <= limit
            self.enters[node] = int(quanta[node]) + stages <= limit
        self.evaluates[0] = flat.evaluation <= limit
        self._root(policy, limit)

    def _root(self, policy: LinearTreePolicy, limit: int) -> None:
        self.bought[0] = False
        if not self.evaluates[0]:
            return
        till = Till(policy.costs, limit)
        for feature in policy.buys(0):
            self.bought[0, feature] = till.buy((int(feature),), 1)
        self.stops[0] = not self.bought[0, policy.buys(0)].all()
