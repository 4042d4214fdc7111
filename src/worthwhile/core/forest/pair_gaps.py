"""Gaps of a sorted column under Pairs with threshold 0, the paper's setting, with nothing missing.

Moving rows to the left, what the left side adds to the score never falls, and what the right side
adds never rises. So gaps that score below a bar lie side by side, and a scan may stop where the left
side alone is too impure. Under minimax, scores moreover fall to one place and rise after it: from
there outwards gaps come in order of score, and one random number stands for all thresholds drawn.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.draws import between, n_stumps, uniform


@kernel(inline=True)
def _note(i, on_left, on_right, limit, minimax, low, place, best, score):
    """Score the gap after place i; (first gap below the limit, place of the least, the least)."""
    if not on_right < limit:
        low = i + 1
    here = max(on_left, on_right) if minimax else on_left + on_right
    score[i] = here
    if here < best:
        best, place = here, i
    return low, place, best


@kernel(inline=True)
def _clear(node_counts, left):
    """Empty the left side; (weight of the node, sum of its squared classes)."""
    whole = squares = 0.0
    for k in range(node_counts.shape[0]):
        left[k] = 0.0
        whole += node_counts[k]
        squares += node_counts[k] * node_counts[k]
    return whole, squares


@kernel(inline=True)
def _sides(total, whole, left_squares, right_squares, minimax):
    """Pairs of different classes on both sides, under the mean over sides times their weights."""
    rest = whole - total
    on_left = 0.5 * (total * total - left_squares)
    on_right = 0.5 * (rest * rest - right_squares)
    if minimax:
        return on_left, on_right
    return total * on_left, rest * on_right


@kernel(lean=True)
def scan_two(order, n, classes, weights, one, first, second, minimax, bar, score):
    """Scores of the gaps below ``bar`` in a node of two classes: (first, end, place of the least).

    ``one`` is the class of weight ``first``. The gap after place i has score i, also where the
    values on both sides are the same. Means over the sides are left as sums, to be divided by the
    weight of the node.
    """
    mine = total = 0.0
    whole, low, place, best = first + second, 0, 0, np.inf
    limit = bar if minimax else bar * whole
    for i in range(n - 1):
        at = np.uint32(order[i])  # unsigned, or it would be checked for being negative
        w = weights[at]
        total += w
        mine += w if classes[at] == one else 0.0
        other = total - mine
        on_left, on_right = mine * other, (first - mine) * (second - other)
        if not minimax:
            on_left, on_right = total * on_left, (whole - total) * on_right
        if not on_left < limit:
            return low, i, place
        low, place, best = _note(i, on_left, on_right, limit, minimax, low, place, best, score)
    return low, n - 1, place


@kernel(lean=True)
def scan_many(order, n, classes, weights, node_counts, minimax, bar, left, score):
    """As :func:`scan_two` for any number of classes; ``left`` (K,) is scratch.

    Moving weight w of class k adds w (2 n_k + w) to the sum of squares on the left; that on the
    right follows from the sums over both sides.
    """
    whole, squares = _clear(node_counts, left)
    total = left_squares = product = 0.0
    low, place, best = 0, 0, np.inf
    limit = bar if minimax else bar * whole
    for i in range(n - 1):
        at = np.uint32(order[i])
        k, w = np.uint32(classes[at]), weights[at]
        left_squares += w * (left[k] + left[k] + w)
        product += w * node_counts[k]
        left[k] += w
        total += w
        right_squares = squares - 2.0 * product + left_squares
        on_left, on_right = _sides(total, whole, left_squares, right_squares, minimax)
        if not on_left < limit:
            return low, i, place
        low, place, best = _note(i, on_left, on_right, limit, minimax, low, place, best, score)
    return low, n - 1, place


@kernel(lean=True)
def scan_pairs(order, n, classes, weights, node_counts, minimax, bar, left, score):
    """Scores of the gaps below ``bar``: (first, end, place of the least); see :func:`scan_two`."""
    one = other = -1
    several = False
    for k in range(node_counts.shape[0]):
        if node_counts[k] > 0.0:
            several = several or other >= 0
            other, one = (k, one) if one >= 0 else (other, k)
    if several or other < 0:
        return scan_many(order, n, classes, weights, node_counts, minimax, bar, left, score)
    first, second = node_counts[one], node_counts[other]
    return scan_two(order, n, classes, weights, one, first, second, minimax, bar, score)


@kernel(lean=True)
def scan_pair_counters(counters, count, whole_range, node_counts, minimax, left):
    """Best cut after counter j < count: (score, j, next counter with rows).

    ``whole_range``: the last counter is the end of the values, and no cut. Empty counters repeat
    the cut before and are passed over.
    """
    whole, squares = _clear(node_counts, left)
    total = left_squares = product = 0.0
    place, following, best = -1, -1, np.inf
    for j in range(count):
        before = total
        for k in range(node_counts.shape[0]):
            w = counters[j, k]
            left_squares += w * (left[k] + left[k] + w)
            product += w * node_counts[k]
            left[k] += w
            total += w
        if total == before:
            continue
        following = j if following < 0 and place >= 0 else following
        if whole_range and j == count - 1:
            break
        right_squares = squares - 2.0 * product + left_squares
        on_left, on_right = _sides(total, whole, left_squares, right_squares, minimax)
        here = max(on_left, on_right) if minimax else (on_left + on_right) / whole
        if here < best:
            best, place, following = here, j, -1
        elif minimax and following >= 0:  # it has begun to rise
            break
    return best, place, following


@kernel(lean=True)
def to_the_power(share, count):
    """``share ** count`` for a whole number, by the same multiplications everywhere."""
    power = 1.0
    while count > 0:
        if count & 1:
            power *= share
        share *= share
        count >>= 1
    return power


@kernel(lean=True)
def hit_gap(values, n, score, low, high, place, key, draws):
    """Best gap that random thresholds fall into, under minimax: (place, threshold), or place -1.

    Gaps ``low..high`` count, ``place`` is the best. That none of m thresholds falls into a share s
    of the range has the probability (1 - s)**m: gap after gap, the best first, is asked whether
    this went below one random number. Of equally good gaps the right one is asked first.
    """
    span = np.float64(values[n - 1]) - np.float64(values[0])
    count, luck = n_stumps(n, draws), uniform(key, 0)
    share = (np.float64(values[high]) - np.float64(values[low])) / span
    if to_the_power(1.0 - share, count) > luck:  # as for most columns: no threshold is good enough
        return -1, 0.0
    # Where weights are no whole numbers, rounding may put the best place beside the others.
    left = right = min(max(place, low), high - 1)
    while True:
        if right < high and (left == low or score[right] <= score[left - 1]):
            at = right
            right += 1
        elif left > low:
            left -= 1
            at = left
        else:
            return -1, 0.0
        share = (np.float64(values[right]) - np.float64(values[left])) / span
        if to_the_power(1.0 - share, count) <= luck:
            return at, between(np.float64(values[at]), np.float64(values[at + 1]), uniform(key, 1))
