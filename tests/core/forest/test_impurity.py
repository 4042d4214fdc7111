"""Impurities: equal to their definitions, and admissible where they claim to be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import forest as naive
from worthwhile.core.forest.impurity import (
    ENTROPY,
    GINI,
    PAIRS,
    POLYNOMIAL,
    POWERS,
    Impurity,
    evaluate_rows,
)

COUNTS = st.lists(st.integers(0, 40), min_size=2, max_size=6)
TERMS = [(1.0, [1, 1, 0]), (0.5, [0, 2, 1]), (2.0, [1, 1, 1])]


@settings(max_examples=50, deadline=None)
@given(counts=COUNTS, alpha=st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 8.0, 45.0]))
def test_pairs_is_the_double_sum(counts, alpha):
    assert Impurity(PAIRS, alpha).of(counts) == float(naive.pairs(counts, alpha))


@settings(max_examples=50, deadline=None)
@given(counts=COUNTS, power=st.integers(2, 4))
def test_powers_is_its_definition(counts, power):
    assert Impurity(POWERS, power).of(counts) == float(naive.powers(counts, power))


@settings(max_examples=50, deadline=None)
@given(counts=st.lists(st.integers(0, 40), min_size=3, max_size=3))
def test_polynomial_entropy_and_gini_are_their_definitions(counts):
    weights = np.array([weight for weight, _ in TERMS])
    exponents = np.array([powers for _, powers in TERMS], dtype=float)
    polynomial = Impurity(POLYNOMIAL, 0.0, weights, exponents)
    assert polynomial.of(counts) == pytest.approx(float(naive.polynomial(counts, TERMS)))
    if sum(counts):
        assert Impurity(ENTROPY).of(counts) == pytest.approx(naive.entropy(counts), abs=1e-12)
        assert Impurity(GINI).of(counts) == pytest.approx(naive.gini(counts), abs=1e-12)


def violations(impurity):
    """Which of the four set properties fail on all multisets of up to 4 rows in each of 3 classes."""
    value = {c: impurity.of(c) for c in itertools.product(range(5), repeat=3)}
    found = set()
    for c, f in value.items():
        if f < 0:
            found.add("non-negative")
        if sum(n > 0 for n in c) <= 1 and f != 0:
            found.add("pure")
        for k in range(3):
            if c[k] == 4:
                continue
            more = tuple(n + (i == k) for i, n in enumerate(c))
            if value[more] < f - 1e-9:
                found.add("monotone")
            for j in range(3):
                if more[j] == 4 or c[j] == 4:
                    continue
                both = tuple(n + (i == j) for i, n in enumerate(more))
                other = tuple(n + (i == j) for i, n in enumerate(c))
                # Supermodular: a row adds at least as much to the larger set.
                if value[both] - value[more] < value[other] - f - 1e-9:
                    found.add("supermodular")
    return found


@pytest.mark.parametrize(
    "impurity",
    [*(Impurity(PAIRS, a) for a in (0, 1, 1.5, 2, 3)), *(Impurity(POWERS, p) for p in (2, 3, 4)),
     Impurity(POLYNOMIAL, 0.0, np.array([1.0, 0.5, 2.0]), np.array([t[1] for t in TERMS], dtype=float))],
)  # fmt: skip
def test_admissible_impurities(impurity):
    assert violations(impurity) == set()


def test_entropy_and_gini_are_not_admissible():
    assert {"monotone", "supermodular"} <= violations(Impurity(ENTROPY))
    assert violations(Impurity(GINI))


def test_rows_at_once_are_rows_one_by_one():
    counts = np.array([[3.0, 1.0], [0.0, 2.0], [5.0, 5.0]])
    found = np.empty(3)
    evaluate_rows(Impurity(PAIRS, 1.0).flat, counts, found)
    assert found.tolist() == [Impurity(PAIRS, 1.0).of(row) for row in counts]
