"""Reading prices and groups as people give them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from worthwhile._messages import some
from worthwhile.costs._money import to_quanta
from worthwhile.exceptions import CostsError


def read_prices(prices: Any) -> tuple[tuple[str, ...] | None, list[int], set[int]]:
    """Names, where there are any, prices in quanta, and the columns whose price is a ceiling."""
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
        found: tuple[str, ...] | None = tuple(names)
        given = {f"{name!r}": value for name, value in prices.items()}
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
        found, given = None, {f"column {i}": value for i, value in enumerate(prices)}
    if not given:
        raise CostsError("prices is empty: give the price of every feature.")
    amounts = [_amount(value, name) for name, value in given.items()]
    ceilings = {i for i, value in enumerate(given.values()) if isinstance(value, Mapping)}
    return found, amounts, ceilings


def _amount(value: Any, name: str) -> int:
    """A price, or the ceiling of one that is known only afterwards."""
    if not isinstance(value, Mapping):
        return to_quanta(value, f"price of {name}")
    if set(value) != {"ceiling"}:
        raise CostsError(
            f"price of {name} is {value!r}: give a number, or {{'ceiling': number}} for a price that is known "
            "only afterwards."
        )
    return to_quanta(value["ceiling"], f"ceiling of {name}")


class Structure(NamedTuple):
    """Who pays which fee, in numbers: columns and groups."""

    fees: list[int]
    """Fee of each group, in quanta."""
    members: list[list[int]]
    """Columns listed by each group, ascending."""
    within: list[list[int]]
    """Groups that each group stands within."""

    def opens(self, n_features: int) -> list[list[int]]:
        """The groups whose fees each column opens: its own, and all that these stand within."""
        found: list[set[int]] = [set() for _ in range(n_features)]
        for g, columns in enumerate(self.members):
            opened = closure(g, self.within)
            for column in columns:
                found[column] |= opened
        return [sorted(groups) for groups in found]


def closure(start: int, following: Sequence[Sequence[int]]) -> set[int]:
    """All that can be reached from a number, itself included."""
    found, waiting = {start}, [start]
    while waiting:
        new = set(following[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def find_circle(following: Sequence[Sequence[int]]) -> int | None:
    """A number that leads back to itself, if there is one."""
    for start, following_it in enumerate(following):
        if any(start in closure(other, following) for other in following_it):
            return start
    return None


def read_groups(groups: Any, index: Callable[[Any], int]) -> Structure:
    """The fees of the groups, their members, and which group stands within which."""
    if not isinstance(groups, Mapping):
        raise CostsError(
            f"groups is a {type(groups).__name__}: give a mapping, "
            "{'blood': {'fee': 2.1, 'features': ['chol', 'fbs']}}."
        )
    number = {name: g for g, name in enumerate(groups)}
    found = Structure([], [], [])
    for name, spec in groups.items():
        if not isinstance(name, str):
            raise CostsError(f"group name {name!r} is a {type(name).__name__}: use a string.")
        fields = set(spec) if isinstance(spec, Mapping) else set()
        if "fee" not in fields or not fields <= {"fee", "features", "within"}:
            raise CostsError(
                f"group {name!r} is {spec!r}: give it as {{'fee': number, 'features': [...]}}, with "
                "'within': the group or groups that it stands in, if any."
            )
        found.fees.append(to_quanta(spec["fee"], f"fee of group {name!r}"))
        found.members.append(_read_members(name, spec.get("features", ()), index))
        found.within.append(_read_within(name, spec.get("within", ()), number))
    if (g := find_circle(found.within)) is not None:
        raise CostsError(
            f"group {list(groups)[g]!r} stands within itself, by way of its 'within': remove one of them."
        )
    holds = {outer for outers in found.within for outer in outers}
    for name, g in number.items():
        if not found.members[g] and g not in holds:
            raise CostsError(f"group {name!r} has no features: list them, or drop the group.")
    return found


def _read_members(name: str, members: Any, index: Callable[[Any], int]) -> list[int]:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise CostsError(f"features of group {name!r} is {members!r}: give a list of features.")
    columns: set[int] = set()
    for feature in members:
        if (column := index(feature)) in columns:
            raise CostsError(f"feature {feature!r} is listed twice in group {name!r}: keep one.")
        columns.add(column)
    return sorted(columns)


def _read_within(name: str, within: Any, number: Mapping[str, int]) -> list[int]:
    if not isinstance(within, (str, Iterable)):
        raise CostsError(
            f"within of group {name!r} is {within!r}: give a group, or a list of groups."
        )
    outer = [within] if isinstance(within, str) else list(within)
    if unknown := [group for group in outer if group not in number]:
        raise CostsError(
            f"group {name!r} stands within {unknown[0]!r}, which is no group: the groups are {some(number)}."
        )
    return sorted({number[group] for group in outer})


def read_requires(requires: Any, n_features: int, index: Callable[[Any], int]) -> list[list[int]]:
    """The columns that each column requires, as given."""
    found: list[list[int]] = [[] for _ in range(n_features)]
    if not isinstance(requires, Mapping):
        raise CostsError(
            f"requires is a {type(requires).__name__}: give a mapping, {{'biopsy': 'scan'}} or {{'biopsy': ['scan']}}."
        )
    for feature, needed in requires.items():
        if not isinstance(needed, (str, int, np.integer, Iterable)):
            raise CostsError(
                f"requires of {feature!r} is {needed!r}: give a feature, or a list of them."
            )
        names = needed if isinstance(needed, Iterable) and not isinstance(needed, str) else [needed]
        found[index(feature)] = sorted({index(name) for name in names})
    if (column := find_circle(found)) is not None:
        name = next(feature for feature in requires if index(feature) == column)
        raise CostsError(
            f"{name!r} requires itself, by way of what it requires: remove one of these lines."
        )
    return found


def in_order(column: int, requires: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """All that a column requires, what is required first."""
    found: dict[int, None] = {}
    for needed in requires[column]:
        found |= dict.fromkeys((*in_order(needed, requires), needed))
    return tuple(found)
