"""Histograms of one block of columns: adding rows up, bin by bin.

Three layouts. *Packed*: row count and gradient sum in one int64 (count in the low bits), for unit
weights: one addition instead of two. *Curved*: a packed number and a sum of curvature side by side.
*Wide*: any number of int64 statistics per bin, the first one
the weight. All hold integers, so neither the order of rows nor the number of threads matters, and
a sibling's histogram is the parent's minus the other child's, exactly.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.fetching import AHEAD, fetch
from worthwhile.core.boosting.paired_sums import add_pair
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS

_BYTE = np.uint64(255)
_U = np.uint64


@kernel(inline=True)
def pack(gradient):
    """One row in the packed layout."""
    return (np.int64(gradient) << COUNT_BITS) + 1


@kernel(inline=True)
def _place(word, column):
    """Bin of the code that a word has for a column; unsigned numbers need no sign test."""
    return _U(CODES * column) + ((word >> _U(8 * column)) & _BYTE)


@kernel(inline=True)
def fetch_words(words, rows, start, stop):
    """Ask for the words of some positions."""
    for i in range(start, stop):
        fetch(words, np.uint32(rows[i]))


# The loops over columns below have fixed lengths, so that the compiler writes them out.


@kernel("void(uint64[::1], int32[::1], int32[::1], int64, int64, boolean, int64[::1])", lean=True)
def add_packed(words, rows, gradients, start, stop, all_rows, histogram):
    """Add positions ``start..stop`` to the packed histogram (8 * 256,) of one block.

    ``gradients`` lie in the order of ``rows``; with ``all_rows`` position and row are the same.
    """
    if all_rows:
        for i in range(start, stop):
            word, value = words[i], pack(gradients[i])
            for column in range(BLOCK):
                histogram[_place(word, column)] += value
    else:
        fetch_words(words, rows, start, min(start + AHEAD, stop))
        for i in range(start, stop):
            fetch(words, np.uint32(rows[min(i + AHEAD, stop - 1)]))
            word, value = words[np.uint32(rows[i])], pack(gradients[i])
            for column in range(BLOCK):
                histogram[_place(word, column)] += value


@kernel(inline=True)
def add_in_order(words, gradients, start, stop, half, histogram):
    """As :func:`add_packed` where position and row are the same.

    ``half``: only the first four columns of the block are in use.
    """
    if half:
        for i in range(start, stop):
            word, value = words[i], pack(gradients[i])
            for column in range(BLOCK // 2):
                histogram[_place(word, column)] += value
    else:
        for i in range(start, stop):
            word, value = words[i], pack(gradients[i])
            for column in range(BLOCK):
                histogram[_place(word, column)] += value


@kernel(inline=True)
def add_prepared(words, rows, packed, start, stop, half, histogram):
    """As :func:`add_in_order`, row by row, with their packed values, of ``start`` the first, ready."""
    if half:
        for i in range(start, stop):
            word, value = words[np.uint32(rows[i])], packed[i - start]
            for column in range(BLOCK // 2):
                histogram[_place(word, column)] += value
    else:
        for i in range(start, stop):
            word, value = words[np.uint32(rows[i])], packed[i - start]
            for column in range(BLOCK):
                histogram[_place(word, column)] += value


@kernel(lean=True)
def add_curved(words, rows, packed, curvature, start, stop, half, in_order, histogram):
    """As :func:`add_prepared` for bins (8 * 256 * 2,) of a packed sum and a sum of curvature."""
    if half:
        for i in range(start, stop):
            row = np.uint32(i) if in_order else np.uint32(rows[i])
            word, value, second = words[row], packed[i - start], curvature[i - start]
            for column in range(BLOCK // 2):
                add_pair(histogram, _place(word, column), value, second)
    else:
        for i in range(start, stop):
            row = np.uint32(i) if in_order else np.uint32(rows[i])
            word, value, second = words[row], packed[i - start], curvature[i - start]
            for column in range(BLOCK):
                add_pair(histogram, _place(word, column), value, second)


@kernel("void(uint64[::1], int32[::1], int64[:,::1], int64, int64, int64[::1])", lean=True)
def add_wide(words, rows, statistics, start, stop, histogram):
    """Add positions to the wide histogram (columns * 256 * S,) of one block; ``statistics`` (n, S) go by row.

    A bin whose weight is 0 is empty, whatever else is in it: its first row replaces that.
    """
    width = _U(statistics.shape[1])
    columns = histogram.shape[0] // (CODES * statistics.shape[1])
    for i in range(start, stop):
        ahead = np.uint32(rows[min(i + AHEAD, stop - 1)])
        fetch(words, ahead)
        fetch(statistics, width * ahead)
        row = rows[i]
        word = words[row]
        for column in range(columns):
            code = (word >> _U(8 * column)) & _BYTE
            base = (_U(column * CODES) + code) * width
            if histogram[base] == 0:
                for k in range(width):
                    histogram[base + k] = statistics[row, k]
            else:
                for k in range(width):
                    histogram[base + k] += statistics[row, k]


@kernel("void(int64[::1])", lean=True)
def clear(histogram):
    """Empty all bins."""
    for i in range(histogram.shape[0]):
        histogram[i] = 0


@kernel("void(int64[::1], int64[::1])", lean=True)
def subtract(histogram, part):
    """Take one child out of the parent's histogram: what remains is the other child's."""
    for i in range(histogram.shape[0]):
        histogram[i] -= part[i]


# Of small nodes nearly all bins are empty, and wide ones are long: only weights, which come first, are
# cleared and looked at then.


@kernel("void(int64[::1], int64)", lean=True)
def clear_wide(histogram, width):
    """Empty all bins of a wide histogram: their weights are 0, whatever else they hold."""
    for i in range(0, histogram.shape[0], width):
        histogram[i] = 0


@kernel("void(int64[::1], int64[::1], int64)", lean=True)
def subtract_wide(histogram, part, width):
    """As :func:`subtract`, bin by bin, where an empty bin may hold anything."""
    for i in range(0, histogram.shape[0], width):
        if part[i] != 0:
            for k in range(width):
                histogram[i + k] -= part[i + k]
