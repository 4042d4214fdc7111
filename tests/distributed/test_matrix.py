"""A few cases of the matrix of losses, penalties, weights, gaps, categories, fees, samples and shards."""

from __future__ import annotations

import pytest

from benchmarks.attack.shard_matrix import AXES, cases, is_equal

SOME = list(cases(24, seed=5))


def test_every_value_is_tried():
    for name, values in AXES.items():
        assert {case[name] for case in SOME} == set(values)


@pytest.mark.parametrize("number", range(len(SOME)))
def test_all_ranks_have_the_local_file(number, tmp_path):
    assert is_equal(SOME[number], 36_000, tmp_path), SOME[number]
