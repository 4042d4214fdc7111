"""Quantiles of nodes against their naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.quantiles import below, quantile
from worthwhile.core.boosting.node_quantiles import node_quantiles, weighted_quantile

TREE = np.array([[1, 2], [3, 4], [-1, -1], [-1, -1], [-1, -1]])


@given(st.integers(0, 2**16), st.sampled_from([0.1, 0.25, 0.5, 0.9]), st.booleans(), st.booleans())
def test_every_node_has_the_quantile_of_the_rows_below_it(seed, share, weighted, tied):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    values = rng.integers(0, 4, n) * 1.0 if tied else rng.normal(size=n)
    weight = rng.integers(1, 4, n) if weighted else np.empty(0, dtype=np.int64)
    leaf = rng.choice([2, 3, 4], n).astype(np.uint16)
    found = node_quantiles(values, weight, leaf, TREE, share)
    for node in range(len(TREE)):
        rows = np.isin(leaf, below(TREE, node))
        if not rows.any():
            assert found[node] == 0.0
        else:
            assert found[node] == quantile(values[rows], weight[rows] if weighted else None, share)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_numpy_knows_the_same_quantile(share):
    values = np.sort(np.random.default_rng(0).normal(size=20))
    expected = np.quantile(values, share, method="averaged_inverted_cdf")
    assert weighted_quantile(values, None, share) == pytest.approx(expected, rel=1e-15)
