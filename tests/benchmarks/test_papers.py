"""The papers' experiments are kept as they come, and their pages are what the kept results make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")

from benchmarks.papers.all import PAPERS, pages
from benchmarks.papers.claims import Claim, table
from benchmarks.papers.frame import (
    DOCS,
    RESULTS,
    Experiment,
    Paper,
    Records,
    arguments,
    places,
    run,
)

NAMES = [paper.name for paper in PAPERS]


def given(*words: str):
    return arguments(None, NAMES).parse_args(words)


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_page_is_what_its_results_make(name):
    assert (DOCS / "reproduction" / name).read_text() == pages()[name], (
        "run: python -m benchmarks.papers.all --pages"
    )


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_all_that_is_kept_has_an_experiment_that_makes_it(paper):
    listed = [experiment.name for experiment in paper.experiments(given())]
    assert len(listed) == len(set(listed))
    assert set(Records(RESULTS / f"{paper.name}.jsonl")) <= set(listed)


def counting(calls: list[str], *names: str) -> Paper:
    def one(name: str) -> Experiment:
        return Experiment(name, lambda: calls.append(name) or {"third": 1 / 3}, {"rows": 7}, seed=4)

    return Paper("own", "Own", "none", lambda _: [one(name) for name in names])


def test_what_is_kept_is_not_run_again_unless_told(tmp_path: Path):
    calls: list[str] = []
    file = tmp_path / "own.jsonl"
    run(counting(calls, "a 1"), Records(file), given(), float("inf"))
    run(counting(calls, "a 1", "b 1"), Records(file), given(), float("inf"))
    assert calls == ["a 1", "b 1"]
    run(counting(calls, "a 1", "b 1"), Records(file), given("--again", "--experiments", "b"), float("inf"))  # fmt: skip
    assert calls == ["a 1", "b 1", "b 1"]
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["experiment"] for line in lines] == ["a 1", "b 1"]
    assert lines[0]["settings"] == {"rows": 7}
    assert lines[0]["seed"] == 4
    assert Records(file).under("b") == {"1": {"third": 0.333333}}


def test_a_run_stops_at_its_end_and_says_what_it_lacks(tmp_path: Path, capsys):
    calls: list[str] = []
    run(counting(calls, "a"), Records(tmp_path / "own.jsonl"), given(), float("-inf"))
    needy = Paper("own", "Own", "", lambda _: [Experiment("c", dict, needs=("data",))])
    run(needy, Records(tmp_path / "own.jsonl"), given(), float("inf"))
    assert calls == []
    assert "left out, needs --data" in capsys.readouterr().out


def test_half_a_line_is_left_out(tmp_path: Path):
    file = tmp_path / "own.jsonl"
    run(counting([], "a", "b"), Records(file), given(), float("inf"))
    file.write_text(file.read_text()[:-20])
    assert list(Records(file)) == ["a"]


def test_only_full_runs_on_the_projects_data_write_into_the_repository(tmp_path: Path):
    assert places(given()) == (RESULTS, DOCS)
    for words in (("--quick",), ("--yahoo", "folder"), ("--forest", "folder")):
        assert RESULTS not in places(given(*words))
        assert DOCS not in places(given(*words))
    assert places(given("--quick", "--docs", str(tmp_path)))[1] == tmp_path


def test_claims_as_a_table():
    rows = [Claim("a", "1", "2", "so", True), Claim("b", "1", "2", "so", None)]
    assert table(rows).splitlines()[2:] == [
        "| a | 1 | 2 | so | yes |",
        "| b | 1 | 2 | so | not comparable |",
    ]
