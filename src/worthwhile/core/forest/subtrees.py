"""Whole subtrees of small nodes, grown in one compiled call.

Most nodes of a deep tree are small. Each column of such a node is sorted once; from then on every
split keeps the sorted columns of both sides, so that a node costs a few steps per row and column
and nothing else. Rows are numbered anew within the subtree, to stay in cache.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.bit_columns import best_bit, mixed_bits
from worthwhile.core.forest.draws import stream
from worthwhile.core.forest.few_draws import choose_column, load_lines, mark_lines
from worthwhile.core.forest.impurity import evaluate
from worthwhile.core.forest.stump_choice import path_prices
from worthwhile.core.forest.stumps import (
    FLOOR,
    GO_LEFT,
    HEAVIER,
    MISSING,
    RIGHT,
    bar_of,
    best_gap,
    better,
    sort_small,
)

_U = np.uint64

START, STOP, NUMBER, DEPTH = range(4)
"""Columns of a node that waits for its split."""


@kernel(lean=True)
def _load_rows(bits, classes, weights, rows, start, n, own_bits, own_classes, own_weights, ids):
    """Number the rows of a subtree anew; copy what is not in columns."""
    for j in range(n):
        row = rows[start + j]
        ids[j] = j
        own_classes[j], own_weights[j] = classes[row], weights[row]
        for word in range(bits.shape[1]):
            own_bits[j, word] = bits[row, word]


@kernel(lean=True)
def _sort_columns(blocks, column_feature, rows, start, n, values, order, loose, cells):
    """Sort the columns of a subtree, missing values last."""
    per_line = blocks.shape[2]
    for column in range(column_feature.shape[0]):
        if column_feature[column] < 0:
            continue
        for j in range(n):
            x = blocks[column // per_line, rows[start + j], column % per_line]
            loose[j] = x if x == x else np.inf  # infinity is not a value that data may have
        sort_small(loose, n, values[column], order[column], cells)


@kernel(lean=True)
def _split_column(values, order, goes_left, spare_values, spare_order):
    """Part a sorted column in two sorted columns."""
    # Written to both sides, one side advances: no jump to mispredict. Places are unsigned, or each
    # would be checked for being negative.
    left, right = _U(0), _U(0)
    n = values.shape[0]
    for j in range(n):
        x, place = values[j], order[j]
        values[left], order[left] = x, place
        spare_values[right], spare_order[right] = x, place
        goes = goes_left[np.uint32(place)]
        left += goes
        right += _U(1) - goes
    for j in range(right):
        values[left + j], order[left + j] = spare_values[j], spare_order[j]


@kernel(lean=True)
def _count_missing(values, order, start, stop, classes, weights, missing):
    """Values present in a sorted stretch; the class weights of the missing ones."""
    n = stop - start
    if values[stop - 1] == np.inf:
        for k in range(missing.shape[0]):
            missing[k] = 0.0
        while n > 0 and values[start + n - 1] == np.inf:
            n -= 1
            missing[classes[order[start + n]]] += weights[order[start + n]]
    return n


@kernel(lean=True)
def _choose_sorted(
    impurity, draws, seed, number, start, stop, node_counts, whole, price, last, columns, classes, weights, room
):  # fmt: skip
    """The best stump of sorted columns: (decrease, price, feature or -1, cut, value after it, side)."""
    column_feature, values, order = columns
    n_columns, sides = column_feature.shape[0], room[2]
    best_decrease, best_price, best = 0.0, 0.0, -1
    best_cut, best_beyond, best_side = 0.0, 0.0, HEAVIER
    for turn in range(n_columns):
        # What was chosen last is often good again, and a good start spares most of the work.
        column = turn + last if turn + last < n_columns else turn + last - n_columns
        f = column_feature[column]
        if f < 0 or values[column, start] == values[column, stop - 1]:
            continue
        bar = bar_of(whole, price[f], f, best_decrease, best_price, best)
        if not bar > 0.0:
            continue
        found = _count_missing(
            values[column], order[column], start, stop, classes, weights, sides[MISSING]
        )
        score, cut, beyond, side = best_gap(
            impurity, draws, values[column, start:stop], order[column, start:stop], found, classes, weights,
            node_counts, found < stop - start, stream(seed, number, f), bar, (room[0], room[1], sides),
        )  # fmt: skip
        decrease = whole - score
        if decrease > FLOOR * whole and better(
            decrease, price[f], f, best_decrease, best_price, best
        ):
            best_decrease, best_price, best = decrease, price[f], f
            best_cut, best_beyond, best_side = cut, beyond, side
    return best_decrease, best_price, best, best_cut, best_beyond, best_side


@kernel(lean=True)
def _or_bit(impurity, start, stop, node_counts, whole, price, decrease, paid, best, rows, room):
    """The feature of two states that beats the best stump of the columns, or that one."""
    bit_feature, bits, classes, weights, ids, row_classes, row_weights = rows
    some = False
    for word in range(bits.shape[1]):
        some = some or mixed_bits(bits, word, ids, start, stop - start) != np.uint64(0)
    if not some:
        return best
    for j in range(start, stop):
        row_classes[j - start], row_weights[j - start] = classes[ids[j]], weights[ids[j]]
    return best_bit(
        impurity, bits, bit_feature, ids, start, stop - start, row_classes, row_weights, node_counts, whole,
        price, decrease, paid, best, room[3], room[2][RIGHT],
    )  # fmt: skip


@kernel(lean=True)
def _mark(place, start, stop, cut, side, bit_low, bits, ids, columns, goes_left):
    """Note for each row of a node whether it goes left."""
    if place >= 0:
        column, positions = columns[1][place], columns[2][place]
        for j in range(start, stop):
            x = np.float64(column[j])
            goes_left[np.uint32(positions[j])] = side == GO_LEFT if x == np.inf else x <= cut
    else:
        bit = -2 - place
        for j in range(start, stop):
            is_set = (bits[ids[j], bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)
            goes_left[np.uint32(ids[j])] = (is_set != 0) == bit_low[bit]


@kernel(lean=True)
def _split_rows(ids, goes_left, classes, weights, spare, left_counts):
    """Move the rows that go left to the front; add up their class weights; return how many they are."""
    left, right = _U(0), _U(0)
    for j in range(ids.shape[0]):
        row = ids[j]
        ids[left] = row
        spare[right] = row
        goes = goes_left[np.uint32(row)]
        left += goes
        right += _U(1) - goes
    for j in range(right):
        ids[left + j] = spare[j]
    for k in range(left_counts.shape[0]):
        left_counts[k] = 0.0
    for j in range(left):
        row = np.uint32(ids[j])
        left_counts[classes[row]] += weights[row]
    return np.int64(left)


@kernel(lean=True)
def _path_prices(own, fees, path, number, top, first, parent, feature, on_path, opened, price):
    """Prices at a node, where everything on the path to it is paid for."""
    for f in range(path.shape[0]):
        on_path[f] = path[f]
    while number != top:
        number = parent[number - first]
        on_path[feature[number]] = True
    path_prices(own, *fees, on_path, opened, price)


@kernel(
    "int64(boolean, Tuple((int64, float64, float64[::1], float64[:,::1], int64)), UniTuple(int64, 3), uint64, int64,"
    " float32[:,:,::1], uint64[:,::1], int32[::1], int32[::1], int32[::1], boolean[::1], int32[::1], float64[::1],"
    " int32[::1], Tuple((boolean, float64[::1], int32[::1], int32[::1], float64[::1])), boolean[:,::1],"
    " int64[:,::1], int64, int32[::1], int32[::1], float64[:,::1], int64[::1], float64[:,::1])"
)
def grow_subtrees(
    few, impurity, draws, seed, max_depth, blocks, bits, column_feature, bit_feature, place, bit_low, classes,
    weights, rows, costs, paths, nodes, free_number, feature, left, cuts, side_of_missing, counts,
):  # fmt: skip
    """Grow the subtrees of ``nodes`` (m, 4: start, stop, number, depth) into the arrays of the tree.

    New nodes are numbered from ``free_number`` on; returns the first number not used. A right child
    follows its left sibling. ``counts`` of the given nodes must be filled in. ``few``: without sorting
    (see :func:`worthwhile.core.forest.few_draws.applies`).
    """
    free, own, first_fee, opens, fee = costs
    fees = (first_fee, opens, fee)
    most = np.int64(1)
    for i in range(nodes.shape[0]):
        most = max(most, nodes[i, STOP] - nodes[i, START])
    n_columns, n_classes = column_feature.shape[0], counts.shape[1]
    sortable, counted = (0, draws[2]) if few else (most, 0)
    values = np.empty((n_columns, sortable), np.float32)
    order = np.empty((n_columns, sortable), np.int32)
    lines = np.empty((most if few else 0, n_columns), np.float32)
    drawn = np.zeros((counted, n_columns), np.float32)
    count_room = (
        np.empty(n_columns, np.float32), np.empty(n_columns, np.float32), drawn, drawn.view(np.int32),
        np.empty((n_classes, counted, n_columns), np.float32), np.empty((5, n_columns)),
    )  # fmt: skip
    ids, goes_left = np.empty(most, np.int32), np.zeros(most, np.uint64)
    own_bits, own_classes = np.empty((most, bits.shape[1]), np.uint64), np.empty(most, np.int32)
    own_weights, spare_values, spare_order = (
        np.empty(most),
        np.empty(most, np.float32),
        np.empty(most + 2, np.int32),
    )
    room = (
        np.empty(most),
        np.empty(most, np.int64),
        np.zeros((3, n_classes)),
        np.empty((64, n_classes)),
    )
    columns = (column_feature, values, order)
    kept = (
        bit_feature,
        own_bits,
        own_classes,
        own_weights,
        ids,
        np.empty(most, np.int32),
        np.empty(most),
    )
    price, opened = np.empty(own.shape[0]), np.empty(fee.shape[0], np.bool_)
    on_path, parent = np.zeros(own.shape[0], np.bool_), np.full(2 * most + 1, -1, np.int64)
    path_prices(own, *fees, on_path, opened, price)
    stack = np.empty((most + 1, 4), np.int64)
    for i in range(nodes.shape[0]):
        begin, n = nodes[i, START], nodes[i, STOP] - nodes[i, START]
        _load_rows(
            bits, classes, weights, rows, begin, n, own_bits, own_classes, own_weights, ids
        )  # fmt: skip
        if few:
            load_lines(blocks, rows, begin, n, lines)
        else:
            _sort_columns(
                blocks, column_feature, rows, begin, n, values, order, spare_values, spare_order
            )
        first, top, last = free_number, nodes[i, NUMBER], np.int64(0)
        stack[0, START], stack[0, STOP] = 0, n
        stack[0, NUMBER], stack[0, DEPTH] = top, nodes[i, DEPTH]
        waiting = 1
        while waiting > 0:
            waiting -= 1
            start, stop = stack[waiting, START], stack[waiting, STOP]
            number, depth = stack[waiting, NUMBER], stack[waiting, DEPTH]
            whole = evaluate(impurity, counts[number])
            if whole <= 0.0 or depth >= max_depth:
                continue
            if free:
                _path_prices(
                    own,
                    fees,
                    paths[i],
                    number,
                    top,
                    first,
                    parent,
                    feature,
                    on_path,
                    opened,
                    price,
                )
            if few:
                decrease, paid, best, cut = choose_column(
                    seed, number, ids[start:stop], own_classes, own_weights, counts[number], whole,
                    price, column_feature, lines, count_room,
                )  # fmt: skip
                beyond, side = cut, HEAVIER
            else:
                decrease, paid, best, cut, beyond, side = _choose_sorted(
                    impurity, draws, seed, number, start, stop, counts[number], whole, price, last, columns,
                    own_classes, own_weights, room,
                )  # fmt: skip
            chosen = _or_bit(
                impurity,
                start,
                stop,
                counts[number],
                whole,
                price,
                decrease,
                paid,
                best,
                kept,
                room,
            )
            side = side if chosen == best else HEAVIER
            if chosen < 0:
                continue
            last = max(np.int64(place[chosen]), 0)
            feature[number], left[number], side_of_missing[number] = chosen, free_number, side
            cuts[number, 0], cuts[number, 1] = cut, beyond
            if few and place[chosen] >= 0:
                mark_lines(lines, place[chosen], ids[start:stop], cut, goes_left)
            else:
                _mark(
                    place[chosen],
                    start,
                    stop,
                    cut,
                    side,
                    bit_low,
                    own_bits,
                    ids,
                    columns,
                    goes_left,
                )
            middle = start + _split_rows(
                ids[start:stop],
                goes_left,
                own_classes,
                own_weights,
                spare_order,
                counts[free_number],
            )
            mixed = False
            for k in range(n_classes):
                counts[free_number + 1, k] = counts[number, k] - counts[free_number, k]
            for child in range(2):
                new = free_number + 1 - child
                parent[new - first], feature[new], left[new] = number, -1, -1
                if evaluate(impurity, counts[new]) > 0.0:
                    mixed = True
                    stack[waiting, START] = middle if child == 0 else start
                    stack[waiting, STOP] = stop if child == 0 else middle
                    stack[waiting, NUMBER], stack[waiting, DEPTH] = new, depth + 1
                    waiting += 1
            # Nobody asks for the columns of leaves.
            for column in range(n_columns if mixed and not few else 0):
                # What is constant here stays so further down: its order is no longer needed.
                if (
                    column_feature[column] >= 0
                    and values[column, start] != values[column, stop - 1]
                ):
                    _split_column(
                        values[column, start:stop], order[column, start:stop], goes_left, spare_values,
                        spare_order,
                    )  # fmt: skip
            free_number += 2
    return free_number
