"""Trees on codes that correct one another, with answers to rows that they were not grown on.

One kernel grows a whole ensemble on one thread, as :mod:`bagged_trees` does: for each part of the rows
some rounds on the others, and what those say about the part. Answers are shares of classes (or numbers)
that are added up, so trees fit what is left by least squares: a set's answer stays a mean over trees, and
its trees stand beside those of a forest. A tree has leaves for all outputs; its splits see one
random sum of them, another for each tree, which tells as much as all.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import group, kernel
from worthwhile.core.forest.bagged_trees import Rows, leaf_of
from worthwhile.core.forest.draws import draw_first, next_bits

_U = np.uint64

Kind = group(
    __name__, "Kind",
    n_outputs="int64", n_pool="int64", n_parts="int64", n_rounds="int64", depth="int64",
    sample="float64", most_rows="int64", tried="float64", min_leaf="int64", rate="float64", seed="uint64",
)  # fmt: skip
"""``sample`` and ``tried`` are shares of the rows and columns that a tree sees."""

STEPS = 64
"""Values of a column that are told apart."""


@kernel(lean=True)
def _coarse(codes, missing, out):
    """Codes of a column in at most 64 steps, and a last one for missing values; what they were shifted by."""
    most = 0
    for i in range(codes.shape[0]):
        if np.int64(codes[i]) != missing:
            most = max(most, np.int64(codes[i]))
    shift = 0
    while most >> shift >= STEPS:
        shift += 1
    for i in range(codes.shape[0]):
        code = np.int64(codes[i])
        out[i] = STEPS if code == missing else code >> shift
    return shift


@kernel()
def _prepare(data, columns):
    """Steps of all columns (m, n), what codes were shifted by (m,), and whether all rows weigh 1."""
    n, m = data.slot.shape[0], columns.shape[0]
    coarse, shift, plain = np.empty((m, n), np.uint8), np.empty(m, np.int64), True
    for place in range(m):
        column = columns[place]
        shift[place] = _coarse(data.codes[column], data.missing[column], coarse[place])
    for i in range(n):
        plain = plain and data.weight[i] == 1.0
    return coarse, shift, plain


@kernel(lean=True)
def _add_up(codes, rows, lo, hi, sums, weight, plain, table):
    """Count, weight and sum of rows ``lo..hi`` for each step of a column; the first and last step."""
    low, high = STEPS, 0
    for i in range(lo, hi):
        key = np.int64(codes[rows[i]])
        low, high = min(low, key), max(high, key)
    for place in range(3 * low, 3 * high + 3):
        table[place] = 0.0
    if plain:
        for i in range(lo, hi):
            first = 3 * np.int64(codes[rows[i]])
            table[first] += 1.0
            table[first + 2] += sums[i]
        for key in range(low, high + 1):
            table[3 * key + 1] = table[3 * key]
        return low, high
    for i in range(lo, hi):
        first = 3 * np.int64(codes[rows[i]])
        table[first] += 1.0
        table[first + 1] += weight[rows[i]]
        table[first + 2] += sums[i]
    return low, high


@kernel(lean=True)
def _best_cut(table, low, high, count, mass, total, least):
    """Gain and last step on the left of the best cut between steps ``low..high`` of all rows' totals."""
    rows, below, here, best, cut = 0.0, 0.0, 0.0, 0.0, -1
    whole = total * total / mass
    for key in range(low, high):
        if table[3 * key] == 0.0:
            continue
        rows += table[3 * key]
        below += table[3 * key + 1]
        here += table[3 * key + 2]
        if rows < least or count - rows < least:
            continue
        there = total - here
        gain = here * here / below + there * there / (mass - below) - whole
        if gain > best:
            best, cut = gain, key
    return best, cut


@kernel(lean=True)
def _project(state, left, weight, sums):
    """A weighted random sum (n,) of what is left of every output (n, outputs); of the last where two say the same."""
    n, outputs = left.shape
    for i in range(n):
        sums[i] = left[i, outputs - 1]
    bits = next_bits(state)
    for j in range(outputs - 1 if outputs > 2 else 0):
        if j % 64 == 63:
            bits = next_bits(state)
        sign = 1.0 if (bits >> _U(j % 64)) & _U(1) else -1.0
        for i in range(n):
            sums[i] += sign * left[i, j]
    for i in range(n):
        sums[i] *= weight[i]


@kernel(lean=True)
def _best_split(coarse, places, n_tried, rows, lo, hi, own, weight, table, least, plain, due):
    """Place of the column and step of the best cut tried of rows ``lo..hi``; -1 where there is none."""
    mass, total = 0.0, 0.0
    for i in range(lo, hi):
        mass += weight[rows[i]]
        total += own[i]
    best, step, found = 0.0, np.int64(-1), np.int64(-1)
    for place in range(n_tried):
        codes = coarse[places[place]]
        low, high = _add_up(codes, rows, lo, hi, own, weight, plain, table)
        gain, here = _best_cut(table, low, high, hi - lo, mass, total, least)
        gain -= due[places[place]]
        if gain > best:
            best, step, found = gain, np.int64(here), np.int64(places[place])
    return found, step


