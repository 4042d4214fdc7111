"""Between two points of a trade-off: the model that uses a budget best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from worthwhile.frontier._points import Frontier
from worthwhile.frontier._sweep import Measured, Sweep, between

ENOUGH = 0.99
"""Share of the budget from which on no more of it is worth another training."""


@dataclass(frozen=True)
class Refit:
    """A model fitted on all rows."""

    model: Any
    params: dict[str, Any]
    bill: float
    """Mean bill of its training rows."""
    expected: float
    """Mean bill of new rows, as far as is known."""
    bound: float
    """What the mean bill of new rows stays below."""


def dearer_point(
    sweep: Sweep, measured: list[Measured], frontier: Frontier, chosen: int, budget: float
) -> int | None:
    """The first point over the budget on the way up from the chosen one; None if money may not help.

    The way goes over the points of the same family at the same stage, by their bills. Each must have
    a better score than the chosen one, up to the first over the budget, which must differ in one
    number: what was validated on the way then speaks for what lies between.
    """
    point, own = measured[chosen], frontier[chosen]
    family = sweep.candidates[point.candidate].family
    way = [
        i
        for i, other in enumerate(measured)
        if other.stage == point.stage
        and other.case_budget is None
        and sweep.candidates[other.candidate].family == family
        and frontier[i].cost > own.cost
    ]
    for i in sorted(way, key=lambda i: (frontier[i].cost, i)):
        if frontier[i].score <= own.score:
            return None
        if frontier[i].cost > budget:
            return i if between(own.params, frontier[i].params) is not None else None
    return None


def spend(
    start: Refit, end: dict[str, Any], budget: float, most: int, fit: Callable[[dict[str, Any]], Refit]
) -> Refit:  # fmt: skip
    """Move a model towards dearer parameters by bisection, as far as its bound keeps the budget.

    ``fit`` gives the model of some parameters. Bills need not rise evenly on the way: of what was
    fitted, the dearest within the budget is kept.
    """
    best, low, high = start, start.params, end
    for _ in range(most):
        middle = between(low, high)
        if best.bound >= ENOUGH * budget or middle is None or middle in (low, high):
            break
        found = fit(middle)
        if found.bound > budget:
            high = middle
            continue
        low = middle
        if found.bill > best.bill:
            best = found
    return best
