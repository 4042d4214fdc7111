"""Promises in model files: kept, checked, and only for the model that made them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import describe, load_promise
from worthwhile.persist._archive import read_archive, write_archive
from worthwhile.promise import Promise

X, Y, COSTS = worthwhile.datasets.make_priced_classification(600, seed=1)
OLD, NEW = slice(0, 300), slice(300, 600)


@pytest.fixture(scope="module")
def model():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[OLD], Y[OLD])
    return worthwhile.PricedModel(tree, COSTS)


@pytest.fixture(scope="module")
def promising(model):
    import copy

    return copy.copy(model).promise(X[NEW], Y[NEW])


@pytest.fixture
def file(promising, tmp_path):
    promising.save(tmp_path / "m")
    return tmp_path / "m"


def test_the_figures_are_those_of_the_rows(promising, model):
    figures = promising.promise_.figures
    assert figures["accuracy"].mean == pytest.approx(model.score(X[NEW], Y[NEW]))
    assert figures["bill"].mean == pytest.approx(model.cost(X[NEW]).mean())
    top = model.predict_proba(X[NEW]).max(axis=1).mean()
    assert figures["calibration"].mean == pytest.approx(top - model.score(X[NEW], Y[NEW]))


def test_spreads_are_those_of_values_that_were_bought(promising, model):
    bought = model.acquired(X[NEW])
    for spread in promising.promise_.spreads:
        assert sum(spread.counts) == bought[:, spread.column].sum()


def test_a_file_keeps_the_promise(file, promising):
    again = worthwhile.load(file)
    assert again.promise_.to_dict() == promising.promise_.to_dict() == load_promise(file).to_dict()
    assert describe(file)["promised"]["accuracy"] == promising.promise_.figures["accuracy"].mean
    assert again.check(X[NEW], Y[NEW])["holds"] is True
    assert again.check(X[NEW], 1 - Y[NEW])["holds"] is False


def test_without_one_nothing_was_promised(model, tmp_path):
    model.save(tmp_path / "m")
    assert load_promise(tmp_path / "m") is None
    assert describe(tmp_path / "m")["promised"] is None
    found = worthwhile.load(tmp_path / "m").check(X[NEW], Y[NEW])
    assert found["verdict"].startswith("Nothing was promised")


def test_another_point_of_the_trade_off_has_promised_nothing(tmp_path):
    miser = worthwhile.GreedyMiserClassifier(lam=0.01, n_rounds=6, costs=COSTS).fit(X[OLD], Y[OLD])
    miser.promise(X[NEW], Y[NEW])
    assert miser._promised() is not None
    miser.at(stage=3).save(tmp_path / "m")
    assert load_promise(tmp_path / "m") is None


def test_truth_and_rows_must_be_as_many(model):
    with pytest.raises(ValueError, match="y has 3 entries for 300 rows: give one per row"):
        model.check(X[NEW], Y[:3])


BAD = {
    "a list": lambda p: [],
    "an unknown key": lambda p: {**p, "more": 1},
    "rows": lambda p: {**p, "rows": -1},
    "an unknown figure": lambda p: {**p, "figures": {"luck": [1.0, 1.0]}},
    "a figure without error": lambda p: {**p, "figures": {"bill": [1.0]}},
    "a negative error": lambda p: {**p, "figures": {"bill": [1.0, -1.0]}},
    "text as a number": lambda p: {**p, "bound": "1"},
    "true as a number": lambda p: {**p, "confidence": True},
    "a long fingerprint": lambda p: {**p, "fingerprint": "x" * 200},
    "spreads": lambda p: {**p, "spreads": {}},
    "a spread twice": lambda p: {**p, "spreads": [p["spreads"][0]] * 2},
    "a column": lambda p: {**p, "spreads": [{**p["spreads"][0], "column": 99}]},
    "a negative column": lambda p: {**p, "spreads": [{**p["spreads"][0], "column": -1}]},
    "edges": lambda p: {**p, "spreads": [{"column": 0, "edges": [2, 1], "counts": [1, 1, 1, 1]}]},
    "counts": lambda p: {**p, "spreads": [{"column": 0, "edges": [], "counts": [1.5, 0]}]},
    "no counts": lambda p: {**p, "spreads": [{"column": 0, "edges": [], "counts": [0, 0]}]},
    "missing counts": lambda p: {**p, "spreads": [{"column": 0, "edges": [], "counts": [1]}]},
    "errors": lambda p: {**p, "errors": [[1.0]]},
    "ragged errors": lambda p: {**p, "errors": [[1.0, 2.0], [1.0]]},
    "negative errors": lambda p: {**p, "errors": [[0.0, -2.0], [1.0, 0.0]]},
}


@pytest.mark.parametrize("what", BAD)
def test_a_damaged_promise_is_refused(file, tmp_path, what):
    members = read_archive(file, 2**30)
    document = json.loads(members["model.json"])
    document["promise"] = BAD[what](document["promise"])
    bad = tmp_path / "bad"
    write_archive(bad, {**members, "model.json": json.dumps(document).encode()})
    for read in (worthwhile.load, load_promise, describe):
        with pytest.raises(BadModelFile):
            read(bad)
    worthwhile.load_policy(bad)  # which has no use for it


def test_prices_of_errors_ride_along(tmp_path):
    errors = np.array([[0.0, 5.0], [1.0, 0.0]])
    promise = Promise(10, {}, errors=errors)
    assert Promise.from_dict(promise.to_dict()).errors.tolist() == errors.tolist()
