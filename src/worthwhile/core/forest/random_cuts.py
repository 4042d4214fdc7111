"""Nodes split at one random cut of every column: all columns of a row lie side by side.

For rows of classes that weigh 1 and lack nothing. A row's codes are one line, padded to whole ``LANES``, so that
its columns are compared in a few instructions: first their ranges, then the classes at or below each cut. Draws and
scores are those of :mod:`bagged_trees`, in the same order, and so are the trees.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.draws import draw_below

LANES = 16
"""Columns that are compared at once."""

WASTE = 8
"""Of so many columns one must be tried: the others are compared for nothing."""


@kernel(lean=True)
def applies(missing, columns, n_tried):
    """Whether nothing is missing in the columns, and enough of them are tried."""
    for column in columns:
        if missing[column] >= 0:
            return False
    return WASTE * n_tried >= columns.shape[0]


@kernel()
def make_lines(codes, columns, n):
    """Codes of the columns for the first ``n`` rows, (n, lanes), and room for their ranges and cuts, (3, lanes)."""
    width = -(-columns.shape[0] // LANES) * LANES
    lines = np.zeros((n, width), np.uint8)
    for lane in range(columns.shape[0]):
        for row in range(n):
            lines[row, lane] = codes[columns[lane], row]
    return lines, np.zeros((3, width), np.uint8)


@kernel(lean=True)
def _find_ranges(lines, rows, lo, hi, low, high):
    """Least and greatest code of every lane."""
    width = lines.shape[1]
    for c in range(width):
        low[c] = high[c] = lines[rows[lo], c]
    for i in range(lo + 1, hi):
        row = np.uint32(rows[i])
        for c in range(width):
            code, least, most = lines[row, c], low[c], high[c]
            low[c] = min(code, least)
            high[c] = max(code, most)


@kernel(lean=True)
def _count_below(lines, rows, lo, hi, slot, cuts, below):
    """Rows of each class at or below the cut of every lane: ``below`` (classes, lanes)."""
    width = lines.shape[1]
    for k in range(below.shape[0]):
        for c in range(width):
            below[k, c] = 0
    for i in range(lo, hi):
        row, k = np.uint32(rows[i]), np.uint32(slot[i - lo])
        for c in range(width):
            below[k, c] += np.int32(lines[row, c] <= cuts[c])


@kernel(lean=True)
def _score(below, lane, m, total, least):
    """Sum of squares over weight of both sides; -1 where the cut does not leave enough on one."""
    count = 0
    for k in range(total.shape[0]):
        count += below[k, lane]
    if count < least or m - count < least:
        return -1.0
    here, there = 0.0, 0.0
    for k in range(total.shape[0]):
        left = np.float64(below[k, lane])
        here += left * left
        there += (total[k] - left) * (total[k] - left)
    return here / count + there / (m - count)


@kernel(lean=True)
def best_random_cut(kind, columns, rows, lo, hi, state, slot, total, side):
    """Feature and cut of the best split tried of rows ``lo..hi``; -1 where there is none.

    ``side``: lines, their ranges and cuts, counts below them, and for the columns as they stand their lanes, and
    those of the ones that are tried.
    """
    lines, room, below, lanes, chosen = side
    low, high, cuts = room[0], room[1], room[2]
    n_columns, tried = columns.shape[0], 0
    _find_ranges(lines, rows, lo, hi, low, high)
    for place in range(n_columns):
        if tried == kind.n_tried:
            break
        other = place + draw_below(state, n_columns - place)
        columns[place], columns[other] = columns[other], columns[place]
        lanes[place], lanes[other] = lanes[other], lanes[place]
        lane = lanes[place]
        least, most = np.int64(low[lane]), np.int64(high[lane])
        if least < most:
            cuts[lane] = least + draw_below(state, most - least)
            chosen[tried] = place
            tried += 1
    best, feature, cut = -1.0, np.int64(-1), np.int64(-1)
    if tried == 0:
        return feature, cut
    _count_below(lines, rows, lo, hi, slot, cuts, below)
    for i in range(tried):
        lane = lanes[chosen[i]]
        score = _score(below, lane, hi - lo, total, kind.min_leaf)
        if score > best:
            best, feature = score, 2 * np.int64(columns[chosen[i]])
            cut = np.int64(cuts[lane])
    return feature, cut
