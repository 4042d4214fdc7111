"""Partitions that differ from one another, or from what their collection says; targets of any type."""

from __future__ import annotations

import threading

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from tests.distributed.ranks import content, local, table
from tests.distributed.test_equality import classifier, regressor, two
from worthwhile import SubmodularTreeRegressor

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from worthwhile.dask import (  # noqa: E402
    DaskGreedyMiserClassifier,
    DaskGreedyMiserRegressor,
    DaskSubmodularTreeRegressor,
)

N = 3_000
HERE = {"threads_per_worker": 1, "dashboard_address": ":0", "processes": False}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, **HERE) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def frame():
    X, signal, _ = table(0, N)
    return pd.DataFrame(X, columns=list("abcdef")), signal


def on_dask(model, client):
    classifies = model.__class__.__name__.endswith("Classifier")
    kind = DaskGreedyMiserClassifier if classifies else DaskGreedyMiserRegressor
    return kind(client=client, **model.get_params())


def parts_of(*frames, said=None):
    """A collection that believes all partitions to be like the first, or as is said."""
    said = (frames[0] if said is None else said)[:0]
    return dd.from_map(frames.__getitem__, range(len(frames)), meta=said)


@pytest.mark.parametrize("text", [False, True])
def test_columns_in_another_order_are_found_by_name(client, text, tmp_path):
    X, y = frame()
    if text:
        X["c"] = np.where(X["c"] > 0, "on", "off")
    parts = parts_of(X[:1_000], X[1_000:1_200][list("fedcba")], X[1_200:][list("bacdfe")])
    expected = content(local(regressor(), X, y), tmp_path)
    assert content(on_dask(regressor(), client).fit(parts, y), tmp_path) == expected
    expected = content(regressor().fit(X, y, validation=(X, y)), tmp_path)
    fitted = on_dask(regressor(), client).fit(parts, y, validation=(parts, y))
    assert content(fitted, tmp_path) == expected
    model = SubmodularTreeRegressor(max_depth=1)
    expected = content(model.fit(X, y), tmp_path)
    shared = DaskSubmodularTreeRegressor(client=client, **model.get_params()).fit(parts, y)
    assert content(shared, tmp_path) == expected


def test_partitions_that_are_not_what_was_said_are_refused(client):
    X, y = frame()
    model = on_dask(regressor(), client)
    other = X[1_000:].rename(columns={"a": "z"})
    with pytest.raises(
        ValueError, match=r"a partition of X is a DataFrame with the columns \['z', .*should be"
    ):
        model.fit(parts_of(X[:1_000], other), y)
    values = X.to_numpy()
    wide = da.from_array(values, chunks=(1_000, 6)).map_blocks(
        lambda part: part[:, :5], dtype=float
    )
    with pytest.raises(ValueError, match=r"ndarray of shape \(1000, 5\).* numpy with 6 columns"):
        model.fit(wide, y)
    thin = da.from_array(values, chunks=(1_000, 6)).map_blocks(sparse.csr_matrix)
    with pytest.raises(ValueError, match=r"a partition of X is a csr_matrix of shape \(1000, 6\)"):
        model.fit(thin, y)


def test_partitions_with_categories_of_their_own(client, tmp_path):
    X, y = frame()
    X["c"] = pd.cut(X["c"], 3, labels=["low", "mid", "high"]).astype(str)
    whole = X.assign(c=pd.Categorical(X["c"]))
    cuts = ((0, 1_000), (1_000, 1_002), (1_002, N))
    frames = [X[low:high].assign(c=pd.Categorical(X["c"][low:high])) for low, high in cuts]
    unknown = frames[0].assign(c=pd.Categorical([None] * 1_000, ["__UNKNOWN_CATEGORIES__"]))
    expected = content(local(regressor(), whole, y), tmp_path)
    for said in (None, unknown):
        fitted = on_dask(regressor(), client).fit(parts_of(*frames, said=said), y)
        assert content(fitted, tmp_path) == expected


def test_ordered_categories_that_differ_are_refused_by_name(client):
    """As Dask itself does, which does not say which column it is."""
    X, y = frame()
    text = pd.cut(X["c"], 3, labels=["low", "mid", "high"])
    other = text[1_000:].cat.reorder_categories(["high", "mid", "low"], ordered=True)
    parts = parts_of(X[:1_000].assign(c=text[:1_000]), X[1_000:].assign(c=other))
    for model in (on_dask(regressor(), client), DaskSubmodularTreeRegressor(client=client)):
        with pytest.raises(ValueError, match="column 'c' of X is an ordered category whose levels"):
            model.fit(parts, y)


def test_arrays_whose_blocks_are_of_unknown_size(client, tmp_path):
    X, y = frame()
    parts = dd.from_pandas(X, npartitions=3)
    expected = content(local(regressor(), X.to_numpy(), y), tmp_path)
    targets = dd.from_pandas(pd.Series(y), npartitions=2).to_dask_array()
    fitted = on_dask(regressor(), client).fit(parts.to_dask_array(), targets)
    assert content(fitted, tmp_path) == expected
    with pytest.raises(ValueError, match=r"unknown number of columns: call X\.compute"):
        on_dask(regressor(), client).fit(
            da.from_delayed(dask.delayed(np.zeros)((N, 2)), (N, np.nan), float), y
        )
    with pytest.raises(ValueError, match="X has no columns"):
        on_dask(regressor(), client).fit(da.zeros((N, 0)), y)


@pytest.mark.parametrize("kind", ["Int64", "string[pyarrow]", "category", "boolean"])
def test_labels_of_any_type_are_those_of_the_local_fit(client, kind, tmp_path):
    X, signal = frame()
    labels = {"Int64": signal > 0.7, "boolean": signal > 0.7}.get(kind, two(signal))
    y = pd.Series(labels).astype(int if kind == "Int64" else labels.dtype).astype(kind)
    weight = pd.Series(np.arange(N) % 3 / 2, dtype="Float64")
    fitted = on_dask(classifier(), client).fit(
        dd.from_pandas(X, npartitions=2), dd.from_pandas(y, npartitions=3),
        dd.from_pandas(weight, npartitions=5),
    )  # fmt: skip
    expected = local(classifier(), X, y, weight)
    assert content(fitted, tmp_path) == content(expected, tmp_path)


def test_arrays_of_dates(client, tmp_path):
    _, y = frame()
    hours = np.random.default_rng(0).integers(0, 9_000, (N, 2))
    X = np.datetime64("2024-01-01", "h") + hours
    y = y + 0.001 * hours[:, 1]
    model = regressor(costs=[1, 1])
    fitted = on_dask(model, client).fit(da.from_array(X, chunks=(800, 1)), y)
    assert content(fitted, tmp_path) == content(local(model, X, y), tmp_path)


def test_a_cluster_without_workers_is_refused_unless_some_come():
    X, y, _ = table(0, N)
    with (
        distributed.LocalCluster(n_workers=0, **HERE) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        model = DaskGreedyMiserRegressor(client=client, timeout=0.5, n_rounds=1)
        with pytest.raises(RuntimeError, match=r"no workers, and none came within 0\.5 s"):
            model.fit(da.from_array(X, chunks=1_000), y)
        later = threading.Timer(1.0, cluster.scale, [1])
        later.start()
        model.set_params(timeout=60.0).fit(da.from_array(X, chunks=1_000), y)
        later.join()
    assert model.n_rounds_ == 1
