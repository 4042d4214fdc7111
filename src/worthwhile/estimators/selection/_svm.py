"""Linear support vector machines, one per action against the rest, all trained together.

The problem is that of liblinear's primal solver (squared hinge loss, the bias regularised like a
weight). Training all machines together is worth it here: they share each pass over the examples, and
one decomposition of the examples' products makes conjugate gradients converge in a few steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Bools = npt.NDArray[np.bool_]

TOLERANCE = 0.03
"""Where to stop: norm of the gradient, relative to that at 0 and to the share of the rarer side."""

NEWTON_STEPS, INNER_STEPS, HALVINGS = 50, 50, 20
"""Bounds of the loops: Newton steps, conjugate gradients within one, halvings of a step."""

INNER_TOLERANCE = 0.2
"""Residual, relative to the gradient, at which a Newton direction is good enough."""

BLOCK = 2048
"""Examples that one task handles; partial sums are added in their order, so threads change nothing."""


@dataclass(frozen=True)
class Machines:
    """Weights (features, actions) and biases (actions,)."""

    weight: Floats
    bias: Floats


def fit_machines(phi: Floats, positive: Bools, threads: Threads) -> Machines:
    """Train one machine per column of ``positive`` (n, actions).

    Parameters
    ----------
    phi : float64 (n, features)
        Features of the examples; kept in single precision here, sums are in double.
    positive : bool (n, actions)
        Which examples are of the action.
    threads : Threads
        Who works; the result does not depend on how many they are.
    """
    n, width = phi.shape
    examples = np.empty((n, width + 1), dtype=np.float32)
    examples[:, :-1], examples[:, -1] = phi, 1.0
    problem = _Problem(examples, positive, threads)
    current = np.zeros((width + 1, positive.shape[1]))
    _newton(problem, current)
    return Machines(current[:-1].copy(), current[-1].copy())


class _Problem:
    """Sums over the examples, block by block."""

    def __init__(self, examples: Singles, positive: Bools, threads: Threads) -> None:
        self._examples, self._threads = examples, threads
        self.sign = np.where(positive, np.float32(1), np.float32(-1))
        self._starts = range(0, len(examples), BLOCK)

    def scores(self, weight: Floats) -> Singles:
        """Scores (n, machines)."""
        single = weight.astype(np.float32)
        found = np.empty((len(self._examples), weight.shape[1]), dtype=np.float32)

        def work(task: int) -> None:
            part = slice(self._starts[task], self._starts[task] + BLOCK)
            np.matmul(self._examples[part], single, out=found[part])

        self._threads.run(len(self._starts), work)
        return found

    def weighted(self, factor: Singles) -> Floats:
        """Sum of the examples, each times its factor (n, machines)."""
        return self._sum(lambda part: self._examples[part].T @ factor[part], factor.shape[1])

    def gram(self) -> Floats:
        """Sum of the outer products of the examples with themselves."""
        return self._sum(
            lambda part: self._examples[part].T @ self._examples[part], self._examples.shape[1]
        )

    def curvature(self, active: Singles, direction: Floats) -> Floats:
        """Sum of the active examples, each times its score along the direction."""
        single = direction.astype(np.float32)

        def of(part: slice) -> Singles:
            block = self._examples[part]
            along: Singles = block @ single
            along *= active[part]
            return block.T @ along

        return self._sum(of, direction.shape[1])

    def _sum(self, of: Callable[[slice], Singles], machines: int) -> Floats:
        found = np.empty((len(self._starts), self._examples.shape[1], machines), dtype=np.float32)

        def work(task: int) -> None:
            found[task] = of(slice(self._starts[task], self._starts[task] + BLOCK))

        self._threads.run(len(self._starts), work)
        total = np.zeros(found.shape[1:])
        for part in found:
            total += part
        return total


def _newton(problem: _Problem, current: Floats) -> None:
    """Improve the machines in place; one that has converged leaves the others to it."""
    n = len(problem.sign)
    rarer = np.minimum((problem.sign > 0).sum(axis=0), (problem.sign < 0).sum(axis=0))
    at_zero = _norm(2 * problem.weighted(problem.sign))
    enough = TOLERANCE * np.maximum(rarer, 1) / n * at_zero
    left = np.arange(current.shape[1])
    scores = problem.scores(current)
    scaling = np.linalg.eigh(problem.gram())
    for _ in range(NEWTON_STEPS):
        sign = problem.sign[:, left]
        slack = np.maximum(1 - sign * scores, 0)
        gradient = current[:, left] - 2 * problem.weighted(sign * slack)
        open_ = _norm(gradient) > enough[left]
        if not open_.any():
            return
        left, scores, slack = left[open_], scores[:, open_], slack[:, open_]
        sign, gradient = sign[:, open_], gradient[:, open_]
        direction = _direction(problem, (slack > 0).astype(np.float32), gradient, scaling)
        step, scores = _step(problem, current[:, left], direction, scores, sign)
        current[:, left] += step * direction
        left, scores = left[step > 0], scores[:, step > 0]
        if len(left) == 0:
            return


def _direction(
    problem: _Problem, active: Singles, gradient: Floats, scaling: tuple[Floats, Floats]
) -> Floats:
    """Newton's direction of every machine by conjugate gradients.

    They are scaled by the inverse of what the curvature would be if the active examples were a
    random share of all: one decomposition then serves all machines.
    """
    values, basis = scaling
    scale = 1 + 2 * active.mean(axis=0, dtype=np.float64) * np.maximum(values, 0)[:, None]
    direction, residual = np.zeros_like(gradient), -gradient
    enough = INNER_TOLERANCE * _norm(gradient)
    search, last = np.zeros_like(gradient), np.ones(gradient.shape[1])
    for _ in range(INNER_STEPS):
        scaled = basis @ ((basis.T @ residual) / scale)
        power = (residual * scaled).sum(axis=0)
        search = scaled + power / np.maximum(last, 1e-300) * search
        image = search + 2 * problem.curvature(active, search)
        length = power / np.maximum((search * image).sum(axis=0), 1e-300)
        length[_norm(residual) <= enough] = 0.0
        direction += length * search
        residual -= length * image
        last = power
        if not (_norm(residual) > enough).any():
            break
    return direction


def _step(
    problem: _Problem, weight: Floats, direction: Floats, scores: Singles, sign: Singles
) -> tuple[Floats, Singles]:
    """Lengths of the steps that lower the objective (0 where none does), and the new scores."""
    along = problem.scores(direction)
    best = _objective(weight, scores, sign)
    length = np.ones(weight.shape[1])
    for _ in range(HALVINGS):
        moved = (scores + length.astype(np.float32) * along).astype(np.float32)
        worse = _objective(weight + length * direction, moved, sign) >= best
        if not worse.any():
            return length, moved
        length[worse] /= 2
    length[worse] = 0.0
    return length, (scores + length.astype(np.float32) * along).astype(np.float32)


def _objective(weight: Floats, scores: Singles, sign: Singles) -> Floats:
    slack = np.maximum(1 - sign * scores, 0)
    loss: Floats = np.square(slack, dtype=np.float64).sum(axis=0)
    return (weight * weight).sum(axis=0) / 2 + loss


def _norm(columns: Floats) -> Floats:
    norm: Floats = np.sqrt((columns * columns).sum(axis=0))
    return norm
