"""Small nodes with few random thresholds per column: nothing is sorted.

A row's values lie side by side, so that all columns are looked at in one go: their ranges, then the
class weights below each threshold. Sums are exact: weights are whole numbers, and few.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.draws import SMALL, between, stream, uniform
from worthwhile.core.forest.impurity import EXPECTED, PAIRS
from worthwhile.core.forest.stumps import FLOOR, better

FEW = 8
"""Thresholds per column up to which counting below each of them is faster than sorting."""

HEAVIEST = 2**24 // SMALL
"""Weight of a row up to which sums over a small node are exact in single precision."""


def applies(impurity, draws, complete, weights):
    """Whether the small nodes of a tree can be split here; ``complete``: no value is missing."""
    if impurity.kind != PAIRS or impurity.knob != 0.0 or impurity.criterion != EXPECTED:
        return False
    if not (complete and 0 < draws[2] <= FEW):
        return False
    return bool(weights.max(initial=0.0) <= HEAVIEST and (weights == np.rint(weights)).all())


@kernel(lean=True)
def load_lines(blocks, rows, start, n, lines):
    """Copy the values of a subtree's rows: ``lines`` (n, columns)."""
    per_line = blocks.shape[2]
    for block in range(blocks.shape[0]):
        first = block * per_line
        for j in range(n):
            row = np.uint32(rows[start + j])
            for c in range(per_line):
                lines[j, first + c] = blocks[block, row, c]


@kernel(lean=True)
def _ranges(lines, ids, low, high):
    """Least and greatest value of every column."""
    n_columns = lines.shape[1]
    for c in range(n_columns):
        low[c], high[c] = np.inf, -np.inf
    for j in range(ids.shape[0]):
        row = np.uint32(ids[j])
        for c in range(n_columns):
            x, least, most = lines[row, c], low[c], high[c]
            low[c] = x if x < least else least
            high[c] = x if x > most else most


@kernel(lean=True)
def _draw(low, high, key, cuts, cut_bits, column):
    """Thresholds of one column, rounded down: a single-precision value is below both or neither.

    ``cut_bits`` is the same memory read as whole numbers, which order floats by their size.
    """
    for draw in range(cuts.shape[0]):
        t = between(low, high, uniform(key, draw))
        cut = np.float32(t)
        cuts[draw, column] = cut
        # By sums, not by choices, which processors guess wrong half the time. Of negative numbers,
        # -0.0 among them, the next lower one has the greater bits.
        above, positive = np.int32(np.float64(cut) > t), np.int32(cut > 0.0)
        cut_bits[draw, column] += above * (np.int32(1) - np.int32(2) * positive)


@kernel(lean=True)
def _count_below(lines, ids, classes, weights, cuts, below):
    """Class weights at or below each threshold: ``below`` (K, draws, columns)."""
    n_columns = lines.shape[1]
    for j in range(ids.shape[0]):
        row = np.uint32(ids[j])
        k, w = np.uint32(classes[row]), np.float32(weights[row])
        for draw in range(cuts.shape[0]):
            for c in range(n_columns):
                below[k, draw, c] += w if lines[row, c] <= cuts[draw, c] else np.float32(0.0)


@kernel(lean=True)
def _score(below, draw, node_counts, whole, squares, sums):
    """What each column's threshold leaves of the impurity, times the weight of the node.

    Rows of ``sums`` (5, columns): three for scratch, the least score so far and its draw.
    """
    n_columns = sums.shape[1]
    total, left_squares, product, least, which = sums[0], sums[1], sums[2], sums[3], sums[4]
    for c in range(n_columns):
        total[c] = left_squares[c] = product[c] = 0.0
    for k in range(node_counts.shape[0]):
        most = node_counts[k]
        if most > 0.0:
            for c in range(n_columns):
                w, a, b, p = np.float64(below[k, draw, c]), total[c], left_squares[c], product[c]
                total[c] = a + w
                left_squares[c] = b + w * w
                product[c] = p + w * most
    for c in range(n_columns):
        a, b, p, least_c, which_c = total[c], left_squares[c], product[c], least[c], which[c]
        rest = whole - a
        on_left = 0.5 * (a * a - b)
        on_right = 0.5 * (rest * rest - (squares - 2.0 * p + b))
        here = a * on_left + rest * on_right
        least[c] = here if here < least_c else least_c
        which[c] = np.float64(draw) if here < least_c else which_c


@kernel(lean=True)
def _score_two(one, other, draw, first, second, least, which):
    """The same in a node of two classes, of weights ``first`` and ``second``."""
    for c in range(least.shape[0]):
        a, b, least_c, which_c = np.float64(one[c]), np.float64(other[c]), least[c], which[c]
        rest_a, rest_b = first - a, second - b
        here = (a + b) * (a * b) + (rest_a + rest_b) * (rest_a * rest_b)
        least[c] = here if here < least_c else least_c
        which[c] = np.float64(draw) if here < least_c else which_c


@kernel(lean=True)
def choose_column(
    seed, number, ids, classes, weights, node_counts, impurity, price, column_feature, lines, room
):  # fmt: skip
    """The best stump of the columns: (decrease, price, feature or -1, threshold)."""
    low, high, cuts, cut_bits, below, sums = room
    n_draws, n_columns = cuts.shape
    _ranges(lines, ids, low, high)
    for c in range(n_columns):
        f = column_feature[c]
        if f >= 0 and low[c] < high[c]:
            key = stream(seed, number, f)
            _draw(np.float64(low[c]), np.float64(high[c]), key, cuts, cut_bits, c)
    whole = squares = 0.0
    one = other = present = 0
    for k in range(node_counts.shape[0]):
        if node_counts[k] > 0.0:
            one, other, present = other, k, present + 1
        whole += node_counts[k]
        squares += node_counts[k] * node_counts[k]
        if node_counts[k] > 0.0:
            for draw in range(n_draws):
                for c in range(n_columns):
                    below[k, draw, c] = 0.0
    _count_below(lines, ids, classes, weights, cuts, below)
    for c in range(n_columns):
        sums[3, c] = np.inf
    for draw in range(n_draws):
        if present == 2:
            first, second = node_counts[one], node_counts[other]
            _score_two(below[one, draw], below[other, draw], draw, first, second, sums[3], sums[4])
        else:
            _score(below, draw, node_counts, whole, squares, sums)
    best_decrease, best_price, best, best_column = 0.0, 0.0, -1, 0
    for c in range(n_columns):
        f = column_feature[c]
        if f < 0 or not low[c] < high[c]:
            continue
        decrease = impurity - sums[3, c] / whole
        if decrease > FLOOR * impurity and better(
            decrease, price[f], f, best_decrease, best_price, best
        ):
            best_decrease, best_price, best, best_column = decrease, price[f], f, c
    cut = 0.0
    if best >= 0:
        share = uniform(stream(seed, number, best), np.int64(sums[4, best_column]))
        cut = between(np.float64(low[best_column]), np.float64(high[best_column]), share)
    return best_decrease, best_price, best, cut


@kernel(lean=True)
def mark_lines(lines, column, ids, cut, goes_left):
    """Note for each row whether it goes left."""
    for j in range(ids.shape[0]):
        row = np.uint32(ids[j])
        goes_left[row] = np.float64(lines[row, column]) <= cut
