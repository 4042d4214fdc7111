"""Minimising CSTC's objective: block coordinate descent over the levels, or all at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from worthwhile.core import links
from worthwhile.estimators.linear._astc_grow import weighted_cut
from worthwhile.estimators.linear._cstc_level import around
from worthwhile.estimators.linear._cstc_objective import Objective

Floats = npt.NDArray[np.float64]

INNER = 12
"""Steps on one bound before it is made tight again."""


@dataclass
class State:
    """Coefficients (d + 1, K, m) on standardised columns, thresholds (K,), and J after every block."""

    B: Floats
    theta: Floats
    history: list[float] = field(default_factory=list)


def start(objective: Objective, root: Floats) -> State:
    """All nodes like a dense fit of the root (d + 1, m); thresholds halve the weight, top down.

    The bounds hold a coefficient that starts at 0 near 0, so the start must not be sparse.
    """
    K = objective.topology.n_nodes
    B = np.repeat(root[:, None, :], K, axis=1)
    score = objective.outputs(B[:, :1])[:, 0] @ objective.direction
    theta, reach = np.zeros(K), np.zeros((K, len(score)))
    reach[0] = objective.weight
    for k in range(K):
        upper, lower = objective.topology.upper[k], objective.topology.lower[k]
        if upper < 0 and lower < 0:
            continue
        theta[k] = weighted_cut(score, reach[k]) or 0.0
        up = links.sigmoid(score - theta[k])
        if upper >= 0:
            reach[upper] = reach[k] * up
        if lower >= 0:
            reach[lower] = reach[k] * (1.0 - up)
    return State(B, theta)


def _reach(objective: Objective, ends: Floats) -> Floats:
    """Weight that reaches each node: all that ends there or below."""
    reached: Floats = objective.path.T @ ends
    return reached


def solve_block(objective: Objective, state: State, tol: float, max_iter: int) -> State:
    """Cycle over the levels; the nodes of one level do not interact, so they move together.

    Each level takes a few preconditioned L-BFGS steps on the variational bound that is tight where
    the level stands; J never rises.
    """
    F = objective.outputs(state.B)
    current, _, _, ends = objective.value(state.B, state.theta, F)
    state.history.append(current)
    for _ in range(max_iter):
        before = current
        for nodes in objective.topology.levels():
            current, ends = _level(objective, state, F, nodes, ends, current)
            state.history.append(current)
        if before - current <= tol * abs(before):
            break
    return state


def _level(
    objective: Objective, state: State, F: Floats, nodes: list[int], ends: Floats, current: float
) -> tuple[float, Floats]:
    """Improve one level in place; its J and exit weights."""
    bounds = objective.bounds(state.B)
    reach = np.maximum(_reach(objective, ends), 1e-8)
    scale = np.empty((state.B.shape[0], len(nodes), 1))
    scale[:-1, :, 0] = objective.curvature(bounds, ends, reach)[nodes].T
    scale[-1, :, 0] = objective.bend * reach[nodes]
    scale = 1.0 / np.sqrt(scale)
    theta_scale = 1.0 / np.sqrt(reach[nodes])
    size = state.B[:, nodes].size
    trial_B, trial_theta = state.B.copy(), state.theta.copy()
    level = around(objective, nodes, F, state.theta)

    def place(z: Floats) -> Floats:
        trial_B[:, nodes] = z[:size].reshape(len(trial_B), len(nodes), -1) * scale
        trial_theta[nodes] = z[size:] * theta_scale
        return objective.outputs(np.ascontiguousarray(trial_B[:, nodes]))

    def evaluate(z: Floats) -> tuple[float, Floats]:
        own = place(z)
        value, G, g_theta, _ = level.value(trial_B, trial_theta, own, bounds)
        return value, np.concatenate([(G * scale).ravel(), g_theta * theta_scale])

    z0 = np.concatenate([(state.B[:, nodes] / scale).ravel(), state.theta[nodes] / theta_scale])
    found = minimize(
        evaluate, z0, jac=True, method="L-BFGS-B", options={"maxiter": INNER, "maxcor": INNER}
    )
    own = place(found.x)
    value, _, _, new_ends = level.value(trial_B, trial_theta, own, None)
    if value > current:
        # The line search gave up on rounding: stay.
        return current, ends
    state.B, state.theta, F[:, nodes] = trial_B, trial_theta, own
    return value, new_ends


def solve_joint(objective: Objective, state: State, tol: float, max_iter: int) -> State:
    """L-BFGS on all parameters at once."""
    shape, size = state.B.shape, state.B.size

    def evaluate(z: Floats) -> tuple[float, Floats]:
        value, G, g_theta, _ = objective.value(
            z[:size].reshape(shape), np.ascontiguousarray(z[size:])
        )
        return value, np.concatenate([G.ravel(), g_theta])

    def note(intermediate_result: Any) -> None:
        state.history.append(float(intermediate_result.fun))

    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": tol, "gtol": 0.0, "maxcor": 20}
    z0 = np.concatenate([state.B.ravel(), state.theta])
    state.history.append(evaluate(z0)[0])
    found = minimize(evaluate, z0, jac=True, method="L-BFGS-B", options=options, callback=note)
    state.B, state.theta = found.x[:size].reshape(shape).copy(), found.x[size:].copy()
    return state
