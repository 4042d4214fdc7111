"""Checks of arguments that several generators share."""

from __future__ import annotations

import numbers


def whole(value: object, name: str, least: int) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} is {value!r}: it is a whole number of at least {least}.")
    return int(value)


def share(value: object, name: str) -> float:
    """``value`` as a share: at least 0 and below 1."""
    number = _number(value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} is {value!r}: it is a share, at least 0 and below 1.")
    return number


def not_negative(value: object, name: str) -> float:
    """``value`` as a finite float of at least 0."""
    number = _number(value)
    if not 0 <= number < 1e9:
        raise ValueError(f"{name} is {value!r}: it is a number of at least 0 (and below 1e9).")
    return number


def _number(value: object) -> float:
    """``value`` as a float, NaN where it is not a number, so that every comparison fails."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")  # type: ignore[arg-type]
