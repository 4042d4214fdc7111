"""What the nodes of bagged trees say: leaves what they were grown with, those above them means of all rows."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.bagged_trees import Rows, leaf_of

TREES = "int32[::1], int32[::1], int32[::1], int32[::1], int64[::1], int32[::1], float32[::1]"


@kernel((Rows, *TREES.split(", "), "float64[::1]", "float64[:, ::1]"))
def fill_means(data, feature, cut, child, root, start, held, share, weight, value):
    """Fill ``value`` with what each node says of a row that stops there.

    Parameters
    ----------
    data : Rows
        All rows: trees were grown on some of them each.
    feature, cut, child, root, start, held, share : arrays
        A forest, as ``bagged_trees.grow`` returns it.
    weight : float64 (nodes,)
        Zeros; used up.
    value : float64 (nodes, n_outputs)
        Zeros, to be filled.
    """
    nodes, n_outputs = value.shape
    for tree in range(root.shape[0]):
        for row in range(data.slot.shape[0]):
            at = leaf_of(data.codes, data.missing, feature, cut, child, root[tree], row)
            value[at, data.slot[row]] += data.amount[row]
            weight[at] += data.weight[row]
    for node in range(nodes - 1, -1, -1):  # children come after their parents
        if feature[node] < 0:
            continue
        for side in range(child[node], child[node] + 2):
            weight[node] += weight[side]
            for k in range(n_outputs):
                value[node, k] += value[side, k]
    for node in range(nodes):
        if feature[node] >= 0:
            for k in range(n_outputs):
                value[node, k] /= weight[node]
            continue
        leaf, total = child[node], 0.0
        for entry in range(start[leaf], start[leaf + 1]):
            total += np.float64(share[entry])
        for k in range(n_outputs):
            value[node, k] = 0.0
        for entry in range(start[leaf], start[leaf + 1]):
            # Shares were rounded: those of classes add up to 1 again.
            own = np.float64(share[entry])
            value[node, held[entry]] = own / total if n_outputs > 1 else own
