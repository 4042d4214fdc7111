"""Docstrings speak of names by Sphinx roles; this turns the roles into links of the API pages."""

from __future__ import annotations

import re
from typing import Any

import griffe

import worthwhile

ROLE = re.compile(r":(?:class|func|meth|data|mod|attr|exc):`~?([^`]+)`")


def linked(match: re.Match[str]) -> str:
    """A link for what is public in worthwhile, plain code for the rest."""
    path = match.group(1)
    name = path.rpartition(".")[2]
    if path in (name, f"worthwhile.{name}") and name in worthwhile._HOME:
        return f"[`{name}`][{worthwhile._HOME[name]}.{name}]"
    return f"`{path.removeprefix('worthwhile.')}`"


class Roles(griffe.Extension):
    """Rewrites every docstring that is read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object once it is complete."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(linked, obj.docstring.value)
