"""Ctrl-C while a kernel runs: what the compiler makes of it becomes an interrupt again."""

from __future__ import annotations


def raise_interrupt(error: BaseException) -> None:
    """Raise ``KeyboardInterrupt`` where an error stands for one.

    A signal that comes while a compiled function hands back its result is wrapped in a ``SystemError``
    ("returned a result with an exception set"), which nobody who waits for Ctrl-C would catch.

    Examples
    --------
    >>> wrapped = SystemError("returned a result with an exception set")
    >>> wrapped.__cause__ = KeyboardInterrupt()
    >>> try:
    ...     raise_interrupt(wrapped)
    ... except KeyboardInterrupt:
    ...     print("stopped")
    stopped
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    if cause is not error and isinstance(cause, KeyboardInterrupt):
        raise KeyboardInterrupt from error
