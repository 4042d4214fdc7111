"""Parts of the rows that gain alike from what could be bought next: small trees with many targets.

Rows at a node of a library differ in what each further purchase would bring them. A tree over what is
known of them (their values, and how sure the answer is) cuts them into cells; a cell then takes the
purchase that is best for it on average. Cuts are made only where the targets differ by more than chance.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel

CODES = 256


@kernel(lean=True)
def _best_cut(codes, targets, handicap, rows, lo, hi, least, sums, counts, total):
    """Feature, last code on the left and gain of the best cut of rows ``lo..hi``."""
    n, n_targets = hi - lo, targets.shape[1]
    best, best_feature, best_cut = 0.0, -1, -1
    base = 0.0
    total[:] = 0.0
    for i in range(lo, hi):
        for e in range(n_targets):
            total[e] += targets[rows[i], e]
    for e in range(n_targets):
        base += total[e] * total[e] / n
    for feature in range(codes.shape[0]):
        sums[:] = 0.0
        counts[:] = 0
        low, high = CODES, -1
        for i in range(lo, hi):
            code = np.int64(codes[feature, rows[i]])
            low, high = min(low, code), max(high, code)
            counts[code] += 1
            for e in range(n_targets):
                sums[code, e] += targets[rows[i], e]
        left = 0
        for code in range(low, high):
            left += counts[code]
            if code > low:
                for e in range(n_targets):
                    sums[code, e] += sums[code - 1, e]
            if counts[code] == 0 or left < least or n - left < least:
                continue
            gain = -base - handicap[feature]
            for e in range(n_targets):
                other = total[e] - sums[code, e]
                gain += sums[code, e] * sums[code, e] / left + other * other / (n - left)
            if gain > best:
                best, best_feature, best_cut = gain, feature, code
    return best_feature, best_cut, best


@kernel("void(uint8[:, ::1], float64[:, ::1], float64[::1], int64, int64, float64)")
def grow_cells(codes, targets, handicap, least, most, needed):
    """Cut rows into cells, best cut first.

    Parameters
    ----------
    codes : uint8 (features, n)
    targets : float64 (n, targets)
        What each purchase would bring, in units of its spread.
    handicap : float64 (features,)
        Is taken off what a cut by a feature explains.
    least : int
        Rows of a cell.
    most : int
        Cells.
    needed : float
        A cut lowers the sum of squares by at least this much.

    Returns
    -------
    feature, cut, child : int32 (nodes,)
        As for trees: -1 at a cell, whose number ``child`` then is; the right child follows the left.
    cell : int32 (n,)
        Cell of each row.
    """
    n = targets.shape[0]
    n_nodes = 2 * most - 1
    feature, cut = np.full(n_nodes, -1, np.int32), np.full(n_nodes, -1, np.int32)
    child = np.full(n_nodes, -1, np.int32)
    bounds = np.zeros((n_nodes, 2), np.int64)
    plan_feature, plan_cut = np.full(n_nodes, -1, np.int64), np.zeros(n_nodes, np.int64)
    plan_gain = np.zeros(n_nodes)
    sums, counts = np.zeros((CODES, targets.shape[1])), np.zeros(CODES, np.int64)
    total = np.zeros(targets.shape[1])
    rows, spare = np.arange(n), np.empty(n, np.int64)
    bounds[0] = 0, n
    nodes = 1
    plan_feature[0], plan_cut[0], plan_gain[0] = _best_cut(
        codes, targets, handicap, rows, 0, n, least, sums, counts, total
    )
    while nodes < n_nodes:
        chosen = -1
        for node in range(nodes):
            open_ = feature[node] < 0 and plan_feature[node] >= 0 and plan_gain[node] >= needed
            if open_ and (chosen < 0 or plan_gain[node] > plan_gain[chosen]):
                chosen = node
        if chosen < 0:
            break
        lo, hi = bounds[chosen]
        column, last = plan_feature[chosen], plan_cut[chosen]
        middle, others = lo, 0
        for i in range(lo, hi):
            row = rows[i]
            if codes[column, row] <= last:
                rows[middle] = row
                middle += 1
            else:
                spare[others] = row
                others += 1
        rows[middle:hi] = spare[:others]
        feature[chosen], cut[chosen], child[chosen] = column, last, nodes
        for side in range(2):
            node = nodes + side
            bounds[node] = (lo, middle) if side == 0 else (middle, hi)
            plan_feature[node], plan_cut[node], plan_gain[node] = _best_cut(
                codes,
                targets,
                handicap,
                rows,
                bounds[node, 0],
                bounds[node, 1],
                least,
                sums,
                counts,
                total,
            )
        nodes += 2
    cell, cells = np.zeros(n, np.int32), 0
    for node in range(nodes):
        if feature[node] < 0:
            child[node] = cells
            for i in range(bounds[node, 0], bounds[node, 1]):
                cell[rows[i]] = cells
            cells += 1
    return feature[:nodes].copy(), cut[:nodes].copy(), child[:nodes].copy(), cell
