"""Exact money: every amount is a whole number of quanta of 1e-9 of the unit."""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.exceptions import CostsError

QUANTA_PER_UNIT = 10**9
MOST_QUANTA = 2**53  # the largest run of whole numbers that float64 holds without gaps

EXACT = decimal.Context(
    prec=60, rounding=decimal.ROUND_HALF_EVEN, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX,
    capitals=1, clamp=0, traps=[],
)  # fmt: skip
"""Arithmetic of amounts: whatever precision, rounding and traps the caller has set."""

_DOWN = EXACT.copy()
_DOWN.rounding = decimal.ROUND_DOWN
_MOST = EXACT.divide(Decimal(MOST_QUANTA), Decimal(QUANTA_PER_UNIT))


def _is_number(value: Any) -> bool:
    # To Python bool is a number, and to numpy a time span is.
    return isinstance(value, (numbers.Real, Decimal)) and not isinstance(
        value, (bool, np.timedelta64)
    )


def _as_written(value: Any) -> Decimal:
    """A number as the shortest decimal that its own type prints; not finite where that fails."""
    if isinstance(value, Decimal):
        return value
    if isinstance(value, numbers.Rational):
        return EXACT.divide(Decimal(int(value.numerator)), Decimal(int(value.denominator)))
    # str of a numpy scalar or float is the shortest text that reads back to the same value.
    return EXACT.create_decimal(str(value))


def _shown(value: Any) -> str:
    """An amount for a message, cut where it is thousands of digits long."""
    return EXACT.to_sci_string(EXACT.plus(value)) if isinstance(value, int) else str(value)


def to_decimal(value: Any, what: str) -> Decimal:
    """Read an amount as the shortest decimal that its own type prints, or refuse it by name."""
    if not _is_number(value):
        raise CostsError(
            f"{what} is {value!r}, a {type(value).__name__}: a price is a number >= 0. "
            "Use 0 for a free feature."
        )
    amount = _as_written(value)
    if not amount.is_finite() or amount < 0:
        raise CostsError(
            f"{what} is {_shown(value)}: a price is a number >= 0. "
            + (
                "Use 0 for a free feature."
                if amount.is_finite()
                else "Leave a feature that cannot be had out of the data."
            )
        )
    return amount


def to_quanta(value: Any, what: str) -> int:
    """Turn an amount into whole quanta, rounding half to even at the ninth decimal.

    Examples
    --------
    >>> to_quanta(0.1, "fee") + to_quanta(0.2, "fee") == to_quanta(0.3, "fee")
    True
    """
    amount = to_decimal(value, what)
    if amount > _MOST:
        raise CostsError(
            f"{what} is {_shown(value)}: amounts go up to {MOST_QUANTA / QUANTA_PER_UNIT:,.0f}. "
            "Use a larger unit (thousands, say)."
        )
    quanta = int(EXACT.to_integral_value(EXACT.multiply(amount, QUANTA_PER_UNIT)))
    if quanta == 0 and amount > 0:
        raise CostsError(
            f"{what} is {value}: prices keep 9 decimals, so this would round to 0. "
            "Use a smaller unit, or 0 for a free feature."
        )
    return quanta


def as_decimal(quanta: int) -> Decimal:
    """Quanta as an exact amount without trailing zeros.

    Examples
    --------
    >>> as_decimal(7_270_000_000)
    Decimal('7.27')
    """
    whole, part = divmod(abs(int(quanta)), QUANTA_PER_UNIT)
    digits = f"{whole}.{part:09d}".rstrip("0").rstrip(".")
    return Decimal(f"-{digits}" if quanta < 0 else digits)


def as_text(quanta: int) -> str:
    """Quanta as the text of an exact amount, for files."""
    return EXACT.to_sci_string(as_decimal(quanta))


def add_amounts(amounts: Iterable[Decimal]) -> Decimal:
    """The exact sum of some amounts."""
    return reduce(EXACT.add, amounts, Decimal(0))


def as_float(quanta: int) -> float:
    """The float64 nearest to an amount given in quanta."""
    return int(quanta) / QUANTA_PER_UNIT


def as_floats(quanta: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The float64 nearest to each amount: both operands are exact, so one division rounds once."""
    return np.asarray(quanta, dtype=np.float64) / QUANTA_PER_UNIT


NO_LIMIT = 2**62
"""In arrays of limits: more than any bill."""


def budget_limits(budget: Any, n_rows: int) -> int | npt.NDArray[np.int64] | None:
    """Read a budget for all rows, or an array of them, one per row."""
    if budget is None or np.ndim(budget) == 0:
        return budget_quanta(budget)
    if np.shape(budget) != (n_rows,):
        raise ValueError(
            f"budget has shape {np.shape(budget)} for {n_rows} rows: give one number, or one for each row."
        )
    limits = [budget_quanta(one) for one in list(budget)]
    return np.array([NO_LIMIT if limit is None else limit for limit in limits], dtype=np.int64)


def budget_quanta(budget: Any) -> int | None:
    """Read a budget: None is unlimited; otherwise rounded *down*, so it is never overspent."""
    if budget is None:
        return None
    if not _is_number(budget):
        raise ValueError(
            f"budget is {budget!r}, a {type(budget).__name__}: give a number >= 0, or None for no limit."
        )
    amount = _as_written(budget)
    if amount.is_nan() or amount < 0:
        raise ValueError(f"budget is {_shown(budget)}: give a number >= 0, or None for no limit.")
    if amount.is_infinite():
        return None
    return MOST_QUANTA if amount >= _MOST else int(_DOWN.multiply(amount, QUANTA_PER_UNIT))
