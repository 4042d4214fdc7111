"""The best stump of one column, from the class weights on its sides.

Small nodes have their columns sorted and look at every gap between values; larger ones count classes
per interval between random thresholds, or per value. Everything here works on values, classes and
weights that were copied out of the node's rows.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.draws import between, n_stumps, scans, uniform
from worthwhile.core.forest.impurity import MINIMAX, PAIRS, after_split
from worthwhile.core.forest.pair_gaps import hit_gap, scan_pair_counters, scan_pairs

CELLS = 4
"""Equal cells per random threshold; a value's cell tells, up to few steps, which are below it."""

COUNTERS = 1 << 16
"""Counters (values times classes) up to which scans count instead of sorting."""

TOP = float(np.finfo(np.float64).max)
"""Threshold that every value passes, and only missing ones do not."""

_U = np.uint64

GO_RIGHT, GO_LEFT, HEAVIER = 0, 1, 2
"""Where missing values go; with the heavier side if the node had none."""

LEFT, RIGHT, MISSING = range(3)
"""Rows of the scratch array of class weights (3, K)."""


@kernel(lean=True)
def judge(impurity, sides, node_counts, has_missing):
    """(impurity after the split, side of missing values) for the better way to send these."""
    left, right, missing = sides[LEFT], sides[RIGHT], sides[MISSING]
    score = after_split(impurity, left, node_counts, right)
    if not has_missing:
        return score, HEAVIER
    for k in range(left.shape[0]):
        left[k] += missing[k]
    other = after_split(impurity, left, node_counts, right)
    for k in range(left.shape[0]):
        left[k] -= missing[k]
    return (other, GO_LEFT) if other < score else (score, GO_RIGHT)


