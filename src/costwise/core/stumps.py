"""The best stump of one column, from the class weights on its sides.

Small nodes have their columns sorted and look at every gap between values; larger ones count classes
per interval between random thresholds, or per value. Everything here works on values, classes and
weights that were copied out of the node's rows.
"""

from __future__ import annotations

import numpy as np

from costwise.core.compile import kernel
from costwise.core.impurity import MINIMAX, PAIRS, after_split

RANDOM, SCAN = 0, 1
"""Thresholds drawn at random between the least and the greatest value, or all of them."""

SMALL = 500
"""Rows up to which a node has 20 random stumps, and is left to :mod:`costwise.core.subtrees`."""

FEW = 3
"""Gaps worth having up to which random thresholds are drawn gap by gap."""

CELLS = 8
"""Equal cells per random threshold; a value's cell tells, up to few steps, which are below it."""

MOST_STUMPS = 80

COUNTERS = 1 << 16
"""Counters (values times classes) up to which scans count instead of sorting."""

TOP = float(np.finfo(np.float64).max)
"""Threshold that every value passes, and only missing ones do not."""

_U = np.uint64

GO_RIGHT, GO_LEFT, HEAVIER = 0, 1, 2
"""Where missing values go; with the heavier side if the node had none."""

LEFT, RIGHT, MISSING = range(3)
"""Rows of the scratch array of class weights (3, K)."""


@kernel()
def n_stumps(n_rows):
    """Number of random stumps of a feature in a node: 80, 40 or 20 (section 3 of the paper)."""
    if n_rows > 2000:
        return 80
    return 40 if n_rows > SMALL else 20


@kernel()
def stream(seed, node, feature):
    """Key of the random numbers of one feature at one node: they depend on nothing else."""
    key = seed + _U(node) * _U(0x9E3779B97F4A7C15) + _U(feature) * _U(0xD1B54A32D192ED03)
    return key ^ (key >> _U(29))


