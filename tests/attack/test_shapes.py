"""Tables, trees, prices and names of odd shapes: everything works on them, or says what it cannot take."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import worthwhile
from tests.estimators.small import make, public_estimators
from worthwhile import Costs, Session
from worthwhile.cli import app
from worthwhile.core.trees import Trees
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def drive(session, row):
    """Answer a session to its end from a row."""
    while wanted := session.ask():
        session.tell({name: row[session.policy.costs.index(name)] for name in wanted})
    return session


def check_answers(model, X, folder):
    """Batch, session and file agree, and all answers are finite."""
    answers, bills = model.predict(X), model.cost(X)
    assert answers.dtype.kind != "f" or np.isfinite(answers).all()
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    model.save(folder / "model")
    np.testing.assert_array_equal(worthwhile.load(folder / "model").predict(X), answers)
    session = drive(model.session(), X[0])
    assert (session.prediction, session.spent) == (answers[0], bills[0])


# Every estimator ----------------------------------------------------------------------------------


def constant(X):
    X[:, 1] = 5.0


def all_constant(X):
    X[:] = 1.0


def all_empty(X):
    X[:, 1] = np.nan


def huge_and_tiny(X):
    X[:, 1] *= 1e300
    X[:, 2] *= 1e-300


def small(X):
    X[:, 1] *= 1e-120


def large(X):
    X[:, 1] *= 1e120


SHAPES = (constant, all_constant, all_empty, huge_and_tiny, small, large)
REFUSALS = (
    "too large for dtype|Rescale the column",
    "a cascade tells one class from the rest",
)


@pytest.mark.parametrize("name", public_estimators())
def test_estimators_take_odd_columns_or_say_why_not(name, tmp_path):
    for change in SHAPES:
        X = normal(60, 4)
        y = X[:, 0] > 0
        change(X)
        fit_or_refuse(name, X, y, REFUSALS[0] if change in SHAPES[-3:] else None, tmp_path)


@pytest.mark.parametrize("name", public_estimators())
def test_estimators_take_one_row_per_class(name, tmp_path):
    fit_or_refuse(
        name, normal(20, 4), np.arange(20), REFUSALS[1] if "Cascade" in name else None, tmp_path
    )


def fit_or_refuse(name, X, y, words, folder):
    """Fit and use a model; only where words are given may it be refused, with them."""
    y = y if name.endswith("Classifier") else y.astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows
        try:
            model = make(name).fit(X, y)
        except ValueError as error:
            if words is None or not re.search(words, str(error)):
                raise
        else:
            check_answers(model, X, folder)


TOO_WIDE = {"DynamicSelectionClassifier", "StaticOrderClassifier"}
"""They try every column at every step: their time grows with the square of the columns and more."""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(public_estimators()) - TOO_WIDE))
def test_estimators_take_wide_tables(name, tmp_path):
    X = normal(30, 2000)
    fit_or_refuse(name, X, X[:, 0] > 0, None, tmp_path)


# Large tables -------------------------------------------------------------------------------------


def test_ten_thousand_columns(tmp_path):
    X = normal(40, 10_000).round(3)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10_000)])
    model = make("GreedyMiserClassifier").fit(frame, X[:, 7] > 0)
    model.save(tmp_path / "model")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    run("predict", tmp_path / "model", tmp_path / "wide.csv", "-o", tmp_path / "p.csv")
    written = pd.read_csv(tmp_path / "p.csv")
    assert written["prediction"].tolist() == model.predict(frame).tolist()
    assert written["cost"].tolist() == model.cost(frame).tolist()


@pytest.mark.slow
def test_a_thousand_classes_of_two_rows(tmp_path):
    X, y = normal(2000, 5), np.repeat(np.arange(1000), 2)
    check_answers(make("GreedyMiserClassifier").fit(X, y), X, tmp_path)
    check_answers(make("SubmodularTreeClassifier").fit(X, y), X, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "d"),
    [
        ("GreedyMiserClassifier", 10**6, 3),
        ("GreedyMiserClassifier", 50, 20_000),
        ("CostWeightedL1Regressor", 10**6, 3),
        ("CostWeightedL1Regressor", 50, 20_000),
    ],
)
def test_long_and_wide_tables(name, n, d, tmp_path):
    X = normal(n, d)
    fit_or_refuse(name, X, X[:, 0] > 0, None, tmp_path)


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output + str(result.exception)
    return result


# Trees --------------------------------------------------------------------------------------------


def chain(depth):
    """One tree that is a chain: to the right there is always another test, to the left an end."""
    inner = np.arange(depth)
    ends = np.full(depth + 1, -1)
    return Trees.build(
        feature=np.append(inner % 3, ends),
        threshold=np.append(inner - 1e6, np.zeros(depth + 1)),
        left=np.append(depth + inner, ends),
        right=np.append(np.append(inner[1:], 2 * depth), ends),
        value=np.linspace(0, 1, 2 * depth + 1)[:, None],
        root=[0],
        base=[0.0],
    )


def full(levels):
    """One full tree in level order."""
    n, inner = 2 ** (levels + 1) - 1, np.arange(2**levels - 1)
    ends = np.full(n - len(inner), -1)
    return Trees.build(
        feature=np.append(inner % 3, ends),
        threshold=np.random.default_rng(0).normal(size=n),
        left=np.append(2 * inner + 1, ends),
        right=np.append(2 * inner + 2, ends),
        value=np.linspace(0, 1, n)[:, None],
        root=[0],
        base=[0.0],
    )


def check_trees(trees, folder):
    X = normal(8, 3)
    model = make("GreedyMiserRegressor").fit(X, X[:, 0])
    model.policy_ = TreePolicy(Costs([1, 2, 3]), Output("value"), trees)
    check_answers(model, X, folder)
    policy = worthwhile.load_policy(folder / "model")
    for budget, most in ((None, 6), (2, 2)):
        session = drive(Session(policy, budget=budget), X[0])
        assert session.prediction == model.predict(X, budget=budget)[0]
        assert session.spent == model.cost(X, budget=budget)[0] <= most


def test_a_chain_of_a_hundred_thousand_tests(tmp_path):
    check_trees(chain(100_000), tmp_path)


@pytest.mark.slow
def test_a_tree_of_ten_million_nodes(tmp_path):
    check_trees(full(23), tmp_path)


# Prices and names ---------------------------------------------------------------------------------


def test_a_hundred_thousand_features_have_prices(tmp_path):
    names = [f"f{i}" for i in range(100_000)]
    costs = Costs(dict.fromkeys(names, 1), groups={"half": {"fee": 2, "features": names[:50_000]}})
    costs.to_yaml(tmp_path / "costs.yaml")
    again = Costs.from_yaml(tmp_path / "costs.yaml")
    assert again == costs == Costs.from_dict(json.loads(json.dumps(costs.to_dict())))
    assert again.resolve(len(names), names[::-1]).total == costs.price(names) == 100_002


ODD_NAMES = [
    "x" * 2000, "\u200fabc\u202e", "\U0001f600", "\U0010ffff", "e\u0301", "\u00e9", "\u0130",
    "a\nb", "a\r\nb", "a\u2028b", "a\x85b", "a\tb", "\x7f", "\x1b[31m", "'", '"', "a,b", "a;b", "a|b", " a ",
    "null", "~", "1", "1.0", "true", "- a", "a: b", "#a", "{a}", "[a]", "[/a]", "&a", "*a", "!a", "%a", "@a", "`a",
    "?", "? a", "..", "---", "<<", "=", "$array", "__class__", "\\", "\\n", "features", "nan", "Unnamed: 0",
]  # fmt: skip
NOT_IN_CSV = ["", " ", "\ufeff", "a\x00b", "a\rb"]


@pytest.fixture(scope="module")
def odd():
    """A model that buys every one of its columns, whose names are as odd as can be."""
    names = [*NOT_IN_CSV, *ODD_NAMES]
    X = pd.DataFrame(normal(120, len(names)).round(3), columns=names)
    costs = Costs(
        dict.fromkeys(names, 1),
        groups={name: {"fee": 1, "features": [name]} for name in names},
        unit="\u202e[EUR]\n",
    )
    y = np.where(X.sum(axis=1) > 0, "a\nb", "\u200f,")
    return worthwhile.CostWeightedL1Classifier(1e-6, costs=costs).fit(X, y), X


def test_odd_names_survive_yaml(odd, tmp_path):
    model, _ = odd
    model.costs_.to_yaml(tmp_path / "costs.yaml")
    assert Costs.from_yaml(tmp_path / "costs.yaml") == model.costs_
    run("costs", "check", tmp_path / "costs.yaml")


def test_odd_names_survive_files_and_sessions(odd, tmp_path):
    model, X = odd
    model.save(tmp_path / "model")
    policy = worthwhile.load_policy(tmp_path / "model")
    assert policy.costs == model.costs_
    session = Session(policy)
    row = X.iloc[0]
    while wanted := session.ask():
        session.tell({wanted[0]: row[wanted[0]]})
        session = Session.from_dict(policy, json.loads(json.dumps(session.to_dict())))
    assert session.prediction == model.predict(X)[0]
    assert session.spent == model.cost(X)[0]
    assert {entry.feature for entry in session.ledger.entries} == set(
        X.columns[model.policy_.reads]
    )
    run("info", tmp_path / "model")


def test_odd_names_survive_the_command_line(odd, tmp_path):
    model, X = odd
    X = X[ODD_NAMES]
    model = worthwhile.CostWeightedL1Classifier(1e-6).fit(X, model.predict(odd[1]))
    model.save(tmp_path / "model")
    X.to_csv(tmp_path / "odd.csv", index=False)
    run("predict", tmp_path / "model", tmp_path / "odd.csv", "-o", tmp_path / "p.csv", "--bought")
    written = pd.read_csv(tmp_path / "p.csv")
    assert written["prediction"].tolist() == model.predict(X).tolist()
    bought = model.acquired(X)[0]
    assert json.loads(written["bought"][0]) == [
        name for name, b in zip(ODD_NAMES, bought, strict=True) if b
    ]
