"""From histograms to splits: the best cut of each feature, and the one to take once prices count.

A *cut* is coded as ``2 * bin + missing_left``: bins 0..bin go left; of categories, a set of bins that is
found along with it goes left, and the cut is ``missing_left`` alone. What a cut gains is the decrease of
the sum of squares (variance reduction), times two; scans work per feature and know no prices.
:func:`choose` subtracts prices and settles ties.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.category_scan import order_codes, write_set
from worthwhile.core.boosting.histogram import add_packed, clear, subtract
from worthwhile.core.boosting.partition import HIGH, LOW
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS

_COUNT = np.int64((1 << COUNT_BITS) - 1)

# Columns of a job: build the histogram of one node from its pieces (a range of them), and, where there is a sibling,
# obtain the sibling's by subtraction from the parent's, which lies in the sibling's slot.
FIRST, LAST, SLOT, NODE, OTHER_SLOT, OTHER_NODE = range(6)


@kernel(inline=True)
def squared_gain(left, left_weight, total, weight):
    """Return ``S_L^2/m_L + S_R^2/m_R - S^2/m`` for one output, as one quotient.

    The difference of products is exact below 65,536 rows, and swapping sides changes nothing.
    """
    difference = left * weight - total * left_weight
    return difference * difference / (weight * (left_weight * (weight - left_weight)))


@kernel(inline=True)
def side_of(left, right, cut):
    """Code of a cut in a node without missing values: they go where most rows go."""
    return 2 * cut + (1 if left >= right else 0)


@kernel(inline=True)
def as_float(number):
    """An integer below 2**51 in size as a float: like the plain conversion, but vectorised."""
    return np.int64(number + 0x4338000000000000).view(np.float64) - 6755399441055744.0


@kernel(lean=True)
def _best_of(held, added, total, min_leaf, gains):
    """First bin with the largest gain when all up to it, and ``added``, go left: (gain, bin).

    ``held``: packed sums (bins,) up to each bin. In two loops, so that the divisions of the first
    are vectorised. An empty bin has the gain of the one before it and never comes first.
    """
    weight, node_sum = np.float64(total & _COUNT), np.float64(total >> COUNT_BITS)
    least = np.float64(min_leaf)
    most = weight - least
    for b in range(held.shape[0]):
        both = held[b] + added
        left = as_float(both & _COUNT)
        gain = squared_gain(as_float(both >> COUNT_BITS), left, node_sum, weight)
        allowed = (left >= least) & (left <= most) & (held[b] != 0)
        gains[b] = gain if allowed else -np.inf
    best, pick = -np.inf, -1
    for b in range(held.shape[0]):
        if gains[b] > best:
            best, pick = gains[b], b
    return best, pick


@kernel(inline=True)
def scan_packed(histogram, states, bins, total, min_leaf, scratch):
    """Best cut of one feature: (gain, cut, packed sum of the left side); gain -inf if there is none.

    At equal gain the lower threshold wins, then "missing goes right".
    """
    held, gains = scratch[0][:bins], scratch[1][:bins]
    sum_so_far = np.int64(0)
    for b in range(bins):
        sum_so_far += histogram[b]
        held[b] = sum_so_far
    best, pick = _best_of(held, np.int64(0), total, min_leaf, gains)
    missing = histogram[bins] if states > bins else np.int64(0)
    if missing != 0:
        other, place = _best_of(held, missing, total, min_leaf, gains)
        if other > best or (other == best and place < pick):
            return other, 2 * place + 1, held[place] + missing
    if pick < 0:
        return best, -1, np.int64(0)
    left = held[pick] & _COUNT
    side = 2 * pick if missing != 0 else side_of(left, (total & _COUNT) - left, pick)
    return best, side, held[pick]


@kernel(lean=True)
def scan_categories(histogram, states, bins, total, limits, scratch, words):
    """Best set of categories of one feature: as :func:`scan_packed`, and the set in ``words`` (4,).

    Categories stand in the order of their means, so the best set for the squared error is one of the
    first so many (Fisher 1958). The lighter side is the set: it goes left, and so codes that the
    node has not seen go with most rows.
    """
    held, gains, keys, order = scratch
    weight, node_sum = np.float64(total & _COUNT), np.float64(total >> COUNT_BITS)
    n = 0
    for b in range(bins):
        if histogram[b] != 0:
            own = np.float64(histogram[b] & _COUNT)
            difference = np.float64(histogram[b] >> COUNT_BITS) * weight - node_sum * own
            keys[n], order[n] = difference / (own + limits[1]), b
            n += 1
    order_codes(keys, order, n)
    sum_so_far = np.int64(0)
    for k in range(n):
        sum_so_far += histogram[order[k]]
        held[k] = sum_so_far
    best, pick = _best_of(held[:n], np.int64(0), total, limits[0], gains)
    missing = histogram[bins] if states > bins else np.int64(0)
    side = False
    if missing != 0:
        other, place = _best_of(held[:n], missing, total, limits[0], gains)
        if other > best or (other == best and place < pick):
            best, pick, side = other, place, True
    if pick < 0:
        return best, -1, np.int64(0)
    left = held[pick] + (missing if side else np.int64(0))
    right = total - left
    swap = left & _COUNT > right & _COUNT
    if swap:
        left, right = right, left
    write_set(order, pick + 1 if swap else 0, n if swap else pick + 1, words)
    if missing != 0:
        return best, np.int64(side != swap), left
    return best, side_of(left & _COUNT, right & _COUNT, 0), left


@kernel(lean=True)
def _digit_sum(histogram, column, value, stride, states):
    """Sum over all codes of a column in which a digit has a value, without a division."""
    total = np.int64(0)
    for high in range(value * stride, CODES - stride + 1, states * stride):
        for code in range(high, high + stride):
            total += histogram[column * CODES + code]
    return total


@kernel(inline=True)
def member(members, m):
    """A row of ``Layout.members``: feature, stride, states, bins, up, category."""
    return (
        members[m, 0], members[m, 1], members[m, 2], members[m, 3], members[m, 4], members[m, 5],
    )  # fmt: skip


@kernel(lean=True)
def scan_packed_block(histogram, block, node, layout, allowed, totals, limits, room, out):
    """Scan all features of one block for one node; ``room`` holds five arrays (256,) to work in.

    ``limits``: least weight of a leaf, and what is added to the weight of a category.
    """
    members, offsets = layout[0], layout[1]
    gain, cut, left, sets = out
    own, scratch = room[0], (room[1], room[2])
    for column in range(BLOCK):
        first, last = offsets[block * BLOCK + column], offsets[block * BLOCK + column + 1]
        for m in range(first, last):
            feature, stride, states, bins, up, category = member(members, m)
            if not allowed[feature]:
                continue
            here = own
            if up > 0:
                own[1] = _digit_sum(histogram, column, up, stride, states)
                own[0] = totals[node] - own[1]
                states = bins
            elif last - first == 1:
                here = histogram[column * CODES : (column + 1) * CODES]
            else:
                for state in range(states):
                    own[state] = _digit_sum(histogram, column, state, stride, states)
            if category > 0:
                found = scan_categories(
                    here, states, bins, totals[node], limits, room[1:], sets[node, category - 1]
                )
            else:
                found = scan_packed(here, states, bins, totals[node], limits[0], scratch)
            gain[node, feature], cut[node, feature], left[node, feature] = found


@kernel(inline=True)
def block_is_wanted(block, members, offsets, allowed):
    """Whether a block holds an allowed feature."""
    wanted = False
    for m in range(offsets[block * BLOCK], offsets[(block + 1) * BLOCK]):
        wanted |= allowed[members[m, 0]]
    return wanted


@kernel(
    "void(uint64[:,::1], int32[::1], int32[::1], boolean, int64[:,:,::1], int64[:,::1], int64[:,::1], int64[::1],"
    " int32[:,::1], int32[::1], boolean[::1], float64[:,::1], int32[:,::1], int64[:,::1], int64[:,:,::1],"
    " int64, float64, int64, int64)"
)
def score_packed(
    words, rows, gradients, all_rows, histograms, jobs, pieces, totals, members, offsets, allowed, gain, cut, left,
    sets, min_leaf, smooth, low, high,
):  # fmt: skip
    """Build, subtract and scan blocks ``low..high`` for all jobs, block by block while it is in cache.

    ``histograms`` (slots, blocks, 8 * 256); a job with slot -1 keeps its histogram to itself. Fills
    ``gain``, ``cut`` and ``left`` (nodes, features), ``sets`` (nodes, categories, 4); nodes -1 are not
    scanned.
    """
    spare = np.empty(BLOCK * CODES, np.int64)
    room = (
        np.empty(CODES, np.int64), np.empty(CODES, np.int64), np.empty(CODES, np.float64),
        np.empty(CODES, np.float64), np.empty(CODES, np.int64),
    )  # fmt: skip
    limits, out = (min_leaf, smooth), (gain, cut, left, sets)
    for block in range(low, high):
        if not block_is_wanted(block, members, offsets, allowed):
            continue
        for k in range(jobs.shape[0]):
            job = jobs[k]
            own = histograms[job[SLOT], block] if job[SLOT] >= 0 else spare
            clear(own)
            for p in range(job[FIRST], job[LAST]):
                add_packed(
                    words[block], rows, gradients, pieces[p, LOW], pieces[p, HIGH], all_rows, own
                )
            if job[NODE] >= 0:
                scan_packed_block(
                    own, block, job[NODE], (members, offsets), allowed, totals, limits, room, out
                )
            if job[OTHER_NODE] >= 0:
                other = histograms[job[OTHER_SLOT], block]
                subtract(other, own)
                scan_packed_block(
                    other, block, job[OTHER_NODE], (members, offsets), allowed, totals, limits, room, out
                )  # fmt: skip


@kernel(
    "int64(float64[:,::1], float64, float64[:,::1], float64, boolean[::1], float64, float64[:,::1])",
    lean=True,
)
def choose(gain, unit, price, rate, pending, floor, factor):
    """Pick the split to take next: ``node * d + feature``, or -1 if none beats ``floor``.

    Net worth is ``gain * unit - rate * price``. Ties: lower price, lower feature, lower node (the
    lower threshold was settled in the scan). ``price`` has a row per node, or one row for all.
    ``factor`` (nodes, features), where it has rows, is noise. What is bought is decided without it:
    where the split picked costs nothing, it picks among those of its node that do not either.
    """
    d = gain.shape[1]
    best, best_price, pick = floor, np.inf, np.int64(-1)
    for node in range(gain.shape[0]):
        if not pending[node]:
            continue
        prices = price[node] if price.shape[0] > 1 else price[0]
        for feature in range(d):
            if gain[node, feature] == -np.inf:
                continue
            net = gain[node, feature] * unit - rate * prices[feature]
            if net < best or net == floor:
                continue
            if net > best:
                better = True
            else:
                better = prices[feature] < best_price or (
                    prices[feature] == best_price and pick >= 0 and feature < pick % d
                )
            if better:
                best, best_price, pick = net, prices[feature], np.int64(node * d + feature)
    if pick < 0 or factor.shape[0] == 0 or rate * best_price > 0.0:
        return pick
    node = pick // d
    prices = price[node] if price.shape[0] > 1 else price[0]
    most = -np.inf
    for feature in range(d):
        net = gain[node, feature] * unit
        if net > floor and rate * prices[feature] == 0.0 and net * factor[node, feature] > most:
            most, pick = net * factor[node, feature], np.int64(node * d + feature)
    return pick
