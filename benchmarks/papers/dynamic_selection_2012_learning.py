"""Figure 1(a) of ``dynamic_selection_2012``: what policies are rewarded with, round by round, on digits at lam 0.5."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.papers.claims import Claim
from benchmarks.papers.frame import Records

TEACHERS = {
    "given": ("DAgger", "paper's coach"),
    "paper": ("DAgger", "paper's coach"),
    "ours": ("DAgger", "our coach"),
}
"""Who teaches the policies, for each data classifier."""
SHORT = {"given": "given classifier", "paper": "the paper's classifier", "ours": "ours"}
LOOK = {"DAgger": "#2166ac", "paper's coach": "#b2182b", "our coach": "#ef8a62"}
SHOWN = (1, 2, 3, 5, 10, 15)
"""Rounds of the table."""


def learning(records: Records, way: str, coach: str) -> list[np.ndarray]:
    """Mean cost and reward on development rows by round, for each division of the rows."""
    found = records.under("digits")
    return [
        np.array(own["learning"])
        for key, own in found.items() if key.endswith(f" {way}, {coach}")
    ]  # fmt: skip


def claims(records: Records) -> list[Claim]:
    """What the paper says of its figure."""
    found = []
    for way, (_, coach) in TEACHERS.items():
        curves = [learning(records, way, c) for c in ("DAgger", coach)]
        if not all(curves):
            continue
        rewards = [own[0][:, 1] for own in curves]
        named = zip(("DAgger", coach), rewards, strict=True)
        text = "; ".join(f"{name} {r[0]:.2f}, {r[1]:.2f}, ..., {r[-1]:.2f}" for name, r in named)
        found.append(Claim(
            f"Figure 1(a): coaching ends with more reward than DAgger, digits, lam 0.5, {SHORT[way]}", "yes", text,
            "rounds 1, 2 and 15 on development rows, first division", bool(rewards[1][-1] >= rewards[0][-1]),
            way == "ours",
        ))  # fmt: skip
    return [*found, *_smooth(records)]


def _smooth(records: Records) -> list[Claim]:
    """Of the paper's own teachers and classifiers, on all divisions."""
    steps, changes, good = [], [], []
    for way in ("given", "paper"):
        pairs = zip(*(learning(records, way, coach) for coach in TEACHERS[way]), strict=False)
        for pair in pairs:
            moves = [np.abs(np.diff(own[:, 1])) for own in pair]
            step, change = ([m[0] for m in moves], [m[1:].mean() for m in moves])
            steps.append("{1:.2f} ({0:.2f})".format(*step))
            changes.append("{1:.3f} ({0:.3f})".format(*change))
            good.append(step[1] <= step[0] and change[1] <= change[0])
    if not good:
        return []
    return [Claim(
        "Figure 1(a): coaching takes a smaller second step than DAgger and moves more smoothly, digits, lam 0.5", "yes",
        f"second step {', '.join(steps)}; mean change after it {', '.join(changes)}; DAgger's in brackets",
        "given classifier, the paper's on two divisions; asked after the runs", all(good),
    )]  # fmt: skip


def table(records: Records) -> str:
    """Reward at the mean cost of a row, first division."""
    lines = []
    for way, coaches in TEACHERS.items():
        for coach in coaches:
            for own in learning(records, way, coach)[:1]:
                cells = [
                    f"{own[n - 1][1]:.3f} at {own[n - 1][0]:.2f}" if n <= len(own) else "-"
                    for n in SHOWN
                ]
                lines.append([f"{SHORT[way]}, {coach}", *cells])
    return markdown(["reward at cost", *(f"round {n}" for n in SHOWN)], lines)


def panel(axis: Any, records: Records, way: str) -> None:
    """Reward against cost as in the paper, from the first round (a square) to the last (a star)."""
    for coach in TEACHERS[way]:
        for own in learning(records, way, coach)[:1]:
            axis.plot(*own.T, ".-", color=LOOK[coach], lw=1, ms=4)
            for end, mark in ((own[0], "s"), (own[-1], "*")):
                axis.plot(*end, mark, color=LOOK[coach], ms=5 if mark == "s" else 10)
    axis.set(xlabel="share of the full price", ylabel="reward, development rows")
    axis.set_title("digits, rounds at lam 0.5", fontsize=10)
