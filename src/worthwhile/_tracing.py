"""Spans of OpenTelemetry, where it is installed; nothing otherwise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _tracer() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("worthwhile")


def now() -> int:
    """The time as spans count it: nanoseconds since 1970."""
    return time.time_ns()


def note_span(name: str, start: int, **attributes: Any) -> None:
    """A span from a time until now, below whatever span is current."""
    tracer = _tracer()
    if tracer is not None:
        tracer.start_span(name, attributes=_named(attributes), start_time=start).end()


@contextmanager
def span(name: str, **attributes: Any) -> Iterator[None]:
    """A span around some work; an exception is noted on it."""
    tracer = _tracer()
    if tracer is None:
        yield
        return
    with tracer.start_as_current_span(name, attributes=_named(attributes)):
        yield


def _named(attributes: dict[str, Any]) -> dict[str, Any]:
    return {f"worthwhile.{key}": value for key, value in attributes.items()}
