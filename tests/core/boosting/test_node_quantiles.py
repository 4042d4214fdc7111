"""Quantiles of nodes against their naive twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.distributed.ranks import run_ranks
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


def test_rows_of_weight_0_are_as_if_they_were_not_there():
    """Neither do they end a tie, nor are they the next value."""
    leaf, values = np.zeros(3, dtype=np.uint16), np.array([1.0, 3.0, 2.0])
    alone = np.array([[-1, -1]])
    assert node_quantiles(values, np.array([1, 1, 0]), leaf, alone, 0.5).tolist() == [2.0]
    assert node_quantiles(values, np.array([1, 0, 2]), leaf, alone, 0.1).tolist() == [1.0]


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 2**16), st.sampled_from([0.1, 0.25, 0.5]), st.booleans(), st.booleans(), st.integers(2, 4)
)  # fmt: skip
def test_ranks_find_the_quantiles_of_all_rows(seed, share, weighted, tied, size):
    """Whatever rows each has, some of them none; of sizes from next to nothing to the largest."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    values = (
        rng.integers(-2, 3, n) * 1.0
        if tied
        else rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
    )
    weight = rng.integers(0, 4, n) if weighted else np.empty(0, dtype=np.int64)
    leaf = rng.choice([2, 3, 4], n).astype(np.uint16)
    owner = rng.choice(size, n)
    expected = node_quantiles(values, weight, leaf, TREE, share)

    def work(mesh):
        own = owner == mesh.rank
        return node_quantiles(
            values[own], weight[own] if weighted else weight, leaf[own], TREE, share, mesh
        )

    for found in run_ranks(size, work):
        assert found.tobytes() == expected.tobytes()
