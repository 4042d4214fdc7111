"""Lists of their own for parts of the rows: after the first purchases, who gains more from another goes on with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.estimators.budget._cells import Cutter
from worthwhile.estimators.budget._search import Columns, Search

Array = npt.NDArray[Any]

STARTS, STARTS_OF_TWO = 3, 2
"""Purchases of the first list after each of which rows part; fewer where there are only two classes, or numbers."""

CANDIDATES, CANDIDATES_OF_TWO = 16, 8
"""Purchases that they may part for."""

STEPS = 3
"""Purchases of a list of its own after the first."""

LEAST_PART = 100
"""Rows of the search that want the same next purchase, at least."""

PRIOR = 20.0
"""Rows of all that each cell's gains are drawn to."""


def lists_of_parts(
    search: Search, main: tuple[Columns, ...], power: float
) -> list[tuple[Columns, ...]]:
    """Lists that begin as the main one does and go on by what parts of the rows gain.

    The sets on them are sets for all rows, like any other: who goes which way is decided by the
    induction.

    Parameters
    ----------
    search : Search
    main : tuple of sets
        Ever larger, from what is free on.
    power : float
        Gains are over this power of the price.
    """
    two = search.table.n_outputs <= 2
    if two and not search.shop.prices_differ:
        return []  # nothing was gained on any set that was tried
    first = 0 if main[0] else 1  # with nothing known all rows are alike
    starts = STARTS_OF_TWO if two else STARTS
    found: dict[tuple[Columns, ...], None] = {}
    for start in range(first, min(starts + 1, len(main) - 1)):
        for step, rows in _parts(search, main[start], power):
            if step != main[start + 1]:
                own = search.forward_for(rows, step, power, STEPS)
                found.setdefault((*main[: start + 1], *own))
    return list(found)


def _parts(search: Search, have: Columns, power: float) -> list[tuple[Columns, Array]]:
    """Next purchases, and the rows that gain most from each, where they are enough."""
    everyone = np.arange(search.table.n_rows)
    many = CANDIDATES if search.table.n_outputs > 2 else CANDIDATES_OF_TWO
    looked = search.looked_at(have, power, search.alone(everyone))[:many]
    base, *worths = search.worths([have, *(look.columns for look in looked)])
    added = np.array([look.added for look in looked])
    gain = (np.array(worths) - base).T / added
    (votes,) = search.votes([have])
    cell = Cutter(search.table, search.table).cut(sorted(have), votes, votes, gain).cell
    weight = search.payoff.weight
    count = np.bincount(cell, weight)
    sums = np.array([np.bincount(cell, column * weight) for column in gain.T])
    usual = np.average(gain, axis=0, weights=weight)
    best = np.argmax((sums + PRIOR * usual[:, None]) / (count + PRIOR), axis=0)[cell]
    parts = [(look.columns, np.flatnonzero(best == i)) for i, look in enumerate(looked)]
    return [(columns, rows) for columns, rows in parts if len(rows) >= LEAST_PART]
