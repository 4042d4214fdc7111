"""Who should go to the existing model if rows could be sent one by one: the q-steps of ADAPT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.core import links

Floats = npt.NDArray[np.float64]

STEEPEST = 0.09622504486493763
"""Largest slope of the logistic function's derivative: 1 / (6 sqrt 3)."""

FURTHEST = 12.0
"""Log-odds beyond which ADAPT-LSTSQ does not look: sigmoid(12) is 1 - 6e-6."""

GRID = 33
NEWTON_STEPS = 30


class Shares(NamedTuple):
    """Probability that each row should be sent on, and the price of sending that achieves the limit."""

    q: Floats
    log_odds: Floats
    beta: float


def average(values: npt.NDArray[Any], weight: Floats | None) -> float:
    """Mean over rows that count as their weights say, or the same."""
    return float(np.average(values, weights=weight))


def shares_kl(
    gate: Floats,
    excess: Floats,
    p_full: float,
    *,
    equal: bool = False,
    weight: Floats | None = None,
) -> Shares:
    """Solve (OPT1): ``q = sigmoid(gate + excess - beta)`` with mean at most ``p_full``.

    Parameters
    ----------
    gate : array (n,)
        Scores of the gate.
    excess : array (n,)
        Loss of the cheap model minus loss of the existing one.
    p_full : float
        Limit of the mean; 0 sends nobody.
    equal : bool
        The mean is to be exactly ``p_full``, also where fewer would do.
    weight : array (n,), optional
        What each row counts in the mean.

    Notes
    -----
    The closed form of the paper has ``B - A``, in which both softplus terms of the gate cancel to
    the score itself. The mean falls in beta, so beta is found by halving; the end that keeps the
    limit is returned.
    """
    level = gate + excess
    if p_full <= 0:
        return Shares(np.zeros(len(level)), np.full(len(level), -np.inf), np.inf)

    def at(beta: float) -> Floats:
        return links.sigmoid(level - beta)

    if p_full >= 1 and equal:
        return Shares(np.ones(len(level)), np.full(len(level), np.inf), -np.inf)
    if p_full >= 1 or (not equal and average(at(0.0), weight) <= p_full):
        return Shares(at(0.0), level, 0.0)
    odds = np.log(p_full) - np.log1p(-p_full)
    low = float(level.min() - odds) if equal else 0.0
    beta = _least(lambda b: average(at(b), weight) - p_full, low, float(level.max() - odds))
    return Shares(at(beta), level - beta, beta)


def shares_lstsq(
    gate: Floats, excess: Floats, p_full: float, kappa: float, *, weight: Floats | None = None
) -> Shares:
    """The q-step of ADAPT-LSTSQ: log-odds near the gate's scores that lower the expected loss.

    Each row minimises ``sigmoid(s) (beta - excess) + kappa (s - gate)^2`` over ``|s| <= 12``; beta
    is the least price of sending at which the mean of ``sigmoid(s)`` is at most ``p_full``.
    """
    if p_full <= 0:
        s = np.full(len(gate), -FURTHEST)
        return Shares(links.sigmoid(s), s, np.inf)

    def at(beta: float) -> Floats:
        return nearest_log_odds(gate, beta - excess, kappa)

    def above(beta: float) -> float:
        return average(links.sigmoid(at(beta)), weight) - p_full

    beta = 0.0
    if p_full < 1 and above(beta) > 0:
        high = 1.0
        while above(high) > 0 and high < 1e12:
            high *= 4.0
        beta = _least(above, 0.0, high, width=1e-7)
    s = at(beta)
    return Shares(links.sigmoid(s), s, beta)


def nearest_log_odds(gate: Floats, slope: Floats, kappa: float) -> Floats:
    """Minimise ``sigmoid(s) slope + kappa (s - gate)^2`` for each row.

    The derivative of the logistic function is at most 1/4, so the minimum lies between the gate
    and ``gate - slope / (8 kappa)``. Where the problem is not convex there, the best of a grid
    starts the search.
    """
    ends = np.clip(gate, -FURTHEST, FURTHEST), gate - slope / (8 * kappa)
    low = np.clip(np.minimum(*ends), -FURTHEST, FURTHEST)
    high = np.clip(np.maximum(*ends), -FURTHEST, FURTHEST)
    hard = STEEPEST * np.abs(slope) >= 2 * kappa
    if hard.any():
        steps = np.linspace(0.0, 1.0, GRID)[:, None]
        points = low[hard] + steps * (high[hard] - low[hard])
        value = links.sigmoid(points) * slope[hard] + kappa * (points - gate[hard]) ** 2
        best, column = np.argmin(value, axis=0), np.arange(points.shape[1])
        low[hard] = points[np.maximum(best - 1, 0), column]
        high[hard] = points[np.minimum(best + 1, GRID - 1), column]
    return _root(gate, slope, kappa, low, high)


def _root(gate: Floats, slope: Floats, kappa: float, low: Floats, high: Floats) -> Floats:
    """Newton's method on the derivative, with halving where it would leave its bracket."""
    s = (low + high) / 2
    for _ in range(NEWTON_STEPS):
        p = links.sigmoid(s)
        first = p * (1 - p) * slope + 2 * kappa * (s - gate)
        second = p * (1 - p) * (1 - 2 * p) * slope + 2 * kappa
        low, high = np.where(first <= 0, s, low), np.where(first >= 0, s, high)
        step = s - first / np.where(second > 0, second, 1.0)
        inside = (second > 0) & (step >= low) & (step <= high)
        new = np.where(inside, step, (low + high) / 2)
        if np.max(np.abs(new - s), initial=0.0) < 1e-12:
            return new
        s = new
    return s


def _least(above: Callable[[float], float], low: float, high: float, width: float = 1e-10) -> float:
    """A number at which a falling function is at or just below 0, by false position (Illinois).

    The function is above 0 at ``low`` and not above it at ``high``.
    """
    at_low, at_high = above(low), above(high)
    reached, side = at_high, 0
    for turn in range(200):
        if high - low <= width or reached >= -1e-12:
            break
        # Every third step halves: false position alone can creep on flat stretches.
        share = 0.5 if turn % 3 == 2 else at_low / (at_low - at_high)
        middle = low + share * (high - low)
        if not low < middle < high:
            middle = (low + high) / 2
            if not low < middle < high:
                break
        value = above(middle)
        if value > 0:
            at_high = at_high / 2 if side > 0 else at_high
            low, at_low, side = middle, value, 1
        else:
            at_low = at_low / 2 if side < 0 else at_low
            high, at_high, reached, side = middle, value, value, -1
    return high
