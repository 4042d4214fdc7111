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
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= value < 1:
        raise ValueError(f"{name} is {value!r}: it is a share, at least 0 and below 1.")
    return float(value)


def not_negative(value: object, name: str) -> float:
    """``value`` as a finite float of at least 0."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 <= value < 1e9:
        raise ValueError(f"{name} is {value!r}: it is a number of at least 0 (and below 1e9).")
    return float(value)
