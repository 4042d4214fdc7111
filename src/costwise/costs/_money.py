"""Exact money: every amount is a whole number of quanta of 1e-9 of the unit."""

from __future__ import annotations

import math
import numbers
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal, InvalidOperation, localcontext
from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.exceptions import CostsError

QUANTA_PER_UNIT = 10**9
MOST_QUANTA = 2**53  # the largest run of whole numbers that float64 holds without gaps


def to_decimal(value: Any, what: str) -> Decimal:
    """Read an amount as the shortest decimal that its own type prints, or refuse it by name."""
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise CostsError(
            f"{what} is {value!r}, a {type(value).__name__}: a price is a number >= 0. "
            "Use 0 for a free feature."
        )
    try:
        # str of a numpy scalar or float is the shortest text that reads back to the same value.
        amount = Decimal(str(value)) if not isinstance(value, Decimal) else value
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise CostsError(
            f"{what} is {value}: a price is a number >= 0. "
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
    if amount > Decimal(MOST_QUANTA) / QUANTA_PER_UNIT:
        raise CostsError(
            f"{what} is {value}: amounts go up to {MOST_QUANTA / QUANTA_PER_UNIT:,.0f}. "
            "Use a larger unit (thousands, say)."
        )
    with localcontext() as context:
        context.prec = 60
        quanta = int((amount * QUANTA_PER_UNIT).to_integral_value(rounding=ROUND_HALF_EVEN))
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
    return Decimal(f"{(Decimal(int(quanta)).scaleb(-9)).normalize():f}")


def as_float(quanta: int) -> float:
    """The float64 nearest to an amount given in quanta."""
    return int(quanta) / QUANTA_PER_UNIT


def as_floats(quanta: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The float64 nearest to each amount: both operands are exact, so one division rounds once."""
    return np.asarray(quanta, dtype=np.float64) / QUANTA_PER_UNIT


def budget_quanta(budget: Any) -> int | None:
    """Read a budget: None is unlimited; otherwise rounded *down*, so it is never overspent."""
    if budget is None:
        return None
    if isinstance(budget, bool) or not isinstance(budget, (numbers.Real, Decimal)):
        raise ValueError(
            f"budget is {budget!r}, a {type(budget).__name__}: give a number >= 0, or None for no limit."
        )
    if budget == float("inf"):
        return None
    if math.isnan(budget) or budget < 0:
        raise ValueError(f"budget is {budget}: give a number >= 0, or None for no limit.")
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_DOWN
        return min(int(to_decimal(budget, "budget") * QUANTA_PER_UNIT), MOST_QUANTA)
