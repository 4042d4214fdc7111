"""A lender's story through the command line: a table with text and dates, prices that nest, a case in a terminal."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import _tables, app

runner = CliRunner()
PRICES = """\
unit: EUR
features:
  purpose: 0
  amount: 0
  months: 0
  housing: 0
  phone: 0
  birth: 1
  town: 1
  employed: 2
  checking: 2
  savings: 2
  score: 1
  defaults: 1
  customer_since: 1
groups:
  file: {fee: 0.5, features: [birth, town]}
  call: {fee: 1, features: [employed, checking, savings]}
  bureau: {fee: 6, features: [score, defaults, customer_since], within: [file]}
"""


def run(*words, code=0, **more):
    result = runner.invoke(app, [str(word) for word in words], **more)
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """What lies on the lender's desk: applications as a spreadsheet writes them, prices, a model."""
    desk = tmp_path_factory.mktemp("lender")
    X, y, _ = worthwhile.datasets.make_lender(400, seed=1)
    table = X.assign(risk=y)
    table.insert(0, "case", [f"{i:05d}" for i in range(len(table))])
    table.to_csv(desk / "loans.csv", index=False, sep=";", decimal=",", encoding="cp1252")
    (desk / "costs.yaml").write_text(PRICES)
    done = run(
        "fit", desk / "loans.csv", "--target", "risk", "--costs", desk / "with_case.yaml", "--budget", 6,
        "--method", "greedy-miser", "--rows", 300, "-o", desk / "model", code=2,
    )  # fmt: skip
    assert "no file" in done.stderr
    table.drop(columns="case").to_csv(desk / "train.csv", index=False, sep=";", decimal=",")
    done = run(
        "fit", desk / "train.csv", "--target", "risk", "--costs", desk / "costs.yaml", "--budget", 6,
        "--method", "greedy-miser", "--rows", 200, "-o", desk / "model",
    )  # fmt: skip
    assert "separated by semicolons" in done.stderr
    return desk


def test_a_price_list_starts_with_what_the_columns_hold(desk, tmp_path):
    run(
        "costs",
        "new",
        desk / "train.csv",
        "--target",
        "risk",
        "-o",
        tmp_path / "new.yaml",
        "--unit",
        "EUR",
    )
    text = (tmp_path / "new.yaml").read_text()
    assert "birth: 1" in text
    for words in ("# date, ", "# text, 4 values: ", "# number, ", "# true or false, 2 values"):
        assert words in text
    words = (
        "costs",
        "check",
        desk / "costs.yaml",
        "--data",
        desk / "train.csv",
        "--target",
        "risk",
    )
    shown = " ".join(run(*words).stdout.split())
    assert "bureau + file" in shown or "file + bureau" in shown


def test_the_model_reads_the_file_as_python_reads_the_table(desk, tmp_path):
    run("predict", desk / "model", desk / "loans.csv", "--id", "case", "-o", tmp_path / "out.csv")
    written = pd.read_csv(tmp_path / "out.csv", dtype={"case": str})
    assert list(written) == ["case", "prediction", "P(bad)", "P(good)", "cost", "bought"]
    assert written["case"].iloc[7] == "00007"
    model = worthwhile.load(desk / "model")
    X, _, _ = worthwhile.datasets.make_lender(400, seed=1)
    np.testing.assert_array_equal(written["P(good)"], model.predict_proba(X)[:, 1])
    np.testing.assert_allclose(written["cost"], model.cost(X))
    prices = worthwhile.Costs.from_yaml(desk / "costs.yaml")
    for bill, bought in zip(written["cost"], written["bought"].map(json.loads), strict=True):
        assert bill == prices.price(bought)


def test_chunks_do_not_matter(desk, tmp_path, monkeypatch):
    run("predict", desk / "model", desk / "loans.csv", "-o", tmp_path / "whole.csv")
    monkeypatch.setattr(_tables.read_chunks, "__defaults__", (3,))
    run("predict", desk / "model", desk / "loans.csv", "-o", tmp_path / "parts.csv")
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()


