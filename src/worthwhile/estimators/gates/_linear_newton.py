"""(OPT2) on a given support, with a ridge in place of the group norm: Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.estimators.gates._linear_fista import Problem, Weights

Floats = npt.NDArray[np.float64]

STEPS = 3
"""Newton steps per half step: the shares move anyway."""

HALVINGS = 30


@dataclass(frozen=True)
class Ridge:
    """Half of ``weight`` times the sum of squared coefficients."""

    weight: float

    def value(self, W: Floats) -> float:
        """The penalty of coefficients (d, k)."""
        return float(self.weight / 2 * np.sum(W * W))


def newton(problem: Problem, ridge: Ridge, start: Weights) -> tuple[Weights, float]:
    """A few Newton steps from ``start``, none of which raises the value.

    Gate and cheap model do not interact here. With several classes the cheap model's curvature is
    replaced by its bound ``1/2 Z' diag(1 - q) Z`` per class, which needs one small factorisation.
    """
    A = np.column_stack([problem.Z, np.ones(len(problem.Z))])
    here = np.vstack([start.coef, start.intercept])
    value = _value(problem, ridge, A, here)
    for _ in range(STEPS):
        step = _step(problem, ridge, A, here)
        new, new_value = here - step, np.inf
        for _ in range(HALVINGS):
            new_value = _value(problem, ridge, A, new)
            if new_value <= value:
                break
            step = step / 2
            new = here - step
        if not new_value <= value:
            break
        settled = value - new_value <= 1e-9 * max(abs(value), 1e-12)
        here, value = new, new_value
        if settled:
            break
    return Weights(here[:-1], here[-1]), value


def _value(problem: Problem, ridge: Ridge, A: Floats, W: Floats) -> float:
    return problem.value(A @ W) + ridge.value(W[:-1])


def _step(problem: Problem, ridge: Ridge, A: Floats, W: Floats) -> Floats:
    """The Newton step of the gate's column and of the cheap model's."""
    scores = A @ W
    gradient = problem.gradient(scores)
    gradient[:-1] += ridge.weight * W[:-1]
    g = links.sigmoid(scores[:, 0])
    curvatures = [np.full(len(A), 2 * problem.kappa) if problem.kappa else g * (1 - g)]
    if problem.n_classes == 2:
        p = links.sigmoid(scores[:, 1])
        curvatures.append((1 - problem.q) * p * (1 - p))
    else:
        curvatures.append((1 - problem.q) / 2)
    parts = []
    for curvature, columns in zip(curvatures, (slice(0, 1), slice(1, None)), strict=True):
        H = (A * (curvature * problem.counts)[:, None]).T @ A
        # The intercept has no ridge, and flat logistic tails no curvature: a trace keeps H regular.
        H[np.diag_indices_from(H)] += np.append(np.full(len(H) - 1, ridge.weight), 1e-9)
        parts.append(np.linalg.solve(H, gradient[:, columns]))
    return np.concatenate(parts, axis=1)
