"""Sets that join both sides of a gap in the bills of policies.

Where all rows change from one list to another at about the same worth of money, no policy lies between, and budgets
there are hardly used. What the policies on both sides buy, taken together, makes sets to which those rows go on from
the cheaper side that gain the most.
"""

from __future__ import annotations

import itertools

import numpy as np

from worthwhile.estimators.budget._induction import Induction, Points
from worthwhile.estimators.budget._search import Columns, Shop

ROUNDS = 3
"""How often gaps are looked for, at most."""

GAP = 0.34
"""What the dearer of two neighbours costs more makes a gap from this share of it on."""

LEAST_BILL = 0.01
"""Gaps below this share of the price of everything are left."""

VISITED, LEAST_VISITS = 2, 0.1
"""Of the sets that a policy comes to, so many by the share of the rows, and the share they need."""

Bridge = tuple[int, list[Columns]]
"""A node, and ever larger sets that rows may go on to from there."""


def find_bridges(induction: Induction, points: Points, shop: Shop) -> list[Bridge]:
    """From what the cheaper side of each gap buys to that and what the dearer one buys."""
    least = LEAST_BILL * float(shop.prices([frozenset(range(shop.n))])[0])
    found: dict[tuple[int, tuple[Columns, ...]], None] = {}
    for low, high in itertools.pairwise(range(len(points.bill))):
        few, many = points.bill[low], points.bill[high]
        if few <= 0 or many < least or many - few <= GAP * many:
            continue
        dearer = sorted(
            _most_visited(induction, points, high), key=lambda n: len(induction.member[n])
        )
        for node in _most_visited(induction, points, low):
            sets = [induction.member[node]]
            for other in dearer:
                sets.append(shop.closed(sets[-1] | induction.member[other]))
            larger = tuple(dict.fromkeys(s for s in sets if s != sets[0]))
            if larger:
                found.setdefault((node, larger))
    return [(node, list(sets)) for node, sets in found]


def _most_visited(induction: Induction, points: Points, point: int) -> list[int]:
    visits = induction.visits(points.choice[point])
    order = np.argsort(-visits, kind="stable")[:VISITED]
    return order[visits[order] > LEAST_VISITS].tolist()
