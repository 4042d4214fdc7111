"""The real files behind the papers are read as their publishers give them: small files of the same form."""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from benchmarks.papers import (
    adapt_2017,
    astc_2014,
    budgetrf_2015,
    files,
    greedy_miser_2012,
    ranking,
    sets,
)
from benchmarks.papers.frame import arguments
from worthwhile.datasets import write_svmlight


def ranking_folder(folder: Path, name: str, prices: list[float] | None = None) -> Path:
    """Two documents in each of the files of a set; features 1 and 3 are ever other than 0."""
    for number, file in enumerate(files.RANKING[name][0]):
        X = np.zeros((2, 3))
        X[:, 0], X[1, 2] = 0.25, number + 1
        write_svmlight(folder / file, X, [2, 0], [number, number])
    if prices is not None:
        (folder / "costs.txt").write_text("\n".join(map(str, prices)))
    return folder


@pytest.mark.parametrize(("name", "columns"), [("yahoo", 700), ("mslr", 136), ("letor", 46)])
def test_ranking_sets(tmp_path, name, columns):
    parts, costs = files.ranking(name, ranking_folder(tmp_path, name))
    assert [part.X.shape for part in parts] == [(2, columns)] * 3
    assert [part.qid.tolist() for part in parts] == [[0, 0], [1, 1], [2, 2]]
    assert parts[2].X[1, :3].tolist() == [0.25, 0.0, 3.0]
    assert parts[0].y.tolist() == [2.0, 0.0]
    assert costs.n_features == columns


def test_prices_of_the_features_that_occur_leave_the_others_out(tmp_path):
    parts, costs = files.ranking("yahoo", ranking_folder(tmp_path, "yahoo", [20, 150]))
    assert costs.total == 170
    assert parts[1].X.tolist() == [[0.25, 0.0], [0.25, 2.0]]


def test_prices_of_another_set_are_refused(tmp_path):
    with pytest.raises(ValueError, match="has 5 prices"):
        files.ranking("yahoo", ranking_folder(tmp_path, "yahoo", [1] * 5))


def test_the_set_whose_folder_is_given(tmp_path):
    given = argparse.Namespace(yahoo=None, mslr=str(ranking_folder(tmp_path, "mslr")), letor=None)
    name, parts, _ = files.ranking_given(given)
    assert (name, len(parts)) == ("mslr", 3)
    assert files.ranking_given(argparse.Namespace(yahoo=None, mslr=None, letor=None)) is None


@pytest.mark.parametrize("packed", [False, True])
def test_miniboone(tmp_path, packed):
    lines = [" 1 2", *("  ".join(["-999", *(["1.5"] * 49)]) for _ in range(3))]
    text = "\n".join(lines) + "\n"
    if packed:
        with gzip.open(tmp_path / "MiniBooNE_PID.txt.gz", "wt") as file:
            file.write(text)
    else:
        (tmp_path / "MiniBooNE_PID.txt").write_text(text)
    X, y = files.miniboone(tmp_path)
    assert X.shape == (3, 50)
    assert np.isnan(X[:, 0]).all()
    assert y.tolist() == [1, 0, 0]


def test_miniboone_with_events_missing_is_refused(tmp_path):
    (tmp_path / "MiniBooNE_PID.txt").write_text("2 2\n1.5 2.5\n")
    with pytest.raises(ValueError, match="1 events follow counts of 2 and 2"):
        files.miniboone(tmp_path)


def test_forest(tmp_path):
    with gzip.open(tmp_path / "covtype.data.gz", "wt") as file:
        file.write("\n".join(",".join([*map(str, range(54)), kind]) for kind in "725"))
    X, y = files.forest(tmp_path)
    assert X[2].tolist() == list(range(54))
    assert y.tolist() == [7, 2, 5]


def test_a_folder_without_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none of covtype.data, covtype.data.gz"):
        files.forest(tmp_path)


