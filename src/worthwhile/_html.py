"""Tables for notebooks: plain HTML without scripts or styles of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice
from typing import Any

MOST_ROWS = 60
"""Rows of a table that are shown; of more it says how many are left out."""


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of texts and numbers; None is an empty cell, and everything is escaped.

    Examples
    --------
    >>> html_table("prices", ["feature", "price"], [["a<b", 2.5]])
    '<table><caption>prices</caption><thead><tr><th>feature</th><th>price</th></tr></thead><tbody><tr><td>a&lt;b</td><td>2.5</td></tr></tbody></table>'
    """
    rows = list(rows)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>"
        for row in islice(rows, MOST_ROWS)
    )
    if len(rows) > MOST_ROWS:
        body += f'<tr><td colspan="{len(heads)}">and {len(rows) - MOST_ROWS} more</td></tr>'
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return escape(f"{value:.6g}" if isinstance(value, float) else str(value))
