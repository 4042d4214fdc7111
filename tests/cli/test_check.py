"""``worthwhile check``: from a search to a verdict on later rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import app

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of a search, rows like those it learned from, and rows that are not."""
    folder = tmp_path_factory.mktemp("check")
    heart = worthwhile.datasets.load_heart()
    rng = np.random.default_rng(0)
    old = rng.permutation(len(heart.data))
    miser = worthwhile.GreedyMiserClassifier(costs=heart.costs, n_rounds=15, max_depth=3)
    search = worthwhile.BudgetSearchCV(miser, 80, cv=3, trade_off=[{"lam": 0.01}, {"lam": 0.1}])
    train = old[: len(old) // 2]
    search.fit(heart.data.iloc[train], np.asarray(heart.target)[train])
    search.save(folder / "m.worthwhile")
    rest = old[len(old) // 2 :]
    frame = heart.data.iloc[rest].copy()
    frame["disease"] = np.asarray(heart.target)[rest]
    frame.to_csv(folder / "same.csv", index=False)
    frame.assign(disease=1 - frame["disease"]).to_csv(folder / "wrong.csv", index=False)
    frame.assign(thal=7.0, cp=np.nan).to_csv(folder / "moved.csv", index=False)
    frame.assign(room=1).to_csv(folder / "two.csv", index=False)
    frame.assign(disease=frame["disease"].where(np.arange(len(frame)) % 2 == 0)).to_csv(
        folder / "half.csv", index=False
    )
    return folder, search


def test_a_search_promises_its_bill_and_what_its_folds_saw(files):
    _, search = files
    promise = search.best_estimator_.promise_
    assert promise.figures["bill"].mean == search.expected_cost_
    assert promise.bound == search.best_bound_
    assert abs(promise.figures["accuracy"].mean - search.best_score_) < 0.1
    assert promise.spreads


def test_rows_like_the_old_ones_keep_the_promise(files):
    folder, _ = files
    found = json.loads(run("check", folder / "m.worthwhile", folder / "same.csv", "--json").stdout)
    assert found["holds"] is True
    assert [line["name"] for line in found["figures"]] == ["bill", "accuracy", "calibration"]


def test_wrong_answers_break_it_with_a_code(files):
    folder, _ = files
    shown = run("check", folder / "m.worthwhile", folder / "wrong.csv", code=1).output
    assert "The promise does not hold: accuracy is" in shown.replace("\n", " ")


def test_changed_values_are_named(files):
    folder, _ = files
    result = runner.invoke(app, ["check", str(folder / "m.worthwhile"), str(folder / "moved.csv")])
    assert "Values have changed:" in result.output
    assert "thal" in result.output or "cp" in result.output


def test_the_column_with_the_truth_is_found_or_asked_for(files):
    folder, _ = files
    model = folder / "m.worthwhile"
    shown = run("check", model, folder / "two.csv", code=2).output
    assert "are no features; say which column has the truth with --target" in " ".join(
        shown.split()
    )
    assert run("check", model, folder / "two.csv", "--target", "disease").exit_code == 0
    shown = run("check", model, folder / "same.csv", "--target", "nobody", code=2).output
    assert "has no such column" in " ".join(shown.split())


def test_rows_without_a_truth_wait(files):
    folder, _ = files
    shown = run("check", folder / "m.worthwhile", folder / "half.csv").output
    assert "rows without a truth are left out" in shown


def test_info_shows_what_was_promised(files):
    folder, _ = files
    promised = worthwhile.load(folder / "m.worthwhile").promise_.figures
    shown = run("info", folder / "m.worthwhile").output
    assert f"accuracy {promised['accuracy'].mean:.4g}" in shown
    assert f"bill {promised['bill'].mean:.4g}" in shown


def test_a_model_that_promised_nothing_says_so(files, tmp_path):
    folder, _ = files
    model = worthwhile.load(folder / "m.worthwhile")
    del model.promise_
    model.save(tmp_path / "m")
    assert "Nothing was promised" in run("check", tmp_path / "m", folder / "same.csv").output
    assert "promised" not in run("info", tmp_path / "m").output
