from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core.collective import ALONE, Collective, expansion

FLOATS = st.floats(-1e300, 1e300, allow_nan=False)


class Among(Collective):
    """One rank, seen alone, that is told what the others would say."""

    def __init__(self, others):
        self.size, self._others = 1 + len(others), others

    def exchange(self, arrays):
        return [arrays[0], *self._others]

    def note(self, what):
        pass


@settings(deadline=None)
@given(st.lists(FLOATS, max_size=30))
def test_an_expansion_is_exact(values):
    assert sum(map(Fraction, expansion(values)), Fraction()) == sum(
        map(Fraction, values), Fraction()
    )


@settings(deadline=None)
@given(st.lists(FLOATS, max_size=30), st.lists(FLOATS, max_size=30))
def test_exact_sums_do_not_depend_on_who_has_which_number(own, others):
    rank = Among([np.array(expansion(others))])
    assert rank.fsum(own) == math.fsum([*own, *others])


def test_numbers_that_are_not_finite_stay_so():
    assert math.isnan(Among([np.array([math.nan])]).fsum([1.0]))
    assert Among([np.array([1.0])]).fsum([math.inf]) == math.inf


@given(st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=5))
def test_whole_numbers_beyond_64_bits_add_up(numbers):
    halves = np.array([(n >> 32, n & 0xFFFFFFFF) for n in numbers], dtype=np.int64)
    assert Among([halves]).sum_whole(numbers) == [2 * n for n in numbers]
    assert ALONE.sum_whole(numbers) == numbers


def test_a_part_of_the_sum_is_scattered():
    own, other = np.arange(6).reshape(3, 2), np.array([[10, 10]])
    assert Among([other]).reduce_scatter(own, [0, 1, 3]).tolist() == [[10, 11]]
    assert ALONE.reduce_scatter(own, [0, 3]).tolist() == own.tolist()


def test_alone_nothing_is_copied():
    array = np.arange(3)
    assert ALONE.sum(array) is array
    assert ALONE.max(array) is array
    assert ALONE.gather(array)[0] is array
