"""Errors in money on the command line: fit, predict, check, compare, report."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import worthwhile
from worthwhile import Costs, Errors
from worthwhile.cli import app

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*words):
    return " ".join(run(*words, code=2).stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows, prices, and the same prices with prices of errors."""
    path = tmp_path_factory.mktemp("errors")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"]).round(4)
    sick = X["a"] + 0.8 * rng.normal(size=240) > 0.8
    X.assign(state=np.where(sick, "sick", "well")).to_csv(path / "data.csv", index=False)
    X.assign(state=sick.astype(int)).to_csv(path / "codes.csv", index=False)
    X.assign(y=(3 * X["a"] + rng.normal(size=240)).round(3)).to_csv(path / "n.csv", index=False)
    costs = Costs({"a": 1, "b": 1, "c": 4}, unit="CAD")
    costs.to_yaml(path / "costs.yaml")
    errors = Errors({"sick": {"well": 60}, "well": {"sick": 9}}, refer=6)
    costs.to_yaml(path / "priced.yaml", errors=errors)
    costs.to_yaml(path / "coded.yaml", errors=Errors({"1": {"0": 60}, "0": {"1": 9}}))
    return path


@pytest.fixture(scope="module")
def model(folder):
    """A model by the prices of errors of the file, and what was said about it."""
    words = (
        "fit",
        folder / "data.csv",
        "--target",
        "state",
        "--costs",
        folder / "priced.yaml",
        "--json",
    )
    return json.loads(run(*words, "-o", folder / "m.worthwhile").stdout)


def test_fit_takes_the_prices_of_the_file_and_says_the_total(model, folder):
    loaded = worthwhile.load(folder / "m.worthwhile")
    assert loaded.policy_.output.errors == Errors.from_yaml(folder / "priced.yaml")
    assert model["total"] == pytest.approx(model["mean_bill"] - model["score"])


def test_predict_writes_decisions_and_the_total_to_expect(model, folder):
    words = (
        "predict",
        folder / "m.worthwhile",
        folder / "data.csv",
        "-o",
        folder / "p.csv",
        "--json",
    )
    said = json.loads(run(*words).stdout)
    found = pd.read_csv(folder / "p.csv")
    assert set(found["prediction"]) == {"sick", "well", "refer"}
    errors = Errors.from_yaml(folder / "priced.yaml")
    shares = found[["P(sick)", "P(well)"]].to_numpy()
    least = errors.expected(shares, ["sick", "well"]).min(axis=1)
    assert np.allclose(found["expected_total"], found["cost"] + least)
    assert said["mean_expected_total"] == pytest.approx(found["expected_total"].mean())


def test_check_speaks_of_totals(model, folder):
    words = ("check", folder / "m.worthwhile", folder / "data.csv", "--json")
    figures = json.loads(runner.invoke(app, [str(w) for w in words]).stdout)["figures"]
    assert "total" in [line["name"] for line in figures]


def test_options_go_before_the_file(folder):
    path = folder / "other.worthwhile"
    words = ("--costs", folder / "priced.yaml", "--errors", "sick:well=7", "--refer", 3, "-o", path)
    said = run("fit", folder / "data.csv", "--target", "state", "--time", 0, *words)
    assert "total about" in " ".join(said.stderr.split())
    assert worthwhile.load(path).policy_.output.errors == Errors({"sick": {"well": 7}}, refer=3)


def test_labels_of_a_file_are_those_of_the_data(folder):
    path = folder / "codes.worthwhile"
    run(
        "fit", folder / "codes.csv", "--target", "state", "--costs", folder / "coded.yaml", "--method",
        "cost-weighted-l1", "-o", path,
    )  # fmt: skip
    found = worthwhile.load(path).policy_.output.errors
    assert found == Errors({1: {0: 60}, 0: {1: 9}})


def test_numbers_have_a_price_per_unit_of_the_squared_error(folder):
    path = folder / "n.worthwhile"
    words = (
        "--target",
        "y",
        "--costs",
        folder / "costs.yaml",
        "--worth",
        2,
        "--time",
        0,
        "-o",
        path,
    )
    run("fit", folder / "n.csv", *words)
    assert worthwhile.load(path).policy_.output.errors == Errors(squared=2)


def test_compare_and_report_speak_of_totals(folder):
    data = (folder / "data.csv", "--target", "state", "--costs", folder / "priced.yaml")
    kept = folder / "compared.json"
    said = run(
        "compare", *data, "--method", "cost-weighted-l1", "--method", "decision-tree", "--splits", 2, "--effort", 2,
        "-o", kept,
    )  # fmt: skip
    assert "total per case at a mean bill" in " ".join(said.stdout.split())
    run("report", *data, "--from", kept, "-o", folder / "report.html")
    page = (folder / "report.html").read_text()
    assert "a case in all:" in page
    assert "minus the total per case" in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--errors", "sick=3"], "give it as true:predicted=price"),
        (["--errors", "sick:dead=3"], "errors names the class 'dead'"),
        (["--errors", "sick:well=3", "--worth", 4], "--errors and --worth are both given"),
        (["--refer", 4], "--refer is given without prices of errors"),
        (["--worth", 4, "--scoring", "f1"], "what is best is the least total"),
        (["--worth", -4], "worth is -4"),
    ],
)
def test_nonsense_is_refused(words, message, folder):
    out = folder / "never.worthwhile"
    said = refused(
        "fit", folder / "data.csv", "--target", "state", "--costs", folder / "costs.yaml", *words, "-o", out
    )  # fmt: skip
    assert message in said
    assert not out.exists()
