"""Words that messages of several packages share, and what is said once in a process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from worthwhile.exceptions import WorthwhileWarning

_ON_PURPOSE: ContextVar[bool] = ContextVar("on_purpose", default=False)
_SAID: set[str] = set()


def warn_once(text: str, level: int) -> None:
    """Warn, the first time in a process that there is something to say, unless it is on purpose."""
    if text not in _SAID and not is_on_purpose():
        _SAID.add(text)
        warnings.warn(text, WorthwhileWarning, stacklevel=level + 1)


@contextmanager
def on_purpose() -> Iterator[None]:
    """Settings are tried: what :func:`warn_once`, or a fit about its own choice, would say goes without saying."""
    token = _ON_PURPOSE.set(True)
    try:
        yield
    finally:
        _ON_PURPOSE.reset(token)


def is_on_purpose() -> bool:
    """Whether settings are being tried, such that nobody waits for warnings about each."""
    return _ON_PURPOSE.get()


def missing_package(what: str, package: str, extra: str) -> ImportError:
    """The error for a task whose package, of one of the extras, is not installed.

    Examples
    --------
    >>> print(missing_package("drawing needs", "matplotlib", "plot"))
    drawing needs matplotlib: install matplotlib, or worthwhile with its extra 'plot'.
    """
    return ImportError(
        f"{what} {package}: install {package}, or worthwhile with its extra {extra!r}."
    )


def some(names: Iterable[object], most: int = 5) -> str:
    """A few names for a message.

    Examples
    --------
    >>> some(["age", "sex", "chol"], most=2)
    "'age', 'sex' and 1 more"
    >>> some([0, 1])
    '0, 1'
    """
    names = [name if isinstance(name, (bool, int, float)) else str(name) for name in names]
    listed = ", ".join(map(repr, names[:most]))
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")
