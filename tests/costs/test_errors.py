"""Prices of wrong answers: reading, deciding, files."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worthwhile import Costs, Errors
from worthwhile.costs import error_price
from worthwhile.exceptions import CostsError

CLASSES = np.array(["ill", "well"])


def test_what_is_left_out_costs_nothing():
    assert Errors({"ill": {"well": 50}}).for_classes(CLASSES).tolist() == [[0, 50], [0, 0]]


def test_worth_is_a_price_for_every_error():
    assert Errors(worth=7).for_classes([1, 2, 3]).tolist() == [[0, 7, 7], [7, 0, 7], [7, 7, 0]]


def test_referring_is_one_more_decision():
    assert Errors(worth=7, refer=2).for_classes([True, False]).tolist() == [[0, 7, 2], [7, 0, 2]]


@pytest.mark.parametrize(
    ("given", "loss", "same"),
    [
        (None, None, None),
        (3, None, Errors(worth=3)),
        (3, "absolute", Errors(absolute=3)),
        ({"ill": {"well": 1}}, None, Errors({"ill": {"well": 1}})),
        (Errors(squared=2), "squared", Errors(squared=2)),
    ],
)
def test_errors_may_be_given_in_several_ways(given, loss, same):
    assert Errors.of(given, loss) == same


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"table": {"ill": 3}}, TypeError, "for the true class 'ill'"),
        ({"table": [[0, 1], [1, 0]]}, TypeError, "errors is a list"),
        ({"table": {"ill": {"well": -1}}}, ValueError, r"errors\['ill'\]\['well'\] is -1"),
        ({"table": {"ill": {"well": "much"}}}, TypeError, "is 'much': give a number"),
        ({"worth": math.inf}, ValueError, "worth is inf"),
        ({"worth": True}, TypeError, "worth is True"),
        ({"table": {"ill": {}}}, ValueError, "errors are all 0"),
        ({"table": {"ill": {"well": 1}}, "worth": 1}, ValueError, "table and worth: give one"),
        ({"refer": 1}, ValueError, "no price"),
        ({"worth": 1, "refer": -1}, ValueError, "refer is -1"),
        ({"squared": 1, "refer": 1}, ValueError, "by classes alone"),
        (
            {"worth": 1, "refer": 1, "refer_label": None},
            TypeError,
            "refer_label is None: give text",
        ),
        ({"worth": 1, "refer": 1, "refer_label": [1]}, TypeError, r"refer_label is \[1\]"),
        ({"worth": 1, "refer": 1, "refer_label": math.nan}, TypeError, "refer_label is nan"),
    ],
)
def test_nonsense_is_refused(given, kind, message):
    with pytest.raises(kind, match=message):
        Errors(**given)


@pytest.mark.parametrize(
    ("given", "loss", "kind", "message"),
    [
        ([[0, 1], [1, 0]], None, TypeError, "errors is a list"),
        (Errors(worth=1), "squared", ValueError, "for numbers give squared or absolute"),
        (Errors(squared=1), None, ValueError, "for classes give a table or worth"),
        (True, None, TypeError, "errors is a bool"),
    ],
)
def test_errors_that_do_not_fit_are_refused(given, loss, kind, message):
    with pytest.raises(kind, match=message):
        Errors.of(given, loss)


def test_labels_that_the_classes_do_not_have_are_refused():
    with pytest.raises(ValueError, match="errors names the class 'sick'"):
        Errors({"ill": {"sick": 1}}).for_classes(CLASSES)
    with pytest.raises(ValueError, match="refer_label is 'ill', which is a class"):
        Errors(worth=1, refer=1, refer_label="ill").for_classes(CLASSES)


def test_a_price_is_a_number():
    assert error_price(np.float32(2.5), "x") == 2.5


def test_decisions_have_the_least_expected_price_and_of_equal_ones_the_first_is_taken():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(3), 50)
    errors = Errors({0: {1: 5, 2: 9}, 1: {0: 2}, 2: {0: 30, 1: 1.5}}, refer=1.1, refer_label=-1)
    table = [[0, 5, 9, 1.1], [2, 0, 0, 1.1], [30, 1.5, 0, 1.1]]
    best = [
        min(range(4), key=lambda d: (sum(p * table[k][d] for k, p in enumerate(row)), d))
        for row in shares.tolist()
    ]
    assert errors.decide(shares, [0, 1, 2]).tolist() == [(0, 1, 2, -1)[b] for b in best]
    assert set(best) == {0, 1, 2, 3}
    assert Errors(worth=1).decide([[0.5, 0.5]], ["b", "a"]).tolist() == ["b"]


def test_labels_keep_their_type_where_all_have_one():
    assert Errors(worth=1, refer=1, refer_label=-1).labels(np.array([0, 1])).dtype.kind == "i"
    assert Errors(worth=1, refer=1).labels(np.array(["a", "b"])).tolist() == ["a", "b", "refer"]
    assert Errors(worth=1, refer=1).labels(np.array([0, 1])).tolist() == [0, 1, "refer"]


def test_prices_of_what_happened():
    numbers = [1.0, 2.0], [3.0, 2.5]
    assert Errors(squared=2).prices(*numbers).tolist() == [8.0, 0.5]
    assert Errors(absolute=2).prices(*numbers).tolist() == [4.0, 1.0]
    errors = Errors({"ill": {"well": 50}}, refer=4)
    answers = ["well", "ill", "refer", "ill"]
    assert errors.prices(["ill", "ill", "well", "well"], answers).tolist() == [50, 0, 4, 0]


@pytest.mark.parametrize(
    "errors",
    [
        Errors(worth=0.1, refer=1 / 3),
        Errors(absolute=12_345_678.9),
        Errors({"ill": {"well": 50.25}, "yes": {"no: or": 7}}, refer=2, refer_label="ask a person"),
    ],
)
def test_errors_are_the_same_after_a_file_of_prices_and_after_plain_values(errors, tmp_path):
    costs = Costs({"age": 1, "chol": 5.17}, unit="CAD")
    costs.to_yaml(tmp_path / "costs.yaml", errors=errors)
    assert Errors.from_yaml(tmp_path / "costs.yaml") == errors
    assert Costs.from_yaml(tmp_path / "costs.yaml") == costs
    assert Errors.from_dict(errors.to_dict()) == errors


def test_a_file_may_say_nothing_of_errors(tmp_path):
    Costs({"age": 1}).to_yaml(tmp_path / "costs.yaml")
    assert Errors.from_yaml(tmp_path / "costs.yaml") is None


def test_text_of_a_file_becomes_the_labels_of_the_classes():
    assert Errors({"1": {"0": 5}}, refer=1).named([0, 1]) == Errors({1: {0: 5}}, refer=1)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("errors: 3", "line 2: errors must be 'name: value' lines"),
        ("errors: {wort: 3}", "line 2: errors has 'wort': it is a true class"),
        ("errors:\n  ill: {well: -3}", "line 3: errors of 'ill' is -3"),
        ("errors: {worth: 3, absolute: 2}", "line 2: errors have worth and absolute"),
        ("errors: {ill: {well: much}}", "line 2: errors of 'ill' is 'much'"),
    ],
)
def test_a_file_is_refused_with_the_line(lines, message, tmp_path):
    (tmp_path / "costs.yaml").write_text(f"features: {{age: 1}}\n{lines}\n")
    with pytest.raises(CostsError, match=message):
        Errors.from_yaml(tmp_path / "costs.yaml")
