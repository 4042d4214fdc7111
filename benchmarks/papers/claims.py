"""What a paper claims beside what the kept results give: the lines of the page at a glance."""

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


def settle(text: str, paper: str, tries: list[Try], chosen: str) -> Claim:
    """The paper's own way, and ours beside it; where only ours reaches what is claimed, the line says so."""
    own, added = ([one for one in tries if one.added == kind] for kind in (False, True))
    reached = any(one.reached for one in own)
    helped = [one.label for one in added if one.reached and not reached]
    chosen += "".join(f"; **{label}**" for label in helped)
    labels: dict[str, list[str]] = {}
    for one in tries:
        labels.setdefault(one.ours, []).append(one.label)
    said = "; ".join(f"{' or '.join(names)}: {text}" for text, names in labels.items())
    return Claim(text, paper, said, chosen, reached or bool(helped), bool(helped))


def table(claims: Sequence[Claim]) -> str:
    """As Markdown."""
    rows = [HEADS, ["---"] * len(HEADS), *([*own[:4], own.verdict] for own in claims)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def counts(claims: Sequence[Claim]) -> list[str]:
    """How many have each verdict, and of which figures and tables those are that were not reached."""
    found = []
    for word in VERDICTS:
        own = [claim for claim in claims if claim.verdict == word]
        places = dict.fromkeys(claim.text.split(":")[0] for claim in own)
        where = f" ({'; '.join(places)})" if word == "no" and own else ""
        found.append(f"{len(own)}{where}")
    return found
