"""One CSTC fit from data to arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from worthwhile.core.linear import moments as mo
from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import QUANTA_PER_UNIT, Costs
from worthwhile.estimators.linear._cstc_objective import (
    BLOCK_ROWS,
    LogisticObjective,
    Objective,
    Topology,
)
from worthwhile.estimators.linear._cstc_refit import refit, standardise, to_tree
from worthwhile.estimators.linear._cstc_solver import solve_block, solve_joint, start
from worthwhile.estimators.linear._targets import Targets
from worthwhile.policy.linear_tree import LinearTree

Floats = npt.NDArray[np.float64]

RIDGE = 1e-3
"""Ridge of the dense fit that the solvers start from."""


@dataclass(frozen=True)
class CstcSettings:
    """Parameters of the objective and its solver."""

    lam: float
    rho: float
    max_depth: int
    solver: str = "block"
    tol: float = 1e-5
    max_iter: int = 50
    tau: float = 1.0
    n_jobs: int | None = None
    loss: str = "squared"


def price_terms(costs: Costs) -> tuple[Floats, Floats]:
    """Prices in units and membership (d, T) of the terms: every feature, every fee."""
    flat, d = costs.flat, costs.n_features
    fees = np.flatnonzero(flat.fee > 0)
    member = np.hstack([np.eye(d), flat.members[:, fees].astype(np.float64)])
    price = np.concatenate([flat.price, flat.fee[fees]]) / QUANTA_PER_UNIT
    return price, member


def dense_start(objective: Objective) -> Floats:
    """Ridge regression on all columns, (d + 1, m)."""
    width = objective.blocks[0].shape[1]
    gram, cross = np.zeros((width, width)), np.zeros((width, objective.Y.shape[1]))

    def part(i: int) -> tuple[Floats, Floats]:
        own = objective.slices[i]
        weighted = objective.blocks[i].T * objective.weight[own]
        return weighted @ objective.blocks[i], weighted @ objective.Y[own]

    for a, b in objective.run(part, range(len(objective.blocks))):
        gram += a
        cross += b
    gram[np.diag_indices(width - 1)] += RIDGE
    return np.asarray(np.linalg.solve(gram, cross), dtype=np.float64)


def leading_direction(objective: Objective, root: Floats) -> Floats:
    """Direction of the outputs in which a dense fit varies most; 1 for a single output."""
    if objective.Y.shape[1] == 1:
        return np.ones(1)
    F = objective.outputs(root[:, None, :])[:, 0]
    F = F - objective.weight @ F
    leading = np.linalg.eigh(F.T @ (objective.weight[:, None] * F))[1][:, -1]
    return np.ascontiguousarray(leading * np.sign(leading[np.argmax(np.abs(leading))]))


def fit_tree(
    X: Any,
    targets: Targets,
    terms: tuple[Floats, Floats],
    weight: Floats | None,
    options: CstcSettings,
) -> tuple[LinearTree, list[float]]:
    """The fitted, refitted tree before pruning, and the objective after every block.

    ``terms`` are what has a price: prices and membership of the inputs, as of :func:`price_terms`.
    """
    X = np.ascontiguousarray(X)
    share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / np.add.reduce(weight)
    kind = LogisticObjective if options.loss == "logistic" else Objective
    with threadpool_limits(1), Threads(count_threads(options.n_jobs)) as threads:
        mean, _ = mo.column_means(X, weight, threads.map)
        columns = standardise(X, mean, share, BLOCK_ROWS)
        objective = kind(
            columns.blocks, targets.Y, share, np.ones(targets.Y.shape[1]),
            Topology.tree(options.max_depth), *terms, options.lam, options.rho, threads.map,
        )  # fmt: skip
        root = dense_start(objective)
        objective.direction = leading_direction(objective, root) / options.tau
        state = start(objective, root)
        solve = solve_block if options.solver == "block" else solve_joint
        state = solve(objective, state, options.tol, options.max_iter)
        support = refit(objective, state)
        return to_tree(state, support, objective, columns, targets), state.history
