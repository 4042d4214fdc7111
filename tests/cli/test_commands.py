"""The command line: every command from a file to a result, and every kind of bad input."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import _tables, app
from worthwhile.costs import Costs

runner = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small CSV with prices, and a model fitted on it through the command line."""
    folder = tmp_path_factory.mktemp("cli")
    X, y, costs = worthwhile.datasets.make_priced_classification(240, seed=0)
    frame = X.round(4).assign(ill=np.where(y == 1, "yes", "no"))
    frame.to_csv(folder / "data.csv", index=False)
    costs.to_yaml(folder / "costs.yaml")
    run(
        "fit", folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml", "--budget", 20,
        "--method", "cost-weighted-l1", "-o", folder / "model.worthwhile",
    )  # fmt: skip
    return folder


def run(*words, code=0, **more):
    result = runner.invoke(app, [str(word) for word in words], **more)
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*words, code=2):
    """One paragraph on stderr that ends a command."""
    return " ".join(run(*words, code=code).stderr.split())


def test_help_has_an_example_for_every_command():
    assert "worthwhile demo" in run("--help").stdout
    for command in ("fit", "compare", "predict", "ask", "report", "info", "demo"):
        assert "Example: worthwhile" in " ".join(run(command, "--help").stdout.split())
    assert run("--version").stdout.strip() == f"worthwhile {worthwhile.__version__}"


def test_costs_new_and_check(folder, tmp_path):
    run(
        "costs",
        "new",
        folder / "data.csv",
        "--target",
        "ill",
        "-o",
        tmp_path / "c.yaml",
        "--unit",
        "EUR",
    )
    assert worthwhile.Costs.from_yaml(tmp_path / "c.yaml").total == 14
    assert "exists already" in refused(
        "costs", "new", folder / "data.csv", "-o", tmp_path / "c.yaml"
    )
    shown = json.loads(run("costs", "check", folder / "costs.yaml", "--json").stdout)
    assert shown["total"] == worthwhile.Costs.from_yaml(folder / "costs.yaml").total
    assert (
        "panel"
        in run(
            "costs",
            "check",
            folder / "costs.yaml",
            "--data",
            folder / "data.csv",
            "--target",
            "ill",
        ).stdout
    )


def predicted(folder, tmp_path, *options):
    """What the command says, and the table that it writes."""
    files = (folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "p.csv")
    return run("predict", *files, *options), pd.read_csv(tmp_path / "p.csv")


def test_predict_writes_what_the_model_says(folder, tmp_path):
    done, written = predicted(folder, tmp_path, "--bought", "--json")
    summary = json.loads(done.stdout)
    model = worthwhile.load(folder / "model.worthwhile")
    rows = pd.read_csv(folder / "data.csv").drop(columns="ill")
    assert written["prediction"].tolist() == model.predict(rows).tolist()
    assert written["cost"].tolist() == pytest.approx(model.cost(rows).tolist())
    assert summary["rows"] == 240
    assert summary["mean_bill"] == pytest.approx(written["cost"].mean())
    bought = model.costs_.features
    assert json.loads(written["bought"][0]) == [
        f for f, b in zip(bought, model.acquired(rows)[0], strict=True) if b
    ]


