"""The papers' experiments are kept as they come, and their pages are what the kept results make."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")

from benchmarks.papers import frame
from benchmarks.papers.adapt_2017_page import front_table, plain_of
from benchmarks.papers.all import PAPERS, pages
from benchmarks.papers.claims import Claim, Try, counts, settle, table
from benchmarks.papers.frame import (
    DOCS,
    RESULTS,
    Experiment,
    Paper,
    Records,
    _short,
    arguments,
    differences,
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
    listed = list(paper.experiments(given()))
    made = {own.name: (_short(own.settings), own.seed) for own in listed}
    assert len(listed) == len(made)
    for name, line in Records(RESULTS / f"{paper.name}.jsonl").lines.items():
        assert (line["settings"], line["seed"]) == made[name], "run it again with --again"


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_a_run_that_was_stopped_has_pages_too(paper, tmp_path: Path):
    lines = (RESULTS / f"{paper.name}.jsonl").read_text().splitlines(keepends=True)
    for count in (1, 2, len(lines) // 3, len(lines) // 2, len(lines) - 1):
        (tmp_path / f"{paper.name}.jsonl").write_text("".join(lines[:count]))
        records = Records(tmp_path / f"{paper.name}.jsonl")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # means of nothing
            assert paper.text(records).startswith(f"# {paper.title}")
            table(paper.claims(records))
    paper.draw(records, tmp_path)


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


def test_what_is_kept_is_compared_with_what_the_code_gives_now(tmp_path: Path, capsys, monkeypatch):
    file, calls = tmp_path / "own.jsonl", []
    run(counting(calls, "a"), Records(file), given(), float("inf"))
    before = file.read_text()
    monkeypatch.setattr(frame, "state", lambda: "late")
    run(counting(calls, "a", "b"), Records(file), given("--check"), float("inf"))
    assert "own: a: as kept\nown: b: to run" in capsys.readouterr().out
    file.write_text(before.replace("0.333333", "0.333334"))
    run(counting(calls, "a"), Records(file), given("--check"), float("inf"))
    assert "own: a: 1 figures differ" in capsys.readouterr().out
    assert calls == ["a"] * 3
    assert "0.333334" in file.read_text()
    assert "again" not in Records(file).lines["a"]


def test_what_is_given_again_says_by_which_state(tmp_path: Path, monkeypatch):
    file, calls = tmp_path / "own.jsonl", []
    paper = counting(calls, "a", "b")
    monkeypatch.setattr(frame, "state", lambda: "early")
    run(paper, Records(file), given(), float("inf"))
    monkeypatch.setattr(frame, "state", lambda: "late")
    run(paper, Records(file), given("--check", "--experiments", "a"), float("inf"))
    records = Records(file)
    assert [records.last(name)["source"] for name in "ab"] == ["late", "early"]
    assert records.lines["a"]["source"] == "early"
    heading = records.heading(paper)
    assert "1 run again since, with the same figures" in heading
    assert "late (1), early (1)." in heading
    # What the present state has given already is not run once more.
    run(paper, Records(file), given("--check"), float("inf"))
    assert calls == ["a", "b", "a", "b"]
    assert {Records(file).last(name)["source"] for name in "ab"} == {"late"}


def test_files_that_differ_from_the_state_are_noted(monkeypatch):
    monkeypatch.setattr(frame, "_git", lambda *words: " M x" if words[0] == "status" else "abc")
    assert frame.state() == "abc+"
    monkeypatch.setattr(frame, "_git", lambda *words: "" if words[0] == "status" else "abc")
    assert frame.state() == "abc"


def test_times_are_not_compared():
    kept = {"x": [{"seconds": 1.0, "y": 2}], "z": [1, 2]}
    assert differences(kept, {"x": [{"seconds": 9.0, "y": 2}], "z": [1, 2]}) == 0
    assert differences(kept, {"x": [{"seconds": 1.0, "y": 3}], "z": [1]}) == 2


def test_a_run_stops_at_its_end_and_says_what_it_lacks(tmp_path: Path, capsys):
    calls: list[str] = []
    run(counting(calls, "a"), Records(tmp_path / "own.jsonl"), given(), float("-inf"))
    needy = Paper("own", "Own", "", lambda _: [Experiment("c", dict, needs=("data",))])
    run(needy, Records(tmp_path / "own.jsonl"), given(), float("inf"))
    assert calls == []
    assert "left out, needs --data" in capsys.readouterr().out


def test_a_page_of_real_files_names_them(tmp_path: Path):
    paper = counting([], "a")._replace(claims=lambda _: [Claim("a", "1", "2", "so", reached=True)])
    real, other = tmp_path / "real.jsonl", tmp_path / "other.jsonl"
    run(paper, Records(real), given("--mslr", "folder"), float("inf"))
    assert "**Real files** stand for these sets here: mslr." in Records(real).heading(paper)
    run(paper, Records(other), given(), float("inf"))
    assert "Real files" not in Records(other).heading(paper)


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
    several = [(), ("--quick",), ("--yahoo", "folder"), ("--quick", "--yahoo", "folder")]
    assert len({places(given(*words))[0] for words in several}) == 4
    assert places(given("--quick", "--docs", str(tmp_path)))[1] == tmp_path


def test_claims_as_a_table():
    rows = [
        Claim("a", "1", "2", "so", True),
        Claim("b", "1", "2", "so", None),
        Claim("c", "1", "2", "so", True, added=True),
        Claim("d", "1", "2", "so", False, added=True),
        Claim("Figure 7: e", "1", "2", "so", False),
    ]
    assert table(rows).splitlines()[2:] == [
        "| a | 1 | 2 | so | yes |",
        "| b | 1 | 2 | so | not comparable |",
        "| c | 1 | 2 | so | yes, with ours |",
        "| d | 1 | 2 | so | no |",
        "| Figure 7: e | 1 | 2 | so | no |",
    ]
    assert counts(rows) == [1, 1, 2, 1]


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_what_rests_on_something_of_ours_says_so(paper):
    for claim in paper.claims(Records(RESULTS / f"{paper.name}.jsonl")):
        assert claim.chosen
        assert not claim.added or "**" in claim.chosen or "ours" in claim.text, claim


FIGURES = {
    "greedy_miser_2012": ["Figure 1, left", "Figure 1, right", "Figure 2", "Figure 3", "Figure 4"],
    "astc_2014": ["Figures 1 and 2", "Figure 3", "Tables 1 and 2"],
    "budgetrf_2015": ["Figure 1", "Figure 2", "Figure 3", "Table 1"],
    "adapt_2017": ["Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5", "Table 1"],
    "dynamic_selection_2012": ["Figure 1(a)", "Figure 1(b)", "Figure 1(c)", "Figure 1(d)"],
}
"""All that the papers have."""


@pytest.mark.parametrize("paper", PAPERS, ids=NAMES)
def test_every_figure_and_table_has_its_counterpart_or_a_reason(paper):
    assert set(FIGURES[paper.name]) <= set(paper.counterparts)
    page = pages()[f"{paper.name}.md"]
    for name, place in paper.counterparts.items():
        assert f"| {name} | {place} |" in page


def test_a_heading_names_what_all_machines_share(tmp_path: Path):
    file = tmp_path / "own.jsonl"
    paper = counting([], "a", "b")
    run(paper, Records(file), given(), float("inf"))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["machine"], lines[1]["machine"] = "EPYC, 1 cores, Python 3", "EPYC, 2 cores, Python 3"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "EPYC, Python 3, " in Records(file).heading(paper)


def test_the_papers_own_way_counts_first():
    paper, ours = Try("as in the paper", "3", True), Try("refits", "5", True, added=True)
    both = settle("a", "5", [paper, ours], "so")
    assert both[2:] == ("3", "so", True, False, False)
    missed = settle("a", "5", [paper._replace(reached=False), ours], "so", main=True)
    assert missed.main
    assert missed.ours == "as in the paper: 3; refits: 5"
    same = settle("a", "5", [paper._replace(reached=False), ours._replace(ours="3")], "so")
    assert same.ours == "as in the paper: 3"
    assert missed.verdict == "yes, with ours"
    assert missed.chosen == "so; **refits**"
    neither = settle("a", "5", [ours._replace(reached=False)], "so")
    assert (neither.verdict, neither.chosen) == ("no", "so")


def test_gates_as_trained_and_their_thresholds_moved_stand_apart(tmp_path: Path):
    moved = {"saved": 0.3, "lost": 0.02, "lost_error": 0.01}
    own = {"cost": 16.0, "accuracy": 0.9, "rows": [3, 2, 1], "budget": moved}
    assert plain_of(own) is None
    own["as trained"] = {"budget": moved | {"saved": 0.4, "lost": -0.01}}
    (tmp_path / "own.jsonl").write_text(
        json.dumps({"experiment": "RBF-SVM letters, ADAPT-GBRT", "figures": own})
    )
    records = Records(tmp_path / "own.jsonl")
    line = front_table(records, "RBF-SVM", "letters").rstrip().splitlines()[-1]
    assert line == "| ADAPT-GBRT | 40.0%, +1.00 ± 1.00 | 30.0%, -2.00 ± 1.00 |"


def test_at_a_glance_stand_the_main_claims_and_the_number_of_all():
    made = pages()
    text = made["index.md"]
    for paper in PAPERS:
        claims = paper.claims(Records(RESULTS / f"{paper.name}.jsonl"))
        for claim in claims:
            assert (f"| {claim.text} | {claim.paper} |" in text) == claim.main, claim
            assert f"| {claim.text} | {claim.paper} |" in made[f"{paper.name}.md"]
        line = next(line for line in text.splitlines() if line.startswith(f"| [{paper.title}]"))
        assert sum(map(int, line.split("|")[2:-1])) == len(claims)


def test_the_page_at_a_glance_is_short():
    assert len(pages()["index.md"].split()) < 1600
