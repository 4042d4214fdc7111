"""Rows of nodes: a permutation of row numbers in which every node owns one stretch.

Splitting a node rearranges its stretch, left rows first, order kept::

    before   | node ............................. |
    chunks   | L R R L . . | R L L . . . | L R . .|     each chunk to scratch: L from the front,
    scratch  | L L . . R R | L L . . R R | L . . R|     R from the back
    after    | L L L L L . . . | R R R R R ...... |     chunk by chunk back into place

Order kept means that rows ascend within every node, so that reading codes is almost sequential.
"""

from __future__ import annotations

import numpy as np

from costwise.core.compile import kernel
from costwise.core.dtypes import CODES

CHUNK = 8192

# Columns of a split: the stretch, where the feature's codes are, and which of them go left.
START, STOP, BLOCK_, BYTE, STRIDE, STATES, BINS, CUT = range(8)
WHOLE = -1
"""Value of CUT for a stretch that is not split: every row counts as left."""

# Columns of a piece of work: the split, and a part of its stretch.
SPLIT, LOW, HIGH, LEFTS = range(4)


@kernel(inline=True)
def _sides(split, table):
    """Fill a table (256,) with 1 for codes that go left."""
    for code in range(CODES):
        state = (code // split[STRIDE]) % split[STATES]
        if split[CUT] == WHOLE:
            table[code] = 1
        elif state >= split[BINS]:
            table[code] = split[CUT] & 1
        else:
            table[code] = 1 if state <= split[CUT] >> 1 else 0


@kernel(
    "void(uint64[:,::1], int32[::1], int32[::1], boolean, boolean, int32[::1], int32[::1], int64[:,::1],"
    " int64[:,::1], int64, int64)"
)
def divide(
    words, rows, gradients, all_rows, carry, to_rows, to_gradients, splits, pieces, low, high
):
    """Sort pieces ``low..high`` into scratch, left rows from the front, right rows from the back.

    Notes the number of left rows in column LEFTS. ``carry``: gradients travel with their rows.
    """
    table = np.empty(CODES, np.uint8)
    for p in range(low, high):
        split = splits[pieces[p, SPLIT]]
        _sides(split, table)
        block, shift = words[split[BLOCK_]], np.uint64(8 * split[BYTE])
        left, right = np.uint64(pieces[p, LOW]), np.uint64(pieces[p, HIGH] - 1)
        for i in range(pieces[p, LOW], pieces[p, HIGH]):
            row = np.int32(i) if all_rows else rows[i]
            goes = np.uint64(table[(block[np.uint32(row)] >> shift) & np.uint64(255)])
            # Written to both ends, one end advances: no jump to mispredict.
            to_rows[left], to_rows[right] = row, row
            if carry:
                to_gradients[left], to_gradients[right] = gradients[i], gradients[i]
            left += goes
            right -= np.uint64(1) - goes
        pieces[p, LEFTS] = np.int64(left) - pieces[p, LOW]


@kernel(
    "void(int32[::1], int32[::1], int32[::1], int32[::1], boolean, int64[:,::1], int64[:,::1], int64[::1],"
    " int64, int64)"
)
def gather(rows, gradients, from_rows, from_gradients, carry, splits, pieces, lefts, low, high):
    """Put pieces ``low..high`` back in place; ``lefts`` has the number of left rows of every split."""
    for p in range(low, high):
        s = pieces[p, SPLIT]
        before_left = before = np.int64(0)
        q = p - 1
        while q >= 0 and pieces[q, SPLIT] == s:
            before_left += pieces[q, LEFTS]
            before += pieces[q, HIGH] - pieces[q, LOW]
            q -= 1
        start, size = pieces[p, LOW], pieces[p, HIGH] - pieces[p, LOW]
        n_left = pieces[p, LEFTS]
        left = splits[s, START] + before_left
        right = splits[s, START] + lefts[s] + before - before_left
        for i in range(n_left):
            rows[left + i] = from_rows[start + i]
            if carry:
                gradients[left + i] = from_gradients[start + i]
        for i in range(size - n_left):
            rows[right + i] = from_rows[start + size - 1 - i]
            if carry:
                gradients[right + i] = from_gradients[start + size - 1 - i]


@kernel(
    "void(uint64[:,::1], int32[::1], boolean, int64[:,::1], int64[:,::1], float64[:,:,::1], float64[:,::1],"
    " int64, int64)"
)
def add_values(words, rows, all_rows, splits, pieces, values, scores, low, high):
    """Add to the scores (outputs, n) what the sides of each split say: values (splits, 2, outputs).

    The last level of a tree is applied here without being sorted first.
    """
    table = np.empty(CODES, np.uint8)
    for p in range(low, high):
        s = pieces[p, SPLIT]
        split = splits[s]
        _sides(split, table)
        block, shift = words[split[BLOCK_]], np.uint64(8 * split[BYTE])
        for k in range(scores.shape[0]):
            right, left = values[s, 1, k], values[s, 0, k]
            score = scores[k]
            for i in range(pieces[p, LOW], pieces[p, HIGH]):
                row = np.uint32(i) if all_rows else np.uint32(rows[i])
                goes = table[(block[row] >> shift) & np.uint64(255)]
                score[row] += left if goes else right


@kernel(
    "void(uint64[:,::1], int32[::1], boolean, int64[:,::1], int64[:,::1], float64[:,::1], int64[::1],"
    " int64[:,:,:,::1], int64, int64)"
)
def add_curvature(words, rows, all_rows, splits, pieces, curvature, weights, sums, low, high):
    """Add up the curvature (outputs, n) on both sides of each split: sums (splits, 2, outputs, 2).

    In units of 2**-30, times the weights (empty for unit weights); the last axis holds the sums of
    the upper and of the lower 15 bits, so that neither can overflow.
    """
    table = np.empty(CODES, np.uint8)
    for p in range(low, high):
        s = pieces[p, SPLIT]
        split = splits[s]
        _sides(split, table)
        block, shift = words[split[BLOCK_]], np.uint64(8 * split[BYTE])
        for i in range(pieces[p, LOW], pieces[p, HIGH]):
            row = np.uint32(i) if all_rows else np.uint32(rows[i])
            side = 1 - table[(block[row] >> shift) & np.uint64(255)]
            weight = weights[row] if weights.shape[0] > 0 else np.int64(1)
            for k in range(curvature.shape[0]):
                value = np.int64(np.rint(curvature[k, row] * 1073741824.0))
                sums[s, side, k, 0] += (value >> 15) * weight
                sums[s, side, k, 1] += (value & 32767) * weight


@kernel("void(int64[:,::1], int32[::1], int64[:,::1], int64, int64, int64[:,::1])")
def add_statistics(statistics, rows, pieces, low, high, totals):
    """Add the statistics of the rows of pieces ``low..high`` to the totals of their stretches."""
    for p in range(low, high):
        s = pieces[p, SPLIT]
        for i in range(pieces[p, LOW], pieces[p, HIGH]):
            for k in range(statistics.shape[1]):
                totals[s, k] += statistics[rows[i], k]


def cut_up(stretches):
    """Cut stretches (k, >=2) into pieces of at most CHUNK rows, in order."""
    pieces = [
        (number, low, min(low + CHUNK, stop), 0)
        for number, (start, stop) in enumerate(stretches[:, :2].tolist())
        for low in range(start, stop, CHUNK)
    ]
    return np.array(pieces, dtype=np.int64).reshape(-1, 4)
