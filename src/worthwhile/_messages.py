"""Words that messages of several packages share."""

from __future__ import annotations

from collections.abc import Iterable


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
    """
    names = [str(name) for name in names]
    listed = ", ".join(map(repr, names[:most]))
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")
