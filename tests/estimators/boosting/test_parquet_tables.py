"""Training from Parquet files gives the file of the fit in memory, byte for byte."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from worthwhile import (
    BudgetClassifier,
    Costs,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    ParquetTable,
)
from worthwhile.core.boosting.stored_states import StoredStates
from worthwhile.estimators.boosting import booster

pytest.importorskip("pyarrow")

N = 3_000
SMALL = {"n_rounds": 5, "max_depth": 3, "costs": {"a": 1, "b": 2, "c": 0.5, "d": 1, "e": 1, "f": 3}}


def regressor(**how):
    return GreedyMiserRegressor(**{"lam": 0.001, **SMALL, **how})


def classifier(**how):
    return GreedyMiserClassifier(**{"lam": 0.001, **SMALL, **how})


def numbers():
    """Columns of several types, with gaps, and two of which no row has both."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 6)), columns=list("abcdef"))
    X["b"] = rng.integers(0, 300, N).astype(np.int32)
    X["c"] = (X["c"] > 1).astype(np.int8)
    X["d"] = ((X["d"] > 1) & (X["c"] == 0)).astype(np.int8)
    X["e"] = X["e"].astype(np.float32)
    signal = X["a"] + X["b"] / 100 + X["c"] + 2 * X["d"] + np.abs(X["e"])
    X.loc[rng.random(N) < 0.1, "a"] = np.nan
    return X, signal


def kinds():
    """Categories, dates with times, truth values."""
    X, signal = numbers()
    rng = np.random.default_rng(1)
    X["b"] = rng.choice(["left", "right", "up", None], N)
    X["c"] = X["c"] > 0
    X["d"] = pd.Categorical(rng.choice(["x", "y"], N))
    X["f"] = np.datetime64("2024-01-01T00", "h") + rng.integers(0, 10_000, N)
    return X, signal + (X["b"] == "up")


def content(model, folder):
    path = folder / "model.ww"
    model.save(path)
    return path.read_bytes()


def three(signal):
    return np.array(["low", "middle", "high"])[np.digitize(signal, [1.0, 3.0])]


