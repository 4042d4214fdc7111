"""Greedy Miser on Dask: the files of the local fit, from collections of any shape."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_regressor

import worthwhile
from tests.distributed.ranks import content, local, table
from tests.distributed.test_equality import (
    Huber,
    N,
    classifier,
    fees,
    frame,
    regressor,
    three,
    two,
)
from tests.estimators.small import make, public_estimators
from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.core.boosting.stored_columns import StoredColumns

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import worthwhile.dask  # noqa: E402
from worthwhile.dask import (  # noqa: E402
    DaskGreedyMiserClassifier,
    DaskGreedyMiserRegressor,
    _base,
)
from worthwhile.dask._gang import Gang  # noqa: E402

TIMEOUT = 120.0


@pytest.fixture(scope="module")
def client():
    """A cluster within this process: quick to start."""
    how = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    # A lock of a client that is gone is given back after this long.
    locks = {
        f"distributed.scheduler.locks.lease-{name}": "5s"
        for name in ("timeout", "validation-interval")
    }
    with (
        dask.config.set(locks),
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def on_dask(model, client):
    classifies = isinstance(model, GreedyMiserClassifier)
    kind = DaskGreedyMiserClassifier if classifies else DaskGreedyMiserRegressor
    return kind(client=client, timeout=TIMEOUT, **model.get_params())


@pytest.mark.parametrize(
    ("model", "targets"), [(regressor(), None), (classifier(), two), (classifier(), three)]
)
def test_arrays_give_the_file_of_the_local_fit(client, model, targets, tmp_path):
    X, y, _ = table(0, N, "missing")
    y = y if targets is None else targets(y)
    fitted = on_dask(model, client).fit(
        da.from_array(X, chunks=((0, 1, 17_000, 0, N - 17_001), (2, 4))),
        da.from_array(y, chunks=9_999),
    )
    expected = local(model, X, y)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert content(fitted.to_local(), tmp_path) == content(expected, tmp_path)
    assert type(fitted.to_local()) is type(model)


def test_frames_with_categories_dates_and_fees(client, tmp_path):
    X, y = frame(1)
    X["b"] = X["b"].astype(object)
    X["c"] = pd.Categorical(np.where(X["c"] > 0, "on", "off"))
    weight = np.random.default_rng(0).integers(1, 4, N).astype(float)
    model = regressor(costs=fees(), penalty="row", categorical=["d"])
    parts = dd.from_pandas(X, npartitions=4)
    fitted = on_dask(model, client).fit(
        parts, dd.from_pandas(y, npartitions=3), da.from_array(weight)
    )
    expected = local(model, X, y, weight)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert fitted.columns_ == expected.columns_


def test_validation_rows_in_memory(client, tmp_path):
    X, y = frame(6)
    held = (X[30_000:], two(y[30_000:]))
    model = classifier(costs=fees(), n_rounds=30, patience=2, learning_rate=0.8)
    expected = model.fit(X[:30_000], two(y[:30_000]), validation=held)
    parts = dd.from_pandas(X[:30_000], npartitions=3)
    fitted = on_dask(model, client).fit(parts, two(y[:30_000]), validation=held)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert fitted.trace_["validation_loss"].notna().all()


def test_validation_rows_on_the_cluster(client, tmp_path):
    X, y = frame(6)
    X["c"] = pd.Categorical(np.where(X["c"] > 0, "on", "off"))
    held = (X[30_000:], two(y[30_000:]))
    model = classifier(costs=fees(), n_rounds=30, patience=2, learning_rate=0.8)
    expected = model.fit(X[:30_000], two(y[:30_000]), validation=held)
    parts = dd.from_pandas(X[:30_000], npartitions=3)
    further = dd.from_pandas(held[0], npartitions=2)
    further = dd.concat([further[further["a"] > 1e9], further])
    for targets in (held[1], da.from_array(held[1], chunks=7_000)):
        fitted = on_dask(model, client).fit(
            parts, two(y[:30_000]), validation=(further[list("fedcba")], targets)
        )
        assert content(fitted, tmp_path) == content(expected, tmp_path)
    with pytest.raises(ValueError, match=r"in validation, .*'c'"):
        on_dask(model, client).fit(
            parts, two(y[:30_000]), validation=(further[list("abdef")], targets)
        )
    none = further[further["a"] > 1e9]
    with pytest.raises(ValueError, match="validation has no rows"):
        on_dask(model, client).fit(parts, two(y[:30_000]), validation=(none, targets[:0]))


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_rows_beyond_the_memory_of_workers_are_kept_in_files(client, kind, tmp_path, monkeypatch):
    """Of which no more than a partition is in memory."""
    monkeypatch.setattr(_base, "ROOM", 1e-9)
    most = []
    write = StoredColumns.write_rows

    def note(self, start, rows):
        most.append(len(rows))
        write(self, start, rows)

    monkeypatch.setattr(StoredColumns, "write_rows", note)
    if kind == "array":  # numbers of other types in other partitions
        X, y, _ = table(9, N, "missing")
        X[:, 2:4] = np.nan_to_num(X[:, 2:4])
        parts = da.from_array(X, chunks=(5_000, 6))
        model = classifier(random_state=0, validation_fraction=0.2)
        expected, y = local(model, X, two(y)), two(y)
    else:
        X, y = frame(9)
        parts = dd.from_pandas(X, npartitions=8)
        model = regressor(costs=fees(), random_state=0, validation_fraction=0.2)
        expected = local(model, X, y)
    fitted = on_dask(model, client).fit(parts, y)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert sum(most) == N
    assert max(most) <= 5_000


def test_rankings_of_whole_queries(client, tmp_path):
    X, signal, _ = table(8, 20_000)
    y, qid = np.digitize(signal, [0.0, 1.0, 2.0]).astype(float), np.arange(20_000) // 23
    model = regressor(loss="lambdarank", n_rounds=9)
    rows, held = slice(0, 15_000), slice(15_000, 20_000)
    expected = local(model, X, y, qid=qid)
    parts = {"X": da.from_array(X, chunks=(6_000, 6)), "y": da.from_array(y), "qid": qid}
    fitted = on_dask(model, client).fit(**parts)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    given = (X[held], y[held], qid[held])
    expected = local(model, X[rows], y[rows], qid=qid[rows], validation=given)
    fitted = on_dask(model, client).fit(
        parts["X"][rows], y[rows], qid=da.from_array(qid[rows]),
        validation=(parts["X"][held], parts["y"][held], da.from_array(qid[held])),
    )  # fmt: skip
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert fitted.trace_["validation_loss"].notna().all()


def test_medians_and_a_loss_of_ones_own(client, tmp_path):
    X, y, _ = table(0, N, "missing")
    parts = da.from_array(X, chunks=(11_000, 6))
    for loss in ("absolute", Huber()):
        model = regressor(loss=loss)
        fitted = on_dask(model, client).fit(parts, y)
        assert content(fitted, tmp_path) == content(local(model, X, y), tmp_path)


def test_partitions_that_a_filter_left_empty(client, tmp_path):
    X, y = frame(2)
    X["g"], X["row"] = y, np.arange(N)
    parts = dd.from_pandas(X, npartitions=6)
    kept = parts[parts["row"] >= 25_000]
    model = regressor(costs=fees())
    fitted = on_dask(model, client).fit(kept[list("abcdef")], kept["g"])
    expected = local(model, X.loc[25_000:, list("abcdef")], y[25_000:])
    assert content(fitted, tmp_path) == content(expected, tmp_path)


def test_tables_are_predicted_lazily(client):
    X, y = frame(3)
    model = local(classifier(costs=fees()), X, two(y))
    fitted = on_dask(classifier(costs=fees()), client).fit(dd.from_pandas(X, npartitions=2), two(y))
    rows = X.iloc[::100].set_axis(np.arange(N // 100) + 7)
    parts = dd.from_pandas(rows, npartitions=3)
    parts = dd.concat([parts, parts[parts["a"] > 1e9]])
    for method in ("predict", "predict_proba", "cost", "acquired", "evaluated"):
        lazy = getattr(fitted, method)(parts)
        assert hasattr(lazy, "dask")
        found = lazy.compute()
        assert (found.index == rows.index).all()
        assert (found.to_numpy() == getattr(model, method)(rows)).all()
        assert (getattr(fitted, method)(rows) == getattr(model, method)(rows)).all()
    assert list(fitted.predict_proba(parts).columns) == ["no", "yes"]
    assert list(fitted.acquired(parts).columns) == list("abcdef")
    cheap = fitted.cost(parts, budget=3).compute()
    assert (cheap.to_numpy() == model.cost(rows, budget=3)).all()
    assert cheap.max() <= 3


def test_arrays_are_predicted_lazily(client):
    X, y, _ = table(4, N)
    fitted = on_dask(classifier(), client).fit(da.from_array(X, chunks=(15_000, 2)), three(y))
    some = da.from_array(X[:1000], chunks=((400, 0, 600), (6,)))
    expected = fitted.to_local()
    for method, shape in (
        ("predict", (1000,)),
        ("predict_proba", (1000, 3)),
        ("acquired", (1000, 6)),
        ("evaluated", (1000,)),
    ):
        lazy = getattr(fitted, method)(some)
        assert lazy.shape == shape
        assert (lazy.compute() == getattr(expected, method)(X[:1000])).all()
        assert lazy.dtype == getattr(expected, method)(X[:1]).dtype
    with pytest.raises(ValueError, match="budget is an array: for a Dask table give one number"):
        fitted.cost(some, budget=np.ones(1000))
    with pytest.raises(ValueError, match="key was given: it has one value per row"):
        fitted.predict(some, key=np.arange(1000))
    with pytest.raises(TypeError, match=r"decision_function.* map_partitions"):
        fitted.decision_function(some)


def test_parameters_clone_and_pickle(client):
    import pickle

    model = DaskGreedyMiserRegressor(0.5, client=client, restarts=1, n_rounds=7)
    again = clone(model)
    assert again.client is client
    assert again.get_params() == model.get_params()
    assert again.get_params()["n_rounds"] == 7
    assert "client" not in again.get_params()
    assert pickle.loads(pickle.dumps(model)).client is None
    with pytest.raises(ValueError, match="restarts"):
        model.set_params(restarts=-1).fit(da.zeros((10, 2)), np.zeros(10))


def test_what_is_not_there_is_refused_by_name(client):
    X, y, _ = table(0, 100)
    model, X = on_dask(regressor(), client), da.from_array(X)
    with pytest.raises(NotImplementedError, match="lam='auto' is not there for training"):
        on_dask(regressor(lam="auto"), client).fit(X, y)
    with pytest.raises(TypeError, match="qid was given: DaskGreedyMiserClassifier knows no"):
        on_dask(classifier(), client).fit(X, two(y), qid=y)
    with pytest.raises(TypeError, match="in validation, X is a Array: give a table"):
        model.fit(X, y, validation=(X[:, 0], y))
    with pytest.raises(NotImplementedError, match="calibrate is not there"):
        on_dask(classifier(calibrate="isotonic"), client).fit(X, two(y))


def test_bad_tables_are_refused_as_the_local_fit_does(client):
    X, y, _ = table(0, 100)
    model = on_dask(regressor(), client)
    with pytest.raises(
        TypeError, match="X is a ndarray: DaskGreedyMiserRegressor takes Dask arrays"
    ):
        model.fit(X, y)
    with pytest.raises(ValueError, match="X has 100 rows, but y has 99"):
        model.fit(da.from_array(X), y[:99])
    with pytest.raises(ValueError, match="X is an array of 1 dimensions"):
        model.fit(da.from_array(y), y)
    with pytest.raises(ValueError, match="y has the shape"):
        model.fit(da.from_array(X), np.zeros((100, 2)))
    X[70, 3] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        model.fit(da.from_array(X, chunks=30), y)
    with pytest.raises(TypeError, match=r"client is a str: give distributed\.Client"):
        on_dask(regressor(), "tcp://127.0.0.1:8786").fit(da.zeros((100, 6)), y)
    assert not hasattr(model, "policy_")


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_a_local_estimator_names_the_class_to_use(method):
    X, y, _ = table(0, 100)
    parts = da.from_array(X, chunks=50)
    model = GreedyMiserRegressor(n_rounds=1).fit(X, y)
    arguments = (parts, y) if method == "fit" else (parts,)
    with pytest.raises(
        TypeError, match=r"use worthwhile\.dask\.DaskGreedyMiserRegressor, or X\.compute"
    ):
        getattr(model, method)(*arguments)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    with pytest.raises(TypeError, match="X is a Dask DataFrame"):
        model.fit(frame, y)


@pytest.mark.parametrize("name", public_estimators())
def test_every_estimator_names_the_class_to_use(name):
    model = make(name)
    on_dask = getattr(worthwhile.dask, f"Dask{name}", None)
    instead = f"use worthwhile.dask.Dask{name}, or X.compute()"
    if on_dask is None:
        kind = "Regressor" if is_regressor(model) else "Classifier"
        instead = f"train worthwhile.dask.DaskGreedyMiser{kind}, or give X.compute()"
    for X in (da.zeros((10, 2)), dd.from_pandas(pd.DataFrame(np.zeros((10, 2))), npartitions=2)):
        for how in ({"X": X, "y": np.zeros(10)}, None):
            with pytest.raises(TypeError, match=re.escape(instead)):
                model.fit(**how) if how else model.fit(X, np.zeros(10))


@pytest.mark.parametrize("name", ["GreedyMiserClassifier", "SubmodularTreeRegressor"])
def test_a_grid_is_found_on_tables_in_memory(name):
    X = da.zeros((10, 2))
    for model in (make(name), getattr(worthwhile.dask, f"Dask{name}")()):
        with pytest.raises(TypeError, match=r"X is a Dask Array, and .* takes tables in memory"):
            model.trade_off_grid(X, np.zeros(10))


def test_searches_and_comparisons_take_tables_in_memory():
    search = worthwhile.BudgetSearchCV(DaskGreedyMiserRegressor(), budget=3)
    with pytest.raises(TypeError, match=r"BudgetSearchCV takes tables .*DaskGreedyMiserRegressor"):
        search.fit(dd.from_pandas(pd.DataFrame(np.zeros((10, 2)))), np.zeros(10))
    with pytest.raises(TypeError, match=r"compare takes tables in memory: train"):
        worthwhile.compare(da.zeros((10, 2)), np.zeros(10))


SHARED_WORK = {
    "DaskBudgetedForestClassifier": {"budget": 6, "n_trees": 5, "max_depth": 4, "price_power": 1.0, "random_state": 3},
    "DaskBudgetClassifier": {"budget": 4, "n_trees": 16, "random_state": 3},
    "DaskBudgetRegressor": {"budget": 4, "n_trees": 16, "random_state": 3, "max_stages": 2},
    "DaskSubmodularTreeClassifier": {"budget": 4, "max_depth": 2},
    "DaskSubmodularTreeRegressor": {"budget": 4, "max_depth": 2, "routing": "soft"},
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED_WORK)
def test_models_of_shared_work_have_the_local_file(client, name, tmp_path):
    n = 1_500 if "Budget" in name and "Forest" not in name else 6_000
    X, y = (part[:n] for part in frame(5))
    y = y if name.endswith("Regressor") else two(y)
    kind = getattr(worthwhile, name.removeprefix("Dask"))
    model = kind(costs=fees(), **SHARED_WORK[name])
    expected = model.fit(X, y)
    on_cluster = getattr(worthwhile.dask, name)(
        client=client, timeout=TIMEOUT, **model.get_params()
    )
    parts = dd.from_pandas(X, npartitions=3)
    fitted = on_cluster.fit(dd.concat([parts, parts[parts["a"] > 1e9]]), y)
    assert content(fitted, tmp_path) == content(expected, tmp_path)
    assert type(fitted.to_local()) is kind
    some = dd.from_pandas(X[:500], npartitions=2)
    for method in ("predict", "cost", "acquired", *(["predict_proba"] if y.dtype != float else [])):
        found = getattr(fitted, method)(some).compute().to_numpy()
        assert (found == getattr(expected, method)(X[:500])).all()
    with pytest.raises(NotImplementedError, match=f"validation is not there for {name}"):
        fitted.fit(parts, y, validation=(X, y))
    with pytest.raises(ValueError, match=f"X has {n} rows, but y has {n - 1}"):
        fitted.fit(parts, y[:-1])


def test_a_table_that_no_worker_can_hold_is_refused_where_all_must(client, monkeypatch):
    X, y = (part[:1_000] for part in frame(5))
    monkeypatch.setattr(_base, "PYTHON", 1e15)
    model = worthwhile.dask.DaskSubmodularTreeRegressor(client=client)
    with pytest.raises(
        MemoryError, match=r"X takes 0\.0 GB: DaskSubmodularTreeRegressor has every worker hold all"
    ):
        model.fit(dd.from_pandas(X, npartitions=2), y)


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_numbers_that_all_workers_hold_need_three_times_their_size(
    client, kind, tmp_path, monkeypatch
):
    X, y, _ = table(5, 3_000, "missing")
    parts = da.from_array(X, chunks=((0, 1_100, 1_900), (4, 2)))
    if kind == "frame":
        X = pd.DataFrame(X, columns=list("abcdef"))
        parts = dd.from_pandas(X, npartitions=3)
    model = worthwhile.SubmodularTreeRegressor(budget=2, max_depth=2)
    expected = content(local(model, X, y), tmp_path)
    shared = worthwhile.dask.DaskSubmodularTreeRegressor(client=client, **model.get_params())
    size = 3_000 * 6 * 8
    monkeypatch.setattr(_base, "_beside_python", lambda client: 3.0 * size - 1)
    with pytest.raises(MemoryError, match="which takes 3 times as much"):
        shared.fit(parts, y)
    monkeypatch.setattr(_base, "_beside_python", lambda client: 3.9 * size)
    assert content(shared.fit(parts, y), tmp_path) == expected


def test_a_client_that_leaves_keeps_no_worker_busy(client, tmp_path, monkeypatch):
    """Its fit of an hour ends, and the workers are free for that of somebody else."""
    X, y, _ = table(7, N)
    begun, errors = threading.Event(), []
    keep = Gang._note

    def note(self, event):
        keep(self, event)
        if len(self._records) == 3:
            begun.set()

    monkeypatch.setattr(Gang, "_note", note)
    leaving = distributed.Client(client.scheduler.address, set_as_default=False)

    def fit_for_long():
        try:
            on_dask(regressor(n_rounds=100_000), leaving).fit(da.from_array(X, chunks=9_000), y)
        except BaseException as error:
            errors.append(error)

    fitting = threading.Thread(target=fit_for_long, daemon=True)
    fitting.start()
    assert begun.wait(TIMEOUT)
    leaving.close()
    model = regressor()
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(on_dask(model, client).fit, da.from_array(X, chunks=9_000), y)
        fitted = call.result(timeout=TIMEOUT)
    assert content(fitted, tmp_path) == content(local(model, X, y), tmp_path)
    fitting.join(TIMEOUT)
    assert "the client was closed before the model was trained" in str(errors[0])
