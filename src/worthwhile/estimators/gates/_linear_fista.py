"""A linear gate and a linear cheap model that share features: (OPT2) of ADAPT by FISTA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.estimators._shared.proximal import PricePenalty, fista
from worthwhile.estimators.gates._shares import average

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


class Weights(NamedTuple):
    """Coefficients (d, 1 + m) and intercepts (1 + m,): the gate's column first, then the cheap model's."""

    coef: Floats
    intercept: Floats

    def scores(self, Z: Floats) -> Floats:
        """Gate and cheap scores, (n, 1 + m)."""
        found: Floats = Z @ self.coef + self.intercept
        return found


@dataclass(frozen=True)
class Problem:
    """The smooth part of (OPT2) for fixed q.

    Attributes
    ----------
    Z : float64 (n, d), standardised columns
    codes : int (n,), classes
    n_classes : int
    q : float64 (n,), share of each row that goes to the existing model
    log_odds : float64 (n,), what the gate is to hit under the squared distance
    kappa : float, weight of the squared distance; 0 for the Kullback-Leibler distance
    spread : float, largest eigenvalue of the second moments of [Z 1]
    """

    Z: Floats
    codes: Ints
    n_classes: int
    q: Floats
    log_odds: Floats
    kappa: float
    spread: float
    weight: Floats | None = None

    @property
    def n_cheap(self) -> int:
        """Columns of the cheap model."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def curvature(self) -> float:
        """A Lipschitz constant of the gradient."""
        cheap = 0.25 if self.n_classes == 2 else 0.5
        return self.spread * max(cheap, 2 * self.kappa if self.kappa else 0.25)

    @cached_property
    def counts(self) -> Floats:
        """What each row counts in a mean, (n,); they add to 1."""
        return counts(self.weight, len(self.Z))

    def cheap_losses(self, scores: Floats) -> Floats:
        """Log loss of the cheap model on each row."""
        return cheap_losses(scores[:, 1:], self.codes)

    def value(self, scores: Floats) -> float:
        """Mean loss of the cheap model on its share, plus the distance of the gate from q."""
        losses = (1 - self.q) * self.cheap_losses(scores) + self._distance(scores)
        return average(losses, self.weight)

    def _distance(self, scores: Floats) -> Floats:
        g = scores[:, 0]
        if self.kappa:
            return self.kappa * (self.log_odds - g) ** 2
        # (1 - q) log(1 + e^g) + q log(1 + e^-g)
        distance: Floats = -links.log_sigmoid(-g) - self.q * g
        return distance

    def gradient(self, scores: Floats) -> Floats:
        """Gradient in coefficients and, in the last row, intercepts: (d + 1, 1 + m)."""
        by_score = np.empty_like(scores)
        g = scores[:, 0]
        by_score[:, 0] = (
            2 * self.kappa * (g - self.log_odds) if self.kappa else links.sigmoid(g) - self.q
        )
        if self.n_classes == 2:
            by_score[:, 1] = links.sigmoid(scores[:, 1]) - self.codes
        else:
            by_score[:, 1:] = links.softmax(scores[:, 1:])
            by_score[np.arange(len(by_score)), 1 + self.codes] -= 1.0
        by_score[:, 1:] *= (1 - self.q)[:, None]
        by_score *= self.counts[:, None]
        return np.vstack([self.Z.T @ by_score, np.sum(by_score, axis=0)])

    def with_shares(self, q: Floats, log_odds: Floats) -> Problem:
        """The same rows with other shares."""
        return replace(self, q=q, log_odds=log_odds)


def cheap_losses(scores: Floats, codes: Ints) -> Floats:
    """Log loss of each row: scores are log-odds (n, 1) or logits (n, K)."""
    if scores.shape[1] == 1:
        loss: Floats = -links.log_sigmoid(np.where(codes == 1, scores[:, 0], -scores[:, 0]))
        return loss
    logs = links.log_softmax(scores)
    return -np.asarray(logs[np.arange(len(codes)), codes])


def counts(weight: Floats | None, n: int) -> Floats:
    """What each of n rows counts in a mean; they add to 1."""
    return np.full(n, 1 / n) if weight is None else weight / np.sum(weight)


def spread(Z: Floats, weight: Floats | None = None) -> float:
    """Largest eigenvalue of the second moments of [Z 1]."""
    A = np.column_stack([Z, np.ones(len(Z))])
    moments = (A * counts(weight, len(A))[:, None]).T @ A
    return float(np.linalg.eigvalsh(moments)[-1]) * (1 + 1e-9)


def solve(
    problem: Problem,
    penalty: PricePenalty,
    start: Weights,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> tuple[Weights, float]:
    """Minimise (OPT2) from ``start``; return the weights and the value, never above the start's.

    Stops at a step so short that a plain one of its length lowers the value by ``tol`` of it at
    most.
    """
    value = _value(problem, penalty, start)
    found, _ = fista(
        lambda W: problem.gradient(problem.Z @ W[:-1] + W[-1]),
        penalty.with_intercept().prox,
        np.vstack(start),
        problem.curvature,
        tol=2.0 * tol * max(abs(value), 1e-12) / problem.curvature,
        max_iter=max_iter,
    )
    end = Weights(found[:-1], found[-1])
    end_value = _value(problem, penalty, end)
    # Momentum may overshoot where few steps are allowed.
    return (end, end_value) if end_value <= value else (start, value)


def _value(problem: Problem, penalty: PricePenalty, weights: Weights) -> float:
    return problem.value(weights.scores(problem.Z)) + penalty.value(weights.coef)
