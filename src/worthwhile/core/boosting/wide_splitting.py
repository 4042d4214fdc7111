"""From wide histograms to splits: any statistics, several outputs, gains by curvature.

The statistics of a bin are its weight, the gradient sum of every output and, where gains go by
curvature, the curvature sum of every output. What a split gains is ``S_L^2/m_L + S_R^2/m_R - S^2/m``
summed over the outputs, where ``m`` is the weight, or the output's own curvature: then it is what a Newton
step gains. Cuts are coded as in :mod:`worthwhile.core.boosting.splitting`.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.category_scan import below, principal_order, write_set
from worthwhile.core.boosting.histogram import add_wide, clear_wide, subtract_wide
from worthwhile.core.boosting.partition import HIGH, LOW
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
def wide_gain(left, total, outputs):
    """Gain of a split from the statistics of its left side and of the node, float64 (S,) each."""
    gain = 0.0
    for k in range(1, outputs + 1):
        h = below(k, outputs, left.shape[0])
        gain += squared_gain(left[k], left[h], total[k], total[h])
    return gain


@kernel()
def scan_wide(histogram, states, bins, totals, limits, outputs):
    """Best cut of one feature from its wide histogram (states, S): (gain, cut)."""
    min_leaf, curvature = limits[0], curvature_of(totals, outputs)
    width = totals.shape[0]
    held, left, total = np.zeros(width, np.int64), np.empty(width), np.empty(width)
    for k in range(width):
        total[k] = np.float64(totals[k])
    with_missing = states > bins and histogram[bins, 0] != 0
    best, cut = -np.inf, -1
    for b in range(bins):
        if histogram[b, 0] == 0:
            continue
        for k in range(width):
            held[k] += histogram[b, k]
        for missing_left in range(2 if with_missing else 1):
            weight = held[0] + (histogram[bins, 0] if missing_left else 0)
            if weight < min_leaf or totals[0] - weight < min_leaf:
                continue
            own = curvature_of(held, outputs)
            if missing_left:
                own += curvature_of(histogram[bins], outputs)
            if own < limits[2] or curvature - own < limits[2]:
                continue
            for k in range(width):
                left[k] = np.float64(held[k] + (histogram[bins, k] if missing_left else 0))
            gain = wide_gain(left, total, outputs)
            if gain > best:
                best = gain
                cut = (
                    2 * b + missing_left if with_missing else side_of(weight, totals[0] - weight, b)
                )
    return best, cut


@kernel()
def scan_wide_categories(histogram, states, bins, totals, limits, outputs, words):
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
    best, cut = scan_wide(ordered, found + 1, found, totals, limits, outputs)
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


@kernel()
def scan_wide_block(histogram, block, node, layout, allowed, totals, limits, outputs, out):
    """Scan all features of one block for one node; a bin without weight is empty, whatever it holds."""
    members, offsets = layout
    gain, cut, sets = out
    width = totals.shape[1]
    own = np.empty((CODES, width), np.int64)
    for column in range(BLOCK):
        first, last = offsets[block * BLOCK + column], offsets[block * BLOCK + column + 1]
        for m in range(first, last):
            feature, stride, states, bins, up, category = member(members, m)
            if not allowed[feature]:
                continue
            used = CODES if last - first > 1 else states
            for state in range(states):
                if up > 0 and state != up:
                    continue
                for k in range(width):
                    own[state, k] = 0
                for high in range(state * stride, used - stride + 1, states * stride):
                    for code in range(high, high + stride):
                        base = (column * CODES + code) * width
                        if histogram[base] != 0:
                            for k in range(width):
                                own[state, k] += histogram[base + k]
            if up > 0:
                for k in range(width):
                    own[1, k] = own[up, k]
                    own[0, k] = totals[node, k] - own[1, k]
                states = bins
            if category > 0:
                found = scan_wide_categories(
                    own, states, bins, totals[node], limits, outputs, sets[node, category - 1]
                )
            else:
                found = scan_wide(own, states, bins, totals[node], limits, outputs)
            gain[node, feature], cut[node, feature] = found


@kernel(
    "void(uint64[:,::1], int32[::1], int64[:,::1], int64[:,:,::1], int64[:,::1], int64[:,::1], int64[:,::1],"
    " int32[:,::1], int32[::1], boolean[::1], float64[:,::1], int32[:,::1], int64[:,:,::1], int64, float64,"
    " int64, int64, int64, int64)"
)
def score_wide(
    words, rows, statistics, histograms, jobs, pieces, totals, members, offsets, allowed, gain, cut, sets,
    min_leaf, smooth, least, outputs, low, high,
):  # fmt: skip
    """As :func:`worthwhile.core.boosting.splitting.score_packed` for histograms (slots, blocks, 8 * 256 * S)."""
    width = statistics.shape[1]
    spare = np.empty(BLOCK * CODES * width, np.int64)
    limits, out = (min_leaf, smooth, least), (gain, cut, sets)
    for block in range(low, high):
        if not block_is_wanted(block, members, offsets, allowed):
            continue
        for k in range(jobs.shape[0]):
            job = jobs[k]
            own = histograms[job[SLOT], block] if job[SLOT] >= 0 else spare
            clear_wide(own, width)
            for p in range(job[FIRST], job[LAST]):
                add_wide(words[block], rows, statistics, pieces[p, LOW], pieces[p, HIGH], own)
            if job[NODE] >= 0:
                scan_wide_block(
                    own, block, job[NODE], (members, offsets), allowed, totals, limits, outputs, out
                )
            if job[OTHER_NODE] >= 0:
                other = histograms[job[OTHER_SLOT], block]
                subtract_wide(other, own, width)
                scan_wide_block(
                    other,
                    block,
                    job[OTHER_NODE],
                    (members, offsets),
                    allowed,
                    totals,
                    limits,
                    outputs,
                    out,
                )
