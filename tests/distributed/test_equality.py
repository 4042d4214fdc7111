"""A fit in several processes gives the file of the local one, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.distributed.ranks import content, cut_at, local, spread, table
from worthwhile import Costs, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.core.boosting import binning

N = 40_000
PRICES = [1, 2, 0.5, 0.5, 1, 3]
SMALL = {"n_rounds": 4, "max_depth": 3}


def regressor(**how):
    return GreedyMiserRegressor(**{"lam": 0.003, "costs": PRICES, **SMALL, **how})


def classifier(**how):
    return GreedyMiserClassifier(**{"lam": 0.001, "costs": PRICES, **SMALL, **how})


def fees():
    names = ["a", "b", "c", "d", "e", "f"]
    groups = {
        "outer": {"fee": 2, "features": names[:5]},
        "inner": {"fee": 1, "features": names[1:3]},
    }
    return Costs(dict.fromkeys(names, 1.0), groups=groups)


def numbers(signal):
    return signal


def two(signal):
    return np.where(signal > 0.7, "yes", "no")


def three(signal):
    return np.digitize(signal, [0.0, 1.0])


def counts(signal):
    return np.floor(np.clip(signal, 0, None))


class Huber:
    """Squares near, absolute errors far away; it does not know what to do with no rows."""

    def value(self, y, score):
        off = np.abs(y - score)
        assert len(y)
        return np.where(off < 1, off**2 / 2, off - 0.5)

    def gradient(self, y, score):
        return np.clip(score - y, -1, 1)

    def curvature(self, y, score):
        return np.ones_like(y)


CASES = {
    "regression": (regressor(), numbers, 2, {}),
    "all defaults": (GreedyMiserRegressor(n_rounds=3), numbers, 3, {}),
    "two classes, Newton steps": (classifier(), two, 3, {}),
    "three classes, one tree": (classifier(), three, 4, {}),
    "three classes, three trees": (classifier(leaves="scalar"), three, 2, {}),
    "row penalty": (regressor(penalty="row"), numbers, 3, {}),
    "row penalty with weights": (regressor(penalty="row"), numbers, 2, {"weights": True}),
    "weights": (classifier(), two, 5, {"weights": True}),
    "weights and classes": (classifier(class_weight="balanced"), three, 2, {"weights": True}),
    "missing values": (regressor(), numbers, 3, {"kinds": "missing"}),
    "rows of a sample": (regressor(subsample=0.5, max_features=0.5, random_state=3), numbers, 3, {}),
    "a sample with weights": (regressor(subsample=0.4, random_state=1), numbers, 2, {"weights": True}),
    "counts": (regressor(loss="poisson"), counts, 2, {}),
    "amounts": (regressor(loss="tweedie"), counts, 3, {}),
    "medians": (regressor(loss="absolute"), numbers, 3, {"kinds": "missing"}),
    "medians of whole numbers": (regressor(loss="absolute", max_depth=0), counts, 3, {"weights": True}),
    "a quantile": (regressor(loss="quantile", quantile=0.2), numbers, 2, {"weights": True}),
    "a quantile of a sample": (regressor(loss="quantile", subsample=0.3, random_state=1), counts, 5, {}),
    "a loss of one's own": (regressor(loss=Huber(), preset="paper"), numbers, 5, {"weights": True}),
    "its best constant": (regressor(loss=Huber()), numbers, 3, {}),
    "noise": (regressor(split_noise=1.0, random_state=2), numbers, 3, {"weights": True}),
    "as the authors": (regressor(preset="authors"), numbers, 2, {}),
    "best in accuracy": (classifier(scoring="accuracy", validation_fraction=0.3, random_state=0), three, 2, {}),
    "stops early": (classifier(patience=1, n_rounds=30, learning_rate=1.0), two, 2, {}),
    "float32": (regressor(), numbers, 2, {"dtype": np.float32}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_the_local_fit(name, tmp_path):
    model, targets, size, how = CASES[name]
    X, signal, rng = table(0, N, how.get("kinds", "plain"))
    X, y = X.astype(how.get("dtype", np.float64)), targets(signal)
    weight = rng.integers(0, 4, N) / 2 if "weights" in how else None
    expected = content(local(model, X, y, weight), tmp_path)
    for found in spread(model, X, y, weight, size=size):
        assert content(found, tmp_path) == expected


@pytest.mark.parametrize("weights", [False, True])
def test_columns_are_sent_in_stretches_of_rows(weights, tmp_path, monkeypatch):
    """Ranks have different numbers of rows, and one has none."""
    monkeypatch.setattr(binning, "SENT_ROWS", 1_000)
    X, signal, rng = table(4, N, "missing")
    weight = rng.integers(1, 4, N).astype(float) if weights else None
    model = regressor(n_rounds=2, validation_fraction=None)
    expected = content(local(model, X, signal, weight), tmp_path)
    how = {} if weights else {"recut": lambda plan: cut_at(plan, [1, 1])}
    for found in spread(model, X, signal, weight, size=3, **how):
        assert content(found, tmp_path) == expected


def frame(seed):
    X, signal, rng = table(seed, N)
    X = pd.DataFrame(X, columns=list("abcdef"))
    X["b"] = rng.choice(["left", "right", "up", None], N)
    signal = signal + (X["b"] == "up")
    X["f"] = np.datetime64("2024-01-01", "h") + rng.integers(0, 10_000, N)
    return X, signal


@pytest.mark.parametrize("model", [regressor(costs=fees()), regressor(costs=fees(), penalty="row")])
def test_categories_dates_and_fees_within_fees(model, tmp_path):
    X, y = frame(1)
    expected = content(local(model, X, y), tmp_path)
    for found in spread(model, X, y, size=3):
        assert content(found, tmp_path) == expected


@settings(deadline=None, max_examples=12)
@given(
    n=st.integers(2, 60_000),
    order=st.sampled_from(["shuffled", "sorted"]),
    edges=st.lists(st.integers(0, 4), max_size=4),
    classes=st.booleans(),
)
def test_any_shares_of_the_rows_give_the_same_file(n, order, edges, classes, tmp_path_factory):
    X, signal, _ = table(2, max(n, 40), "missing")
    if order == "sorted":
        X, signal = X[np.argsort(signal)], np.sort(signal)
    model = classifier(n_rounds=2) if classes else regressor(n_rounds=2)
    y = two(signal) if classes else signal
    folder = tmp_path_factory.mktemp("model")
    expected = content(local(model, X, y), folder)
    found = spread(model, X, y, size=len(edges) + 1, recut=lambda plan: cut_at(plan, sorted(edges)))
    assert content(found[-1], folder) == expected


@pytest.mark.parametrize("model", [regressor(n_rounds=6), classifier(n_rounds=6, penalty="row")])
def test_rounds_that_were_run_before_are_replayed(model, tmp_path):
    X, signal, _ = table(3, N)
    y = signal if isinstance(model, GreedyMiserRegressor) else three(signal)
    records = []
    expected = content(spread(model, X, y, size=2, on_round=records.append)[0], tmp_path)
    assert len(records) == 2 * model.n_rounds  # both ranks tell
    first = sorted(records, key=lambda record: record.row["round"])[:8:2]
    again = []
    for found in spread(model, X, y, size=3, records=first, on_round=again.append):
        assert content(found, tmp_path) == expected
    assert {record.row["round"] for record in again} == {5, 6}


def test_a_replay_that_differs_would_be_seen(tmp_path):
    X, signal, _ = table(3, N)
    model, records = regressor(), []
    expected = content(spread(model, X, signal, size=1, on_round=records.append)[0], tmp_path)
    grown, value, *rest = records[0].trees[0]
    wrong = replace(records[0], trees=[(grown, value * 1.01, *rest)])
    assert content(spread(model, X, signal, size=2, records=[wrong])[0], tmp_path) != expected


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({"lam": "auto"}, "lam='auto'"), ({"warm_start": True}, "warm_start=True"),
        ({"errors": 2.0}, "errors"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_refused_by_name(how, name):
    X, signal, _ = table(0, 100)
    with pytest.raises(NotImplementedError, match=f"{name} is not there for training in several"):
        spread(regressor(**how), X, signal)


def test_what_the_local_fit_refuses_is_refused_alike():
    X, signal, _ = table(0, 100)
    with pytest.raises(ValueError, match="n_rounds"):
        spread(regressor(n_rounds=-1), X, signal)
    with pytest.raises(ValueError, match="single class"):
        spread(classifier(), X, np.zeros(100))
    with pytest.raises(ValueError, match="no target above 0"):
        spread(regressor(loss="poisson"), X, np.zeros(100))
