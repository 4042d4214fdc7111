"""CSTC's relaxed objective over all nodes: loss on the soft paths, l1 and the mixed-norm price.

``J = sum_i w_i U_i(root) + rho sum |beta| + lam sum_exits p(exit) sum_t c_t |beta on the path|_t``
with every norm smoothed as ``sqrt(z + EPSILON**2) - EPSILON``; U is the loss of a row at a node plus
what is expected below it. Price terms t are single features, groups with a fee, or (for inputs that
are made of features) whatever has a price of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from worthwhile.core.linear.soft_logistic import LOG_2, soft_logistic
from worthwhile.core.linear.soft_tree import soft_pass
from worthwhile.core.threads import Run

Floats = npt.NDArray[np.float64]

EPSILON = 1e-5
"""Smoothing of the norms, on coefficients of standardised columns."""

BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Topology:
    """Shape of the tree: children by node, -1 where rows end."""

    upper: npt.NDArray[np.int32]
    lower: npt.NDArray[np.int32]

    @classmethod
    def tree(cls, depth: int) -> Topology:
        """Full binary tree in level order, upper child first."""
        k = 2**depth - 1
        children = np.arange(k, dtype=np.int32)
        inner = 2 * children + 2 < k
        upper = np.where(inner, 2 * children + 1, -1).astype(np.int32)
        lower = np.where(inner, 2 * children + 2, -1).astype(np.int32)
        return cls(upper, lower)

    @classmethod
    def chain(cls, n_stages: int) -> Topology:
        """Stages one after the other: rows above the threshold go on, the others end there."""
        following = np.arange(1, n_stages + 1, dtype=np.int32)
        following[-1] = -1
        return cls(following, np.full(n_stages, -1, dtype=np.int32))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.upper)

    def on_path(self) -> Floats:
        """1 at [j, k] where node k is on the path to node j (or is j)."""
        path = np.eye(self.n_nodes)
        for k in range(self.n_nodes):
            for child in (self.upper[k], self.lower[k]):
                if child >= 0:
                    path[child] += path[k]
        return path

    def levels(self) -> list[list[int]]:
        """Nodes by level; those of one level do not influence each other."""
        depth = self.on_path().sum(axis=1).astype(int) - 1
        return [np.flatnonzero(depth == level).tolist() for level in range(depth.max() + 1)]


@dataclass(frozen=True)
class Bounds:
    """Auxiliaries of the variational bounds: where they are tight."""

    weight: Floats
    """Of |beta|, (K, d)."""
    path: Floats
    """Of the path norms, (K, T)."""


@dataclass(frozen=True)
class Penalties:
    """The l1 term, the price of each path (K,), and the divisors of both gradients."""

    l1: float
    path_price: Floats
    weight: Floats
    norm: Floats


@dataclass
class Objective:
    """J, its gradient, and its quadratic upper bounds.

    Attributes
    ----------
    blocks : list of float64 (rows, d + 1), standardised columns and a last column of ones
    Y : float64 (n, m)
    weight : float64 (n,), sums to 1
    direction : float64 (m,)
    price : float64 (T,), price of each term
    member : float64 (d, T), 1 where a column belongs to a term
    """

    blocks: list[Floats]
    Y: Floats
    weight: Floats
    direction: Floats
    topology: Topology
    price: Floats
    member: Floats
    lam: float
    rho: float
    run: Run

    soft_pass = staticmethod(soft_pass)
    """The loss of a block of rows and its derivatives."""
    bend: ClassVar[float] = 2.0
    """Largest second derivative of the loss by an output: what steps are scaled by."""

    def __post_init__(self) -> None:
        self.path = self.topology.on_path()
        d, terms = self.member.shape
        self._plain = d == terms and bool((self.member == np.eye(d)).all())
        starts = np.cumsum([0] + [len(block) for block in self.blocks])
        self.slices = [slice(a, b) for a, b in pairwise(starts)]

    def outputs(self, B: Floats) -> Floats:
        """Outputs (n, K, m) of coefficients (d + 1, K, m)."""
        F = np.empty((len(self.Y), *B.shape[1:]))
        flat = B.reshape(len(B), -1)

        def fill(i: int) -> None:
            F[self.slices[i]] = (self.blocks[i] @ flat).reshape(-1, *B.shape[1:])

        list(self.run(fill, range(len(self.blocks))))
        return F

    def bounds(self, B: Floats) -> Bounds:
        """The auxiliaries that are tight at B."""
        square = self._square(B)
        path = self.path @ self._terms(square)
        return Bounds(np.sqrt(square + EPSILON**2), np.sqrt(path + EPSILON**2))

    def _terms(self, columns: Floats) -> Floats:
        """Sums over the columns of each price term, (K, T); without fees, the columns themselves."""
        return columns if self._plain else columns @ self.member

    def _by_column(self, terms: Floats) -> Floats:
        """Sums over the price terms of each column, (K, d)."""
        return terms if self._plain else terms @ self.member.T

    def _square(self, B: Floats) -> Floats:
        squared: Floats = np.add.reduce(B[:-1] ** 2, axis=2).T
        return squared

    def penalties(self, B: Floats, bounds: Bounds | None) -> Penalties:
        """What coefficients cost, or the bound of it."""
        square = self._square(B)
        path = self.path @ self._terms(square)
        if bounds is None:
            weight, norm = np.sqrt(square + EPSILON**2), np.sqrt(path + EPSILON**2)
            l1 = self.rho * float((weight - EPSILON).sum())
            return Penalties(l1, (norm - EPSILON) @ self.price, weight, norm)
        weight = ((square + EPSILON**2) / bounds.weight + bounds.weight) / 2 - EPSILON
        norm = ((path + EPSILON**2) / bounds.path + bounds.path) / 2 - EPSILON
        l1 = self.rho * float(weight.sum())
        return Penalties(l1, norm @ self.price, bounds.weight, bounds.path)

    def add_penalties(
        self, G: Floats, B: Floats, ends: Floats, nodes: list[int], penalties: Penalties
    ) -> None:
        """Add the gradient of the penalties to that of the loss, (d + 1, len(nodes), m)."""
        pull = self.path.T @ (self.lam * ends[:, None] * self.price / penalties.norm)
        divisor = self.rho / penalties.weight[nodes] + self._by_column(pull[nodes])
        G[:-1] += divisor.T[:, :, None] * B[:-1][:, nodes]

    def curvature(self, bounds: Bounds, ends: Floats, reach: Floats) -> Floats:
        """Diagonal of the bound's second derivative, (K, d): what to scale variables by."""
        pull = self.path.T @ (self.lam * ends[:, None] * self.price / bounds.path)
        return self.bend * reach[:, None] + self.rho / bounds.weight + self._by_column(pull)

    def value(
        self, B: Floats, theta: Floats, F: Floats | None = None, bounds: Bounds | None = None,
        nodes: list[int] | None = None,
    ) -> tuple[float, Floats, Floats, Floats]:  # fmt: skip
        """J (or its bound), its gradients by B and theta, and the weight that ends at each node.

        ``F`` are known outputs; with ``nodes`` only the gradient of these nodes is computed.
        """
        K = self.topology.n_nodes
        nodes = list(range(K)) if nodes is None else nodes
        penalties = self.penalties(B, bounds)
        cost = self.lam * penalties.path_price
        F = self.outputs(B) if F is None else F
        topology = self.topology

        def part(i: int) -> tuple[Floats, Floats]:
            own = F[self.slices[i]]
            by_output, sums = np.empty_like(own), np.empty((3, K))
            self.soft_pass(
                own, self.Y[self.slices[i]], self.weight[self.slices[i]], theta, self.direction,
                topology.upper, topology.lower, cost, by_output, sums,
            )  # fmt: skip
            wanted = np.ascontiguousarray(by_output[:, nodes]).reshape(len(own), -1)
            return sums, self.blocks[i].T @ wanted

        total = np.zeros((3, K))
        gradient = np.zeros((len(B), len(nodes) * B.shape[2]))
        for sums, product in self.run(part, range(len(self.blocks))):
            total += sums
            gradient += product
        G = gradient.reshape(len(B), len(nodes), B.shape[2])
        ends = total[2]
        self.add_penalties(G, B, ends, nodes, penalties)
        return float(total[0, 0]) + penalties.l1, G, total[1][nodes], ends


class LogisticObjective(Objective):
    """The same with the log loss of classes, in bits."""

    soft_pass = staticmethod(soft_logistic)
    bend = 0.25 / LOG_2
