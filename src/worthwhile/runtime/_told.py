"""What a session is told: read and checked before anything is recorded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from worthwhile.columns import Column
from worthwhile.costs import to_quanta
from worthwhile.exceptions import CostsError, SessionError
from worthwhile.runtime._stored import Storable, Told
from worthwhile.runtime.values import as_json, read_value

Feature = str | int

NAMES, PLAIN = frozenset({str, int}), frozenset({float})
"""Types that names and values usually have."""


class Listener(Storable):
    """A session as far as it listens: it knows what was told and what is due, and reads what comes."""

    def __init__(
        self, policy: Any, prices: Any = None, unavailable: Any = (), key: Any = None
    ) -> None:
        super().__init__(policy, prices, unavailable, key)
        self._known: dict[int, float] = {}
        self._words: dict[int, Any] = {}  # what was told of columns that are no plain numbers
        self._gone: set[int] = set()
        self._pending: list[int] = []  # planned purchases in order; their money is reserved
        self._offered: list[Feature] = []  # the first of the pending ones, as they were asked for

    def _index(self, feature: Any) -> int:
        try:
            return self.policy.costs.index(feature)
        except CostsError as error:
            raise SessionError(f"{error} Nothing was recorded.") from None

    def _read(self, values: Mapping[Any, Any]) -> dict[int, float | None]:
        """Check values; None stands for what is unavailable. Planned purchases come first, in order."""
        if type(values) is dict and self.policy.columns is None and self._is_as_asked(values):
            return dict(zip(self._pending, values.values(), strict=False))
        if not isinstance(values, Mapping):
            raise SessionError(
                f"values is a {type(values).__name__}: give a mapping from feature to value, such as {{'age': 63}}."
            )
        told: dict[int, float | None] = {}
        words: dict[int, Any] = {}
        columns = self.policy.columns
        known, gone, index = self._known, self._gone, self.policy.costs.index
        try:
            for name, value in values.items():
                feature = index(name)
                if feature in known or feature in gone:
                    raise SessionError(
                        f"{name!r} was told before: a value is told once. Nothing was recorded; leave it out."
                    )
                column = None if columns is None else columns[feature]
                plain = column is None and type(value) is float and math.isfinite(value)
                told[feature] = number = value if plain else read_value(name, value, column)
                if column is not None and number is not None and column.kind != "number":
                    words[feature] = as_json(value, number, column)
        except CostsError as error:
            raise SessionError(f"{error} Nothing was recorded.") from None
        self._words.update(words)  # a word without a value is never looked at
        if list(told) == self._pending:
            return told
        order = {feature: place for place, feature in enumerate(self._pending)}
        return dict(sorted(told.items(), key=lambda item: order.get(item[0], len(order))))

    def _is_as_asked(self, values: dict[Any, Any]) -> bool:
        """Whether these are finite floats for just what was asked for, in that order: the usual case."""
        names = list(values)
        return (
            names == self._offered != []
            and NAMES.issuperset(map(type, names))  # True is no column, though it equals 1
            and PLAIN.issuperset(map(type, values.values()))
            and math.isfinite(sum(values.values()))
        )

    def _read_prices(self, price: Any, told: Told) -> dict[int, int]:
        if price is None:
            return {}
        if not isinstance(price, Mapping):
            price = {self.policy.costs.name(feature): price for feature in told}
        stated = {}
        for name, amount in price.items():
            feature = self._index(name)
            if feature not in told or told[feature] is None:
                raise SessionError(
                    f"price names {name!r}, which has no value here. Nothing was recorded."
                )
            try:
                stated[feature] = to_quanta(amount, f"price of {name!r}")
            except CostsError as error:
                raise SessionError(f"{error} Nothing was recorded.") from None
        return stated

    def _word(self, feature: int, number: float) -> Any:
        """What was told, where that was no plain number; ``number`` otherwise."""
        return number if math.isnan(number) else self._words.get(feature, number)

    def _column(self, index: int) -> Column | None:
        columns = self.policy.columns
        return None if columns is None else columns[index]
