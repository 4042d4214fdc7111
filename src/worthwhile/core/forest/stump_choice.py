"""The stump to take at a large node once prices count: least price per impurity taken away."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.bit_columns import best_bit
from worthwhile.core.forest.draws import n_stumps, scans, stream
from worthwhile.core.forest.impurity import after_split
from worthwhile.core.forest.stumps import (
    CELLS,
    COUNTERS,
    FLOOR,
    GO_RIGHT,
    HEAVIER,
    LEFT,
    MISSING,
    RIGHT,
    TOP,
    bar_of,
    best_gap,
    better,
    count_intervals,
    count_numbers,
    draw_thresholds,
    scan_counters,
    sort_values,
)


@kernel(lean=True)
def path_prices(own, begin, opens, fee, on_path, opened, prices):
    """Price of each feature given those on the path: what is still to pay, but as much as the cheapest feature.

    Were what is paid to count for nothing, the risk of any stump on it would be 0, however little it
    tells, and a tree would never leave its first feature. What is free from the start stays so.
    """
    least = np.inf
    for g in range(fee.shape[0]):
        opened[g] = False
    for f in range(own.shape[0]):
        prices[f] = own[f]
        for entry in range(begin[f], begin[f + 1]):
            prices[f] += fee[opens[entry]]
            opened[opens[entry]] |= on_path[f]
        if prices[f] > 0.0 and prices[f] < least:
            least = prices[f]
    for f in range(own.shape[0]):
        if prices[f] > 0.0:
            due = 0.0 if on_path[f] else own[f]
            for entry in range(begin[f], begin[f + 1]):
                if not opened[opens[entry]]:
                    due += fee[opens[entry]]
            prices[f] = max(due, least)


@kernel(lean=True)
def load_block(block, width, rows, tile):
    """Copy the first columns of a block for the rows of a node, each to a row of ``tile``.

    A row of the block is one cache line: it is fetched once for all its columns.
    """
    for i in range(rows.shape[0]):
        row = np.uint32(rows[i])
        for column in range(width):
            tile[column, i] = block[row, column]


@kernel(lean=True)
def _range_of(values):
    """(number of values that are there, least, greatest)."""
    low, high, found = np.float32(np.inf), np.float32(-np.inf), 0
    low_too, high_too = low, high  # two chains of comparisons, which run side by side
    n = values.shape[0]
    for i in range(n // 2):
        x, y = values[2 * i], values[2 * i + 1]
        low = x if x < low else low
        high = x if x > high else high
        low_too = y if y < low_too else low_too
        high_too = y if y > high_too else high_too
        found += (1 if x == x else 0) + (1 if y == y else 0)
    if n % 2:
        x = values[n - 1]
        low = x if x < low else low
        high = x if x > high else high
        found += 1 if x == x else 0
    return found, min(low, low_too), max(high, high_too)


@kernel(lean=True)
def drop_missing(values, classes, weights, kept_classes, kept_weights, missing):
    """Move the values that are there to the front; ``missing`` gets the class weights of the others."""
    for k in range(missing.shape[0]):
        missing[k] = 0.0
    found = 0
    for i in range(values.shape[0]):
        x = values[i]
        if x != x:
            missing[classes[i]] += weights[i]
        else:
            values[found], kept_classes[found], kept_weights[found] = x, classes[i], weights[i]
            found += 1


@kernel(lean=True)
def _by_counting(
    impurity, draws, values, n, low, high, classes, weights, node_counts, has_missing, key, room
):
    """Best stump of a column by counting classes: (score, cut, value after it, side of missing values)."""
    thresholds, table, drawn, counters, sides = room
    if scans(draws):
        first, span = np.int64(low), np.int64(high) - np.int64(low) + 1
        count_numbers(values, n, classes, weights, first, span, counters)
        score, place, after, side = scan_counters(
            impurity, counters, span, scans(draws), node_counts, has_missing, sides
        )
        return (
            score,
            np.float64(first + place),
            np.float64(first + after) if after >= 0 else TOP,
            side,
        )
    count = n_stumps(n, draws)
    start, scale = draw_thresholds(low, high, count, key, thresholds, table, drawn)
    count_intervals(values, n, classes, weights, start, scale, count, thresholds, table, counters)
    score, place, _, side = scan_counters(
        impurity, counters, count, scans(draws), node_counts, has_missing, sides
    )
    cut = thresholds[max(place, 0)]
    if has_missing:
        for k in range(node_counts.shape[0]):
            sides[LEFT, k] = node_counts[k] - sides[MISSING, k]
        alone = after_split(impurity, sides[LEFT], node_counts, sides[RIGHT])
        if alone < score:
            return alone, TOP, TOP, GO_RIGHT
    return score, cut, cut, side


@kernel(
    "void(float32[::1], Tuple((int64, float64, float64[::1], float64[:,::1], int64)), UniTuple(int64, 3), uint64,"
    " float32[:,:,::1], uint64[:,::1], int32[::1], int32[::1], int32[::1], float64[::1], int32[::1],"
    " Tuple((boolean, float64[::1], int32[::1], int32[::1], float64[::1])), boolean[:,::1], int64[:,::1],"
    " float64[:,::1], float64[::1], int32[::1], float64[:,::1], int64[::1])"
)
def choose_stumps(
    room, impurity, draws, seed, blocks, bits, column_feature, bit_feature, classes, weights, rows, costs, paths,
    nodes, counts, whole, feature, cuts, side_of_missing,
):  # fmt: skip
    """Choose the stump of every node of a level; ``feature`` becomes -1 where none helps.

    ``costs``: whether what is on the path is free, own prices, which fees each opens, fees; ``paths`` (m, d) then
    tells what is. ``nodes`` (m, 3): start, stop, number. ``counts`` (m, K), ``whole`` (m,): class
    weights, impurity. ``cuts`` (m, 2): values <= the first go left; the second is the next value
    present (scans). ``room``: scratch, a block of columns for all rows.
    """
    free, own, begin, opens, fee = costs
    most = np.int64(1)
    for i in range(nodes.shape[0]):
        most = max(most, nodes[i, 1] - nodes[i, 0])
    n_classes, per_line = counts.shape[1], blocks.shape[2]
    tile, order = room[: per_line * most].reshape((per_line, most)), np.empty(most, np.int32)
    own_classes, kept_classes = np.empty(most, np.int32), np.empty(most, np.int32)
    own_weights, kept_weights = np.empty(most), np.empty(most)
    sides, bit_counts = np.zeros((3, n_classes)), np.empty((64, n_classes))
    most_draws = max(draws[0], draws[1], draws[2])
    counters = np.empty((max(COUNTERS // n_classes, most_draws + 1), n_classes))
    sort_room = (np.empty(most), np.empty(most, np.int64), sides)
    count_room = (
        np.empty(most_draws + 1), np.empty(CELLS * most_draws + 2, np.int64), np.empty(most_draws), counters,
        sides,
    )  # fmt: skip
    price, opened = np.empty(own.shape[0]), np.empty(fee.shape[0], np.bool_)
    nothing = np.zeros(own.shape[0], np.bool_)
    path_prices(own, begin, opens, fee, nothing, opened, price)
    for i in range(nodes.shape[0]):
        start, n = nodes[i, 0], nodes[i, 1] - nodes[i, 0]
        for j in range(n):
            own_classes[j] = classes[rows[start + j]]
            own_weights[j] = weights[rows[start + j]]
        if free:
            path_prices(own, begin, opens, fee, paths[i], opened, price)
        best_decrease, best_price, best = 0.0, 0.0, -1
        for column in range(column_feature.shape[0]):
            f = column_feature[column]
            if f < 0:
                continue
            if column % per_line == 0:
                width = 1
                while width < per_line and column_feature[column + width] >= 0:
                    width += 1
                load_block(blocks[column // per_line], width, rows[start : start + n], tile)
            values = tile[column % per_line, :n]
            found, low, high = _range_of(values)
            has_missing = found < n
            if has_missing:
                drop_missing(
                    values, own_classes, own_weights, kept_classes, kept_weights, sides[MISSING]
                )
            bar = bar_of(whole[i], price[f], f, best_decrease, best_price, best)
            if found == 0 or (low == high and not has_missing) or not bar > 0.0:
                continue
            c, w = (kept_classes, kept_weights) if has_missing else (own_classes, own_weights)
            key = stream(seed, nodes[i, 2], f)
            span = np.float64(high) - np.float64(low) + 1.0
            if low == high or (scans(draws) and span > min(4.0 * n, np.float64(counters.shape[0]))):
                sort_values(values, found, order)
                score, cut, beyond, side = best_gap(
                    impurity,
                    draws,
                    values,
                    order,
                    found,
                    c,
                    w,
                    counts[i],
                    has_missing,
                    key,
                    bar,
                    sort_room,
                )
            else:
                score, cut, beyond, side = _by_counting(
                    impurity, draws, values, found, np.float64(low), np.float64(high), c, w, counts[i],
                    has_missing, key, count_room,
                )  # fmt: skip
            decrease = whole[i] - score
            if decrease > FLOOR * whole[i] and better(
                decrease, price[f], f, best_decrease, best_price, best
            ):
                best_decrease, best_price, best = decrease, price[f], f
                cuts[i, 0], cuts[i, 1], side_of_missing[i] = cut, beyond, side
        feature[i] = best_bit(
            impurity, bits, bit_feature, rows, start, n, own_classes, own_weights, counts[i], whole[i],
            price, best_decrease, best_price, best, bit_counts, sides[RIGHT],
        )  # fmt: skip
        if feature[i] != best:
            side_of_missing[i] = HEAVIER
