"""Prices of wrong answers, in the unit of the prices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._messages import some

Floats = npt.NDArray[np.float64]

MOST = 1e15
"""The largest price of an error: sums with prices of features stay exact enough."""


def read_errors(
    errors: Any, worth: Any, refer: Any, classes: Sequence[Any] | npt.NDArray[Any]
) -> Floats | None:
    """Price of every answer to every true class, (classes, classes), and of referring as a last column.

    Parameters
    ----------
    errors : mapping {true: {predicted: price}}, optional
        What is left out costs 0, and so does what is right, unless it is stated.
    worth : number, optional
        Or what a right answer is worth: every wrong one costs so much.
    refer : number, optional
        Price of handing a case to a person, whatever it is.
    classes : sequence of labels

    Examples
    --------
    >>> read_errors({"ill": {"well": 50}}, None, 10, ["ill", "well"]).tolist()
    [[0.0, 50.0, 10.0], [0.0, 0.0, 10.0]]
    """
    labels = np.asarray(classes).tolist()
    if errors is not None and worth is not None:
        raise ValueError("errors and worth are both given: worth=w is short for w for every error.")
    if errors is None and worth is None:
        if refer is not None:
            raise ValueError(
                "refer is given without errors: a person is worth asking only where errors cost."
            )
        return None
    if worth is not None:
        table = error_price(worth, "worth") * (1.0 - np.eye(len(labels)))
    else:
        table = _read_table(errors, labels)
    if not table.any():
        raise ValueError("errors are all 0: give the price of at least one wrong answer.")
    if refer is not None:
        table = np.column_stack([table, np.full(len(labels), error_price(refer, "refer"))])
    return table


def _read_table(errors: Any, labels: list[Any]) -> Floats:
    if not isinstance(errors, Mapping):
        raise TypeError(
            f"errors is a {type(errors).__name__}: give {{true: {{predicted: price}}}}, what is left out costs 0."
        )
    place = {label: i for i, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    for true, prices in errors.items():
        if not isinstance(prices, Mapping):
            raise TypeError(
                f"errors has {prices!r} for the true class {true!r}: give {{predicted: price}}."
            )
        for predicted, amount in prices.items():
            for label in (true, predicted):
                if label not in place:
                    raise ValueError(
                        f"errors names the class {label!r}, which y does not have: the classes are {some(labels)}."
                    )
            what = f"errors[{true!r}][{predicted!r}]"
            table[place[true], place[predicted]] = error_price(amount, what)
    return table


def error_price(amount: Any, what: str) -> float:
    """A price of an error: a number from 0 on."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float, np.number)):
        raise TypeError(f"{what} is {amount!r}: give a number >= 0, in the unit of the prices.")
    number = float(amount)
    if not math.isfinite(number) or not 0 <= number <= MOST:
        raise ValueError(f"{what} is {number:g}: give a number >= 0, in the unit of the prices.")
    return number