@kernel()
def uniform(key, draw):
    """Random number ``draw`` of a stream, in (0, 1) (splitmix64)."""
    z = key + _U(draw + 1) * _U(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    z = z ^ (z >> _U(31))
    return (np.float64(z >> _U(11)) + 0.5) * 2.0**-53


@kernel()
def between(low, high, share):
    """A number in [low, high), at a share of the way."""
    found = low + (high - low) * share
    if not found < high:
        found = low
    return found


@kernel()
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


@kernel()
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


@kernel()
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


@kernel()
def scan_gaps(
    impurity, values, order, n, classes, weights, node_counts, has_missing, sides, score, side
):
    """Score every gap of sorted values; return the place of the best, -1 if there is none.

    ``order`` leads from sorted places to classes and weights. The gap after the last value sends all
    values one way, the missing ones the other.
    """
    place = -1
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
        if place < 0 or score[i] < score[place]:
            place = i
    return place


@kernel()
def scan_pairs(values, order, n, classes, weights, node_counts, sides, score):
    """As :func:`scan_gaps` for minimax Pairs with threshold 0 and nothing missing: O(1) per row.

    Moving weight w of class k to the left adds w (2 n_k + w) to the sum of squares there.
    """
    left, right = sides[LEFT], sides[RIGHT]
    left_total = left_squares = right_total = right_squares = 0.0
    for k in range(node_counts.shape[0]):
        left[k], right[k] = 0.0, node_counts[k]
        right_total += right[k]
        right_squares += right[k] * right[k]
    place, best = -1, np.inf
    score[n - 1] = np.inf
    for i in range(n - 1):
        k, w = classes[order[i]], weights[order[i]]
        left_squares += w * (left[k] + left[k] + w)
        right_squares -= w * (right[k] + right[k] - w)
        left[k] += w
        right[k] -= w
        left_total += w
        right_total -= w
        on_left = left_total * left_total - left_squares
        on_right = right_total * right_total - right_squares
        found = 0.5 * max(on_left, on_right)
        score[i] = found if values[i] != values[i + 1] else np.inf
        if score[i] < best:
            best, place = score[i], i
    return place


@kernel()
def draw_gap(values, n, score, key, bar):
    """Best gap that 20 random thresholds fall into: (place, threshold), or place -1.

    Of two thresholds in one gap the first drawn counts. Only gaps that score below ``bar`` do.
    """
    low, high = np.float64(values[0]), np.float64(values[n - 1])
    best, place, threshold = bar, -1, 0.0
    for draw in range(n_stumps(n)):
        t = between(low, high, uniform(key, draw))
        below, size = 0, n - 1  # values[below] <= t < values[below + size]; halved without jumps
        while size > 1:
            half = size >> 1
            below = below + half if values[below + half] <= t else below
            size -= half
        if score[below] < best:
            best, place, threshold = score[below], below, t
    return place, threshold


@kernel()
def sample_gap(values, n, score, key, bar):
    """As :func:`draw_gap`, for few gaps that count: the same distribution from fewer random numbers.

    Drawing thresholds and taking the best gap hit is the same as asking gap after gap, the best
    first, whether it was hit given that those before were not: mostly one number instead of 20.
    Scores of gaps that were missed are lost.
    """
    span = np.float64(values[n - 1]) - np.float64(values[0])
    rest, draw = 1.0, 0
    while True:
        place = -1
        for i in range(n - 1):
            if score[i] < bar and (place < 0 or score[i] < score[place]):
                place = i
        if place < 0:
            return -1, 0.0
        low, high = np.float64(values[place]), np.float64(values[place + 1])
        share = (high - low) / span if span < np.inf else 1.0
        missed = max(1.0 - share / rest, 0.0) if rest > 0.0 else 0.0
        power = missed * missed
        power = power * power
        power = power * power * power * power * power  # missed ** 20
        if uniform(key, draw) >= power:
            return place, between(low, high, uniform(key, draw + 1))
        score[place] = np.inf
        rest -= share
        draw += 2


@kernel()
def draw_thresholds(low, high, count, key, thresholds, table):
    """Draw sorted thresholds in [low, high); fill the table from cells to thresholds below.

    Returns the start of the first cell and the number of cells per unit.
    """
    for j in range(count):
        t, i = between(low, high, uniform(key, j)), j
        while i > 0 and thresholds[i - 1] > t:
            thresholds[i] = thresholds[i - 1]
            i -= 1
        thresholds[i] = t
    cells = CELLS * count
    scale = cells / (high - low)
    if not 0.0 < scale < np.inf:  # a span beyond the range of floats: one cell, many steps
        low, scale = 0.0, 0.0
    at = 0
    for cell in range(cells):  # thresholds in earlier cells
        while at < count and np.int64(min((thresholds[at] - low) * scale, cells - 1.0)) < cell:
            at += 1
        table[cell] = at
    return low, scale


@kernel()
def count_intervals(values, n, classes, weights, low, scale, count, thresholds, table, counters):
    """Class weights between thresholds: counters (count + 1, K), flat."""
    n_classes, last = counters.shape[1], CELLS * count - 1.0
    for j in range(count + 1):
        for k in range(n_classes):
            counters[j, k] = 0.0
    for i in range(n):
        x = np.float64(values[i])
        at = _U(table[_U(min((x - low) * scale, last))])
        while at < _U(count) and thresholds[at] < x:
            at += _U(1)
        counters[at, _U(classes[i])] += weights[i]


@kernel()
def count_numbers(values, n, classes, weights, low, span, counters):
    """Class weights per whole number from ``low`` on: counters (span, K)."""
    for j in range(span):
        for k in range(counters.shape[1]):
            counters[j, k] = 0.0
    for i in range(n):
        counters[np.int64(values[i]) - low, classes[i]] += weights[i]


@kernel()
def scan_counters(impurity, counters, count, whole_range, node_counts, has_missing, sides):
    """Best cut after counter j < count: (score, j, next counter with rows, side).

    ``whole_range``: the last counter is the end of the values, and a cut there sends only missing
    values right. Empty counters repeat the cut before and are passed over.
    """
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


@kernel()
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


@kernel()
def needed(whole, price, best_decrease, best_price, best_feature):
    """What a stump must take away at least to win; a hair less, so that ties are still looked at."""
    least = FLOOR * whole
    if best_feature < 0 or (price == 0.0 and best_price > 0.0):
        return least
    if price > 0.0 and best_price == 0.0:
        return np.inf
    rate = price / best_price if price > 0.0 else 1.0
    return max(least, best_decrease * rate * (1.0 - 1e-9))


@kernel()
def best_gap(
    impurity, mode, values, order, n, classes, weights, node_counts, has_missing, key, bar, room
):
    """Best stump of a sorted column: (score, cut, value after the cut, side of missing values).

    Random mode returns a threshold as the cut. Nothing that scores ``bar`` or worse is returned.
    """
    score, side, sides = room
    if impurity[0] == PAIRS and impurity[1] == 0.0 and impurity[4] == MINIMAX and not has_missing:
        place = scan_pairs(values, order, n, classes, weights, node_counts, sides, score)
        side[max(place, 0)] = HEAVIER
    else:
        place = scan_gaps(
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
    if place < 0 or not score[place] < bar:
        return np.inf, 0.0, 0.0, GO_RIGHT
    alone = score[n - 1]
    if place == n - 1:
        return alone, np.float64(values[n - 1]) if mode == SCAN else TOP, TOP, GO_RIGHT
    if mode == SCAN:
        return score[place], np.float64(values[place]), np.float64(values[place + 1]), side[place]
    # Missing values against the rest is no threshold: it is always looked at.
    bar_or_alone, candidates = min(bar, alone), 0
    for i in range(n - 1):
        candidates += 1 if score[i] < bar_or_alone else 0
    if candidates <= FEW:
        place, threshold = sample_gap(values, n, score, key, bar_or_alone)
    else:
        place, threshold = draw_gap(values, n, score, key, bar_or_alone)
    if place >= 0:
        return score[place], threshold, threshold, side[place] if has_missing else HEAVIER
    return (alone, TOP, TOP, GO_RIGHT) if alone < bar else (np.inf, 0.0, 0.0, GO_RIGHT)
