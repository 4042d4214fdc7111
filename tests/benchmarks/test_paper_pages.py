"""Single parts of the papers' pages say what their results say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")

from benchmarks.papers import authors_page
from benchmarks.papers import dynamic_selection_2012_learning as rounds
from benchmarks.papers.frame import Records


def records(path: Path, **figures: object) -> Records:
    """Kept results of these experiments."""
    lines = (json.dumps({"experiment": name, "figures": own}) for name, own in figures.items())
    path.write_text("".join(f"{line}\n" for line in lines))
    return Records(path)


def digits(path: Path, dagger: list[list[float]], coach: list[list[float]]) -> Records:
    own = {
        f"digits 100 given, {name}": {"learning": learning}
        for name, learning in (("DAgger", dagger), ("paper's coach", coach))
    }
    return records(path, **own)


BOLD = [[0.2, 0.1], [0.4, 0.5], [0.4, 0.3], [0.4, 0.5]]
CALM = [[0.2, 0.1], [0.3, 0.4], [0.3, 0.45], [0.3, 0.5]]


def test_a_coach_is_compared_by_its_second_step_and_its_later_changes(tmp_path):
    for name, pair, smooth in (("a", (BOLD, CALM), True), ("b", (CALM, BOLD), False)):
        ends, moves = rounds.claims(digits(tmp_path / name, *pair))
        assert ends.reached
        assert moves.reached == smooth
    assert moves.ours == (
        "second step 0.40 (0.30); mean change after it 0.200 (0.050); DAgger's in brackets"
    )


def test_rounds_as_reward_at_cost(tmp_path):
    lines = rounds.table(digits(tmp_path / "own", BOLD, CALM)).splitlines()
    cells = "0.100 at 0.20 | 0.500 at 0.40 | 0.300 at 0.40 | - | - | -"
    assert lines[2] == f"| given classifier, DAgger | {cells} |"


def test_what_the_present_code_gives_beside_the_authors_programs(tmp_path):
    draw = {f"BudgetRF, {kind}": [[9.0, 0.9], [30.0, 0.15]] for kind in ("as in the paper", "default")}  # fmt: skip
    other = {name: [[9.0, 0.9], [28.0, 0.13]] for name in draw}
    forests = records(
        tmp_path / "forests",
        **{"table forest 100": draw, "table forest 101": other, "authors sample, paper": {"20": [33.0, 0.09]}},
    )  # fmt: skip
    gates = records(
        tmp_path / "gates", **{"authors letters, ADAPT-LIN": {"cost": 11.96, "accuracy": 0.945}}
    )
    assert authors_page.now(forests, gates) == [
        ["BudgetRF, Forest, 40 trees, mean of 2 draws", "0.1400 at 29.0 %", "0.1400 at 29.0 %"],
        ["BudgetRF, MiniBooNE sample, 20 trees, mean of five seeds", "0.0900 at 33.0", "-"],
        ["ADAPT-LIN, Letters with the SVM, within 12", "-", "94.5 % at 12.0"],
    ]
    assert authors_page.now(records(tmp_path / "none"), records(tmp_path / "too")) == []
