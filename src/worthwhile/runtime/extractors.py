"""Functions that fetch features, called in bulk, once per row, with time-out and retry."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from worthwhile._tracing import span
from worthwhile.columns import Column, Columns
from worthwhile.costs import Costs
from worthwhile.runtime._results import read_result

Result = TypeVar("Result")
Fetch = Callable[[list[Any]], Any]


class Extractors:
    """Where feature values come from.

    Parameters
    ----------
    functions : mapping from feature or group name to function
        A function takes a list of ids. For a feature it returns one value per id: in the order of
        the ids, or by id (a mapping, or a Series of pandas whose index is the ids). For a group of
        the model's costs it returns a mapping (or frame) from feature to such values, and it is
        called when the first feature of the group is wanted (of several groups that list it, the first
        that has a function). None or NaN means that the value came
        back empty (it is paid for); ``worthwhile.runtime.UNAVAILABLE`` that it cannot be had (it is
        not); ``worthwhile.runtime.Paid(value, price)`` states what a call really cost.
    timeout : float, optional
        Seconds after which a call counts as failed; what a generator takes is part of its call.
    retries : int, default=0
        How often a failed call is repeated. A call that returns something else than values that
        the columns can hold has failed, too.
    wait : float, default=0.0
        Seconds before the first repetition; doubled each time.

    Notes
    -----
    Values are kept per id, so nothing is fetched twice, not even by a later call. Prices are the
    model's: a value from memory is billed like any other, since each prediction stands for itself.

    Examples
    --------
    >>> calls = []
    >>> def age(ids):
    ...     calls.append(list(ids))
    ...     return [40 + i for i in ids]
    >>> extractors = Extractors({"age": age})
    >>> extractors.fetch("age", [1, 2]), extractors.fetch("age", [2, 3])
    ([41, 42], [42, 43])
    >>> calls
    [[1, 2], [3]]
    """

    def __init__(
        self,
        functions: Mapping[str | int, Fetch],
        *,
        timeout: float | None = None,
        retries: int = 0,
        wait: float = 0.0,
    ) -> None:
        for name, function in functions.items():
            if not callable(function):
                raise TypeError(
                    f"extractor of {name!r} is a {type(function).__name__}: give a function of ids."
                )
        if timeout is not None and timeout <= 0:
            raise ValueError(
                f"timeout is {timeout}: give seconds > 0, or None to wait as long as it takes."
            )
        if retries < 0 or wait < 0:
            raise ValueError(f"retries is {retries} and wait {wait}: both are >= 0.")
        self.functions = dict(functions)
        self.timeout, self.retries, self.wait = timeout, retries, wait
        self._values: dict[tuple[str | int, Hashable], Any] = {}

    def check(self, costs: Costs, columns: Sequence[int]) -> None:
        """Refuse, before anything is bought, if a feature that may be wanted has no function."""
        missing = [f for f in map(costs.name, columns) if self._source(f, costs) is None]
        if missing:
            raise ValueError(
                f"no extractor for {', '.join(repr(f) for f in missing[:5])}: the model may ask for it. Add a function "
                "for the feature or for its group."
            )

    def fetch(
        self,
        feature: str | int,
        ids: Sequence[Any],
        costs: Costs | None = None,
        columns: Columns | None = None,
    ) -> list[Any]:
        """Values of a feature for some ids, from memory or by one call for all that are new."""
        source = self._source(feature, costs)
        if source is None:
            raise ValueError(
                f"no extractor for {feature!r}: add a function for it or for its group."
            )
        new = [i for i in dict.fromkeys(ids) if (feature, i) not in self._values]
        if new:
            members = (
                () if costs is None or source == feature else costs.groups[str(source)].features
            )

            def column_of(name: str | int) -> Column | None:
                return None if columns is None or costs is None else columns[costs.index(name)]

            found = self._call(feature, source, members, new, column_of)
            self._values.update(
                ((name, i), value)
                for name, values in found.items()
                for i, value in zip(new, values, strict=True)
            )
        return [self._values[feature, i] for i in ids]

    def remembered(self, features: Iterable[str | int], i: Hashable) -> dict[str | int, Any]:
        """The values of one id that were fetched already, of those features."""
        return {f: self._values[f, i] for f in features if (f, i) in self._values}

    def _source(self, feature: str | int, costs: Costs | None) -> str | int | None:
        if feature in self.functions:
            return feature
        if costs is None:
            return None
        listed = (name for name in costs.fees_of(feature) if feature in costs.groups[name].features)
        return next((name for name in listed if name in self.functions), None)

    def _call(
        self,
        feature: str | int,
        source: str | int,
        members: Sequence[str | int],
        ids: list[Any],
        column_of: Callable[[str | int], Column | None],
    ) -> dict[str | int, list[Any]]:
        """Call a function and read what it returns, repeatedly if either fails."""

        def attempt_once() -> dict[str | int, list[Any]]:
            result = self.functions[source](list(ids))
            return read_result(source, feature, members, ids, result, column_of)

        for attempt in range(self.retries + 1):
            try:
                with span("worthwhile.fetch", feature=str(source), count=len(ids)):
                    return _within(attempt_once, self.timeout)
            except Exception:
                if attempt == self.retries:
                    raise
                time.sleep(self.wait * 2**attempt)
        raise AssertionError("unreachable")


def _within(work: Callable[[], Result], timeout: float | None) -> Result:
    """Do some work; give up waiting after ``timeout`` seconds."""
    if timeout is None:
        return work()
    result: list[Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            result.append(work())
        except BaseException as error:
            failure.append(error)

    # A daemon: a call that never returns must not keep the process alive.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout)
    if failure:
        raise failure[0]
    if not result:
        raise TimeoutError(f"no answer within {timeout:g} s")
    return result[0]
