"""Answers of the nodes of bagged trees."""

from __future__ import annotations

import numpy as np
import pytest

from tests.core.forest.test_library_kernels import table
from tests.naive import library as naive
from worthwhile.core.forest.bagged_trees import Kind, grow
from worthwhile.core.forest.node_means import fill_means


def rows_at(data, feature, cut, child, root):
    """Rows that come by each node, slowly."""
    found = {int(node): [] for node in range(len(feature))}
    for start in root:
        waiting = [(int(start), np.arange(len(data.slot)))]
        while waiting:
            at, rows = waiting.pop()
            found[at] += rows.tolist()
            if feature[at] >= 0:
                left = naive.goes_left(data, int(feature[at]), int(cut[at]), rows)
                waiting += [(int(child[at]), rows[left]), (int(child[at]) + 1, rows[~left])]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_inner_nodes_have_the_mean_of_all_rows_and_leaves_what_they_were_grown_with(seed):
    data = table(seed, lost=seed % 2 == 0)
    kind = Kind(3, 3, 60, 40, 2, 1 + seed % 3, seed % 2 == 1, np.uint64(seed))
    votes, asked = np.zeros((60, 3)), np.zeros(60, np.int32)
    trees = grow(data, kind, np.arange(4, dtype=np.int32), votes, asked)
    feature, cut, child, root, start, held, share = trees
    value = np.zeros((len(feature), 3))
    fill_means(data, *trees, np.zeros(len(feature)), value)
    rows = rows_at(data, feature, cut, child, root)
    for node in range(len(feature)):
        if feature[node] >= 0:
            own = rows[node]
            expected = np.bincount(data.slot[own], data.amount[own], 3) / data.weight[own].sum()
        else:
            leaf = slice(start[child[node]], start[child[node] + 1])
            expected = np.zeros(3)
            expected[held[leaf]] = share[leaf]
        np.testing.assert_allclose(value[node], expected, rtol=1e-6)
        assert value[node].sum() == pytest.approx(1, abs=1e-12)