CASES = {
    "numbers": (numbers, regressor(), None, {}),
    "rows held out": (numbers, regressor(validation_fraction=0.2, random_state=1), None, {}),
    "kinds": (kinds, regressor(validation_fraction=0.1, random_state=1), None, {}),
    "row penalty, one thread": (kinds, regressor(penalty="row", n_jobs=1), None, {}),
    "classes and weights": (kinds, classifier(class_weight="balanced"), three, {"weight": True}),
    "trees for each class": (numbers, classifier(leaves="scalar"), three, {}),
    "medians": (numbers, regressor(loss="absolute"), None, {}),
    "sample": (numbers, regressor(subsample=0.5, random_state=0), None, {"weight": True}),
    "categories said": (numbers, regressor(categorical=["c"]), None, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_file_is_that_of_the_table_in_memory(case, tmp_path):
    make, model, targets, how = CASES[case]
    X, y = make()
    y = y if targets is None else targets(y)
    weight = np.random.default_rng(2).integers(0, 3, N) / 2 if how else None
    path = tmp_path / "cases.parquet"
    X.assign(target=y, weight=1.0 if weight is None else weight).to_parquet(
        path, row_group_size=700
    )
    expected = content(model.fit(X, pd.read_parquet(path)["target"], weight), tmp_path)
    table = ParquetTable(path, folder=tmp_path)
    named = "weight" if how else None
    table = table if how else table.without(["weight"])
    found = model.fit(table, "target", named)
    assert content(found, tmp_path) == expected
    assert list(found.feature_names_in_) == list("abcdef")
    assert [file.name for file in tmp_path.iterdir()].count("cases.parquet") == 1
    assert len(list(tmp_path.iterdir())) == 2  # nothing is left behind


def test_a_folder_of_files_with_queries(tmp_path):
    X, signal = numbers()
    qid, y = np.arange(N) // 10, np.digitize(signal, [1.0, 3.0]).astype(float)
    folder = tmp_path / "cases"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        X.iloc[rows].assign(query=qid[rows]).to_parquet(folder / f"part-{number}.parquet")
    model = regressor(loss="lambdarank", validation_fraction=0.2, random_state=0)
    expected = content(model.fit(X, y, qid=qid), tmp_path)
    assert content(model.fit(ParquetTable(folder), y, qid="query"), tmp_path) == expected
    some = ParquetTable(folder, columns=["a", "c"])
    model = GreedyMiserRegressor(n_rounds=3)
    expected = content(model.fit(X[["a", "c"]], y), tmp_path)
    assert content(model.fit(some, y), tmp_path) == expected


def test_validation_rows_in_memory(tmp_path):
    X, y = numbers()
    X[:2000].to_parquet(tmp_path / "cases.parquet")
    held = (X[2000:], y[2000:])
    model = regressor()
    expected = content(model.fit(X[:2000], y[:2000], validation=held), tmp_path)
    table = ParquetTable(tmp_path / "cases.parquet")
    assert content(model.fit(table, y[:2000], validation=held), tmp_path) == expected


def test_parts_are_predicted(tmp_path):
    X, y = numbers()
    X.to_parquet(tmp_path / "cases.parquet", row_group_size=500)
    table = ParquetTable(tmp_path / "cases.parquet")
    model = regressor().fit(table, y)
    parts = [model.predict(frame) for frame in table.batches(400)]
    assert max(map(len, parts)) <= 400
    assert (np.concatenate(parts) == model.predict(X)).all()


def test_what_cannot_be_done_is_refused(tmp_path):
    X, y = numbers()
    path = tmp_path / "cases.parquet"
    X.to_parquet(path)
    table = ParquetTable(path)
    with pytest.raises(
        TypeError, match="BudgetClassifier takes tables in memory here: GreedyMiser"
    ):
        BudgetClassifier().fit(table, y)
    with pytest.raises(TypeError, match="calibrate"):
        classifier(calibrate="isotonic").fit(table, three(y))
    model = regressor().fit(X, y)
    with pytest.raises(TypeError, match="part by part"):
        model.predict(table)
    with pytest.raises(NotImplementedError, match="warm_start=True is not there"):
        model.set_params(warm_start=True, n_rounds=9).fit(table, y)
    with pytest.raises(TypeError, match="values of lam are tried on a table in memory"):
        regressor(lam="auto").fit(table, y)
    with pytest.raises(ValueError, match="has no column 'target'"):
        regressor().fit(table, "target")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        regressor().fit(table, y[:-1])
    with pytest.raises(ValueError, match="columns names 'z', and there are 'a', 'b'"):
        ParquetTable(path, columns=["a", "z"])
    with pytest.raises(FileNotFoundError, match="no file"):
        ParquetTable(tmp_path / "nothing.parquet")
    (tmp_path / "text.parquet").write_text("a,b")
    with pytest.raises(ValueError, match="no Parquet file"):
        ParquetTable(tmp_path / "text.parquet")
    X.assign(a=X["a"].where(X.index != 1234, np.inf)).to_parquet(path)
    with pytest.raises(ValueError, match="X has inf in row 1234, column 'a'"):
        regressor().fit(ParquetTable(path), y)
    with pytest.raises(OSError, match="no room for"):
        StoredStates(2**50, 2**6, tmp_path)


def test_prices_of_columns_that_are_not_there(tmp_path):
    X, y = numbers()
    X.to_parquet(tmp_path / "cases.parquet")
    with pytest.raises(ValueError, match="strange"):
        regressor(costs=Costs({**SMALL["costs"], "strange": 1})).fit(
            ParquetTable(tmp_path / "cases.parquet"), y
        )


@pytest.mark.parametrize("classes", [False, True])
def test_more_rows_than_one_number_counts_give_the_same_file(classes, tmp_path, monkeypatch):
    """The layout of histograms of such tables, on a small one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.abs(np.nan_to_num(X[:, 1])) + rng.normal(size=len(X))
    how = {"costs": [1, 2, 0.5, 1, 1, 3]}
    model, y = (classifier(**how), signal > 0.5) if classes else (regressor(**how), signal)
    expected = content(model.fit(X, y), tmp_path)
    monkeypatch.setattr(booster, "PACKED_ROWS", 1_000)
    assert content(model.fit(X, y), tmp_path) == expected
