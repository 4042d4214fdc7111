"""A linear gate and a linear cheap model that share features: (OPT2) of ADAPT by FISTA."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from costwise.core import links
from costwise.costs import Costs, as_floats
from costwise.estimators._adapt_shares import average

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
class Penalty:
    """What coefficients cost: ``own`` per feature, ``fee`` per group of features.

    ``sum_a own_a ||W_a|| + sum_G fee_G ||W_G||`` with the norms over all coefficients, gate and
    cheap model alike, of a feature or of a whole group.

    Attributes
    ----------
    own : float64 (d,), gamma times the price of each feature
    group : int (d,), its group or -1
    fee : float64 (G,), gamma times the fee of each group
    """

    own: Floats
    group: Ints
    fee: Floats

    @classmethod
    def of(cls, costs: Costs, gamma: float) -> Penalty:
        """Prices times the trade-off parameter."""
        flat = costs.flat
        return cls(
            gamma * as_floats(flat.price), flat.group.astype(np.intp), gamma * as_floats(flat.fee)
        )

    def select(self, columns: Ints) -> Penalty:
        """The penalty of some columns."""
        return Penalty(self.own[columns], self.group[columns], self.fee)

    def value(self, W: Floats) -> float:
        """The penalty of coefficients (d, k)."""
        size = _row_norms(W)
        total = float(np.sum(self.own * size))
        if len(self.fee):
            total += float(np.sum(self.fee * self._group_norms(size)))
        return total

    def shrink(self, W: Floats, step: float) -> Floats:
        """Proximal step: features first, then groups, which is exact because they are nested."""
        W = W * _keep(_row_norms(W), step * self.own)[:, None]
        if len(self.fee):
            norms = self._group_norms(_row_norms(W))
            keep = np.append(_keep(norms, step * self.fee), 1.0)
            W = W * keep[self.group][:, None]
        return W

    def _group_norms(self, size: Floats) -> Floats:
        inside = self.group >= 0
        squares = np.bincount(
            self.group[inside], weights=size[inside] ** 2, minlength=len(self.fee)
        )
        return np.sqrt(squares)


def _row_norms(W: Floats) -> Floats:
    norms: Floats = np.sqrt(np.sum(W * W, axis=1))
    return norms


def _keep(norm: Floats, cut: Floats) -> Floats:
    """Share of each vector that survives a soft threshold: exact zeros where it is cut off."""
    return np.maximum(0.0, 1.0 - cut / np.where(norm > 0, norm, 1.0))


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

    def gradient(self, scores: Floats) -> tuple[Floats, Floats]:
        """Gradient in coefficients and intercepts."""
        slope = np.empty_like(scores)
        g = scores[:, 0]
        slope[:, 0] = (
            2 * self.kappa * (g - self.log_odds) if self.kappa else links.sigmoid(g) - self.q
        )
        if self.n_classes == 2:
            slope[:, 1] = links.sigmoid(scores[:, 1]) - self.codes
        else:
            slope[:, 1:] = links.softmax(scores[:, 1:])
            slope[np.arange(len(slope)), 1 + self.codes] -= 1.0
        slope[:, 1:] *= (1 - self.q)[:, None]
        slope *= self.counts[:, None]
        return self.Z.T @ slope, np.sum(slope, axis=0)

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
    problem: Problem, penalty: Penalty, start: Weights, *, tol: float = 1e-7, max_iter: int = 200
) -> tuple[Weights, float]:
    """Minimise (OPT2) from ``start``; return the weights and the value, never above the start's.

    Accelerated proximal gradient; a step that would raise the value is replaced by a plain one,
    and the momentum starts again.
    """
    step = 1.0 / problem.curvature
    here = start
    scores = here.scores(problem.Z)
    value = problem.value(scores) + penalty.value(here.coef)
    ahead, ahead_scores, speed = here, scores, 1.0
    calm = 0
    for _ in range(max_iter):
        new, new_scores, new_value = _advance(problem, penalty, ahead, ahead_scores, step)
        if new_value > value:
            if ahead is here:
                break  # a plain step can only fail by rounding: this is the minimum
            ahead, ahead_scores, speed = here, scores, 1.0
            continue
        calm = calm + 1 if value - new_value <= tol * max(abs(value), 1e-12) else 0
        next_speed = (1 + np.sqrt(1 + 4 * speed * speed)) / 2
        push = (speed - 1) / next_speed
        ahead = Weights(
            new.coef + push * (new.coef - here.coef),
            new.intercept + push * (new.intercept - here.intercept),
        )
        ahead_scores = new_scores + push * (new_scores - scores)
        here, scores, value, speed = new, new_scores, new_value, next_speed
        if calm >= 3:
            break
    return here, value


def _advance(
    problem: Problem, penalty: Penalty, at: Weights, scores: Floats, step: float
) -> tuple[Weights, Floats, float]:
    """One proximal gradient step."""
    slope, shift = problem.gradient(scores)
    coef = penalty.shrink(at.coef - step * slope, step)
    new = Weights(coef, at.intercept - step * shift)
    new_scores = new.scores(problem.Z)
    return new, new_scores, problem.value(new_scores) + penalty.value(coef)


def empty_above(problem: Problem, penalty_of_one: Penalty, scores: Floats) -> float:
    """Gamma from which on no priced feature enters at these scores.

    ``penalty_of_one`` is the penalty for gamma = 1. Free features are left out: no gamma stops them.
    """
    slope, _ = problem.gradient(scores)
    size = _row_norms(slope)
    own, group, fee = penalty_of_one.own, penalty_of_one.group, penalty_of_one.fee
    largest = 0.0
    priced = (group < 0) & (own > 0)
    if priced.any():
        largest = float(np.max(size[priced] / own[priced]))
    for g in range(len(fee)):
        members = group == g
        if not members.any() or not (fee[g] > 0 or (own[members] > 0).all()):
            continue
        largest = max(largest, _group_stop(size[members], own[members], float(fee[g])))
    return largest


def _group_stop(size: Floats, own: Floats, fee: float) -> float:
    """Smallest gamma at which a whole group is shrunk to nothing."""

    def stays_out(gamma: float) -> bool:
        rest = np.maximum(size - gamma * own, 0.0)
        return bool(np.sqrt(np.sum(rest * rest)) <= gamma * fee)

    high = 1e-12
    while not stays_out(high) and high < 1e300:
        high *= 2.0
    low = high / 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if stays_out(middle) else (middle, high)
    return high
