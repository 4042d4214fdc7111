"""The rule of one standard error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worthwhile.estimators._shared.choosing import one_standard_error


def by_the_book(bills, scores):
    means = scores.mean(axis=1)
    best = int(means.argmax())
    error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    near = [k for k in range(len(bills)) if means[k] >= means[best] - error]
    return min(near, key=lambda k: bills[k])


@given(st.integers(0, 2**16))
def test_it_takes_the_cheapest_within_one_error_of_the_best(seed):
    rng = np.random.default_rng(seed)
    bills = rng.permutation(6).astype(float)
    scores = rng.normal(rng.normal(0, 0.3, size=(6, 1)), 1.0, size=(6, 30))
    assert one_standard_error(bills, scores) == by_the_book(bills, scores)


def test_it_does_not_go_below_one_error():
    scores = np.array([[0.0] * 50 + [1.0] * 50, [0.0] * 30 + [1.0] * 70, [0.0] * 28 + [1.0] * 72])
    assert one_standard_error([1.0, 2.0, 3.0], scores) == 1  # the error is 0.045


def test_equal_bills_go_to_the_better_score_and_then_to_the_earlier_point():
    scores = [[1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0]]
    assert one_standard_error([5.0, 5.0, 5.0], scores) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_whole_weight_moves_the_means_as_repetition_does(seed):
    rng = np.random.default_rng(seed)
    scores, weight = rng.normal(size=(5, 12)), np.full(12, 3.0)
    assert one_standard_error(range(5), scores, weight) == one_standard_error(range(5), scores)
    heavy = np.array([1e9] + [1e-9] * 11)  # one row decides, and one row tells no error
    scores[:, 0] = [0.0, 1.0, 2.0, 9.0, 3.0]
    assert one_standard_error(range(5), scores, heavy) == 3


def test_a_single_row_tells_no_error():
    assert one_standard_error([1.0, 2.0], [[0.0], [1.0]]) == 1
