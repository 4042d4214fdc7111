"""Text that no database can hold is refused before anything else is done with it."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import urlsplit

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


def host_of(url: str) -> str | None:
    """The name of the machine in an address; None where there is none, or nobody can read it.

    Examples
    --------
    >>> host_of("http://[::1]:8642"), host_of("http://[")
    ('::1', None)
    """
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def place_of(url: str | None) -> str:
    """Name and port of the machine in an address; '' where there is none, or nobody can read it.

    Examples
    --------
    >>> place_of("http://localhost:8642/cases"), place_of("http://[")
    ('localhost:8642', '')
    """
    try:
        return urlsplit(url or "").netloc
    except ValueError:
        return ""


def check_text(body: bytes) -> None:
    """Refuse requests in other encodings, and JSON with such text; what is no JSON is refused elsewhere."""
    try:
        body.decode()
    except UnicodeDecodeError:
        raise ServiceError(400, "bad_text", "the request is not UTF-8.") from None
    if b"\x00" in body:
        raise ServiceError(400, "bad_text", "the request has a zero in it: send UTF-8.")
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
