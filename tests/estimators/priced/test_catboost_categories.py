"""CatBoost's categories: what its splits do with them is found by trying, and billed by the column."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import worthwhile
from worthwhile import Costs, PricedModel
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.testing import check_contract

catboost = pytest.importorskip("catboost")

TEXT = ["colour", "town", "rooms"]
COSTS = Costs({"colour": 1, "size": 2, "town": 3, "rooms": 5})


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue", "grey"], n),
            "size": rng.normal(size=n),
            "town": rng.choice([f"town {k}" for k in range(9)], n),
            "rooms": rng.integers(1, 4, n),
        }
    )
    odd = X["colour"].isin(["red", "blue"]) ^ X["town"].isin(["town 1", "town 4", "town 7"])
    y = np.where(2.0 * odd + X["size"] * (X["rooms"] > 1) + rng.normal(size=n) > 1, "yes", "no")
    return X, y


def fitted(table, numbers=True, **parameters):
    X, y = table
    X = X if numbers else X[TEXT]
    given = {"iterations": 12, "depth": 4, "random_seed": 0, "thread_count": 1} | parameters
    model = catboost.CatBoostClassifier(
        cat_features=TEXT, verbose=0, allow_writing_files=False, **given
    )
    return model.fit(X, y), X


KINDS = {
    "statistics of one column": ({"max_ctr_complexity": 1}, "trees"),
    "single values": ({"one_hot_max_size": 20}, "trees"),
    "statistics of several columns": (
        {
            "numbers": False, "iterations": 60, "depth": 6, "max_ctr_complexity": 2, "model_size_reg": 0,
            "combinations_ctr": ["Borders:Prior=0.5"],
        },
        "pipeline",
    ),
}  # fmt: skip


def with_new_and_empty(X):
    other = X.head(60).copy()
    other.loc[:20, "town"] = "nowhere"
    other.loc[10:30, "colour"] = "nan"  # as CatBoost's users write what is empty
    return other


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_catboost_and_purchases_those_of_its_trees(table, kind, tmp_path):
    parameters, policy = KINDS[kind]
    model, X = fitted(table, **parameters)
    costs = Costs({name: COSTS.price([name]) for name in X.columns})
    priced = PricedModel(model, costs, background=X)
    assert priced.policy_.kind == policy
    new = with_new_and_empty(X)
    for rows in (X, new):
        np.testing.assert_allclose(priced.predict_proba(rows), model.predict_proba(rows), atol=1e-9)
    empty = new.assign(colour=new["colour"].where(new["colour"] != "nan", None))
    np.testing.assert_array_equal(priced.predict_proba(empty), priced.predict_proba(new))
    check_contract(priced, X, rows=2)
    priced.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), priced.predict_proba(X))


def test_a_tree_buys_the_columns_of_the_statistics_that_it_tests(table):
    """Symmetric trees test every split: a model of one tree buys just what its splits are made of."""
    model, X = fitted(table, numbers=False, iterations=1, depth=1)
    importance = model.get_feature_importance()
    bought = PricedModel(model, background=X).acquired(X)
    assert (bought == (importance > 0)).all()
    assert 0 < bought[0].sum() < 3


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"grow_policy": "Depthwise"}, "its trees are not symmetric"),
        ({"iterations": 200, "depth": 6}, "it combines categories with numbers"),
    ],
)
def test_what_cannot_be_followed_is_billed_whole_and_says_so_once(table, parameters, reason):
    model, X = fitted(table, **parameters)
    priced = PricedModel(model, COSTS, background=X)
    with pytest.warns(WorthwhileWarning, match=f"since {reason}.*: it is billed whole"):
        assert (priced.cost(X) == 11).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(priced.predict_proba(X), model.predict_proba(X))
        rows = with_new_and_empty(X)
        np.testing.assert_allclose(priced.predict_proba(rows), model.predict_proba(rows))
        session = priced.session(budget=8)  # means, and the most frequent value, stand for the rest
        while wanted := session.ask():
            session.tell({name: X[name].iloc[0] for name in wanted})
        assert session.spent <= 8


def test_without_rows_its_categories_are_not_known(table):
    model, X = fitted(table)
    with pytest.raises(ValueError, match=r"'colour' as a category.* hashes.*background=X"):
        PricedModel(model, COSTS).predict(X)


def test_too_many_categories_are_refused(table):
    X, y = table
    many = X.assign(town=[f"town {k % 300}" for k in range(len(X))])
    model, _ = fitted((many, y))
    with pytest.raises(ValueError, match="column 'town' has more than 254 categories"):
        PricedModel(model, COSTS, background=many).predict(many)


def test_rows_that_lack_a_category_are_refused(table):
    model, X = fitted(table, max_ctr_complexity=1)
    few = X[X["town"] != "town 3"]
    with pytest.raises(ValueError, match="background has 8 of the 9 categories of 'town' that"):
        PricedModel(model, COSTS, background=few).predict(X)
