"""Fetchers: the folder first, no download without being told, and refusals that say what to do."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from worthwhile import datasets
from worthwhile.datasets import _papers


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("tried to download")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)
    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", refuse)


@pytest.mark.parametrize("name", _papers.SETS)
def test_without_folder_and_download_the_error_says_what_to_do(name):
    file = re.escape(_papers.SETS[name].file)
    with pytest.raises(
        FileNotFoundError, match=f"no folder was given for '{name}'.*pass folder= with {file}"
    ):
        datasets.fetch_paper_set(name)


@pytest.mark.parametrize("name", _papers.SETS)
def test_missing_file_names_its_path_and_the_other_way(name, tmp_path):
    what = _papers.SETS[name]
    other = "or pass download=True" if what.download else re.escape(what.instead)
    with pytest.raises(
        FileNotFoundError, match=f"there is no file .*{re.escape(what.file)}.*: put .*{other}"
    ):
        datasets.fetch_paper_set(name, tmp_path)


def test_what_cannot_be_downloaded_says_so():
    with pytest.raises(FileNotFoundError, match=r"cannot be downloaded.*load_letters\(\)"):
        datasets.fetch_paper_set("letter", download=True)


def test_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="name is 'iris': the data sets are 'forest', 'miniboone'"):
        datasets.fetch_paper_set("iris")


def test_folder_comes_before_the_download(tmp_path):
    X = np.arange(10 * 54, dtype=np.int16).reshape(10, 54)
    np.savez(tmp_path / "covtype.npz", X=X, y=np.arange(10) % 7 + 1)
    forest = datasets.fetch_forest(tmp_path, download=True)
    assert (forest.data.to_numpy() == X).all()
    assert forest.data.to_numpy().dtype == np.int16
    assert forest.feature_names[:2] == ["x0", "x1"]
    assert forest.costs.total == 54
    assert "split" not in forest


def test_published_split_is_joined_and_labelled(tmp_path):
    parts = {"train": 4, "val": 2, "test": 3}
    arrays = {f"X_{k}": np.full((n, 50), n, dtype=np.float32) for k, n in parts.items()}
    arrays |= {f"y_{k}": np.zeros(n) for k, n in parts.items()}
    np.savez(tmp_path / "miniboone_sample.npz", **arrays)
    found = datasets.fetch_paper_set("miniboone_sample", str(tmp_path))
    assert found.split.tolist() == ["train"] * 4 + ["validation"] * 2 + ["test"] * 3
    assert found.data.iloc[:, 0].tolist() == [4.0] * 4 + [2.0] * 2 + [3.0] * 3


def test_wrong_keys_and_shapes_are_refused(tmp_path):
    np.savez(tmp_path / "pima.npz", A=np.zeros((3, 8)))
    with pytest.raises(ValueError, match=r"pima.npz has the keys \['A'\]: it needs X and y"):
        datasets.fetch_paper_set("pima", tmp_path)
    np.savez(tmp_path / "pima.npz", X=np.zeros((3, 7)), y=np.zeros(3))
    with pytest.raises(ValueError, match=r"X should have shape \(3, 8\). It is another data set"):
        datasets.fetch_paper_set("pima", tmp_path)


def test_pickled_files_are_refused(tmp_path):
    np.savez(tmp_path / "pima.npz", X=np.array([object()]), y=np.zeros(1))
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.fetch_paper_set("pima", tmp_path)


def _openml(monkeypatch, X, y):
    asked = []

    def fetch(**which):
        asked.append(which)
        return Bunch(data=pd.DataFrame(X), target=pd.Series(y, dtype="category"))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    return asked


def test_miniboone_is_asked_from_openml(monkeypatch, tmp_path):
    asked = _openml(monkeypatch, np.ones((3, 50)), ["True", "False", "True"])
    found = datasets.fetch_miniboone(tmp_path, download=True)
    assert asked == [{"name": "MiniBooNE", "version": 1, "as_frame": True, "parser": "auto"}]
    assert found.data.shape == (3, 50)
    assert found.target.tolist() == [1, 0, 1]
    assert found.costs.total == 50


def test_pima_from_openml_has_our_names_and_prices(monkeypatch):
    _openml(monkeypatch, np.ones((2, 8)), ["tested_positive", "tested_negative"])
    found = datasets.fetch_paper_set("pima", download=True)
    assert found.target.tolist() == [1, 0]
    assert found.costs.price(["glucose"]) == 17.61
    assert found.costs.price(["insulin"]) == 22.78
    # By hand: 6 x 1 + 15.51 + 20.68 + 2.10.
    assert found.costs.total == 44.29


def test_usps_from_openml_is_rescaled_and_split(monkeypatch):
    X = np.full((9298, 256), -1.0)
    _openml(monkeypatch, X, [str(k % 10 + 1) for k in range(9298)])
    found = datasets.fetch_paper_set("usps", download=True)
    assert (found.split == "train").sum() == 7291
    assert set(found.target) == set(range(10))
    assert (found.data.to_numpy() == 0).all()


def test_a_download_of_another_shape_is_refused(monkeypatch):
    _openml(monkeypatch, np.ones((2, 7)), ["a", "b"])
    with pytest.raises(ValueError, match=r"the download has X of shape \(2, 7\)"):
        datasets.fetch_miniboone(download=True)


def test_forest_comes_from_scikit_learn(monkeypatch):
    def fetch(as_frame):
        frame = pd.DataFrame(np.ones((4, 54)), columns=[f"c{k}" for k in range(54)])
        return Bunch(data=frame, target=np.array([1, 2, 7, 3]), feature_names=list(frame))

    monkeypatch.setattr(sklearn.datasets, "fetch_covtype", fetch)
    found = datasets.fetch_forest(download=True)
    assert found.target.tolist() == [1, 2, 7, 3]
    assert found.feature_names[-1] == "c53"


SHAPES = {
    "letter": (20000, 16, None),
    "miniboone_sample": (5000, 50, {"train": 2000, "validation": 1000, "test": 2000}),
    "usps": (9298, 256, {"train": 7291, "test": 2007}),
    "segmentation": (2310, 19, {"train": 210, "test": 2100}),
    "ionosphere": (351, 34, None),
    "heart_cleveland": (303, 13, None),
    "pima": (768, 8, None),
    "mq2007_agg": (69623, 21, None),
    "cifar10_hog400": (60000, 400, {"train": 50000, "test": 10000}),
    "forest": (581012, 54, None),
}


@pytest.mark.parametrize("name", SHAPES)
def test_real_files_have_the_published_shape(name, data_folder):
    rows, columns, split = SHAPES[name]
    found = datasets.fetch_paper_set(name, data_folder)
    assert found.data.shape == (rows, columns)
    assert found.target.shape == (rows,)
    assert found.costs.n_features == columns
    if split is None:
        assert "split" not in found
    else:
        parts, counts = np.unique(found.split, return_counts=True)
        assert dict(zip(parts.tolist(), counts.tolist(), strict=True)) == split


def test_real_prices_equal_those_in_the_files(data_folder):
    for name in ["heart_cleveland", "pima"]:
        found = datasets.fetch_paper_set(name, data_folder)
        with np.load(data_folder / f"{name}.npz") as file:
            full, discount = file["cost_full"], file["cost_discount"]
        assert [float(p) for p in found.costs.prices.values()] == discount.tolist()
        assert [found.costs.price([f]) for f in found.feature_names] == full.tolist()


def test_real_queries_come_with_the_ranking_set(data_folder):
    found = datasets.fetch_paper_set("mq2007_agg", data_folder)
    assert len(np.unique(found.qid)) == 1692
    assert set(found.part) == {1, 2, 3, 4, 5}
