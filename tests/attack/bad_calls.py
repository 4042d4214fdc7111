"""Calls of a session that must be refused, with nothing recorded."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import Any

import numpy as np

from worthwhile.runtime import UNAVAILABLE

NAMES = ("no such feature", "", -1, 10_000, True, 1.5, None, b"cheap_0", ("cheap_0",), float("nan"))
VALUES = (
    float("inf"), -np.inf, np.float32("inf"), "5", "", b"5", 1j, 10**400, Decimal("sNaN"), Decimal("Infinity"),
    Decimal("1e400"), np.timedelta64(3, "s"), np.datetime64("2020-01-01"), datetime.date(2020, 1, 1), [1.0], (),
    {}, {"value": 1}, object(), np.array([1.0, 2.0]), np.array(1.0), float, Ellipsis,
)  # fmt: skip
MAPPINGS: tuple[Any, ...] = (
    None,
    5,
    "cheap_0",
    ["cheap_0"],
    {"cheap_0"},
    [("cheap_0", 1.0)],
    object(),
)
PRICES = (
    -1, -1e-9, float("inf"), float("nan"), "3", True, 1j, 1e-12, 1e300, 10**400, Decimal("NaN"), Decimal("sNaN"),
    np.timedelta64(1, "s"), [1], object(),
)  # fmt: skip
DOCUMENTS = (-1, 10_000, True, "0", 0.0, None, (0,))

Item = tuple[int, Any]
"""Document (0 where there are none) and feature as it is called."""


def bad_call(
    chance: random.Random, fresh: list[Item], told: list[Item], queries: bool
) -> tuple[Any, Any, bool]:
    """Values and price of a call that must be refused; whether the values are still to be shaped.

    Most of them begin with something that could be taken by itself: a refusal that comes too late
    leaves that behind.

    Parameters
    ----------
    fresh, told : list of items
        What was not told yet, and what was.
    """
    good: dict[Item, Any] = dict.fromkeys(fresh[:2], 0.25) if chance.random() < 0.7 else {}
    document = fresh[0][0] if fresh else 0
    kind = chance.choice(
        ["name", "twice", "value", "value", "mapping", "price", "price", "document"]
    )
    if kind == "twice" and told:
        return {**good, chance.choice(told): 1.0}, None, True
    if kind == "value" and fresh:
        return {**good, fresh[-1]: chance.choice(VALUES)}, None, True
    if kind == "price" and fresh:
        return _bad_price(chance, fresh, good)
    if kind == "document" and queries:
        return {chance.choice(DOCUMENTS): {name: 1.0 for _, name in fresh[:1]}}, None, False
    if kind == "mapping":
        values = chance.choice(MAPPINGS)
        return ({document: values} if queries and chance.random() < 0.5 else values), None, False
    # The bad name first: True equals 1, and the key of two equal ones is the first.
    return {(document, chance.choice(NAMES)): 1.0, **good}, None, True


def _bad_price(
    chance: random.Random, fresh: list[Item], good: dict[Item, Any]
) -> tuple[dict[Item, Any], dict[Item, Any], bool]:
    *others, last = fresh
    kind = chance.choice(["amount", "amount", "not told", "unavailable", "unknown"])
    if kind == "not told" and others:
        good.pop(last, None)
        return {others[0]: 1.0, **good}, {last: 1}, True
    if kind == "unavailable":
        return {**good, last: UNAVAILABLE}, {last: 1}, True
    if kind == "unknown":
        return {**good, last: 1.0}, {(last[0], "no such feature"): 1}, True
    return {**good, last: 1.0}, {last: chance.choice(PRICES)}, True
