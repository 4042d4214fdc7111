"""Trees on codes, each grown on a part of the rows and asked about the others.

One kernel grows a whole forest, tree after tree on one thread: forests of different feature sets run
side by side, and none depends on how many do. Codes are bin numbers (d, n); a row adds ``amount`` to
the sum of its ``slot`` at a node: its weight to that of its class, or its weighted target to the only
one. The split is that with the largest sum of squares over weight, which is Gini's for classes and
the variance for numbers.

What comes back are nodes without gaps: a child's right sibling follows it, a leaf has a number, and
leaves hold only the slots that they have something of.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import group, kernel
from worthwhile.core.forest.draws import draw_below, draw_first, next_bits
from worthwhile.core.forest.random_cuts import applies, best_random_cut, make_lines
from worthwhile.core.forest.two_class_cuts import best_cut_of_two, sort_keys

_U = np.uint64

KEYS = 258
"""Codes of a column, and one place below them for missing values."""

Rows = group(
    __name__, "Rows",
    codes="uint8[:, ::1]",  # (d, n)
    missing="int64[::1]",  # (d,): the code of missing values, -1 where there were none
    slot="int32[::1]", amount="float64[::1]", weight="float64[::1]",
)  # fmt: skip

Kind = group(
    __name__, "Kind",
    n_outputs="int64", n_trees="int64", n_pool="int64", n_sample="int64", n_tried="int64",
    min_leaf="int64", random="boolean", seed="uint64",
)  # fmt: skip


@kernel(lean=True)
def _scan(keys, order, m, slot, amount, weight, total, left, right, least):
    """Best score of a cut and the last key on its left; -1 where no cut leaves enough on both sides."""
    all_weight, square = 0.0, 0.0
    for k in range(total.shape[0]):
        left[k], right[k] = 0.0, total[k]
        square += total[k] * total[k]
    for i in range(m):
        all_weight += weight[i]
    below, here, best, cut = 0.0, 0.0, -1.0, -1
    for i in range(m - least):
        p = order[i]
        k, a = slot[p], amount[p]
        here += a * (2.0 * left[k] + a)
        square -= a * (2.0 * right[k] - a)
        left[k] += a
        right[k] -= a
        below += weight[p]
        key, following = keys[p], keys[order[i + 1]]
        if key != following and i + 1 >= least:
            score = here / below + square / (all_weight - below)
            if score > best:
                best, cut = score, (key + following - 1) // 2
    return best, cut


@kernel(lean=True)
def _try(keys, m, cut, slot, amount, weight, total, left, least):
    """Score of one cut; -1 where it does not leave enough on both sides."""
    for k in range(left.shape[0]):
        left[k] = 0.0
    below, all_weight, count = 0.0, 0.0, 0
    for i in range(m):
        goes = keys[i] <= cut
        all_weight += weight[i]
        if goes:
            left[slot[i]] += amount[i]
            below += weight[i]
            count += 1
    if count < least or m - count < least:
        return -1.0
    here, there = 0.0, 0.0
    for k in range(total.shape[0]):
        here += left[k] * left[k]
        there += (total[k] - left[k]) * (total[k] - left[k])
    return here / below + there / (all_weight - below)


@kernel(lean=True)
def _scan_counts(keys, m, low, high, slot, total, left, right, table, least):
    """As ``_scan``, for classes of rows that weigh 1, by counting: whole numbers are exact in any order."""
    classes = total.shape[0]
    for place in range((high - low + 1) * classes):
        table[place] = 0
    for i in range(m):
        table[(keys[i] - low) * classes + slot[i]] += 1
    here, square, below, best, cut = 0.0, 0.0, 0, -1.0, -1
    for k in range(classes):
        left[k], right[k] = 0.0, total[k]
        square += total[k] * total[k]
    last, score = -1, -1.0
    for key in range(low, high + 1):
        first, rows = (key - low) * classes, 0
        for k in range(classes):
            rows += table[first + k]
        if rows == 0:
            continue
        if last >= 0 and below >= least and m - below >= least:
            score = here / below + square / (m - below)
            if score > best:
                best, cut = score, (last + key - 1) // 2
        for k in range(classes):
            a = np.float64(table[first + k])
            here += a * (2.0 * left[k] + a)
            square -= a * (2.0 * right[k] - a)
            left[k] += a
            right[k] -= a
        below += rows
        last = key
    return best, cut


@kernel(lean=True)
def _try_counts(keys, m, cut, slot, total, left, least):
    """As ``_try``, for classes of rows that weigh 1."""
    count = 0
    if total.shape[0] == 2:
        ones = 0
        for i in range(m):
            goes = np.int64(keys[i] <= cut)
            count += goes
            ones += goes & slot[i]
        left[0], left[1] = count - ones, ones
    else:
        for k in range(left.shape[0]):
            left[k] = 0.0
        for i in range(m):
            goes = np.int64(keys[i] <= cut)
            count += goes
            left[slot[i]] += goes
    if count < least or m - count < least:
        return -1.0
    here, there = 0.0, 0.0
    for k in range(total.shape[0]):
        here += left[k] * left[k]
        there += (total[k] - left[k]) * (total[k] - left[k])
    return here / count + there / (m - count)


@kernel(lean=True)
def _read_keys(codes, rows, lo, hi, missing, low_missing, keys):
    """Keys of the rows of a node, and their range: codes, or one more with missing ones below all."""
    least, most = KEYS, -1
    for i in range(lo, hi):
        key = np.int64(codes[rows[i]])
        if low_missing:
            key = 0 if key == missing else key + 1
        keys[i - lo] = key
        least, most = min(least, key), max(most, key)
    return least, most


@kernel(lean=True)
def leaf_of(codes, missing, feature, cut, child, root, row):
    """The leaf that a row comes to."""
    at = root
    while feature[at] >= 0:
        column = feature[at] >> 1
        code = np.int64(codes[column, row])
        left = feature[at] & 1 if code == missing[column] else np.int32(code <= cut[at])
        at = child[at] + 1 - left
    return at


@kernel()
def _wider(array, used, more):
    """The array itself, or a longer copy if ``more`` entries would not fit."""
    if used + more <= array.shape[0]:
        return array
    wider = np.empty(max(2 * array.shape[0], used + more), array.dtype)
    for i in range(used):  # assigning slices takes long to compile
        wider[i] = array[i]
    return wider


@kernel(lean=True)
def _best_split(data, kind, columns, rows, lo, hi, state, own, room, plain):
    """Feature and cut of the best split tried of rows ``lo..hi``; -1 where there is none."""
    slot, amount, weight = own
    keys, order, count, total, left, right, table = room
    n_columns, m = columns.shape[0], hi - lo
    best, best_feature, best_cut, tried = -1.0, np.int64(-1), np.int64(-1), 0
    for place in range(n_columns):
        if tried == kind.n_tried:
            break
        other = place + draw_below(state, n_columns - place)
        columns[place], columns[other] = columns[other], columns[place]
        column = columns[place]
        lost = data.missing[column]
        low_missing = lost >= 0 and (next_bits(state) & _U(1)) == _U(1)
        least, most = _read_keys(data.codes[column], rows, lo, hi, lost, low_missing, keys)
        if least == most:
            continue
        tried += 1
        if kind.random:
            here = least + draw_below(state, most - least)
            if plain:
                score = _try_counts(keys, m, here, slot, total, left, kind.min_leaf)
            else:
                score = _try(keys, m, here, slot, amount, weight, total, left, kind.min_leaf)
        elif plain and kind.n_outputs == 2:
            ones, seen = np.int64(total[1]), (order, count, table)
            score, here = best_cut_of_two(keys, m, least, most, slot, ones, seen, kind.min_leaf)
        elif plain and (most - least + 1) * kind.n_outputs <= 2 * m:
            score, here = _scan_counts(
                keys, m, least, most, slot, total, left, right, table, kind.min_leaf
            )
        else:
            sort_keys(keys, m, least, most, count, order)
            score, here = _scan(
                keys, order, m, slot, amount, weight, total, left, right, kind.min_leaf
            )
        if score > best:
            best, best_feature = score, np.int64(2 * column + low_missing)
            best_cut = np.int64(here - low_missing)
    return best_feature, best_cut


@kernel(lean=True)
def _divide(codes, lost, feature, cut, rows, lo, hi):
    """Bring the rows that go left to the front of ``lo..hi``; where the others begin."""
    middle = lo
    for i in range(lo, hi):
        code = np.int64(codes[rows[i]])
        goes = np.int64(feature & 1) if code == lost else np.int64(code <= cut)
        # Both are always written, which spares a guess at each row; those that stay change nothing.
        row, first = rows[i], rows[middle]
        rows[i] = first if goes else row
        rows[middle] = row if goes else first
        middle += goes
    return middle


@kernel(lean=True)
def _count_classes(classes, rows, lo, m, slot, total):
    """Classes of the rows of a node that weigh 1, and how many there are of each."""
    if total.shape[0] > 2:
        for i in range(m):
            slot[i] = classes[rows[lo + i]]
            total[slot[i]] += 1.0
        return
    ones = 0
    for i in range(m):
        slot[i] = classes[rows[lo + i]]
        ones += slot[i]
    total[0], total[1] = m - ones, ones


@kernel(lean=True)
def _grow_tree(
    data, kind, columns, rows, others, state, own, room, side, stack, out, votes, asked, nodes,
    leaves, entries, plain
):  # fmt: skip
    """Grow one tree at the end of what stands in ``out``; return how much stands there then.

    Rows that it does not see go down along with those it does, which is faster than a walk for each.
    """
    slot, amount, weight = own
    total = room[3]
    feature, cut, child, start, held, share = out
    stack[0, 0], stack[0, 1], stack[0, 2] = nodes, 0, kind.n_sample
    stack[0, 3], stack[0, 4] = 0, _who_votes(kind, rows, others, asked)
    depth = 1
    nodes += 1
    while depth > 0:
        depth -= 1
        node, lo, hi = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        first, last = stack[depth, 3], stack[depth, 4]
        m = hi - lo
        for k in range(kind.n_outputs):
            total[k] = 0.0
        all_weight = np.float64(m)
        if plain:
            _count_classes(data.slot, rows, lo, m, slot, total)
        else:
            all_weight = 0.0
            for i in range(m):
                row = rows[lo + i]
                slot[i], amount[i], weight[i] = data.slot[row], data.amount[row], data.weight[row]
                total[slot[i]] += amount[i]
                all_weight += weight[i]
        pure = kind.n_outputs > 1
        for i in range(1, m):
            if slot[i] != slot[0]:
                pure = False
                break
        best_feature, best_cut = np.int64(-1), np.int64(-1)
        if m >= 2 * kind.min_leaf and not pure:
            if side[0].shape[0] > 0:
                best_feature, best_cut = best_random_cut(
                    kind, columns, rows, lo, hi, state, slot, total, side
                )
            else:
                best_feature, best_cut = _best_split(
                    data, kind, columns, rows, lo, hi, state, own, room, plain
                )
        if best_feature >= 0:
            codes, lost = data.codes[best_feature >> 1], data.missing[best_feature >> 1]
            middle = _divide(codes, lost, best_feature, best_cut, rows, lo, hi)
            between = _divide(codes, lost, best_feature, best_cut, others, first, last)
            if lost < 0 and 2 * (middle - lo) >= m:
                best_feature += 1  # nothing was missing: a value that is goes with the most
            feature[node], cut[node], child[node] = best_feature, best_cut, nodes
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = nodes + 1, middle, hi
            stack[depth, 3], stack[depth, 4] = between, last
            stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = nodes, lo, middle
            stack[depth + 1, 3], stack[depth + 1, 4] = first, between
            depth += 2
            nodes += 2
            continue
        feature[node], cut[node], child[node] = -1, -1, leaves
        for k in range(kind.n_outputs):
            if total[k] != 0.0:
                held[entries], share[entries] = k, total[k] / all_weight
                for i in range(first, last):
                    votes[others[i], k] += share[entries]
                entries += 1
        leaves += 1
        start[leaves] = entries
    return nodes, leaves, entries


@kernel(lean=True)
def _who_votes(kind, rows, others, asked):
    """The rows that a tree does not see: those not drawn, and those that none may see."""
    n = asked.shape[0]
    for i in range(kind.n_sample, n):
        row = rows[i] if i < kind.n_pool else i
        others[i - kind.n_sample] = row
        asked[row] += 1
    return n - kind.n_sample


@kernel(
    (
        Rows, Kind, "int32[::1]", "float64[:, ::1]", "int32[::1]",
    )
)  # fmt: skip
def grow(data, kind, columns, votes, asked):
    """Grow a forest on some columns, and let rows vote in the trees that did not see them.

    Parameters
    ----------
    data : Rows
    kind : Kind
        ``n_sample`` rows a tree, drawn from the first ``n_pool`` (the others vote in every tree),
        ``n_tried`` columns that differ a node, at least ``min_leaf`` rows a leaf; ``random``: one
        random cut a column instead of the best.
    columns : int32 (m,)
        Columns to split on; put in another order.
    votes : float64 (n, n_outputs)
        Is added to: the leaves that a row comes to in trees grown without it.
    asked : int32 (n,)
        Is added to: the number of those trees.

    Returns
    -------
    feature : int32 (nodes,)
        Twice the column, and one more where missing values go left; -1 at a leaf.
    cut : int32 (nodes,)
        Last code on the left; -1 if only missing values are there.
    child : int32 (nodes,)
        Left child, followed by the right one; of a leaf its number.
    root : int32 (n_trees,)
    start : int64 (leaves + 1,)
        Where the slots of each leaf begin.
    held, share : int32, float32
        Slots that a leaf holds something of, and their sums over its weight.
    """
    n, n_outputs = data.slot.shape[0], kind.n_outputs
    state = np.empty(1, np.uint64)
    state[0] = kind.seed
    rows = np.arange(kind.n_pool)
    own = np.empty(n, np.int64), np.ones(n), np.ones(n)
    # Rows that weigh 1 are counted, which needs neither an order nor sums.
    plain = n_outputs > 1
    for i in range(n):
        plain = plain and data.weight[i] == 1.0 and data.amount[i] == 1.0
    room = (
        np.empty(n, np.int64), np.empty(n, np.int64), np.empty(KEYS, np.int64), np.empty(n_outputs),
        np.empty(n_outputs), np.empty(n_outputs), np.empty(max(2 * n + 2, KEYS), np.int64),
    )  # fmt: skip
    lined = plain and kind.random and applies(data.missing, columns, kind.n_tried)
    lines, ranges = make_lines(data.codes, columns, n if lined else 0)
    side = (
        lines, ranges, np.zeros((n_outputs, lines.shape[1]), np.int32),
        np.arange(columns.shape[0]), np.empty(columns.shape[0], np.int64),
    )  # fmt: skip
    others, stack = np.empty(n, np.int64), np.empty((n + 2, 5), np.int64)
    feature, cut = np.empty(256, np.int32), np.empty(256, np.int32)
    child, start = np.empty(256, np.int32), np.empty(256, np.int64)
    held, share = np.empty(256, np.int32), np.empty(256, np.float32)
    root = np.empty(kind.n_trees, np.int32)
    start[0] = 0
    nodes, leaves, entries = np.int64(0), np.int64(0), np.int64(0)
    for tree in range(kind.n_trees):
        draw_first(state, rows, kind.n_sample)
        feature = _wider(feature, nodes, 2 * kind.n_sample)
        cut = _wider(cut, nodes, 2 * kind.n_sample)
        child = _wider(child, nodes, 2 * kind.n_sample)
        start = _wider(start, leaves + 1, kind.n_sample)
        held = _wider(held, entries, kind.n_sample)
        share = _wider(share, entries, kind.n_sample)
        root[tree] = nodes
        out = feature, cut, child, start, held, share
        nodes, leaves, entries = _grow_tree(
            data, kind, columns, rows, others, state, own, room, side, stack, out, votes, asked,
            nodes, leaves, entries, plain,
        )  # fmt: skip
    return (
        feature[:nodes].copy(), cut[:nodes].copy(), child[:nodes].copy(), root,
        start[: leaves + 1].copy(), held[:entries].copy(), share[:entries].copy(),
    )  # fmt: skip
