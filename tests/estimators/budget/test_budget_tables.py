"""Tables with words and requirements: sets are of the user's columns, bought with what they require."""

from __future__ import annotations

import numpy as np
import pandas as pd

import worthwhile
from worthwhile import BudgetClassifier, Costs


def table(seed=0, n=500):
    rng = np.random.default_rng(seed)
    town = rng.choice(["Bonn", "Lund", "Oslo"], n)
    frame = pd.DataFrame({"age": rng.normal(size=n), "town": town, "noise": rng.normal(size=n)})
    return frame, np.where((frame["age"] > 0) ^ (town == "Oslo"), "yes", "no")


def test_words_are_bought_as_one_column(tmp_path):
    X, y = table()
    costs = {"age": 1, "town": 2, "noise": 1}
    model = BudgetClassifier(costs=costs, n_trees=12, random_state=0).fit(X, y)
    rich = model.at(budget=3.5)
    assert rich.acquired(X).shape == (500, 3)
    assert rich.score(X, y) > 0.9
    assert set(np.unique(rich.cost(X))) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    careful = model.at(worth=50)
    assert careful.score(X, y) > 0.9
    rich.save(tmp_path / "m.zip")
    again = worthwhile.load(tmp_path / "m.zip").at(budget=3.5)
    assert np.array_equal(again.predict(X), rich.predict(X))


def test_what_is_required_is_bought_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] > 0
    costs = Costs([1, 5, 1], requires={0: 1})
    model = BudgetClassifier(costs=costs, n_trees=8, random_state=0).fit(X, y)
    rich = model.at(stage=model.n_stages_ - 1)
    bought = rich.acquired(X)
    assert bought[:, 0].any()
    assert (bought[:, 1] >= bought[:, 0]).all()
    np.testing.assert_array_equal(rich.cost(X), costs.price(bought))
