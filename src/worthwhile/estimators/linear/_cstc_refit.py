"""From CSTC's relaxed solution to a tree that is walked: supports, refit, pruning, units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from worthwhile.estimators.linear._astc_grow import weighted_cut
from worthwhile.estimators.linear._cstc_objective import (
    EPSILON,
    LogisticObjective,
    Objective,
    Topology,
)
from worthwhile.estimators.linear._cstc_solver import State
from worthwhile.estimators.linear._targets import Targets
from worthwhile.policy.linear_tree import LinearTree

Floats = npt.NDArray[np.float64]

SEPARABLE = 1e-4
"""Ridge of a log loss without penalties: rows that a plane separates would send it to infinity."""

SMALL = 1e-3
"""Coefficients below this share of the node's largest are noise of the smoothing."""


@dataclass
class Columns:
    """Standardised training columns and the way back to original units."""

    blocks: list[Floats]
    mean: Floats
    scale: Floats


def standardise(X: Any, mean: Floats, weight: Floats, rows: int) -> Columns:
    """Blocks of (x - mean) / standard deviation and a last column of ones; NaN becomes 0."""
    n, d = X.shape
    blocks, square = [], np.zeros(d)
    for first in range(0, n, rows):
        part = np.empty((min(rows, n - first), d + 1))
        np.subtract(X[first : first + rows], mean, out=part[:, :d], dtype=np.float64)
        np.nan_to_num(part, copy=False, nan=0.0)
        part[:, d] = 1.0
        square += np.add.reduce(weight[first : first + rows, None] * part[:, :d] ** 2)
        blocks.append(part)
    scale = np.sqrt(square)
    # A column without variance must stay at 0, not become rounding noise of size 1.
    scale = np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300), scale, np.inf)
    for part in blocks:
        part[:, :d] /= scale
    return Columns(blocks, mean, scale)


def supports(B: Floats) -> npt.NDArray[np.bool_]:
    """Which columns each node really uses, (d, K)."""
    size = np.sqrt(np.add.reduce(B[:-1] ** 2, axis=2))
    large: npt.NDArray[np.bool_] = size > np.maximum(
        SMALL * size.max(axis=0, initial=0.0), 10 * EPSILON
    )
    return large


def refit(objective: Objective, state: State) -> npt.NDArray[np.bool_]:
    """Each node fitted on its support, without penalties, to the rows that get there hard.

    Thresholds move so that the share of rows going up stays. Changes ``state``; returns supports.
    """
    support = supports(state.B)
    topology, X = objective.topology, objective.blocks
    K, n = topology.n_nodes, len(objective.Y)
    state.B[:-1] *= support[:, :, None]
    here: dict[int, npt.NDArray[np.intp]] = {0: np.arange(n)}
    for k in range(K):
        rows = here.get(k, np.arange(0))
        used = np.append(np.flatnonzero(support[:, k]), len(support))
        columns = _gather(X, rows, used)
        score = columns @ state.B[used, k] @ objective.direction
        up = score > state.theta[k]
        if len(rows) >= 2 * len(used):
            solution = _without_penalties(objective, columns, rows, state.B[used, k])
            state.B[used, k] = solution
            score = columns @ solution @ objective.direction
            if up.any() and not up.all():
                weight = objective.weight[rows]
                share = float(np.add.reduce(weight[~up]) / np.add.reduce(weight))
                cut = weighted_cut(score, weight, share)
                state.theta[k] = state.theta[k] if cut is None else cut
        up = score > state.theta[k]
        for child, part in ((topology.upper[k], rows[up]), (topology.lower[k], rows[~up])):
            if child >= 0:
                here[int(child)] = part
    return support


def _without_penalties(
    objective: Objective, columns: Floats, rows: npt.NDArray[np.intp], begin: Floats
) -> Floats:
    """Coefficients (j, m) of least loss on some columns of some rows."""
    weight, Y = objective.weight[rows], objective.Y[rows]
    if isinstance(objective, LogisticObjective):
        return _least_log_loss(columns, Y, weight / np.add.reduce(weight), begin)
    root = np.sqrt(weight)[:, None]
    solution = np.linalg.lstsq(root * columns, root * Y, rcond=1e-9)[0]
    return np.asarray(solution, dtype=np.float64)


def _least_log_loss(columns: Floats, Y: Floats, share: Floats, begin: Floats) -> Floats:
    """Log loss of one node, by L-BFGS; the last column has ones."""
    j, m = begin.shape
    alone = LogisticObjective(
        [columns], Y, share, np.zeros(m), Topology.tree(1), np.zeros(j - 1), np.eye(j - 1), 0.0, 0.0, map
    )  # fmt: skip
    pull = np.full((j, 1, 1), SEPARABLE)
    pull[-1] = 0.0

    def evaluate(z: Floats) -> tuple[float, Floats]:
        B = z.reshape(j, 1, m)
        value, G, _, _ = alone.value(B, np.zeros(1))
        return value + float(np.add.reduce(pull * B * B, axis=None)) / 2, (G + pull * B).ravel()

    found = minimize(evaluate, begin.ravel(), jac=True, method="L-BFGS-B")
    return np.asarray(found.x, dtype=np.float64).reshape(j, m)


def _gather(blocks: list[Floats], rows: npt.NDArray[np.intp], used: npt.NDArray[np.intp]) -> Floats:
    """Some columns of some rows (ascending) of the blocks."""
    size = len(blocks[0])
    edges = np.searchsorted(rows, np.arange(len(blocks) + 1) * size)
    parts = [
        block[rows[a:b] - i * size][:, used]
        for i, (block, a, b) in enumerate(zip(blocks, edges[:-1], edges[1:], strict=True))
    ]
    return np.concatenate(parts)


def to_tree(
    state: State, support: npt.NDArray[np.bool_], objective: Objective, columns: Columns, targets: Targets,
) -> LinearTree:  # fmt: skip
    """The nodes in original units; features on the path come first, then the heaviest."""
    topology, K = objective.topology, objective.topology.n_nodes
    path = objective.path.astype(bool)
    features, coefficients, intercepts = [], [], []
    for k in range(K):
        known = np.logical_or.reduce(support[:, path[k] & (np.arange(K) != k)], axis=1)
        size = np.sqrt(np.add.reduce(state.B[:-1, k] ** 2, axis=1))
        own = np.flatnonzero(support[:, k])
        own = own[np.lexsort((own, -size[own], ~known[own]))]
        slopes = state.B[own, k] / columns.scale[own, None] * targets.scale
        features.append(own)
        coefficients.append(slopes)
        base = state.B[-1, k] * targets.scale + targets.mean
        intercepts.append(base - columns.mean[own] @ slopes)
    direction = objective.direction / targets.scale
    return LinearTree(
        features=np.concatenate(features).astype(np.int32),
        start=np.cumsum([0] + [len(own) for own in features]).astype(np.int32),
        coefficient=np.vstack(coefficients),
        intercept=np.vstack(intercepts),
        direction=np.tile(direction, (K, 1)),
        threshold=state.theta + float(targets.mean @ direction),
        upper=topology.upper.copy(),
        lower=topology.lower.copy(),
        mean=columns.mean.copy(),
    )
