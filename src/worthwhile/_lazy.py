"""Names of a package that are imported when they are first used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(
    package: str, home: Mapping[str, str], modules: tuple[str, ...] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package.

    Type checkers see neither: to them, everything asked of a module with a ``__getattr__`` would
    exist and be of any type. They read the imports under ``TYPE_CHECKING`` instead, which tests hold
    to the table.

    Parameters
    ----------
    package : str
        Its full name.
    home : dict
        Module of each name: in full, or from the package on with a leading dot.
    modules : tuple of str
        Modules of the package that are names of it, too.

    Examples
    --------
    >>> get, names = lazy("worthwhile", {"Costs": "worthwhile.costs"}, ("metrics",))
    >>> get("Costs").__name__, get("metrics").__name__, "Costs" in names()
    ('Costs', 'worthwhile.metrics', True)
    """

    def get(name: str) -> Any:
        if name in home:
            return getattr(importlib.import_module(home[name], package), name)
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted(sys.modules[package].__all__)

    return get, names
