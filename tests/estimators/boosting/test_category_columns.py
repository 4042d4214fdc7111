"""Greedy Miser on tables with text: trees split by sets of levels, in batches, sessions and files alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import worthwhile
from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor

COSTS = {"job": 2, "age": 1, "town": 3}


def lenders(n=400, seed=0):
    """A table with two text columns of few and of many levels, gaps, and a target that needs sets."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "job": rng.choice(["clerk", "nurse", "smith", "cook", "none"], n),
            "age": rng.integers(18, 80, n).astype(float),
            "town": [f"t{k:02d}" for k in rng.integers(0, 25, n)],
        }
    )
    y = 2.0 * table["job"].isin(["clerk", "cook"]) + np.sin(table["town"].str[1:].astype(float))
    table = table.mask(rng.random(table.shape) < 0.03)
    return table, y.to_numpy() + table["age"].fillna(40).to_numpy() / 50


def small(**more):
    return GreedyMiserRegressor(0.001, costs=COSTS, n_rounds=25, min_samples_leaf=5, **more)


def test_text_is_split_by_sets_and_every_way_gives_the_same(tmp_path):
    X, y = lenders()
    model = small().fit(X, y)
    trees = model.policy_.trees
    assert trees.category.any()
    assert not trees.category[trees.feature == 1].any(), "ages are numbers"
    assert model.score(X, y) > 0.8
    new = lenders(60, 1)[0]
    new.iloc[0, 0], new.iloc[1, 2] = "astronaut", None
    said, bills = model.predict(new), model.cost(new)
    model.save(tmp_path / "m")
    again = worthwhile.load(tmp_path / "m")
    assert again.predict(new).tobytes() == said.tobytes()
    for row in range(2, 12):
        session = again.session()
        while wanted := session.ask():
            session.tell({name: new[name].iloc[row] for name in wanted})
        assert session.prediction == said[row]
        assert session.spent == bills[row]


def test_the_words_of_a_category_do_not_matter():
    X, y = lenders()
    words = {"clerk": "z", "nurse": "m", "smith": "a", "cook": "q", "none": "b"}
    other = X.assign(job=X["job"].map(words))
    one, two = small().fit(X, y), small().fit(other, y)
    np.testing.assert_allclose(one.predict(X), two.predict(other), rtol=1e-9)


def test_going_on_equals_not_having_stopped():
    X, y = lenders()
    whole = small().fit(X, y)
    model = small(warm_start=True).set_params(n_rounds=10).fit(X, y)
    part = X[X["job"] != "nurse"]  # codes are those of the first fit, whatever the rows
    assert (
        model.set_params(n_rounds=25).fit(X, y).predict(X).tobytes() == whole.predict(X).tobytes()
    )
    again = small(warm_start=True).set_params(n_rounds=10).fit(X, y)
    again.set_params(n_rounds=20).fit(part, y[part.index])
    assert again.columns_ == model.columns_


@pytest.mark.parametrize("how", ["three", "weights", "held out", "row"])
def test_all_ways_of_growing_take_categories(how):
    X, y = lenders()
    weight = np.random.default_rng(0).random(len(X))
    if how == "three":
        model = GreedyMiserClassifier(n_rounds=10, min_samples_leaf=5).fit(
            X, np.digitize(y, [1, 2])
        )
    elif how == "weights":
        model = small(newton=True).fit(X, y, sample_weight=weight)
    elif how == "held out":
        model = small(validation_fraction=0.3, random_state=0).fit(X, y)
    else:
        model = small(penalty="row").fit(X, y)
    assert model.policy_.trees.category.any()
    whole, one_by_one = model.predict(X), [model.predict(X[i : i + 1])[0] for i in range(20)]
    assert whole[:20].tolist() == one_by_one
