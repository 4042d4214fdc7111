"""What a paper claims beside what the kept results give: the lines of the page at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HEADS = ("claim", "paper", "here", "how it was chosen", "reached?")


class Claim(NamedTuple):
    """One statement of a paper."""

    text: str
    paper: str
    here: str
    chosen: str
    """By which rows and rules, and what was seen before."""
    reached: bool | None
    """None: not comparable, the reason stands in ``chosen``."""


def table(claims: Sequence[Claim]) -> str:
    """As Markdown."""
    word = {True: "yes", False: "no", None: "not comparable"}
    rows = [HEADS, ["---"] * len(HEADS), *([*own[:4], word[own.reached]] for own in claims)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
