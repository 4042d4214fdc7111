"""The best cut of a column between two classes of rows that weigh 1.

Counts are whole numbers, so nothing has to be summed in an order; scores are those of :mod:`bagged_trees`, to the bit.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel

FEW = 24
"""Rows up to which they are sorted by insertion; above, by counting."""

SPARSE = 4
"""Codes for each row up to which rows are counted by code; with more, they are sorted."""

_ONES = 32
"""Bits from which on a count by code holds the rows of the second class."""


@kernel(lean=True)
def sort_keys(keys, m, low, high, count, order):
    """Positions 0..m-1 in the order of their keys, equal ones in their own."""
    if m <= FEW:
        for i in range(m):
            key, j = keys[i], i
            while j > 0 and keys[order[j - 1]] > key:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
        return
    for key in range(low, high + 2):
        count[key] = 0
    for i in range(m):
        count[keys[i] + 1] += 1
    for key in range(low + 1, high + 1):
        count[key] += count[key - 1]
    for i in range(m):
        order[count[keys[i]]] = i
        count[keys[i]] += 1


@kernel(lean=True)
def _score(below, ones_below, m, ones):
    """Sum of squares over weight of both sides."""
    above, ones_above = m - below, ones - ones_below
    left, right = np.float64(below - ones_below), np.float64(above - ones_above)
    first, second = np.float64(ones_below), np.float64(ones_above)
    return (left * left + first * first) / below + (right * right + second * second) / above


@kernel(lean=True)
def _by_code(keys, m, low, high, slot, ones, table, least):
    """Best score and the last key on its left, of counts for each code."""
    for key in range(high - low + 1):
        table[key] = 0
    for i in range(m):
        table[keys[i] - low] += 1 + (slot[i] << _ONES)
    below, ones_below, last, best, cut = 0, 0, -1, -1.0, -1
    for key in range(low, high + 1):
        here = table[key - low]
        if here == 0:
            continue
        if below >= least and m - below >= least:
            score = _score(below, ones_below, m, ones)
            if score > best:
                best, cut = score, (last + key - 1) // 2
        ones_below += here >> _ONES
        below += here & ((1 << _ONES) - 1)
        last = key
    return best, cut


@kernel(lean=True)
def _by_order(keys, order, m, slot, ones, least):
    """The same of sorted rows."""
    ones_below, best, cut = 0, -1.0, -1
    for i in range(m - least):
        ones_below += slot[order[i]]
        key, following = keys[order[i]], keys[order[i + 1]]
        if key != following and i + 1 >= least:
            score = _score(i + 1, ones_below, m, ones)
            if score > best:
                best, cut = score, (key + following - 1) // 2
    return best, cut


@kernel(lean=True)
def best_cut_of_two(keys, m, low, high, slot, ones, room, least):
    """Best score of a cut and the last key on its left; -1 where no cut leaves ``least`` rows on both sides.

    ``ones``: rows of the second class; ``room``: for an order, counts of codes and a table of them.
    """
    order, count, table = room
    if high - low < SPARSE * m:
        return _by_code(keys, m, low, high, slot, ones, table, least)
    sort_keys(keys, m, low, high, count, order)
    return _by_order(keys, order, m, slot, ones, least)
