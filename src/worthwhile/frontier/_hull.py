"""The best of many points, and what two of them and a share give: the hull."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def pareto_indices(cost: Floats, score: Floats) -> Indices:
    """Non-dominated points by ascending cost; of equal points the first."""
    order = np.lexsort((np.arange(len(cost)), -score, cost))
    before = np.maximum.accumulate(np.concatenate([[-np.inf], score[order][:-1]]))
    return order[score[order] > before]


def hull_indices(cost: Floats, score: Floats) -> Indices:
    """Points on the upper concave hull, from the cheapest to the best."""
    kept: list[int] = []
    for i in pareto_indices(cost, score).tolist():
        while len(kept) > 1 and _below(cost, score, kept[-2], kept[-1], i):
            kept.pop()
        kept.append(i)
    return np.array(kept, dtype=np.intp)


def _below(x: Floats, y: Floats, first: int, middle: int, last: int) -> bool:
    """Whether the middle point is not above the line from the first to the last."""
    run, rise = x[last] - x[first], y[last] - y[first]
    return bool((y[middle] - y[first]) * run <= rise * (x[middle] - x[first]))


def shares(cost: Floats, score: Floats, budgets: Floats) -> tuple[Indices, Indices, Floats]:
    """First and second point and the share of the second that just meet each budget.

    The first is -1 where nothing fits; both are the same where nothing is mixed.
    """
    kept = hull_indices(cost, score)
    bills = cost[kept]
    low = np.searchsorted(bills, budgets, side="right") - 1
    high = np.minimum(low + 1, len(kept) - 1)
    width, mixed = bills[high] - bills[low], (low >= 0) & (high > low)
    share = np.divide(budgets - bills[low], width, out=np.zeros(len(low)), where=mixed)
    first = np.where(low >= 0, kept[low], -1)
    return first, np.where(share > 0, kept[high], first), share


def between(figures: Floats, first: Indices, second: Indices, share: Floats) -> Floats:
    """A figure of the points where two are mixed; NaN where the first is -1."""
    # A figure that is not known of the second does not matter where that has no share.
    mixed = (1 - share) * figures[first] + share * np.where(share > 0, figures[second], 0.0)
    return np.where(first >= 0, mixed, np.nan)
