"""Promises and their checks: figures, intervals, verdicts in words, changed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from worthwhile.columns import Column, Columns
from worthwhile.promise import Evidence, Figure, Promise, Spread, check_promise

FEATURES = ["age", "chol"]


def cases(n, share, bill=5.0, claimed=None, seed=0, **values):
    """Cases of which a share was answered rightly, at about this bill."""
    rng = np.random.default_rng(seed)
    right = np.arange(n) < share * n
    shares = None
    if claimed is not None:
        shares = np.column_stack([np.full(n, 1 - claimed), np.full(n, claimed)])
    truth = np.where(right, "yes", "no")
    bills = bill + rng.normal(size=n)
    return Evidence.of_classes(bills, ["yes"] * n, truth, ["no", "yes"], shares, None, **values)


def figure(found, name):
    (line,) = [line for line in found["figures"] if line["name"] == name]
    return line


def test_what_was_seen_is_what_is_promised():
    seen = cases(400, 0.75, claimed=0.9)
    promise = Promise.of(seen)
    assert promise.rows == 400
    assert promise.figures["accuracy"].mean == 0.75
    assert promise.figures["accuracy"].error == pytest.approx(math.sqrt(0.75 * 0.25 / 399))
    assert promise.figures["calibration"].mean == pytest.approx(0.15)
    bills = seen.figures["bill"]
    assert promise.figures["bill"] == Figure(bills.mean(), bills.std(ddof=1) / 20)


def test_the_same_again_is_as_promised():
    found = check_promise(
        Promise.of(cases(400, 0.75, claimed=0.8)), cases(200, 0.75, 5.0, 0.8, 1), FEATURES
    )
    assert found["holds"] is True
    assert {line["verdict"] for line in found["figures"]} == {"as promised"}
    assert found["verdict"].startswith("Nothing speaks against the promise (200 cases would show")


@pytest.mark.parametrize(
    ("now", "name", "verdict"),
    [
        (cases(200, 0.5), "accuracy", "worse"),
        (cases(200, 0.95), "accuracy", "better"),
        (cases(200, 0.75, bill=7.0), "bill", "worse"),
        (cases(200, 0.75, bill=3.0), "bill", "better"),
        (cases(200, 0.75, claimed=0.99), "calibration", "worse"),
    ],
)
def test_verdicts(now, name, verdict):
    found = check_promise(Promise.of(cases(400, 0.75, claimed=0.76)), now, FEATURES)
    line = figure(found, name)
    assert line["verdict"] == verdict
    assert line["low"] < line["now"] < line["high"]
    assert found["holds"] is (verdict == "better")
    if verdict == "worse":
        assert found["verdict"].startswith(f"The promise does not hold: {name} is ")


def test_a_bill_over_what_is_expected_may_still_keep_its_bound():
    promise = Promise.of(cases(400, 0.75)).with_bill(Figure(5.0, 0.05), 6.0, 0.95)
    within = figure(check_promise(promise, cases(200, 0.75, bill=5.6), FEATURES), "bill")
    assert within["verdict"] == "more than expected, within the bound"
    over = check_promise(promise, cases(200, 0.75, bill=6.6), FEATURES)
    assert not over["holds"]
    assert "promised was at most 6" in over["verdict"]


def test_few_cases_are_not_judged():
    found = check_promise(Promise.of(cases(400, 0.75)), cases(20, 0.2), FEATURES)
    assert found["holds"] is None
    assert found["verdict"] == "20 cases are too few to judge: come back with 30 or more."


def test_without_a_promise_there_are_figures_alone():
    found = check_promise(None, cases(100, 0.75), FEATURES)
    assert found["holds"] is None
    assert found["verdict"].startswith("Nothing was promised")
    assert figure(found, "accuracy")["now"] == 0.75


def test_equal_bills_do_not_differ_by_rounding():
    bills = np.full(1000, 0.1)
    then = Evidence({"bill": bills})
    found = check_promise(Promise.of(then), Evidence({"bill": np.full(333, 0.1)}), FEATURES)
    assert figure(found, "bill")["verdict"] == "as promised"


def test_total_has_the_price_of_errors_and_of_asking_a_person():
    errors = np.array([[0.0, 10.0], [50.0, 0.0]])
    seen = Evidence.of_classes(
        np.ones(3), ["a", "b", "a"], ["a", "a", "b"], ["a", "b"], None, errors
    )
    assert seen.figures["total"].tolist() == [1.0, 11.0, 51.0]
    referring = np.column_stack([errors, [3.0, 3.0]])
    shares = np.array([[0.99, 0.01], [0.4, 0.6], [0.5, 0.5]])
    seen = Evidence.of_classes(
        np.ones(3), ["a", "b", "refer"], ["a", "a", "b"], ["a", "b"], shares, referring
    )
    assert seen.figures["total"].tolist() == [1.0, 11.0, 4.0]
    assert seen.figures["accuracy"].tolist() == [1.0, 0.0, 0.0]
    assert seen.figures["calibration"].tolist() == [0.99 - 1, 0.6, 0.5]


def test_a_truth_that_nobody_knew_is_an_error_of_the_worst_price():
    errors = np.array([[0.0, 10.0], [50.0, 0.0]])
    seen = Evidence.of_classes(np.ones(1), ["a"], ["new"], ["a", "b"], None, errors)
    assert seen.figures["accuracy"].tolist() == [0.0]
    assert seen.figures["total"].tolist() == [51.0]


def test_numbers_have_errors_and_a_bias():
    seen = Evidence.of_numbers(np.ones(2), np.array([3.0, 1.0]), np.array([1.0, 1.0]), 5.0)
    assert seen.figures["squared error"].tolist() == [4.0, 0.0]
    assert seen.figures["calibration"].tolist() == [2.0, 0.0]
    assert seen.figures["total"].tolist() == [21.0, 1.0]
    absolute = Evidence.of_numbers(
        np.ones(2), np.array([3.0, 1.0]), np.array([1.0, 1.0]), None, "absolute"
    )
    assert absolute.figures["absolute error"].tolist() == [2.0, 0.0]


# Values that have changed ------------------------------------------------------------------------


def spread_check(then, now, columns=None):
    promise = Promise.of(cases(len(then), 0.8, values={1: then}))
    return check_promise(promise, cases(len(now), 0.8, values={1: now}), FEATURES, columns)


def test_values_that_moved_are_named_with_what_grew():
    rng = np.random.default_rng(0)
    found = spread_check(rng.normal(size=1000), rng.normal(1.5, size=300))
    (line,) = found["drifted"]
    assert line["feature"] == "chol"
    assert line["grown"].startswith("over ")
    assert line["share_now"] > 2 * line["share_then"]
    assert found["verdict"].endswith("Values have changed: 'chol'.")


def test_more_empty_values_are_a_change():
    rng = np.random.default_rng(0)
    then, now = rng.normal(size=1000), rng.normal(size=300)
    now[:100] = np.nan
    (line,) = spread_check(then, now)["drifted"]
    assert line["grown"] == "came back empty"
    assert line["share_now"] == pytest.approx(1 / 3)


def test_levels_are_called_by_their_names():
    columns = Columns([Column(), Column("category", ("cook", "smith", "tailor"))])
    then = np.repeat([0.0, 1.0, 2.0], 100)
    (line,) = spread_check(then, np.repeat([0.0, 2.0], [20, 180]), columns)["drifted"]
    assert line["grown"] == "tailor"


def test_the_same_values_rarely_raise_an_alarm():
    rng = np.random.default_rng(1)
    alarms = sum(
        bool(spread_check(rng.exponential(size=400), rng.exponential(size=200))["drifted"])
        for _ in range(200)
    )
    assert alarms <= 6


def test_a_small_change_is_nobody_s_business_however_sure_it_is():
    rng = np.random.default_rng(0)
    then, now = rng.normal(size=100_000), rng.normal(0.1, size=100_000)
    assert spread_check(then, now)["drifted"] == []


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(st.floats(-1e9, 1e9), st.just(math.nan)), min_size=1, max_size=60))
def test_every_value_is_counted_once(numbers):
    values = np.array(numbers)
    spread = Spread.of(0, values)
    assert sum(spread.counts) == len(values)
    assert spread.counts[-1] == np.isnan(values).sum()
    assert all(math.isfinite(edge) for edge in spread.edges)
    assert Spread.from_dict(spread.to_dict()) == spread
    assert list(spread.edges) == sorted(set(spread.edges))
