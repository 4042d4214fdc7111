"""The pyfunc wrapper: the answers and bills of the model, under any budget."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile

mlflow = pytest.importorskip("mlflow")

HEART = worthwhile.datasets.load_heart()


@pytest.fixture(scope="module")
def model():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(HEART.data, HEART.target)
    return worthwhile.PricedModel(tree, HEART.costs)


@pytest.fixture(scope="module")
def served(model, tmp_path_factory):
    from worthwhile.integrations.mlflow import save_model

    path = tmp_path_factory.mktemp("mlflow") / "served"
    save_model(model, path)
    return mlflow.pyfunc.load_model(str(path))


@pytest.mark.parametrize("budget", [None, 90.0])
def test_it_answers_as_the_model_does(served, model, budget):
    X = HEART.data.iloc[:30].astype(float)
    found = served.predict(X, params=None if budget is None else {"budget": budget})
    assert found["prediction"].tolist() == model.predict(X, budget=budget).tolist()
    assert found["cost"].tolist() == model.cost(X, budget=budget).tolist()
    shares = found[["P(0)", "P(1)"]].to_numpy()
    np.testing.assert_array_equal(shares, model.predict_proba(X, budget=budget))
    names = [json.loads(text) for text in found["bought"]]
    expected = model.acquired(X, budget=budget)
    assert [[c in row for c in X.columns] for row in names] == expected.tolist()


def test_columns_that_are_never_read_need_not_be_there(served, model):
    reads = [model.costs_.name(column) for column in model.policy_.reads]
    X = HEART.data.iloc[:5].astype(float)
    found = served.predict(X[reads])
    assert found["prediction"].tolist() == model.predict(X).tolist()


def test_the_signature_has_the_columns_and_the_budget(served):
    signature = served.metadata.signature
    assert [spec.name for spec in signature.params.params] == ["budget"]
    assert "thal" in signature.inputs.input_names()


def test_categories_are_text(tmp_path):
    from worthwhile.integrations.mlflow import save_model

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.choice(["cook", "smith"], 200), "age": rng.normal(40, 9, 200)})
    y = (X["job"] == "cook").to_numpy() ^ (X["age"] > 45).to_numpy()
    model = worthwhile.GreedyMiserClassifier(lam=0.001, n_rounds=5).fit(X, y)
    save_model(model, tmp_path / "m")
    found = mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X)
    assert found["prediction"].tolist() == model.predict(X).tolist()
