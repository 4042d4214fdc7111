"""What a user wants to be best in: scores, the label that matters, weights of classes, queries, thresholds."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from typer.testing import CliRunner

import worthwhile
from worthwhile.cli import app
from worthwhile.cli._options import read_class_weight

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*words):
    return " ".join(run(*words, code=2).stderr.split())


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A file in which one row in six is sick."""
    path = tmp_path_factory.mktemp("rare") / "data.csv"
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"]).round(4)
    sick = X["a"] + 0.8 * rng.normal(size=240) > 1.2
    X.assign(state=np.where(sick, "sick", "well")).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Documents of queries, with relevance from 0 to 3."""
    path = tmp_path_factory.mktemp("pages") / "data.csv"
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 3)), columns=["a", "b", "c"]).round(4)
    relevance = np.clip(np.round(X["a"] + X["b"] + 1), 0, 3).astype(int)
    X.assign(query=np.repeat([f"q{k}" for k in range(24)], 10), relevance=relevance).to_csv(
        path, index=False
    )
    return path


def test_a_model_is_fitted_for_the_score_and_the_label_that_matter(rare, tmp_path):
    said = json.loads(
        run(
            "fit", rare, "--target", "state", "--budget", 3, "--method", "cost-weighted-l1", "--scoring", "f1",
            "--positive", "sick", "--class-weight", "balanced", "-o", tmp_path / "m.worthwhile", "--json",
        ).stdout
    )  # fmt: skip
    frame = pd.read_csv(rare)
    model = worthwhile.load(tmp_path / "m.worthwhile")
    predicted = model.predict(frame[["a", "b", "c"]])
    assert said["score"] == pytest.approx(
        f1_score(frame["state"], predicted, pos_label="sick"), abs=0.2
    )
    plain = run(
        "fit", rare, "--target", "state", "--budget", 3, "--method", "cost-weighted-l1",
        "-o", tmp_path / "plain.worthwhile", "--json",
    )  # fmt: skip
    assert json.loads(plain.stdout)["score"] != said["score"]
    unweighted = worthwhile.load(tmp_path / "plain.worthwhile").predict(frame[["a", "b", "c"]])
    assert (predicted == "sick").sum() > (unweighted == "sick").sum()


def test_weights_of_classes_are_read_as_rows():
    y = np.array(["a", "b", "b", "b"])
    assert read_class_weight(None, y) is None
    assert read_class_weight(["balanced"], y).tolist() == pytest.approx([2, 2 / 3, 2 / 3, 2 / 3])
    assert read_class_weight(["a=3"], y).tolist() == [3, 1, 1, 1]


def test_rankings_are_compared_and_fitted_with_their_queries(pages, tmp_path):
    table = json.loads(
        run(
            "compare", pages, "--target", "relevance", "--qid", "query", "--method", "greedy-miser-rank", "--method",
            "greedy-miser", "--budget", 3, "--splits", 1, "--effort", 2, "--json",
        ).stdout
    )  # fmt: skip
    assert table["greedy-miser-rank"]["budget 3 NDCG@5"] > 0.8
    run(
        "fit", pages, "--target", "relevance", "--qid", "query", "--method", "greedy-miser-rank", "--budget", 3,
        "-o", tmp_path / "m.worthwhile",
    )  # fmt: skip
    run("predict", tmp_path / "m.worthwhile", pages, "--qid", "query", "-o", tmp_path / "p.csv")
    answers = pd.read_csv(tmp_path / "p.csv")
    first = answers[answers["query"] == "q3"]
    assert sorted(first["rank"]) == list(range(1, 11))
    assert first.loc[first["rank"] == 1, "prediction"].item() == first["prediction"].max()
    assert worthwhile.load(tmp_path / "m.worthwhile").feature_names_in_.tolist() == ["a", "b", "c"]


def test_documents_that_decide_together_are_predicted_with_their_queries(pages, tmp_path):
    frame = pd.read_csv(pages)
    X, qid = frame[["a", "b", "c"]], frame["query"].to_numpy()
    ranker = worthwhile.GreedyMiserRegressor(n_rounds=20).fit(X, frame["relevance"])
    leaving = worthwhile.EarlyExitRegressor(ranker, threshold=0.1, every=5).fit(
        X, frame["relevance"], qid=qid
    )
    leaving.save(tmp_path / "m.worthwhile")
    run("predict", tmp_path / "m.worthwhile", pages, "--qid", "query", "-o", tmp_path / "p.csv")
    answers = pd.read_csv(tmp_path / "p.csv")
    assert answers["prediction"].tolist() == pytest.approx(leaving.predict(X, qid=qid).tolist())
    assert answers["cost"].sum() == pytest.approx(leaving.cost(X, qid=qid).sum())


def test_a_threshold_moves_predictions_and_nothing_else(rare, tmp_path):
    model = tmp_path / "m.worthwhile"
    run(
        "fit", rare, "--target", "state", "--budget", 3, "--method", "cost-weighted-l1", "-o", model
    )
    run("predict", model, rare, "-o", tmp_path / "plain.csv")
    run(
        "predict",
        model,
        rare,
        "-o",
        tmp_path / "early.csv",
        "--positive",
        "sick",
        "--threshold",
        0.2,
    )
    plain, early = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("plain", "early"))
    assert (early["prediction"] == np.where(early["P(sick)"] >= 0.2, "sick", "well")).all()
    assert (early["prediction"] != plain["prediction"]).any()
    assert early.drop(columns="prediction").equals(plain.drop(columns="prediction"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scoring", "f2"], "--scoring is 'f2': give a score of scikit-learn by name, or one of 'ndcg'"),
        (["--scoring", "ndcg"], "--scoring is 'ndcg', which ranks: name the column of queries with --qid."),
        (["--positive", "ill"], "--positive is 'ill': the labels are 'sick', 'well'."),
        (["--class-weight", "fair"], "--class-weight is 'fair': give 'balanced', or label=weight"),
        (["--class-weight", "sick=-1"], "with a number of 0 or more."),
        (["--class-weight", "ill=2"], "--class-weight is 'ill': the labels are 'sick', 'well'."),
        (["--class-weight", "balanced", "--class-weight", "sick=2"], "give it alone."),
        (["--qid", "patient"], "--qid is 'patient', and"),
        (["--qid", "a", "--positive", "sick"], "leave out --positive and --class-weight."),
    ],
)  # fmt: skip
def test_wishes_that_cannot_be_met_are_refused_before_anything_is_trained(
    rare, tmp_path, words, said
):
    for command in (["fit", "--budget", 3, "-o", tmp_path / "m.worthwhile"], ["compare"]):
        assert said in refused(command[0], rare, "--target", "state", *command[1:], *words)


def test_thresholds_that_mean_nothing_are_refused(rare, pages, tmp_path):
    model = tmp_path / "m.worthwhile"
    run(
        "fit", rare, "--target", "state", "--budget", 3, "--method", "cost-weighted-l1", "-o", model
    )
    ask = ["predict", model, rare, "-o", tmp_path / "p.csv"]
    assert "without --threshold: give both, or neither." in refused(*ask, "--positive", "sick")
    assert "--threshold is 2: it is a probability" in refused(*ask, "--threshold", 2)
    assert "--positive is 'ill'" in refused(*ask, "--threshold", 0.2, "--positive", "ill")
    frame = pd.read_csv(pages)
    three = worthwhile.CostWeightedL1Classifier(0.01).fit(frame[["a", "b"]], frame["relevance"])
    three.save(tmp_path / "three.worthwhile")
    ask = ["predict", tmp_path / "three.worthwhile", pages, "-o", tmp_path / "p.csv"]
    assert "--threshold needs --positive: the model knows 4 labels" in refused(
        *ask, "--threshold", 0.2
    )
    number = worthwhile.CostWeightedL1Regressor(0.01).fit(frame[["a", "b"]], frame["relevance"])
    number.save(tmp_path / "number.worthwhile")
    ask = ["predict", tmp_path / "number.worthwhile", pages, "-o", tmp_path / "p.csv"]
    assert "about probabilities, and the model predicts none." in refused(*ask, "--threshold", 0.2)


def test_all_rows_of_a_parquet_file_train_what_a_sample_has_chosen(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("worthwhile.cli.fit.MOST_ROWS", 400)
    seen = []

    def search(self, method, X, y, prices, wish):
        """A search of two points instead of hundreds."""
        seen.append(len(X))
        grid = {"lam": [0.02, 0.001]}
        miser = worthwhile.GreedyMiserClassifier(costs=prices, n_rounds=20)
        found = worthwhile.BudgetSearchCV(
            miser, self.budget, param_grid=grid, cv=2, refine=0, tune=0
        )
        found.fit(X, y, sample_weight=wish.weight)
        return found, {"method": method, "score": 0.0, "mean_bill": 0.0, "bound": 0.0, "params": {}}

    monkeypatch.setattr("worthwhile.cli.fit.Keeps.search", search)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"])
    X["day"] = ["2024-01-01" if day else "2024-06-01" for day in rng.integers(0, 2, 3000)]
    data, path = tmp_path / "cases.parquet", tmp_path / "m.worthwhile"
    sick = X["a"] + X["b"] + 0.3 * rng.normal(size=3000) > 0.8
    X.assign(state=np.where(sick, "sick", "well")).to_parquet(data)
    words = ["fit", data, "--target", "state", "--method", "greedy-miser", "-o", path]
    done = run(*words, "--rows", 0, "--budget", 1.5, "--class-weight", "balanced", "--json")
    said = json.loads(done.stdout)
    assert "choosing on 400 of them" in " ".join(done.stderr.split())
    assert said["rows"] == 3000
    assert said["mean_bill"] <= said["bound"] <= 1.5
    model = worthwhile.load(path)
    assert isinstance(model, worthwhile.GreedyMiserClassifier)
    assert model.columns_[3].kind == "date"
    assert model.cost(X).mean() <= 1.5
    assert (model.predict(X) == np.where(sick, "sick", "well")).mean() > 0.6
    run(*words, "--rows", 100, "--budget", 1.5, "--force")
    assert seen == [400, 100]


def test_a_budget_below_everything_is_said_without_our_source(rare, tmp_path):
    said = run(
        "fit", rare, "--target", "state", "--budget", 0.01, "--method", "cost-weighted-l1",
        "-o", tmp_path / "nothing.worthwhile",
    ).stderr  # fmt: skip
    told = " ".join(said.split())
    assert "Warning: budget=0.01: the best model within it buys nothing." in told
    assert ".py:" not in told
    assert "WorthwhileWarning" not in told
