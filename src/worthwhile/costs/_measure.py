"""Prices from a stop-watch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from worthwhile.costs._money import as_decimal
from worthwhile.exceptions import CostsError


@dataclass(frozen=True)
class Timing:
    """Nanoseconds per row over the repeats: median, fastest, slowest."""

    median: int
    fastest: int
    slowest: int

    @property
    def spread(self) -> float:
        """Slowest minus fastest, as a share of the median."""
        return (self.slowest - self.fastest) / self.median


def time_one(function: Callable[[Any], Any], sample: Sequence[Any], repeats: int) -> Timing:
    """Time ``function(sample)``; the first, cold call is not counted."""
    function(sample)
    runs = []
    for _ in range(repeats):
        start = time.perf_counter_ns()
        function(sample)
        runs.append(time.perf_counter_ns() - start)
    per_row = [max(1, round(run / len(sample))) for run in runs]
    return Timing(round(statistics.median(per_row)), min(per_row), max(per_row))


def measure(
    callables: Mapping[str, Callable[[Any], Any]],
    sample: Sequence[Any],
    groups: Mapping[str, Mapping[str, Any]],
    repeats: int,
) -> tuple[dict[str, Decimal], dict[str, dict[str, Any]], dict[str | int, Timing]]:
    """Time every function; return prices and groups in seconds, and the timings."""
    if len(sample) == 0:
        raise CostsError("sample is empty: give a few typical inputs to time the extractors on.")
    if repeats < 1:
        raise CostsError(f"repeats is {repeats}: time each extractor at least once.")
    timings: dict[str | int, Timing] = {}
    for name, function in callables.items():
        if not callable(function):
            raise CostsError(
                f"extractor of {name!r} is a {type(function).__name__}: give a function of a batch."
            )
        timings[name] = time_one(function, sample, repeats)
    specs: dict[str, dict[str, Any]] = {}
    for name, spec in groups.items():
        if not isinstance(spec, Mapping):
            raise CostsError(
                f"group {name!r} is {spec!r}: give it as {{'fee': number or function, 'features': [...]}}."
            )
        fee = spec.get("fee")
        if callable(fee):
            timings[name] = time_one(fee, sample, repeats)
            fee = as_decimal(timings[name].median)
        specs[name] = {**spec, "fee": fee}
    return {name: as_decimal(timings[name].median) for name in callables}, specs, timings
