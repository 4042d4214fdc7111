"""What a file of prices says about columns."""

from __future__ import annotations

import os


def read_kinds(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Which columns a file of prices calls categories, and which dates: ``categorical`` and ``dates``."""
    from worthwhile.costs import _yaml  # takes long to import, and models do without

    return _yaml.read_kinds(path)
