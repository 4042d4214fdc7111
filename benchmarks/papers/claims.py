"""What a paper claims beside what the kept results give: lines of its page, the main ones also at a glance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

HEADS = ("claim", "paper", "ours", "how it was chosen", "reached?")
VERDICTS = ("yes", "yes, with ours", "no", "not comparable")


class Claim(NamedTuple):
    """One statement of a paper."""

    text: str
    paper: str
    ours: str
    chosen: str
    """By which rows and rules, and what was seen before."""
    reached: bool | None
    """None: not comparable, the reason stands in ``chosen``."""
    added: bool = False
    """Whether the figure rests on something that is not the paper's, which ``chosen`` names."""
    main: bool = False
    """Whether it is one of the paper's strongest, which stand on the page at a glance."""

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.reached is None:
            return "not comparable"
        return ("yes, with ours" if self.added else "yes") if self.reached else "no"


class Try(NamedTuple):
    """One way to what is claimed."""

    label: str
    """As in the paper, or what of ours was added."""
    ours: str
    reached: bool
    added: bool = False


def settle(text: str, paper: str, tries: list[Try], chosen: str, *, main: bool = False) -> Claim:
    """The paper's own way, and where it misses ours beside it; where only ours reaches it, the line says so."""
    own, added = ([one for one in tries if one.added == kind] for kind in (False, True))
    reached = any(one.reached for one in own)
    helped = [one.label for one in added if one.reached and not reached]
    chosen += "".join(f"; **{label}**" for label in helped)
    labels: dict[str, str] = {}
    for one in tries:
        labels.setdefault(one.ours, one.label)
    said = "; ".join(f"{label}: {text}" for text, label in labels.items())
    if reached:
        said = "; ".join(one.ours for one in own if one.reached)
    return Claim(text, paper, said, chosen, reached or bool(helped), bool(helped), main)


def table(claims: Sequence[Claim]) -> str:
    """As Markdown."""
    rows = [HEADS, ["---"] * len(HEADS), *([*own[:4], own.verdict] for own in claims)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def counts(claims: Sequence[Claim]) -> list[int]:
    """How many have each verdict."""
    return [sum(claim.verdict == word for claim in claims) for word in VERDICTS]
