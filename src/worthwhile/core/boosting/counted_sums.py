"""Wide histograms of rows that all weigh 1: added up packed, a part of the rows at a time.

A count and a gradient sum of more than two million rows do not fit one number. Those of fewer do, and one addition
instead of two, without a look at whether the bin is empty, is most of the time of training. So rows are added up in
the packed (or curved) layout while it cannot overflow, and its bins are then added to the wide ones: the same integers.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.fetching import AHEAD, fetch
from worthwhile.core.boosting.histogram import add_curved, add_prepared, add_wide, clear, pack
from worthwhile.core.boosting.partition import CHUNK, HIGH, LOW
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS

FEW = 4096
"""Rows below which a node's bins, mostly empty, take longer to add to the wide ones than its rows do."""

_COUNT = np.int64((1 << COUNT_BITS) - 1)


@kernel()
def room_to_count():
    """Arrays that :func:`add_pieces` works in: packed values and curvatures of a piece, and bins of a block."""
    return (
        np.empty(CHUNK, np.int64), np.empty(CHUNK, np.int64), np.empty(2 * BLOCK * CODES, np.int64),
    )  # fmt: skip


@kernel(lean=True)
def _spread(sums, histogram, width):
    """Add packed bins, with curvature where there is any, to a wide histogram, and empty them."""
    step = width - 1
    for b in range(histogram.shape[0] // width):
        packed, base = sums[b * step], b * width
        count = packed & _COUNT
        if count != 0:
            if histogram[base] == 0:
                for k in range(1, width):
                    histogram[base + k] = 0
            histogram[base] += count
            histogram[base + 1] += packed >> COUNT_BITS
            if step > 1:
                histogram[base + 2] += sums[b * step + 1]
    clear(sums)


@kernel(lean=True)
def add_counted(words, rows, statistics, pieces, first, last, most, room, histogram):
    """As :func:`add_wide` for some pieces, whose statistics are 1, a gradient and perhaps a curvature.

    ``most``: rows whose packed sums cannot overflow.
    """
    packed, second, bins = room
    width = statistics.shape[1]
    sums = bins[: BLOCK * CODES * (width - 1)]
    half = histogram.shape[0] <= BLOCK // 2 * CODES * width
    clear(sums)
    held = 0
    for p in range(first, last):
        low, high = pieces[p, LOW], pieces[p, HIGH]
        if held + high - low > most:
            _spread(sums, histogram, width)
            held = 0
        held += high - low
        for i in range(low, high):
            ahead = np.uint32(rows[min(i + AHEAD, high - 1)])
            fetch(statistics, np.uint64(width) * ahead)
            fetch(words, ahead)  # for the loop that adds
            packed[i - low] = pack(statistics[np.uint32(rows[i]), 1])
        if width > 2:
            for i in range(low, high):
                second[i - low] = statistics[np.uint32(rows[i]), 2]
            add_curved(words, rows, packed, second, low, high, half, False, sums)
        else:
            add_prepared(words, rows, packed, low, high, half, sums)
    _spread(sums, histogram, width)


@kernel(
    "void(uint64[::1], int32[::1], int64[:,::1], int64[:,::1], int64, int64, int64,"
    " Tuple((int64[::1], int64[::1], int64[::1])), int64[::1])",
    lean=True,
)
def add_pieces(words, rows, statistics, pieces, first, last, most, room, histogram):
    """Add some pieces to the wide histogram of one block.

    ``most``: 0 where rows have weights or several outputs, else as in :func:`add_counted`.
    """
    count = 0
    for p in range(first, last):
        count += pieces[p, HIGH] - pieces[p, LOW]
    if most > 0 and count >= FEW:
        add_counted(words, rows, statistics, pieces, first, last, most, room, histogram)
    else:
        for p in range(first, last):
            add_wide(words, rows, statistics, pieces[p, LOW], pieces[p, HIGH], histogram)
