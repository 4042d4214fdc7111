"""Sessions as JSON values: a session is stored as its calls and resumed by making them again."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Self

from worthwhile.columns import Columns
from worthwhile.costs import Costs, as_decimal, as_float, as_text
from worthwhile.exceptions import SessionError
from worthwhile.policy.base import Policy
from worthwhile.policy.keys import read_key
from worthwhile.runtime.values import UNAVAILABLE

FORMAT = 2
"""Format of stored sessions."""

Told = Mapping[int, float | None]
"""Values by column; None stands for what is unavailable."""
Stated = Mapping[int, int]
"""Stated prices in quanta by column."""


class Storable(ABC):
    """What all kinds of sessions share: their calls are written down, and can be made again."""

    policy: Policy
    """The model at the prices of this session."""
    origin: Policy
    """The model that it was opened with."""
    one_by_one: bool
    key: str | None
    """What tells the case from others, where a model tosses a coin."""

    def __init__(
        self, policy: Any, prices: Any = None, unavailable: Any = (), key: Any = None
    ) -> None:
        self.origin = policy
        self.key = None if key is None else read_key(key)
        today = policy if prices is None else policy.priced(policy.costs.today(prices))
        self._has_prices = today is not policy
        self.policy = today.keyed(self.key)
        columns = policy.costs.columns_of(unavailable, "unavailable")
        self._missing: list[int] = policy.costs.dependents(columns)
        self._events: list[list[Any]] = []
        self._planned = False  # whether the case was advanced since the last event

    @abstractmethod
    def ask(self) -> Any:
        """What is wanted now."""

    @abstractmethod
    def _plan(self) -> None:
        """Advance the case, and set ``_planned``."""

    @abstractmethod
    def _limit_quanta(self) -> int | None:
        """The budget."""

    @abstractmethod
    def _write_tell(self, told: Any, stated: Any) -> list[Any]:
        """Values and prices of a call of ``tell`` as JSON values."""

    @abstractmethod
    def _tell_again(self, values: Any, prices: Any) -> None:
        """Make a call of ``tell`` that :meth:`_write_tell` wrote."""

    @property
    def budget(self) -> float | None:
        """The limit; None if there is none."""
        limit = self._limit_quanta()
        return None if limit is None else as_float(limit)

    def _note_event(self, kind: str, *details: Any) -> None:
        """Write a call down, before it takes effect."""
        if self._planned and kind == "tell":
            # Reading an answer also plans; a resumed session must plan at the same moment.
            self._events.append(["plan"])
        self._planned = False
        self._events.append([kind, *details])

    # Writing -------------------------------------------------------------------------------------

    def _calls(self) -> dict[str, Any]:
        """The constructor's arguments and all calls since."""
        limit = self._limit_quanta()
        request: dict[str, Any] = {}
        if self._has_prices:
            request["prices"] = self.policy.costs.to_dict()
        if self._missing:
            request["unavailable"] = self._missing
        if self.key is not None:
            request["key"] = self.key
        return {
            "budget": None if limit is None else as_text(limit),
            "one_by_one": self.one_by_one,
            **request,
            "events": self.events_since(0) + [["plan"]] * self._planned,
        }

    @property
    def n_events(self) -> int:
        """Number of calls written down so far."""
        return len(self._events)

    def events_since(self, n: int) -> list[list[Any]]:
        """The calls after the first ``n`` as JSON values, for whoever stores step by step.

        A session that is made anew and given the events of all steps by :meth:`apply`, and is then
        asked as the first one was, stands where that one stood.
        """
        return [
            ["tell", *self._write_tell(*details)] if kind == "tell" else [kind]
            for kind, *details in self._events[n:]
        ]

    def to_dict(self) -> dict[str, Any]:
        """The session as JSON values, to be stored after any step."""
        return {"format": FORMAT, "model": self.origin.fingerprint(), **self._calls()}

    # Reading -------------------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, policy: Any, data: Mapping[str, Any]) -> Self:
        """Resume what :meth:`to_dict` stored, with the same model, by making the same calls again."""
        try:
            _check_origin(policy, data)
            return cls._resume(policy, data)
        except SessionError:
            raise
        except (LookupError, TypeError, AttributeError, ArithmeticError, ValueError) as error:
            raise SessionError(
                f"not a stored session: {type(error).__name__} at {error}."
            ) from None

    @classmethod
    def _resume(cls, policy: Any, calls: Mapping[str, Any]) -> Self:
        session: Self = cls(policy, **_request(policy, calls), **cls._arguments(calls))
        session.apply(calls["events"])
        return session

    def apply(self, events: Iterable[list[Any]]) -> None:
        """Make calls again that :meth:`events_since` gave."""
        for kind, *details in events:
            if kind == "tell":
                self._tell_again(*details)
            elif details or kind not in ("ask", "plan"):
                raise SessionError(
                    f"not a stored session: unknown event {kind!r} with {len(details)} details."
                )
            else:
                self.ask() if kind == "ask" else self._plan()

    @classmethod
    def _arguments(cls, calls: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of the constructor, from what was stored."""
        budget, one_by_one = calls["budget"], calls["one_by_one"]
        if budget is not None and type(budget) is not str:
            raise SessionError(f"not a stored session: budget is {budget!r}, not text or null.")
        if type(one_by_one) is not bool:
            raise SessionError(
                f"not a stored session: one_by_one is {one_by_one!r}, not true or false."
            )
        return {
            "budget": None if budget is None else Decimal(budget),
            "one_by_one": one_by_one,
        }

    def __copy__(self) -> Self:
        """A session of its own that stands at the same point; the model is shared."""
        return self._resume(self.origin, self._calls())

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__copy__()  # the model never changes, so nothing else is shared


def _check_origin(policy: Any, data: Mapping[str, Any]) -> None:
    """Refuse what another version or another model stored."""
    if data["format"] == 1:
        raise SessionError(
            "this session was stored by version 0.1.0, whose stored sessions forget what was evaluated last: "
            "finish it with that version, or start a new session and tell what is known."
        )
    if data["format"] != FORMAT:
        raise SessionError(
            f"stored session has format {data['format']!r}: this version reads {FORMAT}."
        )
    if data["model"] != policy.fingerprint():
        raise SessionError(
            "the stored session belongs to another model: resume it with that model."
        )


def _request(policy: Any, calls: Mapping[str, Any]) -> dict[str, Any]:
    """Prices and key of the session, and what it was opened without, from what was stored."""
    found: dict[str, Any] = {}
    if "prices" in calls:
        found["prices"] = Costs.from_dict(calls["prices"])
    if "unavailable" in calls:
        end = policy.n_features
        numbers = [read_number(str(column), end, "column") for column in calls["unavailable"]]
        found["unavailable"] = policy.costs.names_of(numbers)
    if "key" in calls:
        if type(calls["key"]) is not str:
            raise SessionError(f"not a stored session: key is {calls['key']!r}, not text.")
        found["key"] = calls["key"]
    return found


def write_values(told: Told, word: Callable[[int, float], Any]) -> dict[str, Any]:
    """Values by column as JSON: null where they came back empty, a list of one for words of the user's."""

    def code(feature: int, value: float | None) -> Any:
        if value is None:
            return "unavailable"
        if math.isnan(value):
            return None
        said = word(feature, value)
        return value if said is value else [said]

    return {str(feature): code(feature, value) for feature, value in told.items()}


def read_values(
    values: Mapping[str, Any], costs: Costs, columns: Columns | None = None
) -> dict[Any, Any]:
    """What ``tell`` takes, from what :func:`write_values` wrote."""
    told = {}
    for name, value in _by_name(values, costs):
        plain = columns is None or columns[costs.index(name)].kind == "number"
        worded = (
            type(value) is list and len(value) == 1 and type(value[0]) in (str, int, float, bool)
        )
        number = plain and type(value) in (int, float)
        if not (value is None or value == "unavailable" or number or (worded and not plain)):
            raise SessionError(f"not a stored session: value {value!r} of {name!r}.")
        told[name] = UNAVAILABLE if value == "unavailable" else value[0] if worded else value
    return told


def write_prices(stated: Stated) -> dict[str, int]:
    """Prices in quanta by column as JSON."""
    return {str(feature): quanta for feature, quanta in stated.items()}


def read_prices(prices: Mapping[str, Any], costs: Costs) -> dict[Any, Decimal]:
    """What ``tell`` takes, from what :func:`write_prices` wrote."""
    stated = {}
    for name, quanta in _by_name(prices, costs):
        if type(quanta) is not int or quanta < 0:
            raise SessionError(f"not a stored session: price {quanta!r} of {name!r}.")
        stated[name] = as_decimal(quanta)
    return stated


def _by_name(columns: Mapping[str, Any], costs: Costs) -> Iterable[tuple[Any, Any]]:
    for column, value in columns.items():
        yield costs.name(read_number(column, costs.n_features, "column")), value


def read_number(text: Any, end: int, what: str) -> int:
    """A whole number below ``end``, as JSON keys hold it."""
    if not isinstance(text, str) or not text.isdecimal() or str(int(text)) != text:
        raise SessionError(f"not a stored session: {what} {text!r} is no number.")
    if int(text) >= end:
        raise SessionError(f"not a stored session: {what} {text!r} is not one of 0 to {end - 1}.")
    return int(text)
