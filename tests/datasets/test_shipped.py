"""The shipped data are what their sources published, with the published prices."""

from __future__ import annotations

import sys
from decimal import Decimal
from importlib import resources
from subprocess import check_output

import numpy as np
import pytest

from worthwhile import datasets

LOADERS = {
    "heart": (datasets.load_heart, 297, 13, 2),
    "letters": (datasets.load_letters, 20000, 16, 26),
    "ionosphere": (datasets.load_ionosphere, 351, 34, 2),
    "segmentation": (datasets.load_segmentation, 2310, 19, 7),
}


@pytest.mark.parametrize("name", LOADERS)
def test_bunch_has_frame_target_costs_and_attribution(name):
    load, rows, columns, classes = LOADERS[name]
    found = load()
    assert found.data.shape == (rows, columns)
    assert list(found.data.columns) == found.feature_names
    assert found.data.to_numpy().dtype == np.float64
    assert np.isfinite(found.data.to_numpy()).all()
    assert found.target.shape == (rows,)
    assert found.target.dtype == np.int64
    assert set(found.target) == set(range(classes))
    assert len(found.target_names) == classes
    assert found.costs.feature_names == tuple(found.feature_names)
    assert "CC BY 4.0" in found.DESCR
    assert "doi:10.24432" in found.DESCR


@pytest.mark.parametrize("name", ["letters", "ionosphere", "segmentation"])
def test_unpriced_sets_cost_one_per_feature(name):
    load, _, columns, _ = LOADERS[name]
    costs = load().costs
    assert set(costs.prices.values()) == {Decimal(1)}
    assert costs.total == columns
    assert costs.groups == {}


def test_files_are_under_500_kb_and_attributed_together():
    folder = resources.files("worthwhile.datasets") / "data"
    files = {file.name: len(file.read_bytes()) for file in folder.iterdir()}
    assert sum(files.values()) < 500_000
    readme = (folder / "README.md").read_text()
    assert all(name in readme for name in files if name.endswith(".npz"))
    assert {f"{name}.npz" for name in LOADERS} < set(files)


def test_heart_balance_and_first_patient():
    heart = datasets.load_heart()
    assert np.bincount(heart.target).tolist() == [160, 137]
    first = [63, 1, 1, 145, 233, 1, 2, 150, 0, 2.3, 3, 0, 6]
    assert heart.data.iloc[0].tolist() == first
    assert heart.target[0] == 0


def test_heart_prices_equal_turneys_table_by_hand():
    costs = datasets.load_heart().costs
    assert costs.unit == "CAD"
    full = {
        "age": 1.0, "sex": 1.0, "cp": 1.0, "trestbps": 1.0, "chol": 7.27, "fbs": 5.20,
        "restecg": 15.50, "thalach": 102.90, "thal": 102.90, "exang": 87.30, "oldpeak": 87.30,
        "slope": 87.30, "ca": 100.90,
    }  # fmt: skip
    discount = full | {"chol": 5.17, "fbs": 3.10, "thalach": 1.0, "thal": 1.0}
    discount |= {"exang": 1.0, "oldpeak": 1.0, "slope": 1.0}
    for test, price in full.items():
        assert costs.price([test]) == price
    siblings = {"chol": "fbs", "fbs": "chol", "thalach": "thal", "thal": "thalach"}
    siblings |= {"exang": "slope", "oldpeak": "exang", "slope": "oldpeak"}
    for test, other in siblings.items():
        assert costs.marginal(test, have=[other]) == discount[test]
    # Own prices: 4 x 1 + 5.17 + 3.10 + 15.50 + 2 x 1 + 3 x 1 + 100.90 = 133.67.
    # Fees: 2.10 + 101.90 + 86.30 = 190.30.
    assert costs.total == 323.97
    assert costs.price(list(full)) == 323.97


def test_known_counts_of_the_other_sets():
    ionosphere = datasets.load_ionosphere()
    assert np.bincount(ionosphere.target).tolist() == [126, 225]
    assert (ionosphere.data["V2"] == 0).all()
    assert ionosphere.data.iloc[0, 2] == 0.99539
    assert np.bincount(datasets.load_segmentation().target).tolist() == [330] * 7
    letters = datasets.load_letters()
    # UCI's own table of counts: 789 A, 766 B, 736 C.
    assert np.bincount(letters.target)[:3].tolist() == [789, 766, 736]
    assert letters.data.to_numpy().min() == 0
    assert letters.data.to_numpy().max() == 15


def test_each_call_gives_its_own_copy():
    heart = datasets.load_heart()
    heart.data.iloc[0, 0] = -1
    heart.target[0] = 9
    assert datasets.load_heart().data.iloc[0, 0] == 63
    assert datasets.load_heart().target[0] == 0


def test_unknown_name_is_refused_and_dir_lists_everything():
    with pytest.raises(AttributeError, match="no attribute 'load_nothing'"):
        _ = datasets.load_nothing
    assert dir(datasets) == sorted(datasets.__all__)
    assert set(datasets.__all__) == set(datasets._HOME)
    for name in datasets.__all__:
        assert getattr(datasets, name).__name__ == name


def test_importing_the_package_imports_no_data_library():
    code = "import sys, worthwhile.datasets; print([m for m in ('pandas', 'sklearn') if m in sys.modules])"
    assert check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def _sorted(X, y):
    rows = np.column_stack([np.asarray(X, dtype=np.float32), y])
    return rows[np.lexsort(rows.T[::-1])]


def test_letters_and_ionosphere_equal_the_reference_row_by_row(data_folder):
    for shipped, name in [
        (datasets.load_letters(), "letter"),
        (datasets.load_ionosphere(), "ionosphere"),
    ]:
        other = datasets.fetch_paper_set(name, data_folder)
        np.testing.assert_array_equal(
            shipped.data.to_numpy(np.float32), other.data.to_numpy(np.float32)
        )
        np.testing.assert_array_equal(shipped.target, other.target)


def test_heart_and_segmentation_equal_the_reference_in_another_order(data_folder):
    shipped, other = (
        datasets.load_segmentation(),
        datasets.fetch_paper_set("segmentation", data_folder),
    )
    np.testing.assert_array_equal(
        _sorted(shipped.data, shipped.target), _sorted(other.data, other.target)
    )
    assert shipped.target_names == [name.lower() for name in other.target_names]

    heart, other = datasets.load_heart(), datasets.fetch_paper_set("heart_cleveland", data_folder)
    complete = other.data.notna().all(axis=1).to_numpy()
    np.testing.assert_array_equal(
        _sorted(heart.data, heart.target), _sorted(other.data[complete], other.target[complete])
    )
    assert heart.feature_names == other.feature_names
