"""Curves of the frontier benchmark: who is chosen, what is mixed, who is clearly ahead."""

from __future__ import annotations

import base64
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.parts._frontier_cases import Case
from benchmarks.parts._frontier_page import (
    SHARES,
    Models,
    best_and_typical,
    clearly_below,
    near_best,
)
from worthwhile import Costs

Y = np.arange(100) % 2


def line(bill, chosen_by, right):
    """A model that gets the first ``right`` test rows right."""
    rows = np.arange(100) < right
    bits = base64.b64encode(np.packbits(rows).tobytes()).decode()
    return [bill, chosen_by, bill, right / 100, bits]


@pytest.fixture
def case():
    X = np.zeros((100, 1))
    return Case((X, Y), (X, Y), (X, Y), Costs([10]))


def test_the_best_on_validation_is_chosen_and_reported_on_test(case):
    models = Models([line(2, 0.7, 60), line(3, 0.6, 99), line(8, 0.9, 80)], case)
    picks = models.chosen([1, 2, 4, 10])
    assert [pick[0] for pick in picks] == [0, 1, 1, 3]
    assert models.curve(picks).tolist() == [0.5, 0.6, 0.6, 0.8]


def test_two_models_and_a_share_lie_on_the_hull(case):
    models = Models([line(2, 0.7, 60), line(5, 0.71, 99), line(8, 0.9, 80)], case)
    picks = models.mixed([1, 2, 5, 8, 10])
    assert [pick[:2] for pick in picks] == [(0, 1), (1, 3), (1, 3), (3, 3), (3, 3)]
    assert models.curve(picks) == pytest.approx([0.55, 0.6, 0.7, 0.8, 0.8])


def test_a_difference_is_clear_by_rows_that_only_one_gets_right(case):
    models = Models([line(1, 0.5, 60), line(1, 0.5, 61), line(1, 0.5, 80)], case)
    ours, near, ahead = ((i, i, 0.0) for i in (1, 2, 3))
    assert not clearly_below(models, ours, models, near)
    assert clearly_below(models, ours, models, ahead)
    assert not clearly_below(models, ahead, models, ours)


def test_the_headline_has_the_typical_the_best_and_the_worst_case():
    said = best_and_typical(["a", "b", "c", "d"], [3.0, 0.5, 0.7, 1.0])
    assert "0.85 of their money in the typical case" in said
    assert "0.5 of it on b, the best" in said
    assert "3 of it on a, the worst" in said


def test_nearly_the_best_is_priced_by_mean_curves_and_split_by_split():
    """One split never comes near its own best, as few test rows may have it; in the mean of both, ours does."""
    steps = np.arange(60)
    theirs = [np.where(steps < 40, 0.5, best) for best in (0.90, 0.80)]
    ours = [np.where(steps < 20, 0.5, best) for best in (0.88, 0.82)]
    splits = [
        SimpleNamespace(curves={how: {"any peer": a, "ours": b} for how in ("one", "mixed")})
        for a, b in zip(theirs, ours, strict=True)
    ]
    found = near_best(splits)
    assert found[:3] == pytest.approx([SHARES[40], SHARES[20], SHARES[20] / SHARES[40]])
    assert found[3] == pytest.approx((1 + SHARES[20]) / 2 / SHARES[40])
    assert found[4:] == found[:4]
