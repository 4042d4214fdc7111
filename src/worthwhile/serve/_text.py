"""Text that no database can hold is refused before anything else is done with it."""

from __future__ import annotations

import json
import re
from typing import Any

from worthwhile.serve._errors import ServiceError

ESCAPES = re.compile(rb"\\u(0000|[dD][89a-fA-F])")
"""How JSON writes a zero or half of a pair; most requests have neither, and are not looked at again."""


def is_storable(text: str) -> bool:
    r"""Whether every database can hold a text: PostgreSQL no zeros, and none half a pair.

    Examples
    --------
    >>> is_storable("Ärztin"), is_storable("\x00"), is_storable("\ud800")
    (True, False, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def check_text(body: bytes) -> None:
    """Refuse JSON with such text; what is no JSON is refused elsewhere."""
    if ESCAPES.search(body) is None:
        return
    try:
        waiting: list[Any] = [json.loads(body)]
    except (ValueError, RecursionError):
        return
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting += [*node, *node.values()]
        elif isinstance(node, list):
            waiting += node
        elif isinstance(node, str) and not is_storable(node):
            raise ServiceError(
                422, "bad_text", "the request has text that cannot be stored: a zero, or half a letter."
            )  # fmt: skip
