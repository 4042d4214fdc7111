"""From wide histograms to splits: any statistics, several outputs, gains by curvature.

The statistics of a bin are its weight, the gradient sum of every output and, where gains go by
curvature, the curvature sum of every output. What a split gains is ``S_L^2/m_L + S_R^2/m_R - S^2/m``
summed over the outputs, where ``m`` is the weight, or the output's own curvature: then it is what a Newton
step gains. Cuts are coded as in :mod:`worthwhile.core.boosting.splitting`.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.category_scan import below, principal_order, write_set
from worthwhile.core.boosting.counted_sums import add_pieces, room_to_count
from worthwhile.core.boosting.histogram import clear_wide, subtract_wide
from worthwhile.core.boosting.splitting import (
    FIRST,
    LAST,
    NODE,
    OTHER_NODE,
    OTHER_SLOT,
    SLOT,
    block_is_wanted,
    member,
    side_of,
    squared_gain,
)
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODES


@kernel(lean=True)
def curvature_of(statistics, outputs):
    """Curvature over all outputs; 0 where there is none."""
    total = np.int64(0)
    for k in range(1 + outputs, statistics.shape[0]):
        total += statistics[k]
    return total


@kernel(lean=True)
def _best_of(histogram, bins, added, totals, limits, outputs, room):
    """First bin with the largest gain when all up to it, and ``added`` (S,), go left: (gain, bin).

    The sums up to each bin that is not empty stand side by side, statistic by statistic: so the gains of
    all bins are one loop, and vectorised, for each output.
    """
    columns, gains, places, held = room
    width, n = totals.shape[0], 0
    curvature = curvature_of(totals, outputs)
    for k in range(width):
        held[k] = added[k]
    for b in range(bins):
        if histogram[b, 0] == 0:
            continue
        for k in range(width):
            held[k] += histogram[b, k]
        if held[0] < limits[0]:
            continue
        if totals[0] - held[0] < limits[0]:
            break
        own = curvature_of(held, outputs)
        if own < limits[2] or curvature - own < limits[2]:
            continue
        for k in range(width):
            columns[k, n] = np.float64(held[k])
        places[n] = b
        n += 1
    for j in range(n):
        gains[j] = 0.0
    for k in range(1, outputs + 1):
        h = below(k, outputs, width)
        sums, weights = columns[k], columns[h]
        node_sum, weight = np.float64(totals[k]), np.float64(totals[h])
        for j in range(n):
            gains[j] += squared_gain(sums[j], weights[j], node_sum, weight)
    best, pick = -np.inf, np.int64(-1)
    for j in range(n):
        if gains[j] > best:
            best, pick = gains[j], places[j]
    return best, pick


@kernel(lean=True)
def scan_wide(histogram, states, bins, totals, limits, outputs, room):
    """Best cut of one feature from its wide histogram (states, S): (gain, cut).

    ``room``: what :func:`room_to_scan` gives. A bin without weight is empty, whatever it holds.
    """
    work, nothing = room[:4], room[4]
    best, pick = _best_of(histogram, bins, nothing, totals, limits, outputs, work)
    with_missing = states > bins and histogram[bins, 0] != 0
    if with_missing:
        other, place = _best_of(histogram, bins, histogram[bins], totals, limits, outputs, work)
        if other > best or (other == best and place < pick):
            return other, 2 * place + 1
    if pick < 0:
        return best, np.int64(-1)
    if with_missing:
        return best, 2 * pick
    weight = np.int64(0)
    for b in range(pick + 1):
        weight += histogram[b, 0]
    return best, side_of(weight, totals[0] - weight, pick)


@kernel()
def room_to_scan(width):
    """Arrays that scans of statistics (S,) work in: sums, gains, places, held, and zeros."""
    return (
        np.empty((width, CODES)), np.empty(CODES), np.empty(CODES, np.int64),
        np.empty(width, np.int64), np.zeros(width, np.int64),
    )  # fmt: skip


@kernel()
def scan_wide_categories(histogram, states, bins, totals, limits, outputs, room, words):
    """Best set of categories of one feature from its wide histogram, as the packed one.

    With several outputs, categories stand in the order of their means along the direction in which
    these differ most (Coppersmith, Hong and Hosking 1999): with one, that is the order of means.
    """
    order, found = principal_order(histogram, bins, totals, limits[1], outputs)
    width = totals.shape[0]
    ordered = np.empty((found + 1, width), np.int64)
    for k in range(found):
        ordered[k] = histogram[order[k]]
    with_missing = states > bins and histogram[bins, 0] != 0
    for k in range(width):
        ordered[found, k] = histogram[bins, k] if with_missing else 0
    best, cut = scan_wide(ordered, found + 1, found, totals, limits, outputs, room)
    if cut < 0:
        return best, cut
    first, side = cut >> 1, cut & 1
    left = np.int64(0)
    for k in range(first + 1):
        left += ordered[k, 0]
    left += ordered[found, 0] * side
    swap = left > totals[0] - left
    if swap:
        left = totals[0] - left
    write_set(order, first + 1 if swap else 0, found if swap else first + 1, words)
    if with_missing:
        return best, np.int64(side != np.int64(swap))
    return best, side_of(left, totals[0] - left, 0)


@kernel(lean=True)
def _gather(histogram, column, digit, up, whole, own):
    """The states of one feature (states, S) out of the bins of a column that it shares."""
    stride, states = digit
    width = whole.shape[0]
    for state in range(states):
        if up > 0 and state != up:
            continue
        for k in range(width):
            own[state, k] = 0
        for high in range(state * stride, CODES - stride + 1, states * stride):
            for code in range(high, high + stride):
                base = (column * CODES + code) * width
                if histogram[base] != 0:
                    for k in range(width):
                        own[state, k] += histogram[base + k]
    if up > 0:  # one value of several in a shared digit: the rest is all other rows
        for k in range(width):
            own[1, k] = own[up, k]
            own[0, k] = whole[k] - own[1, k]


@kernel()
def scan_wide_block(histogram, block, node, layout, allowed, totals, limits, outputs, out):
    """Scan all features of one block for one node; a bin without weight is empty, whatever it holds."""
    members, offsets = layout
    gain, cut, sets = out
    whole, width = totals[node], totals.shape[1]
    room = room_to_scan(width)
    shared = np.empty((CODES, width), np.int64)
    for column in range(BLOCK):
        first, last = offsets[block * BLOCK + column], offsets[block * BLOCK + column + 1]
        for m in range(first, last):
            feature, stride, states, bins, up, category = member(members, m)
            if not allowed[feature]:
                continue
            own = shared
            if last - first > 1:
                _gather(histogram, column, (stride, states), up, whole, own)
                states = bins if up > 0 else states
            else:
                start = column * CODES * width
                own = histogram[start : start + CODES * width].reshape((CODES, width))
            if category > 0:
                found = scan_wide_categories(
                    own, states, bins, whole, limits, outputs, room, sets[node, category - 1]
                )
            else:
                found = scan_wide(own, states, bins, whole, limits, outputs, room)
            gain[node, feature], cut[node, feature] = found


@kernel(inline=True)
def columns_used(block, offsets):
    """Columns of a block up to the last that holds a feature."""
    used = 0
    for column in range(BLOCK):
        if offsets[block * BLOCK + column + 1] > offsets[block * BLOCK + column]:
            used = column + 1
    return used


@kernel(
    "void(uint64[:,::1], int32[::1], int64[:,::1], int64[:,:,::1], int64[:,::1], int64[:,::1], int64[:,::1],"
    " int32[:,::1], int32[::1], boolean[::1], float64[:,::1], int32[:,::1], int64[:,:,::1], int64, float64,"
    " int64, int64, int64, int64, int64)"
)
def score_wide(
    words, rows, statistics, histograms, jobs, pieces, totals, members, offsets, allowed, gain, cut, sets,
    min_leaf, smooth, least, outputs, most, low, high,
):  # fmt: skip
    """As :func:`worthwhile.core.boosting.splitting.score_packed` for histograms (slots, blocks, 8 * 256 * S).

    ``most``: see :func:`add_pieces`.
    """
    width, room = statistics.shape[1], room_to_count()
    spare = np.empty(BLOCK * CODES * width, np.int64)
    limits, layout, out = (min_leaf, smooth, least), (members, offsets), (gain, cut, sets)
    for block in range(low, high):
        if not block_is_wanted(block, members, offsets, allowed):
            continue
        size = columns_used(block, offsets) * CODES * width
        for k in range(jobs.shape[0]):
            job = jobs[k]
            own = (histograms[job[SLOT], block] if job[SLOT] >= 0 else spare)[:size]
            clear_wide(own, width)
            add_pieces(
                words[block], rows, statistics, pieces, job[FIRST], job[LAST], most, room, own
            )
            if job[NODE] >= 0:
                scan_wide_block(
                    own, block, job[NODE], layout, allowed, totals, limits, outputs, out
                )
            if job[OTHER_NODE] >= 0:
                other = histograms[job[OTHER_SLOT], block][:size]
                subtract_wide(other, own, width)
                scan_wide_block(
                    other, block, job[OTHER_NODE], layout, allowed, totals, limits, outputs, out
                )
