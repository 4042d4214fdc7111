"""From histograms with curvature to splits, in the layout of one output and unit weights.

A bin holds two numbers side by side: count and gradient sum, packed as in
:mod:`worthwhile.core.boosting.splitting`, and the sum of the curvature. What a cut gains is what a Newton step on
each side gains: ``S_L^2/H_L + S_R^2/H_R - S^2/H``. Cuts, sets and ties are as there.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.category_scan import order_codes, write_set
from worthwhile.core.boosting.splitting import as_float, member, side_of, squared_gain
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS

_COUNT = np.int64((1 << COUNT_BITS) - 1)


@kernel(lean=True)
def _best_of(held, curved, added, node, limits, gains):
    """First place with the largest gain when all up to it, and ``added``, go left: (gain, place).

    ``held``, ``curved``: sums up to each place; ``added``, ``node``: packed sum and curvature of what goes
    along, and of the node. In two loops, as in :mod:`worthwhile.core.boosting.splitting`.
    """
    weight, node_sum = np.float64(node[0] & _COUNT), np.float64(node[0] >> COUNT_BITS)
    below = np.float64(node[1])
    least, least_curvature = np.float64(limits[0]), np.float64(limits[2])
    most, most_curvature = weight - least, below - least_curvature
    for b in range(held.shape[0]):
        both = held[b] + added[0]
        count, curvature = as_float(both & _COUNT), as_float(curved[b] + added[1])
        gain = squared_gain(as_float(both >> COUNT_BITS), curvature, node_sum, below)
        allowed = (
            (count >= least) & (count <= most) & (held[b] != 0)
            & (curvature >= least_curvature) & (curvature <= most_curvature)
        )  # fmt: skip
        gains[b] = gain if allowed else -np.inf
    best, pick = -np.inf, -1
    for b in range(held.shape[0]):
        if gains[b] > best:
            best, pick = gains[b], b
    return best, pick


@kernel(lean=True)
def _best_with_missing(held, curved, missing, node, limits, gains):
    """The better of both sides for what is missing: (gain, place, whether it goes left)."""
    best, pick = _best_of(held, curved, (np.int64(0), np.int64(0)), node, limits, gains)
    if missing[0] != 0:
        other, place = _best_of(held, curved, missing, node, limits, gains)
        if other > best or (other == best and place < pick):
            return other, place, True
    return best, pick, False


@kernel(lean=True)
def scan_numbers(sums, second, missing, bins, node, limits, gains):
    """Best cut of one feature: (gain, cut, packed sum and curvature of the left side)."""
    for b in range(1, bins):
        sums[b] += sums[b - 1]
        second[b] += second[b - 1]
    best, pick, along = _best_with_missing(
        sums[:bins], second[:bins], missing, node, limits, gains[:bins]
    )
    if pick < 0:
        return best, -1, np.int64(0), np.int64(0)
    left, curvature = sums[pick], second[pick]
    if along:
        return best, 2 * pick + 1, left + missing[0], curvature + missing[1]
    count = left & _COUNT
    cut = 2 * pick if missing[0] != 0 else side_of(count, (node[0] & _COUNT) - count, pick)
    return best, cut, left, curvature


@kernel(lean=True)
def scan_sets(sums, second, missing, bins, node, limits, room, words):
    """Best set of categories of one feature, likewise; the set goes to ``words`` (4,)."""
    held, curved, gains, keys, order = room
    node_sum, below = np.float64(node[0] >> COUNT_BITS), np.float64(node[1])
    n = 0
    for b in range(bins):
        if sums[b] != 0:
            own = np.float64(second[b])
            difference = np.float64(sums[b] >> COUNT_BITS) * below - node_sum * own
            keys[n], order[n] = difference / (own + limits[1]), b
            n += 1
    order_codes(keys, order, n)
    so_far, curvature = np.int64(0), np.int64(0)
    for k in range(n):
        so_far += sums[order[k]]
        curvature += second[order[k]]
        held[k], curved[k] = so_far, curvature
    best, pick, along = _best_with_missing(held[:n], curved[:n], missing, node, limits, gains[:n])
    if pick < 0:
        return best, -1, np.int64(0), np.int64(0)
    left = held[pick] + (missing[0] if along else np.int64(0))
    curvature = curved[pick] + (missing[1] if along else np.int64(0))
    swap = left & _COUNT > (node[0] - left) & _COUNT
    if swap:
        left, curvature = node[0] - left, node[1] - curvature
    write_set(order, pick + 1 if swap else 0, n if swap else pick + 1, words)
    if missing[0] != 0:
        return best, np.int64(along != swap), left, curvature
    return best, side_of(left & _COUNT, (node[0] - left) & _COUNT, 0), left, curvature


@kernel(lean=True)
def _gather(histogram, column, member_, alone, sums, second):
    """The states of one feature out of the bins of its column."""
    stride, states = member_
    first = column * CODES
    if alone:
        for state in range(states):
            sums[state], second[state] = (
                histogram[2 * (first + state)],
                histogram[2 * (first + state) + 1],
            )
        return
    for state in range(states):
        total, curvature = np.int64(0), np.int64(0)
        for high in range(state * stride, CODES - stride + 1, states * stride):
            for code in range(first + high, first + high + stride):
                total += histogram[2 * code]
                curvature += histogram[2 * code + 1]
        sums[state], second[state] = total, curvature


@kernel(lean=True)
def scan_curved_block(histogram, block, node, columns, allowed, totals, limits, room, out):
    """Scan all features of one block for one node, as ``scan_packed_block``.

    ``totals``: packed sums and curvatures of the nodes; ``limits``: least weight of a leaf, what is added to
    the curvature of a category, least curvature of a leaf.
    """
    members, offsets = columns[0], columns[1]
    gain, cut, left, sets, left_curvature = out
    sums, second, held, curved, order, gains, keys = room
    whole = totals[0][node], totals[1][node]
    for column in range(BLOCK):
        first, last = offsets[block * BLOCK + column], offsets[block * BLOCK + column + 1]
        for m in range(first, last):
            feature, stride, states, bins, up, category = member(members, m)
            if not allowed[feature]:
                continue
            _gather(histogram, column, (stride, states), last - first == 1, sums, second)
            missing = (np.int64(0), np.int64(0))
            if up > 0:  # one value of several in a shared digit: the rest is all other rows
                sums[1], second[1] = sums[up], second[up]
                sums[0], second[0] = whole[0] - sums[1], whole[1] - second[1]
            elif states > bins:
                missing = sums[bins], second[bins]
            if category > 0:
                found = scan_sets(
                    sums, second, missing, bins, whole, limits, (held, curved, gains, keys, order),
                    sets[node, category - 1],
                )  # fmt: skip
            else:
                found = scan_numbers(sums, second, missing, bins, whole, limits, gains)
            gain[node, feature], cut[node, feature] = found[0], found[1]
            left[node, feature], left_curvature[node, feature] = found[2], found[3]