@kernel(lean=True)
def sort_values(values, n, order):
    """Sort values and note where they came from (Shell's sort)."""
    for i in range(n):
        order[i] = i
    gap = 1
    while gap < n // 3:
        gap = 9 * gap // 4 + 2
    while gap > 0:
        for i in range(gap, n):
            value, place, j = values[i], order[i], i
            while j >= gap and values[j - gap] > value:
                values[j], order[j] = values[j - gap], order[j - gap]
                j -= gap
            values[j], order[j] = value, place
        gap = 0 if gap == 1 else max(1, 4 * gap // 9)


@kernel(lean=True)
def sort_small(loose, n, values, order, cells):
    """Sort at most SMALL values into ``values`` and note where they came from.

    Values go to one of n equal cells, then insertion puts the few of a cell in order: three times
    as fast as sorting by comparisons alone. Infinity, which stands for missing, goes last.
    """
    low, high = np.inf, -np.inf
    for i in range(n):
        x = np.float64(loose[i])
        low = x if x < low else low
        high = x if high < x < np.inf else high
    scale = (n - 1) / (high - low) if high > low else 0.0
    if not 0.0 < scale < np.inf:  # one cell for all
        low, scale = 0.0, 0.0
    for cell in range(n + 2):
        cells[cell] = 0
    for i in range(n):
        x = np.float64(loose[i])
        cells[(n if x == np.inf else np.int64((x - low) * scale)) + 1] += 1
    for cell in range(n):
        cells[cell + 1] += cells[cell]
    for i in range(n):
        x = np.float64(loose[i])
        cell = n if x == np.inf else np.int64((x - low) * scale)
        values[cells[cell]], order[cells[cell]] = loose[i], i
        cells[cell] += 1
    for i in range(1, n):
        value, place, j = values[i], order[i], i
        while j > 0 and values[j - 1] > value:
            values[j], order[j] = values[j - 1], order[j - 1]
            j -= 1
        values[j], order[j] = value, place


@kernel(lean=True)
def scan_gaps(
    impurity, values, order, n, classes, weights, node_counts, has_missing, sides, score, side
):
    """Score every gap of sorted values; infinity where there is none.

    ``order`` leads from sorted places to classes and weights. The gap after the last value sends all
    values one way, the missing ones the other.
    """
    for k in range(node_counts.shape[0]):
        sides[LEFT, k] = 0.0
    for i in range(n):
        sides[LEFT, classes[order[i]]] += weights[order[i]]
        score[i] = np.inf
        last = i + 1 == n
        if (last and not has_missing) or (not last and values[i] == values[i + 1]):
            continue
        score[i], side[i] = judge(impurity, sides, node_counts, has_missing and not last)
        if last:
            side[i] = GO_RIGHT


@kernel(lean=True)
def draw_gap(values, n, score, low, high, key, draws):
    """Best gap of ``low..high`` that random thresholds fall into: (place, threshold), or place -1.

    Of two thresholds in one gap the first drawn counts.
    """
    start, end = np.float64(values[0]), np.float64(values[n - 1])
    first, last = np.float64(values[low]), np.float64(values[high])
    best, place, threshold = np.inf, -1, 0.0
    for draw in range(n_stumps(n, draws)):
        t = between(start, end, uniform(key, draw))
        if t < first or t >= last:
            continue
        below, size = low, high - low  # values[below] <= t < values[below + size]; halved
        while size > 1:
            half = size >> 1
            below = below + half if values[below + half] <= t else below
            size -= half
        if score[below] < best:
            best, place, threshold = score[below], below, t
    return place, threshold


@kernel(lean=True)
def least_gap(values, score, low, high):
    """Best gap between different values, the first of equals; -1 if there is none."""
    place = -1
    for i in range(low, high):
        if values[i] != values[i + 1] and (place < 0 or score[i] < score[place]):
            place = i
    return place


@kernel(lean=True)
def _cell(x, low, scale, last):
    """Cell of a value; rises with it. Through a signed number: processors convert to these."""
    return _U(np.int64(min((x - low) * scale, last)))


@kernel(lean=True)
def draw_thresholds(low, high, count, key, thresholds, table, drawn):
    """Draw sorted thresholds in [low, high); fill the table from cells to thresholds in earlier cells.

    Returns the start of the first cell and the number of cells per unit. ``thresholds`` (count + 1,)
    ends with infinity, ``table`` has room for two cells more, ``drawn`` (count,) is scratch.
    """
    cells, start = CELLS * count, low
    scale, last = cells / (high - low), CELLS * count - 1.0
    if not 0.0 < scale < np.inf:  # a span beyond the range of floats: one cell, many steps
        start, scale = 0.0, 0.0
    for cell in range(cells + 2):
        table[cell] = 0
    for j in range(count):
        drawn[j] = between(low, high, uniform(key, j))
        table[_cell(drawn[j], start, scale, last) + _U(2)] += 1
    for cell in range(cells + 1):
        table[cell + 1] += table[cell]
    for j in range(count):  # where a cell begins moves to where it ends: to where the next begins
        cell = _cell(drawn[j], start, scale, last) + _U(1)
        thresholds[table[cell]] = drawn[j]
        table[cell] += 1
    for j in range(1, count):  # few are out of order, and not far
        t, i = thresholds[j], j
        while i > 0 and thresholds[i - 1] > t:
            thresholds[i] = thresholds[i - 1]
            i -= 1
        thresholds[i] = t
    thresholds[count] = np.inf
    return start, scale


@kernel(lean=True)
def count_intervals(values, n, classes, weights, low, scale, count, thresholds, table, counters):
    """Class weights between thresholds: counters (count + 1, K)."""
    n_classes, last = counters.shape[1], CELLS * count - 1.0
    for j in range(count + 1):
        for k in range(n_classes):
            counters[j, k] = 0.0
    for i in range(n):
        x = np.float64(values[i])
        at = _U(table[_cell(x, low, scale, last)])
        at += _U(thresholds[at] < x)  # without a jump: most cells have one threshold at most
        while thresholds[at] < x:
            at += _U(1)
        counters[at, _U(classes[i])] += weights[i]


@kernel(lean=True)
def count_numbers(values, n, classes, weights, low, span, counters):
    """Class weights per whole number from ``low`` on: counters (span, K)."""
    for j in range(span):
        for k in range(counters.shape[1]):
            counters[j, k] = 0.0
    for i in range(n):
        counters[np.int64(values[i]) - low, classes[i]] += weights[i]


@kernel(lean=True)
def scan_counters(impurity, counters, count, whole_range, node_counts, has_missing, sides):
    """Best cut after counter j < count: (score, j, next counter with rows, side).

    ``whole_range``: the last counter is the end of the values, and a cut there sends only missing
    values right. Empty counters repeat the cut before and are passed over.
    """
    if impurity[0] == PAIRS and impurity[1] == 0.0 and not has_missing:
        minimax = impurity[4] == MINIMAX
        best, place, following = scan_pair_counters(
            counters, count, whole_range, node_counts, minimax, sides[LEFT]
        )
        return best, place, following, HEAVIER
    best, place, following, best_side = np.inf, -1, -1, HEAVIER
    left = sides[LEFT]
    for k in range(left.shape[0]):
        left[k] = 0.0
    for j in range(count):
        moved = 0.0
        for k in range(left.shape[0]):
            moved += counters[j, k]
            left[k] += counters[j, k]
        if moved == 0.0:
            continue
        if following < 0 and place >= 0:
            following = j
        last = whole_range and j == count - 1
        if last and not has_missing:
            continue
        score, side = judge(impurity, sides, node_counts, has_missing and not last)
        if score < best:
            best, place, following, best_side = score, j, -1, GO_RIGHT if last else side
    return best, place, following, best_side


FLOOR = 1e-7
"""A stump must take away more than this share of the impurity."""


@kernel(lean=True)
def better(decrease, price, feature, best_decrease, best_price, best_feature):
    """Whether a stump beats the best so far: lower risk price / decrease, then price, then feature."""
    if best_feature < 0:
        return True
    if (price == 0.0) != (best_price == 0.0):
        return price == 0.0
    mine, other = decrease, best_decrease
    if price > 0.0:
        mine, other = decrease * best_price, best_decrease * price
    if mine != other:
        return mine > other
    return price < best_price or (price == best_price and feature < best_feature)


@kernel(lean=True)
def bar_of(whole, price, feature, best_decrease, best_price, best_feature):
    """What a stump must score less than to win; not above 0 if it cannot.

    A hair more than the best so far where ties would be won, exactly that where they are lost.
    """
    least = whole - FLOOR * whole
    if best_feature < 0 or (price == 0.0 and best_price > 0.0):
        return least
    if price > 0.0 and best_price == 0.0:
        return -np.inf
    if price == best_price and feature > best_feature:
        return min(least, whole - best_decrease)
    rate = price / best_price if price > 0.0 else 1.0
    return min(least, whole - best_decrease * rate * (1.0 - 1e-9))


@kernel(lean=True)
def best_gap(
    impurity, draws, values, order, n, classes, weights, node_counts, has_missing, key, bar, room
):
    """Best stump of a sorted column: (score, cut, value after the cut, side of missing values).

    Random stumps return a threshold as the cut. Nothing that scores ``bar`` or worse is returned.
    """
    score, side, sides = room
    minimax, alone = impurity[4] == MINIMAX, np.inf
    plain = impurity[0] == PAIRS and impurity[1] == 0.0 and not has_missing
    place = 0
    if plain:
        low, high, place = scan_pairs(
            order, n, classes, weights, node_counts, minimax, bar, sides[LEFT], score
        )
    else:
        scan_gaps(
            impurity,
            values,
            order,
            n,
            classes,
            weights,
            node_counts,
            has_missing,
            sides,
            score,
            side,
        )
        alone, low, high = score[n - 1], 0, n - 1
        while low < high and not score[low] < bar:
            low += 1
        while low < high and not score[high - 1] < bar:
            high -= 1
    at, cut = -1, 0.0
    if low < high:
        if scans(draws):
            at = least_gap(values, score, low, high)
        elif plain and minimax:
            at, cut = hit_gap(values, n, score, low, high, place, key, draws)
        else:
            at, cut = draw_gap(values, n, score, low, high, key, draws)
    if plain and not minimax and at >= 0:
        score[at] /= node_counts.sum()
    # Missing values against the rest need no threshold: that is always looked at.
    if at >= 0 and score[at] < bar and score[at] <= alone:
        way = side[at] if has_missing else HEAVIER
        if scans(draws):
            return score[at], np.float64(values[at]), np.float64(values[at + 1]), way
        return score[at], cut, cut, way
    if alone < bar:
        return alone, np.float64(values[n - 1]) if scans(draws) else TOP, TOP, GO_RIGHT
    return np.inf, 0.0, 0.0, GO_RIGHT