def test_a_case_in_the_terminal_is_told_in_the_words_of_the_table(desk):
    model = worthwhile.load(desk / "model")
    X, _, _ = worthwhile.datasets.make_lender(400, seed=1)
    row = int(np.argmax(model.acquired(X).sum(axis=1)))
    session, by_text, by_number = model.session(one_by_one=True), [], []
    while wanted := session.ask():
        name, value = wanted[0], X[wanted[0]].iloc[row]
        told = "unknown" if pd.isna(value) else str(value)
        choices = session.choices(name)
        by_text.append(told)
        by_number.append(str(choices.index(value) + 1) if choices and value in choices else told)
        session.tell({name: None if pd.isna(value) else value})
    for answers in (by_text, by_number):
        done = run("ask", desk / "model", "--json", input="\n".join(answers) + "\n")
        result = json.loads(done.stdout)
        assert result["prediction"] == session.prediction
        assert result["spent"] == session.spent
    if any(session.choices(name) for name in session.known):
        assert "1 " in done.stderr
    said = run("ask", desk / "model", input="no such thing\n" * 3, code=130).stderr
    assert "no such thing" in said


def test_an_answer_that_is_no_choice_is_refused_in_the_words_of_the_terminal(tmp_path):
    jobs = pd.Series(["nurse", "clerk", "smith"] * 40)
    model = worthwhile.CostSensitiveTreeClassifier(max_depth=2, costs={"job": 1.0})
    model.fit(jobs.to_frame("job"), jobs == "nurse").save(tmp_path / "model")
    done = run("ask", tmp_path / "model", "--json", input="baker\nnurse\n")
    said = " ".join(done.stderr.split())
    assert "job is 'baker', which is not known: give one of 'clerk', 'nurse', 'smith'" in said
    assert "'unknown' if it came back empty, 'na' if it cannot be had." in said
    assert "UNAVAILABLE" not in said
    assert "NaN" not in said
    assert json.loads(done.stdout)["spent"] == 1.0


def test_compare_and_report_take_the_table_as_it_is(desk, tmp_path):
    data = (desk / "train.csv", "--target", "risk", "--costs", desk / "costs.yaml")
    run(
        "compare", *data, "--method", "cost-weighted-l1", "--method", "decision-tree", "--budget", 5, "--splits", 2,
        "--effort", 2, "-o", tmp_path / "c.json",
    )  # fmt: skip
    run("report", *data, "--from", tmp_path / "c.json", "-o", tmp_path / "page.html")
    assert "customer_since" in (tmp_path / "page.html").read_text()


CODES = "code,day,n,ill\n" + "".join(
    f"{i % 3 + 1:02d},{i % 28 + 1}.3.2020,{i},{'yes' if i % 3 else 'no'}\n" for i in range(60)
)


@pytest.mark.parametrize("where", ["options", "file"])
def test_columns_may_be_called_categories_and_dates(tmp_path, where):
    (tmp_path / "d.csv").write_text(CODES)
    prices = "features: {code: 1, day: 1, n: 1}\n"
    if where == "file":
        prices += "categorical: [code]\ndates: [day]\n"
    (tmp_path / "c.yaml").write_text(prices)
    said = ("--categorical", "code", "--dates", "day") if where == "options" else ()
    words = (
        "--target",
        "ill",
        "--costs",
        tmp_path / "c.yaml",
        "--budget",
        3,
        "--method",
        "greedy-miser",
    )
    run("fit", tmp_path / "d.csv", *words, *said, "-o", tmp_path / "m")
    columns = worthwhile.load(tmp_path / "m").columns_
    assert columns[0].levels == ("01", "02", "03")
    assert [columns[c].kind for c in range(3)] == ["category", "date", "number"]
    run("predict", tmp_path / "m", tmp_path / "d.csv", "-o", tmp_path / "p.csv")


def test_wrong_names_and_kinds_are_refused(tmp_path):
    (tmp_path / "d.csv").write_text(CODES)
    words = ("fit", tmp_path / "d.csv", "--target", "ill", "--budget", 3, "-o", tmp_path / "m")

    def refused(*more):
        return " ".join(run(*words, *more, code=2).stderr.split())

    assert "names 'kode', and there is no such column" in refused("--categorical", "kode")
    assert "called a category and a date" in refused("--categorical", "day", "--dates", "day")
    assert "column 'n' is called a date, and has 0" in refused("--dates", "n")
    prices = "features: {code: 1, day: 1, n: 1}\n"
    for line, said in (
        ("categorical: code\n", "line 2: categorical must be a list of features"),
        ("dates: [dai]\n", "line 2: dates names 'dai', which has no price"),
    ):
        (tmp_path / "c.yaml").write_text(prices + line)
        assert said in refused("--costs", tmp_path / "c.yaml")
