"""Values as they are told: numbers, nothing, or what cannot be had."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from worthwhile.columns import Column, UnknownValue
from worthwhile.exceptions import SessionError


class _Unavailable:
    """The value of a feature that cannot be had at all."""

    def __repr__(self) -> str:
        return "UNAVAILABLE"

    def __reduce__(self) -> str:
        return "UNAVAILABLE"  # copies and values from other processes are the same object


UNAVAILABLE = _Unavailable()
"""Tell this where a feature cannot be had at all: nothing is paid for it."""


class Paid(NamedTuple):
    """A value with what it really cost, where that is known only with it: tokens, say.

    Attributes
    ----------
    value
        As it would be returned alone.
    price : number
        The stated price, as for ``Session.tell``.
    """

    value: Any
    price: Any


def split_paid(told: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any] | None]:
    """Values and stated prices of what extractors returned.

    Examples
    --------
    >>> split_paid({"judge": Paid(0.7, 0.0031), "age": 40})
    ({'judge': 0.7, 'age': 40}, {'judge': 0.0031})
    """
    prices = {name: value.price for name, value in told.items() if isinstance(value, Paid)}
    values = {n: v.value if isinstance(v, Paid) else v for n, v in told.items()}
    return values, prices or None


def read_value(name: Any, value: Any, column: Column | None = None) -> float | None:
    """A told value as a float; None if it is unavailable.

    Where the column is no plain number, the value is told as it stands in the user's table.
    """
    if value is UNAVAILABLE:
        return None
    if column is not None and column.kind != "number":
        try:
            return column.told(value)
        except UnknownValue as error:
            raise SessionError(
                f"value of {name!r} {error}, NaN or None if it came back empty, UNAVAILABLE if it cannot be had. "
                "Nothing was recorded."
            ) from None
    if value is None:
        return math.nan
    # numpy calls its time spans integers, and Decimal is no Real.
    fine = isinstance(value, (numbers.Real, np.bool_, Decimal))
    if not fine or isinstance(value, np.timedelta64):
        raise SessionError(
            f"value of {name!r} is {value!r}, a {type(value).__name__}: give a number, NaN or None if it came back "
            "empty, UNAVAILABLE if it cannot be had. Nothing was recorded."
        )
    try:
        number = float(value)
    except (ArithmeticError, ValueError) as error:  # 10**400, a signalling NaN
        raise SessionError(
            f"value of {name!r} cannot be held as a float64 ({error}): give a finite number, or NaN if it came back "
            "empty. Nothing was recorded."
        ) from None
    if math.isinf(number):
        raise SessionError(
            f"value of {name!r} is infinite: give a finite number, or NaN if it came back empty. Nothing was recorded."
        )
    return number


def as_json(value: Any, number: float, column: Column) -> Any:
    """What was told about a column that is no plain number, as JSON holds it."""
    plain = value.item() if isinstance(value, np.generic) else value
    if column.kind in ("category", "ordered") and number >= len(column.levels):
        return (
            plain if isinstance(plain, (str, int, float, bool)) else str(plain)
        )  # "other", in its words
    return column.shown(number)