@pytest.mark.parametrize("name", ["yahoo", "mslr", "letor"])
def test_the_papers_experiments_take_the_files(tmp_path, name):
    given = arguments(None, []).parse_args([f"--{name}", str(ranking_folder(tmp_path, name))])
    (train, held, test), costs = greedy_miser_2012.documents(given)
    assert train.X.shape == (2, costs.n_features)
    assert [part.qid[0] for part in (train, held, test)] == [0, 1, 2]
    # Grades up to 2 have their relevant documents from 1 on; here the best grade is 2.
    problem = astc_2014.read("yahoo", given)
    assert problem.train[1].tolist() == [1, 0]
    assert problem.queries["test"].tolist() == [0, 0]
    own = sets.problem("yahoo", given, seed=0)
    assert [part[1].tolist() for part in (own.train, own.held, own.test)] == [[1, 0]] * 3
    (panel,) = ranking.yahoo(given)
    assert panel.train.X.shape == (2, costs.n_features)
    assert panel.test.rows.tolist() == [0, *[1] * 10]  # irrelevant documents count ten times


def test_the_papers_sizes_of_the_full_sets(tmp_path, monkeypatch):
    kinds = [str(1 + k % 7) for k in range(60)]
    lines = [",".join([*map(str, range(k, k + 54)), kind]) for k, kind in enumerate(kinds)]
    (tmp_path / "covtype.data").write_text("\n".join(lines))
    monkeypatch.setitem(astc_2014.SIZES, "forest", (30, 10, 20))
    problem = astc_2014.read("forest", arguments(None, []).parse_args(["--forest", str(tmp_path)]))
    parts = [problem.train, problem.held, problem.test]
    assert [len(X) for X, _ in parts] == [30, 10, 20]
    seen = np.concatenate([X[:, 0] for X, _ in parts])
    assert sorted(seen) == list(range(60))
    for X, y in parts:
        np.testing.assert_array_equal(y, X[:, 0].astype(int) % 7 == 1)


def full_sets(folder: Path, rows: int) -> argparse.Namespace:
    """Small files in the forms of the full MiniBooNE and Forest, a feature of each telling the class; no other data."""
    rng = np.random.default_rng(0)
    events = rng.normal(size=(rows, 50)) + np.where(np.arange(rows) < rows // 2, 2.0, 0.0)[:, None]
    lines = [f" {rows // 2} {rows - rows // 2}", *("  ".join(map(str, line)) for line in events)]
    (folder / "MiniBooNE_PID.txt").write_text("\n".join(lines))
    cover = rng.integers(0, 9, size=(rows, 54))
    lines = [",".join([*map(str, line), str(1 + k % 2)]) for k, line in enumerate(cover)]
    (folder / "covtype.data").write_text("\n".join(lines))
    return arguments(None, []).parse_args(
        ["--miniboone", str(folder), "--forest", str(folder), "--quick"]
    )


@pytest.mark.parametrize("paper", [adapt_2017, astc_2014, budgetrf_2015])
@pytest.mark.parametrize("name", ["miniboone", "forest"])
def test_the_full_sets_need_no_other_data(tmp_path, paper, name):
    given, bare = full_sets(tmp_path, 20), arguments(None, []).parse_args([])
    own, others = (
        [
            e.needs for e in paper.experiments(options)
            if e.name.split(",")[0].split()[1:2] == [name] and not e.name.startswith("forty")
        ]
        for options in (given, bare)
    )  # fmt: skip
    assert own
    assert not any(own)
    assert all(needs == ("data",) for needs in others)


def test_an_experiment_runs_on_the_full_sets_files(tmp_path, monkeypatch):
    given = full_sets(tmp_path, 100)
    monkeypatch.setattr(sets, "FULL_MINIBOONE", (40, 20, 40))
    monkeypatch.setitem(budgetrf_2015.SHARES_OF_ROWS, "miniboone", 5.0)
    (run,) = (
        e.run for e in budgetrf_2015.experiments(given) if e.name == "curve miniboone, alpha 0"
    )
    figures = run()
    assert figures["rows"] == [40, 20, 40]
    assert min(point[4] for point in figures["points"]) < 0.2
