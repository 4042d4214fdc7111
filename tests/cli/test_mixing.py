"""Mixed models on the command line: fit --mix, and keys of cases."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import app

runner = CliRunner()


def run(*words, code=0, **more):
    result = runner.invoke(app, [str(word) for word in words], **more)
    assert result.exit_code == code, result.output + str(result.exception)
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    X, y, costs = worthwhile.datasets.make_priced_classification(300, seed=0)
    frame = X.round(4).assign(ill=np.where(y == 1, "yes", "no"))
    frame.to_csv(folder / "data.csv", index=False)
    frame.assign(order=[f"{number:05d}" for number in range(300)]).to_csv(
        folder / "cases.csv", index=False
    )
    costs.to_yaml(folder / "costs.yaml")
    said = run(
        "fit", folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml", "--budget", 6,
        "--method", "cost-weighted-l1", "--mix", "-o", folder / "model.worthwhile", "--json",
    )  # fmt: skip
    assert 0 < json.loads(said.stdout)["mixed"] < 1
    return folder


def test_keys_are_read_as_text_and_decide(folder, tmp_path):
    model, cases = folder / "model.worthwhile", folder / "cases.csv"
    out = tmp_path / "out.csv"
    run("predict", model, cases, "--key", "order", "--id", "order", "-o", out)
    frame = pd.read_csv(cases, dtype={"order": str})
    loaded = worthwhile.load(model)
    expected = loaded.cost(frame.drop(columns=["order", "ill"]), key=frame["order"])
    assert np.allclose(pd.read_csv(out)["cost"], expected)
    assert not np.allclose(expected, loaded.cost(frame.drop(columns=["order", "ill"])))


def test_one_case_has_the_bill_of_its_key(folder, tmp_path):
    frame = pd.read_csv(folder / "cases.csv", dtype={"order": str})
    loaded = worthwhile.load(folder / "model.worthwhile")
    rows = frame.drop(columns=["order", "ill"])
    dear = loaded.policy_.coin.by_keys(frame["order"])
    for row in (int(np.argmax(dear)), int(np.argmin(dear))):
        session = loaded.session(one_by_one=True, key=frame["order"][row])
        answers = []
        while wanted := session.ask():
            answers.append(str(rows[wanted[0]][row]))
            session.tell({wanted[0]: rows[wanted[0]][row]})
        said = run(
            "ask", folder / "model.worthwhile", "--key", frame["order"][row], "--json",
            input="\n".join(answers) + "\n",
        )  # fmt: skip
        found = json.loads(said.stdout)
        assert found["key"] == frame["order"][row]
        assert found["spent"] == pytest.approx(loaded.cost(rows, key=frame["order"])[row])


def test_a_stored_session_keeps_its_key(folder, tmp_path):
    path = tmp_path / "case.json"
    run("ask", folder / "model.worthwhile", "--key", "a7", "--session", path, input="", code=130)
    assert json.loads(path.read_text())["key"] == "a7"
    said = run("ask", folder / "model.worthwhile", "--key", "b", "--session", path, code=2)
    assert "leave --key out" in " ".join(said.stderr.split())


def test_the_promise_is_checked_with_keys(folder):
    said = run(
        "check", folder / "model.worthwhile", folder / "cases.csv", "--key", "order", "--json"
    )
    assert {line["name"] for line in json.loads(said.stdout)["figures"]} >= {"bill", "accuracy"}


def test_bad_keys_are_explained(folder, tmp_path):
    model = folder / "model.worthwhile"
    said = run(
        "predict", model, folder / "cases.csv", "--key", "nope", "-o", tmp_path / "a", code=2
    )
    assert "--key is 'nope'" in " ".join(said.stderr.split())
    frame = pd.read_csv(folder / "cases.csv", dtype={"order": str})
    frame.loc[3, "order"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    said = run(
        "predict", model, tmp_path / "holes.csv", "--key", "order", "-o", tmp_path / "b", code=2
    )
    assert "empty in row 3" in " ".join(said.stderr.split())


def test_mixing_needs_a_budget(folder):
    said = run("fit", folder / "data.csv", "--target", "ill", "--mix", code=2)
    assert "--mix is given without --budget" in " ".join(said.stderr.split())


def test_the_frontier_of_one_training_is_mixed(folder, tmp_path):
    said = run(
        "fit", folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml", "--budget", 8,
        "--mix", "--time", 0, "-o", tmp_path / "one.worthwhile",
    )  # fmt: skip
    loaded = worthwhile.load(tmp_path / "one.worthwhile")
    assert loaded.mixture_ is not None
    assert "Chance decides" in " ".join(said.stderr.split())
