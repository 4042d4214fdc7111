"""Reading prices and groups as people give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from worthwhile.costs._money import to_quanta
from worthwhile.exceptions import CostsError


def read_prices(prices: Any) -> tuple[tuple[str, ...] | None, list[int]]:
    """Names, where there are any, and prices in quanta."""
    if hasattr(prices, "to_dict") and hasattr(prices, "index"):  # a pandas Series
        if len(twice := prices.index[prices.index.duplicated()]):
            raise CostsError(f"price of {twice[0]!r} is given twice: keep one.")
        prices = dict(prices.items())
    if isinstance(prices, Mapping):
        names = list(prices)
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise CostsError(
                f"feature name {wrong[0]!r} is a {type(wrong[0]).__name__}: use strings, or give the prices as an "
                "array in column order."
            )
        amounts = [to_quanta(value, f"price of {name!r}") for name, value in prices.items()]
        result: tuple[tuple[str, ...] | None, list[int]] = tuple(names), amounts
    elif isinstance(prices, (str, bytes)) or not isinstance(prices, (Sequence, np.ndarray)):
        raise CostsError(
            f"prices is a {type(prices).__name__}: give a mapping from feature name to price, or one price per "
            "column. Use Costs.from_yaml(path) for a file."
        )
    else:
        if isinstance(prices, np.ndarray) and prices.ndim != 1:
            raise CostsError(
                f"prices has shape {prices.shape}: give one price per column, shape (d,)."
            )
        result = None, [to_quanta(value, f"price of column {i}") for i, value in enumerate(prices)]
    if not result[1]:
        raise CostsError("prices is empty: give the price of every feature.")
    return result


def read_groups(
    groups: Mapping[str, Mapping[str, Any]], index: Callable[[Any], int]
) -> tuple[list[int], dict[int, int]]:
    """Fees of the groups in quanta, and the group of each column that has one."""
    if not isinstance(groups, Mapping):
        raise CostsError(
            f"groups is a {type(groups).__name__}: give a mapping, "
            "{'blood': {'fee': 2.1, 'features': ['chol', 'fbs']}}."
        )
    fees: list[int] = []
    group_of: dict[int, int] = {}
    for g, (name, spec) in enumerate(groups.items()):
        if not isinstance(name, str):
            raise CostsError(f"group name {name!r} is a {type(name).__name__}: use a string.")
        if not isinstance(spec, Mapping) or set(spec) != {"fee", "features"}:
            raise CostsError(
                f"group {name!r} is {spec!r}: give it as {{'fee': number, 'features': [...]}}."
            )
        fees.append(to_quanta(spec["fee"], f"fee of group {name!r}"))
        members = spec["features"]
        if isinstance(members, str) or not isinstance(members, Iterable):
            raise CostsError(f"features of group {name!r} is {members!r}: give a list of features.")
        members = list(members)
        if not members:
            raise CostsError(f"group {name!r} has no features: list them, or drop the group.")
        for feature in members:
            if (column := index(feature)) in group_of:
                raise CostsError(
                    f"feature {feature!r} is listed twice in the groups, the second time in {name!r}: "
                    "a feature belongs to at most one group. Remove it from one of them."
                )
            group_of[column] = g
    return fees, group_of
