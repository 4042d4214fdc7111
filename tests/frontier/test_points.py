"""Frontiers: what lies on them, and what is chosen from them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile import Frontier
from worthwhile.frontier import Point

numbers = st.integers(0, 12).map(float)
sweeps = st.lists(st.tuples(numbers, numbers), min_size=1, max_size=25)


def made(pairs):
    return Frontier([{"cost": c, "score": s} for c, s in pairs])


@settings(max_examples=60, deadline=None)
@given(sweeps)
def test_pareto_is_what_no_point_beats(pairs):
    kept = [(p.cost, p.score) for p in made(pairs).pareto()]
    beaten = [
        any(c <= cost and s >= score and (c, s) != (cost, score) for c, s in pairs)
        for cost, score in pairs
    ]
    assert set(kept) == {pair for pair, out in zip(pairs, beaten, strict=True) if not out}
    assert kept == sorted(kept)
    assert len(kept) == len(set(kept))


@settings(max_examples=60, deadline=None)
@given(sweeps, st.lists(numbers, min_size=2, max_size=8))
def test_step_is_the_best_within_the_budget_and_never_falls(pairs, budgets):
    frontier = made(pairs)
    budgets = sorted(budgets)
    steps = frontier.step(budgets)
    for budget, score in zip(budgets, steps, strict=True):
        within = [s for c, s in pairs if c <= budget]
        assert (math.isnan(score) and not within) or score == max(within)
    assert (np.diff(steps[~np.isnan(steps)]) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(sweeps)
def test_hull_is_concave_and_not_below_the_pareto_points(pairs):
    frontier = made(pairs)
    hull = frontier.hull()
    slopes = np.diff(hull.score) / np.diff(hull.cost)
    assert (np.diff(slopes) < 1e-12).all()
    for point in frontier.pareto():
        assert np.interp(point.cost, hull.cost, hull.score) >= point.score - 1e-9


def test_ties_go_to_the_cheaper_and_then_to_the_earlier():
    frontier = Frontier(
        [Point(3, 0.9), Point(2, 0.9, params={"a": 1}), Point(2, 0.9, params={"a": 2})]
    )
    assert frontier.best().params == {"a": 1}
    assert frontier.within(0.0).params == {"a": 1}


def test_test_figures_never_choose():
    frontier = Frontier(
        [Point(1, 0.8, test_cost=5, test_score=0.1), Point(2, 0.7, test_cost=1, test_score=0.9)]
    )
    assert frontier.best(2).test_score == 0.1
    assert frontier.step([2], part="test").tolist() == [0.1]


def test_cautious_choices_use_the_bound():
    frontier = Frontier([Point(1, 0.5, bound=1.5), Point(2, 0.9, bound=2.6)])
    assert frontier.best(2.5).score == 0.9
    assert frontier.best(2.5, cautious=True).score == 0.5


def test_area_is_the_mean_score_over_all_budgets():
    frontier = Frontier([Point(0, 0.5), Point(4, 0.8), Point(8, 0.9)], full_cost=10)
    assert frontier.area() == pytest.approx((4 * 0.5 + 4 * 0.8 + 2 * 0.9) / 10)
    assert Frontier([Point(5, 1.0)], full_cost=10).area() == pytest.approx(0.5)


def test_mean_score_counts_budgets_that_nothing_fits_as_zero():
    frontier = Frontier([Point(1, 0.8, test_cost=1, test_score=1.0)], full_cost=1)
    assert frontier.mean_score(n=4, lowest=0.1) == pytest.approx(0.25)


def test_a_stored_frontier_reads_back():
    frontier = Frontier(
        [Point(1, 0.5, params={"lam": 0.1}, stage=3), Point(2, 0.9, test_cost=2, test_score=0.8)],
        unit="CAD",
        full_cost=9,
    )
    again = Frontier.from_dict(json.loads(json.dumps(frontier.to_dict())))
    assert again.to_dict() == frontier.to_dict()
    assert again[0].stage == 3
    assert again.unit == "CAD"
    assert again.full_cost == 9


def test_frames_hold_parameters_in_columns_of_their_own():
    frame = Frontier([Point(1, 0.5, params={"lam": 0.1}, stage=3), Point(2, 0.9)]).to_pandas()
    assert frame["param_lam"].tolist()[0] == 0.1
    assert frame["stage"].tolist() == [3, -1]


def test_joined_points_carry_their_method():
    joined = Frontier.join({"a": Frontier([Point(1, 0.5)]), "b": Frontier([Point(2, 0.9)])})
    assert joined.best().method == "b"
    assert "2 points" in repr(joined)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda f: Frontier([]), "points is empty"),
        (lambda f: Frontier([{"cost": 1}]), r"points\[0\] has the keys \['cost'\]: it needs cost"),
        (lambda f: Frontier([{"cost": 1, "score": 1, "colour": 3}]), "it needs cost and score"),
        (lambda f: Frontier([Point(-1, 0.5)]), r"points\[0\] has cost -1"),
        (lambda f: Frontier([Point(1, math.nan)]), "Leave out points that could not be scored"),
        (lambda f: f.best(0.5), "budget is 0.5: no point fits, the lowest mean bill is 1"),
        (lambda f: f.best(0.5, cautious=True), "the lowest upper bound of a mean bill is 1"),
        (lambda f: f.best(math.nan), "budget is nan"),
        (lambda f: f.cheapest(0.95), "score is 0.95: no point reaches it, the best is 0.9"),
        (lambda f: f.within(-1), "tolerance is -1: it is a number of at least 0"),
        (lambda f: f.step([1], part="training"), "part is 'training': it is 'validation' or"),
        (lambda f: f.step([1], part="test"), "the points have no test figures"),
        (lambda f: f.area(0), "full_cost is 0: it is a number above 0"),
        (lambda f: Frontier.from_dict({"format": 9}), "the frontier has format 9"),
        (lambda f: Frontier.join({}), "frontiers is empty"),
    ],
)
def test_refusals_say_what_to_do(call, text):
    with pytest.raises(ValueError, match=text):
        call(made([(1, 0.5), (2, 0.9)]))


def test_budgets_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="budget is 'much': it is a number"):
        made([(1, 0.5)]).best("much")