@kernel(lean=True)
def _grow_tree(
    data, kind, columns, coarse, shift, draws, sums, table, stack, out, nodes, plain, due
):
    """Grow one tree at the end of what stands in ``out``; return how many nodes stand there then.

    ``due`` (m,) is what the first split by a column costs, in units of the gain: then it is free.
    """
    places, n_tried, rows, n_rows, own = draws
    feature, cut, child = out
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = nodes, 0, n_rows, 0
    waiting = 1
    nodes += 1
    while waiting > 0:
        waiting -= 1
        node, lo, hi, level = (
            stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3],
        )  # fmt: skip
        place, step = np.int64(-1), np.int64(-1)
        if level < kind.depth and hi - lo >= 2 * kind.min_leaf:
            for i in range(lo, hi):
                own[i] = sums[rows[i]]
            place, step = _best_split(
                coarse,
                places,
                n_tried,
                rows,
                lo,
                hi,
                own,
                data.weight,
                table,
                kind.min_leaf,
                plain,
                due,
            )
        if place < 0:
            feature[node], cut[node], child[node] = -1, -1, 0
            continue
        due[place] = 0.0
        middle, codes, column = lo, coarse[place], np.int64(columns[place])
        for i in range(lo, hi):
            if np.int64(codes[rows[i]]) <= step:
                rows[i], rows[middle] = rows[middle], rows[i]
                middle += 1
        # Where no value was missing, one that is goes with the most.
        with_most = data.missing[column] < 0 and 2 * (middle - lo) >= hi - lo
        feature[node], child[node] = 2 * column + (1 if with_most else 0), nodes
        cut[node] = ((step + 1) << shift[place]) - 1
        for side in range(2):
            stack[waiting, 0], stack[waiting, 3] = nodes + 1 - side, level + 1
            stack[waiting, 1] = lo if side == 1 else middle
            stack[waiting, 2] = middle if side == 1 else hi
            waiting += 1
        nodes += 2
    return nodes


@kernel(lean=True)
def _settle(data, kind, own, part, out, root, leaf, leaves, left, total, share):
    """Number the leaves of a tree, let them hold what is left of their rows, and take it from all rows."""
    feature, cut, child = out
    nodes, first, outputs = root[1], leaves, left.shape[1]
    for node in range(root[0], nodes):
        if feature[node] < 0:
            child[node] = leaves
            leaves += 1
    for place in range(leaves - first):
        for k in range(outputs + 1):
            total[place, k] = 0.0
    for i in range(left.shape[0]):
        at = leaf_of(data.codes, data.missing, feature, cut, child, root[0], i)
        leaf[i] = child[at]
        if i < kind.n_pool and part[i] != own:
            total[leaf[i] - first, outputs] += data.weight[i]
            for k in range(outputs):
                total[leaf[i] - first, k] += data.weight[i] * left[i, k]
    for place in range(leaves - first):
        mass = max(total[place, outputs], 1e-300)
        for k in range(outputs):
            share[first + place, k] = kind.rate * total[place, k] / mass
    for i in range(left.shape[0]):
        for k in range(outputs):
            left[i, k] -= np.float64(share[leaf[i], k])
    return leaves


@kernel(lean=True)
def _begin(weight, n_pool, target, part, own, pool, base, left):
    """Put the rows outside a part into ``pool``, their mean into ``base`` and what it leaves into ``left``."""
    size, mass = 0, 0.0
    for k in range(base.shape[0]):
        base[k] = 0.0
    for i in range(n_pool):
        if part[i] != own:
            pool[size] = i
            size += 1
            mass += weight[i]
            for k in range(base.shape[0]):
                base[k] += weight[i] * target[i, k]
    for k in range(base.shape[0]):
        base[k] /= mass
        for i in range(left.shape[0]):
            left[i, k] = target[i, k] - base[k]
    return size


