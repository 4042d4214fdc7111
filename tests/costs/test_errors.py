"""Prices of wrong answers as they are read."""

from __future__ import annotations

import math

import numpy as np
import pytest

from worthwhile.costs import error_price, read_errors

CLASSES = np.array(["ill", "well"])


def test_what_is_left_out_costs_nothing():
    table = read_errors({"ill": {"well": 50}}, None, None, CLASSES)
    assert table.tolist() == [[0, 50], [0, 0]]


def test_worth_is_a_price_for_every_error():
    table = read_errors(None, 7, None, [1, 2, 3])
    assert table.tolist() == [[0, 7, 7], [7, 0, 7], [7, 7, 0]]


def test_referring_is_one_more_decision():
    table = read_errors(None, 7, 2, [True, False])
    assert table.tolist() == [[0, 7, 2], [7, 0, 2]]


def test_nothing_given_is_no_prices():
    assert read_errors(None, None, None, CLASSES) is None


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (({"ill": {"sick": 1}}, None, None), ValueError, "errors names the class 'sick'"),
        (({"dead": {"ill": 1}}, None, None), ValueError, "the classes are 'ill', 'well'"),
        (({"ill": 3}, None, None), TypeError, "for the true class 'ill'"),
        (([[0, 1], [1, 0]], None, None), TypeError, "errors is a list"),
        (({"ill": {"well": -1}}, None, None), ValueError, r"errors\['ill'\]\['well'\] is -1"),
        (({"ill": {"well": "much"}}, None, None), TypeError, "is 'much': give a number"),
        ((None, math.inf, None), ValueError, "worth is inf"),
        ((None, True, None), TypeError, "worth is True"),
        (({"ill": {}}, None, None), ValueError, "errors are all 0"),
        (({"ill": {"well": 1}}, 1, None), ValueError, "both given"),
        ((None, None, 1), ValueError, "refer is given without errors"),
        ((None, 1, -1), ValueError, "refer is -1"),
    ],
)
def test_nonsense_is_refused(given, kind, message):
    with pytest.raises(kind, match=message):
        read_errors(*given, CLASSES)


def test_a_price_is_a_number():
    assert error_price(np.float32(2.5), "x") == 2.5
