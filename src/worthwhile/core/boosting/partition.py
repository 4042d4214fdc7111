"""Rows of nodes: row numbers in chunks, in which every node owns one stretch per chunk.

Splitting a node rearranges its stretch of each chunk in place, left rows first, order kept::

    chunk before   | node: L R R L R L | others |
    chunk after    | left: L L L | right: R R R | others |

Rows never leave their chunk, so a split is one pass over data that stays in cache, chunks are
independent of each other, and rows ascend within every node.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import CODES, SET_WORDS, SUM

CHUNK = 8192

# Columns of a split: where the feature's codes are, and which of them go left.
# A category's codes go left where the set, which begins at SET, has their bit.
BLOCK_, BYTE, STRIDE, STATES, BINS, UP, CATEGORY, CUT, SET = range(9)
SPLIT_COLUMNS = SET + SET_WORDS

# Columns of a piece, the stretch of a node in one chunk: the split to apply, first position, end,
# and, after the split, how many rows went left.
SPLIT, LOW, HIGH, LEFTS = range(4)


@kernel(lean=True)
def goes_left(split, table):
    """Fill a table (256,) with 1 for codes that go left, 0 for others."""
    for code in range(CODES):
        state = (code // split[STRIDE]) % split[STATES]
        if split[UP] > 0:
            state = np.int64(state == split[UP])
        if state >= split[BINS]:
            table[code] = split[CUT] & 1
        elif split[CATEGORY] > 0:
            table[code] = (split[SET + (state >> 6)] >> (state & 63)) & 1
        else:
            table[code] = 1 if state <= split[CUT] >> 1 else 0


@kernel()
def sides_of(splits):
    """Table (splits, 256): 1 for codes that go left, 0 for others."""
    table = np.empty((splits.shape[0], CODES), np.uint8)
    for k in range(splits.shape[0]):
        goes_left(splits[k], table[k])
    return table


@kernel(lean=True)
def divide_rows(block, shift, table, rows, all_rows, start, stop, right_rows):
    """Rearrange positions ``start..stop``, left rows first; return where the right ones begin."""
    left, right = np.uint64(start), np.uint64(0)
    for i in range(start, stop):
        row = np.int32(i) if all_rows else rows[i]
        goes = np.uint64(table[(block[np.uint32(row)] >> shift) & np.uint64(255)])
        # Written to both sides, one side advances: no jump to mispredict. The left side never
        # overtakes the reading position.
        rows[left] = row
        right_rows[right] = row
        left += goes
        right += np.uint64(1) - goes
    middle = np.int64(left)
    for i in range(stop - middle):
        rows[middle + i] = right_rows[i]
    return middle


@kernel(lean=True)
def divide_both(block, shift, table, rows, source, gradients, all_rows, start, stop, right):
    """As :func:`divide_rows`; gradients travel along, from ``source`` to ``gradients``."""
    right_rows, right_gradients = right
    left, right_count = np.uint64(start), np.uint64(0)
    for i in range(start, stop):
        row = np.int32(i) if all_rows else rows[i]
        goes = np.uint64(table[(block[np.uint32(row)] >> shift) & np.uint64(255)])
        gradient = source[i]
        gradients[left] = gradient
        right_gradients[right_count] = gradient
        rows[left] = row
        right_rows[right_count] = row
        left += goes
        right_count += np.uint64(1) - goes
    middle = np.int64(left)
    for i in range(stop - middle):
        rows[middle + i] = right_rows[i]
        gradients[middle + i] = right_gradients[i]
    return middle


@kernel(
    "void(uint64[:,::1], int32[::1], int32[::1], int32[::1], boolean, boolean, int64[:,::1],"
    " int64[:,::1], int64, int64)"
)
def divide(words, rows, source, gradients, all_rows, carry, splits, pieces, low, high):
    """Split pieces ``low..high`` in place; note the number of left rows in column LEFTS.

    ``all_rows``: nothing was moved yet, position and row are the same. ``carry``: gradients travel
    with their rows, from ``source`` to ``gradients``, which may be one array.
    """
    tables = sides_of(splits)
    right = np.empty(CHUNK, np.int32), np.empty(CHUNK, np.int32)
    for p in range(low, high):
        split = splits[pieces[p, SPLIT]]
        block, shift = words[split[BLOCK_]], np.uint64(8 * split[BYTE])
        table, start, stop = tables[pieces[p, SPLIT]], pieces[p, LOW], pieces[p, HIGH]
        if carry:
            middle = divide_both(
                block, shift, table, rows, source, gradients, all_rows, start, stop, right
            )
        else:
            middle = divide_rows(block, shift, table, rows, all_rows, start, stop, right[0])
        pieces[p, LEFTS] = middle - start


@kernel("void(int64[:,::1], int32[::1], int64[:,::1], int64[:,::1])", lean=True)
def add_statistics(statistics, rows, pieces, totals):
    """Add the statistics (n, S) of the rows of each piece to the totals (k, S) of its split's node."""
    for p in range(pieces.shape[0]):
        for i in range(pieces[p, LOW], pieces[p, HIGH]):
            for k in range(statistics.shape[1]):
                totals[pieces[p, SPLIT], k] += statistics[rows[i], k]


def chunks(n_rows):
    """The pieces (k, 2) of a root: first position and end of every chunk."""
    low = np.arange(0, n_rows, CHUNK, dtype=SUM)
    return np.stack([low, np.minimum(low + CHUNK, n_rows)], axis=1)


def gather_pieces(nodes):
    """Pieces (k, 4) of several nodes under one another, numbered by node."""
    sizes = [len(pieces) for pieces in nodes]
    joined = np.zeros((sum(sizes), 4), dtype=SUM)
    joined[:, SPLIT] = np.repeat(np.arange(len(nodes)), sizes)
    if len(joined):
        joined[:, LOW : HIGH + 1] = np.concatenate(nodes)
    return joined