@kernel((Rows, Kind, "int32[::1]", "float64[:, ::1]", "int32[::1]", "float64[:, ::1]"))  # fmt: skip
def grow(data, kind, columns, target, part, votes):
    """Grow rounds of trees for every part on the rows of the others, and let the part be answered.

    Parameters
    ----------
    data : Rows
    kind : Kind
    columns : int32 (m,)
        Columns to split on.
    target : float64 (n, n_outputs)
        What is to be answered.
    part : int32 (n,)
        Part of each of the first ``n_pool`` rows; the others are answered by all.
    votes : float64 (n, n_outputs)
        Zeros; gets the answers of trees that were grown without the row.

    Returns
    -------
    feature, cut, child, root
        As from ``bagged_trees.grow``; leaves are numbered from 0 on.
    share : float32 (leaves, n_outputs)
        What the leaves of each tree add to the answer of its part's trees.
    base : float64 (n_parts, n_outputs)
        What those answers start from.
    """
    n, outputs, trees = data.slot.shape[0], kind.n_outputs, kind.n_parts * kind.n_rounds
    m, most = columns.shape[0], 2 << kind.depth
    state = np.empty(1, np.uint64)
    state[0] = kind.seed
    coarse, shift, plain = _prepare(data, columns)
    feature, cut = np.empty(trees * most, np.int32), np.empty(trees * most, np.int32)
    child, roots = np.empty(trees * most, np.int32), np.empty(trees + 1, np.int32)
    share = np.empty((trees * most // 2, outputs), np.float32)
    base = np.zeros((kind.n_parts, outputs))
    stack = np.empty((2 * kind.depth + 4, 4), np.int64)
    table, left = np.empty(3 * STEPS + 3), np.empty((n, outputs))
    sums, own_sums = np.empty(n), np.empty(n)
    total, leaf, pool = np.empty((most, outputs + 1)), np.empty(n, np.int64), np.empty(n, np.int64)
    places, free = np.arange(m), np.zeros(m)
    n_tried = min(m, max(1, np.int64(np.ceil(kind.tried * m))))
    out = feature, cut, child
    leaves, tree = np.int64(0), 0
    roots[0] = 0
    for own in range(kind.n_parts):
        size = _begin(data.weight, kind.n_pool, target, part, own, pool, base[own], left)
        rows = pool[:size].copy()
        n_rows = min(kind.most_rows, max(1, np.int64(np.ceil(kind.sample * size))))
        for _ in range(kind.n_rounds):
            _project(state, left, data.weight, sums)
            draw_first(state, rows, n_rows)
            draw_first(state, places, n_tried)
            draws = places, n_tried, rows, n_rows, own_sums
            roots[tree + 1] = _grow_tree(
                data, kind, columns, coarse, shift, draws, sums, table, stack, out, roots[tree],
                plain, free,
            )  # fmt: skip
            leaves = _settle(
                data, kind, own, part, out, roots[tree : tree + 2], leaf, leaves, left, total, share
            )
            tree += 1
        for i in range(n):
            if i >= kind.n_pool or part[i] == own:
                portion = 1.0 / kind.n_parts if i >= kind.n_pool else 1.0
                for k in range(outputs):
                    votes[i, k] += portion * (target[i, k] - left[i, k])
    nodes = roots[trees]
    return (
        feature[:nodes].copy(), cut[:nodes].copy(), child[:nodes].copy(), roots[:trees].copy(),
        share[:leaves].copy(), base,
    )  # fmt: skip


@kernel((Rows, Kind, "int32[::1]", "float64[:, ::1]", "float64[::1]", "float64[::1]"))  # fmt: skip
def purchase_order(data, kind, columns, target, price, rates):
    """Columns in the order in which boosted trees first split by them, while money counts ever less.

    Parameters
    ----------
    data : Rows
    kind : Kind
        Of one part: all rows are learnt from.
    columns : int32 (m,)
    target : float64 (n, n_outputs)
    price : float64 (m,)
        What the first split by a column costs, whatever follows.
    rates : float64 (rounds,)
        What a unit of money is worth in each round, as a share of all that is left to explain.

    Returns
    -------
    order : int64 (used,)
        Places in ``columns``; of those that a round buys, the first in order first.
    """
    n, outputs, m = data.slot.shape[0], kind.n_outputs, columns.shape[0]
    most = 2 << kind.depth
    state = np.empty(1, np.uint64)
    state[0] = kind.seed
    coarse, shift, plain = _prepare(data, columns)
    out = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    share, total = np.empty((most, outputs), np.float32), np.empty((most, outputs + 1))
    stack, table = np.empty((2 * kind.depth + 4, 4), np.int64), np.empty(3 * STEPS + 3)
    left, sums, own_sums, leaf = target.copy(), np.empty(n), np.empty(n), np.empty(n, np.int64)
    part, root = np.ones(n, np.int32), np.zeros(2, np.int32)
    places, rows, due = np.arange(m), np.arange(kind.n_pool), np.empty(m)
    order, bought, used = np.empty(m, np.int64), np.zeros(m, np.bool_), 0
    n_rows = min(kind.most_rows, max(1, np.int64(np.ceil(kind.sample * rows.shape[0]))))
    n_tried = min(m, max(1, np.int64(np.ceil(kind.tried * m))))
    for turn in range(rates.shape[0]):
        _project(state, left, data.weight, sums)
        draw_first(state, rows, n_rows)
        draw_first(state, places, n_tried)
        whole = 0.0
        for i in range(n_rows):
            whole += sums[rows[i]] * sums[rows[i]]
        for place in range(m):
            due[place] = 0.0 if bought[place] else rates[turn] * whole * price[place]
        draws = places, n_tried, rows, n_rows, own_sums
        root[1] = _grow_tree(
            data, kind, columns, coarse, shift, draws, sums, table, stack, out, root[0], plain, due
        )
        for node in range(root[1]):
            if out[0][node] >= 0:
                for place in range(m):
                    if columns[place] == out[0][node] >> 1 and not bought[place]:
                        bought[place] = True
                        order[used] = place
                        used += 1
        _settle(data, kind, 0, part, out, root, leaf, np.int64(0), left, total, share)
    return order[:used].copy()
