"""All exact prunings of a forest, from nothing bought to everything worth buying."""

from __future__ import annotations

import heapq
from itertools import pairwise

from worthwhile.estimators.forest._prune_problem import PruneProblem, Pruning

TOLERANCE = 1e-6
"""Capacities are whole numbers: smaller differences between objectives mean nothing."""


def breakpoints(problem: PruneProblem, max_points: int) -> list[tuple[float, Pruning]]:
    """Prunings with the lam below which each is the best, largest lam first.

    The least objective is a concave, piecewise linear function of lam. Between two known pieces, the
    lam where they cross either is a breakpoint or shows a piece below both.
    """
    cheap, dear = problem.cut(_ceiling(problem)), problem.cut(0.0)
    found: dict[tuple[float, float], tuple[float, Pruning]] = {}
    lines = {id(p): problem.parts(p.expanded) for p in (cheap, dear)}
    found[lines[id(cheap)]] = (_ceiling(problem), cheap)
    found.setdefault(lines[id(dear)], (0.0, dear))
    queue: list[tuple[float, int, Pruning, Pruning]] = []
    count = 0

    def push(low: Pruning, high: Pruning) -> None:
        nonlocal count
        (e1, c1), (e2, c2) = lines[id(low)], lines[id(high)]
        if c2 - c1 > 1e-12 and e1 - e2 > TOLERANCE:
            heapq.heappush(queue, (-(c2 - c1) * (e1 - e2), count, low, high))
            count += 1

    push(cheap, dear)
    while queue and len(found) < max_points:
        _, _, low, high = heapq.heappop(queue)
        (e1, c1), (e2, c2) = lines[id(low)], lines[id(high)]
        lam = (e1 - e2) / (c2 - c1)
        middle = problem.cut(lam)
        line = problem.parts(middle.expanded)
        if line[0] + lam * line[1] >= e1 + lam * c1 - TOLERANCE or line in found:
            continue
        lines[id(middle)] = line
        found[line] = (lam, middle)
        push(low, middle)
        push(middle, high)
    ordered = sorted(found.items(), key=lambda item: item[0][1])
    points = [(_ceiling(problem), ordered[0][1][1])]
    for ((e1, c1), _), ((e2, c2), (_, pruning)) in pairwise(ordered):
        points.append(((e1 - e2) / (c2 - c1), pruning))
    return points


def _ceiling(problem: PruneProblem) -> float:
    """A lam at which nothing is worth buying, unless it is free."""
    paid = problem.price[problem.price > 0]
    return 2.0 / float(paid.min()) if len(paid) else 1.0
