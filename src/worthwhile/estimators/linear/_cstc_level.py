"""CSTC's objective while one level moves: what lies above and below it is worked out once.

Nodes of one level do not interact, the weights with which rows reach them depend on what is above,
and what a row is worth once it has passed them depends on what is below. So a step on a level needs
the sigmoids of that level only, not those of the whole tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worthwhile.core.linear.soft_tree import around_level, level_pass, soft_pass
from worthwhile.estimators.linear._cstc_objective import Bounds, Objective

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass
class WholeTree:
    """The level as a part of the whole tree: for objectives that have a loss of their own."""

    objective: Objective
    nodes: list[int]
    F: Floats

    def value(
        self, B: Floats, theta: Floats, own: Floats, bounds: Bounds | None
    ) -> tuple[float, Floats, Floats, Floats]:
        """As :meth:`Objective.value`; ``own`` are the outputs of the level's nodes (n, N, m)."""
        self.F[:, self.nodes] = own
        return self.objective.value(B, theta, self.F, bounds, self.nodes)


class Level:
    """A level of the tree with its surroundings fixed.

    Parameters
    ----------
    objective : Objective
        With the loss of :func:`soft_pass`.
    nodes : list of int
        The nodes of one level.
    F : float64 (n, K, m)
        Outputs of all nodes; those of the level do not matter.
    theta : float64 (K,)
        Thresholds; likewise.
    """

    def __init__(self, objective: Objective, nodes: list[int], F: Floats, theta: Floats) -> None:
        self.objective, self.nodes = objective, nodes
        topology = objective.topology
        K, N, n = topology.n_nodes, len(nodes), len(objective.Y)
        depth = objective.path.sum(axis=1).astype(np.int64) - 1
        self._own = np.array(nodes, dtype=np.int64)
        deeper = depth > depth[nodes[0]]
        self._exits = np.flatnonzero(deeper & ((topology.upper < 0) | (topology.lower < 0)))
        self._side = np.array([self._side_of(e) for e in self._exits.tolist()], dtype=np.int64)
        self._reach, self._below = np.empty((n, N)), np.empty((n, N, 2))
        self._leave = np.empty((n, len(self._exits)))

        def part(i: int) -> Floats:
            rows, fixed = objective.slices[i], np.empty(K + 1)
            around_level(
                F[rows], objective.Y[rows], objective.weight[rows], theta, objective.direction,
                topology.upper, topology.lower, depth, self._own, self._exits,
                self._reach[rows], self._below[rows], self._leave[rows], fixed,
            )  # fmt: skip
            return fixed

        self._fixed = np.zeros(K + 1)
        for fixed in objective.run(part, range(len(objective.blocks))):
            self._fixed += fixed

    def _side_of(self, node: int) -> int:
        """On which side of which node of the level a deeper node lies."""
        path = self.objective.path
        above = int(np.flatnonzero(path[node, self.nodes])[0])
        upper = int(self.objective.topology.upper[self.nodes[above]])
        return 2 * above + int(upper < 0 or path[node, upper] == 0)

    def value(
        self, B: Floats, theta: Floats, own: Floats, bounds: Bounds | None
    ) -> tuple[float, Floats, Floats, Floats]:
        """As :meth:`Objective.value`; ``own`` are the outputs of the level's nodes (n, N, m)."""
        objective, topology = self.objective, self.objective.topology
        penalties = objective.penalties(B, bounds)
        cost = objective.lam * penalties.path_price
        own_theta = theta[self.nodes]

        def part(i: int) -> tuple[float, Floats, Floats]:
            rows = objective.slices[i]
            by_output, sums = np.empty_like(own[rows]), np.empty((2, topology.n_nodes))
            loss = level_pass(
                own[rows], objective.Y[rows], own_theta, objective.direction, topology.upper,
                topology.lower, self._own, self._exits, self._side, self._reach[rows],
                self._below[rows], self._leave[rows], cost, by_output, sums,
            )  # fmt: skip
            return loss, sums, objective.blocks[i].T @ by_output.reshape(len(by_output), -1)

        total, ends = float(self._fixed[-1]), self._fixed[:-1].copy()
        total += float(np.add.reduce(cost * ends))
        by_theta, gradient = np.zeros(len(self.nodes)), np.zeros((len(B), own[0].size))
        for loss, sums, product in objective.run(part, range(len(objective.blocks))):
            total += loss
            by_theta += sums[0, : len(by_theta)]
            ends += sums[1]
            gradient += product
        G = gradient.reshape(len(B), *own.shape[1:])
        objective.add_penalties(G, B, ends, self.nodes, penalties)
        return total + penalties.l1, G, by_theta, ends


def around(objective: Objective, nodes: list[int], F: Floats, theta: Floats) -> Level | WholeTree:
    """The objective as a function of one level."""
    if objective.soft_pass is soft_pass:
        return Level(objective, nodes, F, theta)
    return WholeTree(objective, nodes, F.copy())