def test_predict_in_chunks_is_the_same(folder, tmp_path, monkeypatch):
    run("predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "whole.csv")
    monkeypatch.setattr("worthwhile.cli._tables.read_chunks.__defaults__", (7,))
    run("predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "parts.csv")
    assert (tmp_path / "parts.csv").read_text() == (tmp_path / "whole.csv").read_text()


def test_parquet_is_read_like_csv(folder, tmp_path):
    pd.read_csv(folder / "data.csv").to_parquet(tmp_path / "data.parquet")
    run("predict", folder / "model.worthwhile", tmp_path / "data.parquet", "-o", tmp_path / "a.csv")
    run("predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "b.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_predictions_go_to_a_device_as_a_stream(folder, tmp_path):
    run("predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "out.csv")
    command = [sys.executable, "-m", "worthwhile", "predict", "model.worthwhile", "data.csv"]
    done = subprocess.run(
        [*command, "-o", "/dev/stdout"], cwd=folder, capture_output=True, check=True
    )
    assert done.stdout == (tmp_path / "out.csv").read_bytes()
    subprocess.run([*command, "-o", os.devnull], cwd=folder, capture_output=True, check=True)
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_predictions_can_be_read_by_those_whom_the_umask_allows(folder, tmp_path):
    before = os.umask(0o022)
    try:
        run("predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "out.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o644


@pytest.mark.parametrize("command", ["fit", "compare", "report", "costs", "demo"])
def test_an_output_that_cannot_be_written_is_refused_before_any_work(
    folder, tmp_path, monkeypatch, command
):
    def work(*arguments):
        raise AssertionError("data was read")

    monkeypatch.setattr(_tables, "read_chunks", work)
    monkeypatch.setattr(worthwhile.datasets, "load_heart", work)
    words = {
        "fit": ("fit", folder / "data.csv", "--target", "ill", "--budget", 20),
        "compare": ("compare", folder / "data.csv", "--target", "ill"),
        "report": ("report", folder / "data.csv", "--target", "ill"),
        "costs": ("costs", "new", folder / "data.csv"),
        "demo": ("demo",),
    }[command]
    assert "no folder" in refused(*words, "-o", tmp_path / "nowhere" / "out")
    (tmp_path / "old").write_text("old")
    if command != "demo":  # which replaces its page
        assert "exists already" in refused(*words, "-o", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "old"
    assert os.listdir(tmp_path) == ["old"]


def test_predict_keeps_a_budget(folder, tmp_path):
    assert predicted(folder, tmp_path, "--budget", 3)[1]["cost"].max() <= 3


def test_info(folder):
    shown = json.loads(run("info", folder / "model.worthwhile", "--json").stdout)
    assert shown["class"] == "CostWeightedL1Classifier"
    assert shown["classes"] == ["no", "yes"]
    assert "CostWeightedL1Classifier" in run("info", folder / "model.worthwhile").stdout


def test_ask_to_the_end(folder):
    model = worthwhile.load(folder / "model.worthwhile")
    row = pd.read_csv(folder / "data.csv").iloc[0]
    session = model.session(one_by_one=True)
    told = []
    while wanted := session.ask():
        told.append(row[wanted[0]])
        session.tell({wanted[0]: row[wanted[0]]})
    result = json.loads(
        run(
            "ask", folder / "model.worthwhile", "--json", input="\n".join(map(str, told)) + "\n"
        ).stdout
    )
    assert result["prediction"] == session.prediction
    assert result["spent"] == session.spent


def test_ask_unknown_is_paid_and_na_is_not(folder):
    paid = json.loads(
        run("ask", folder / "model.worthwhile", "--json", input="unknown\n" * 20).stdout
    )
    free = json.loads(run("ask", folder / "model.worthwhile", "--json", input="na\n" * 20).stdout)
    assert paid["spent"] > 0
    assert free["spent"] == 0
    assert {line["kind"] for line in free["ledger"]} == {"unavailable"}


def test_ask_left_and_resumed(folder, tmp_path):
    model, kept = folder / "model.worthwhile", tmp_path / "case.json"
    whole = json.loads(run("ask", model, "--json", input="0.5\n" * 20).stdout)
    left = run("ask", model, "--session", kept, input="0.5\n", code=130)
    assert "Go on with" in left.stderr
    resumed = run("ask", model, "--session", kept, "--json", input="oops\n" + "0.5\n" * 20)
    assert "is not a number" in resumed.stderr
    assert json.loads(resumed.stdout) == whole
    assert "own budget" in refused("ask", model, "--session", kept, "--budget", 3)
    assert "own prices" in refused("ask", model, "--session", kept, "--unavailable", "x")
    kept.write_text("{")
    assert "not a stored session" in refused("ask", model, "--session", kept)


def test_compare_and_report(folder, tmp_path):
    data = [folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml"]
    words = [
        "--method",
        "cost-weighted-l1",
        "--method",
        "decision-tree",
        "--budget",
        5,
        "--splits",
        2,
        "--effort",
        2,
    ]
    table = json.loads(run("compare", *data, *words, "-o", tmp_path / "c.json", "--json").stdout)
    assert set(table) == {"cost-weighted-l1", "decision-tree", "best on validation"}
    run(
        "report",
        *data,
        "--from",
        tmp_path / "c.json",
        "-o",
        tmp_path / "page.html",
        "--title",
        "<b>Prices</b>",
        "--name",
        "yes=poorly",
    )
    page = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;Prices" in page
    assert "<b>Prices" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert '"truth": "poorly"' in page
    assert '"truth": "yes"' not in page
    wrong = ["report", *data, "--from", tmp_path / "c.json", "-o", tmp_path / "x.html", "--name"]
    assert "the labels are" in refused(*wrong, "maybe=poorly")
    assert "give it as label=name" in refused(*wrong, "yes")
    whole = run("report", *data, *words[:4], "--time", 0, "-o", tmp_path / "own.html")
    assert "Sweeping 2 methods takes" in whole.stderr
    assert '"name": "cost-weighted-l1"' in (tmp_path / "own.html").read_text()
    assert "not the output of" in refused(
        "report", *data, "--from", folder / "costs.yaml", "-o", tmp_path / "x.html"
    )


BAD_DATA = {
    "empty file": ("", "is empty"),
    "header alone": ("a,ill\n", "has no rows"),
    "text": ("a,ill\nblue,yes\n1,no\n", "column 'a' has text such as 'blue'"),
    "one class": ("a,ill\n1,yes\n2,yes\n", "the single value 'yes'"),
    "no target": ("a,b\n1,2\n", "has no column 'ill'"),
    "empty target": ("a,ill\n1,yes\n2,\n", "1 empty cells"),
    "infinite": ("a,ill\ninf,yes\n2,no\n", "infinite value"),
    "no features": ("ill\nyes\nno\n", "no feature columns"),
    "not a table": ('a,ill\n1,yes\n1,2,3,4\n"', "not a CSV file that can be read"),
}


@pytest.mark.parametrize("kind", BAD_DATA)
def test_bad_data_is_refused_in_one_paragraph(tmp_path, kind):
    text, message = BAD_DATA[kind]
    (tmp_path / "data.csv").write_text(text)
    out = tmp_path / "model.worthwhile"
    assert message in refused(
        "fit", tmp_path / "data.csv", "--target", "ill", "--budget", 5, "-o", out
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


BAD_COSTS = {
    "features:\n  a: -1\n": "line 2: price of 'a' is -1",
    "features:\n  b: 1\n": "no price for 'cheap_0'",
    "features: 3\n": "line 1: features must be",
    "": "the file is empty",
    "features:\n  a: [1\n": "not valid YAML",
}


@pytest.mark.parametrize("text", BAD_COSTS)
def test_bad_prices_are_refused_with_the_line(folder, tmp_path, text):
    (tmp_path / "costs.yaml").write_text(text)
    said = refused(
        "fit",
        folder / "data.csv",
        "--target",
        "ill",
        "--costs",
        tmp_path / "costs.yaml",
        "--budget",
        5,
        "-o",
        tmp_path / "m",
    )
    assert BAD_COSTS[text] in said


def test_fit_needs_no_method(folder, tmp_path):
    words = ["fit", folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml"]
    out = tmp_path / "model.worthwhile"
    told = json.loads(run(*words, "--budget", 9, "-o", out, "--json").stdout)
    assert told["method"] == "budget"
    assert told["mean_bill"] <= told["bound"] <= 9
    model = worthwhile.load(out)
    assert model.frontier_["score"][model.point_] == told["score"]
    # Without a budget: the cheapest that is about the best.
    done = run(*words, "--time", 0, "-o", out, "--force")
    assert "with 95% confidence" in " ".join(done.stderr.split())
    assert worthwhile.load(out).training_stages_ == 0
    for more, message in (
        (["--method", "greedy-miser"], "--budget is missing: --method greedy-miser needs one"),
        (
            ["--method", "budget", "--scoring", "f1"],
            "--scoring is given: --method budget is best in",
        ),
    ):
        assert message in refused(*words, *more, "-o", tmp_path / "m")


def test_searches_say_how_long_they_take_and_stop_in_time(folder, tmp_path):
    words = [folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml"]
    own = ["--method", "cost-weighted-l1", "--budget", 9]
    said = " ".join(run("fit", *words, *own, "--time", 0, "-o", tmp_path / "m").stderr.split())
    assert "Sweeping cost-weighted-l1 takes" in said
    assert "no more is begun after 0 seconds" in said
    done = run("compare", *words, "--method", "decision-tree", "--splits", 1, "--effort", 1)
    said = " ".join(done.stderr.split())
    assert "Sweeping decision-tree takes some seconds, roughly; --time limits it." in said


def test_other_mistakes_say_what_to_do(folder, tmp_path):
    data = ["--target", "ill", "--costs", folder / "costs.yaml", "-o", tmp_path / "m"]
    assert "no file" in refused("fit", tmp_path / "nothing.csv", "--budget", 5, *data)
    assert "method" in refused(
        "fit", folder / "data.csv", "--budget", 5, "--method", "magic", *data
    )
    assert "budget" in refused(
        "fit", folder / "data.csv", "--budget", -5, "--method", "cost-weighted-l1", *data
    )
    assert "no folder" in refused(
        "predict", folder / "model.worthwhile", folder / "data.csv", "-o", tmp_path / "x" / "p.csv"
    )
    assert "exists already" in refused(
        "predict", folder / "model.worthwhile", folder / "data.csv", "-o", folder / "data.csv"
    )
    assert "not a zip file" in refused(
        "predict", folder / "costs.yaml", folder / "data.csv", "-o", tmp_path / "p.csv"
    )
    (tmp_path / "few.csv").write_text("cheap_0\n1\n")
    assert "which the model may read" in refused(
        "predict", folder / "model.worthwhile", tmp_path / "few.csv", "-o", tmp_path / "p.csv"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["few.csv"]


def test_a_large_file_is_sampled_for_learning_and_says_so(folder, tmp_path):
    words = [
        "fit", folder / "data.csv", "--target", "ill", "--costs", folder / "costs.yaml", "--budget", 20,
        "-o", tmp_path / "model.worthwhile", "--force",
    ]  # fmt: skip
    assert "240 rows: learning from 150" in run(*words, "--rows", 150).stderr
    assert "learning from" not in run(*words, "--rows", 0).stderr
    assert "--rows is -1" in refused(*words, "--rows", -1)


def test_a_sample_is_drawn_from_all_chunks_in_their_order(tmp_path, monkeypatch):
    path = tmp_path / "numbers.csv"
    pd.DataFrame({"n": np.arange(5000)}).to_csv(path, index=False)
    monkeypatch.setattr(_tables.read_chunks, "__defaults__", (700,))
    kept, total = _tables.read_sample(path, 900, 0)
    assert total == 5000
    found = kept["n"].to_numpy()
    assert len(found) == 900
    assert (np.diff(found) > 0).all()
    assert np.histogram(found, bins=5, range=(0, 5000))[0].min() > 130, "each fifth has its share"
    assert _tables.read_sample(path, 0, 0)[0].shape == (5000, 1)


def test_two_columns_of_one_name_are_refused(tmp_path):
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")
    refusal = refused("fit", tmp_path / "twice.csv", "--target", "b", "--budget", 3)
    assert "has two columns named 'a': rename one of them" in refusal


def test_a_label_has_one_type_in_all_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(_tables.read_chunks, "__defaults__", (3,))
    labels = ["1", "2", "1", "2", "none", "1", "1", "2", "2"]
    lines = "".join(f"{number},{label}\n" for number, label in enumerate(labels))
    (tmp_path / "long.csv").write_text(f"x,y\n{lines}")
    frame, total = _tables.read_sample(tmp_path / "long.csv", 0, 0)
    assert total == 9
    assert frame["y"].tolist() == labels
    assert frame["x"].tolist() == list(range(9))


BRACKETS = ["age [years]", "chol [/mg]", "[bold]x", "a\\[b"]


@pytest.fixture
def bracketed(tmp_path):
    """A model whose columns have units in brackets, as people write them."""
    X, y = make_classification(120, 4, n_informative=4, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=BRACKETS)
    model = worthwhile.CostWeightedL1Classifier(1e-6, costs=[1, 2, 3, 4]).fit(frame, y)
    model.save(tmp_path / "units.worthwhile")
    model.costs_.to_yaml(tmp_path / "units.yaml")
    frame.to_csv(tmp_path / "units.csv", index=False)
    return tmp_path


def test_brackets_in_names_are_printed_as_they_are(bracketed):
    asked = run("ask", bracketed / "units.worthwhile", input="0.5\n" * 4)
    shown = run("info", bracketed / "units.worthwhile").stdout
    listed = run("costs", "check", bracketed / "units.yaml").stdout
    for name in BRACKETS:
        assert name in asked.stderr
        assert name in asked.stdout
        assert name in shown.replace("\n", "")
        assert name in listed
    refusal = refused("predict", bracketed / "units.worthwhile", bracketed / "no [/file].csv")
    assert "no [/file].csv" in refusal


def test_what_was_bought_survives_spaces_and_brackets(bracketed):
    out = bracketed / "out.csv"
    run("predict", bracketed / "units.worthwhile", bracketed / "units.csv", "-o", out, "--bought")
    bought = pd.read_csv(out)["bought"].map(json.loads)
    assert {name for row in bought for name in row} <= set(BRACKETS)
    assert bought.map(len).max() > 1


def test_ask_with_a_closed_standard_input_says_so(folder):
    command = f"exec {sys.executable} -m worthwhile ask {folder / 'model.worthwhile'} <&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert "standard input is closed" in done.stderr
    assert "Traceback" not in done.stderr


def test_ask_and_predict_at_prices_of_today():
    from worthwhile.cli._options import read_request

    costs = Costs({"age": 1, "a=b": 2}, {"blood": {"fee": 1, "features": ["age"]}})
    request = read_request(costs, ["a=b=4.50", "blood=0"], ["age"])
    assert request["prices"] == {"a=b": Decimal("4.50"), "blood": 0}
    assert request["unavailable"] == ["age"]
    assert read_request(Costs([1, 2]), ["1=3"], ["0"]) == {"prices": {1: 3}, "unavailable": [0]}
    assert read_request(costs, None, None) == {"prices": None, "unavailable": []}
    for line in ("age", "age=x", "=3"):
        with pytest.raises(ValueError, match=f"--price is '{line}': give it as name=amount"):
            read_request(costs, [line], None)


@pytest.mark.parametrize("command", ["demo", "report"])
def test_reports_are_refused_before_the_work_where_their_package_is_missing(
    command, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("worthwhile.frontier.compare", lambda *given, **options: pytest.fail("ran"))
    words = [command, "-o", tmp_path / "page.html"]
    if command == "report":
        words += [tmp_path / "no.csv", "--target", "y"]
    assert "reports need jinja2: install jinja2" in refused(*words)
    assert list(tmp_path.iterdir()) == []
