"""Model files: what goes in comes out, and what is damaged stays out."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import worthwhile
from tests.attack.model_files import judge
from worthwhile.exceptions import BadModelFile
from worthwhile.persist._archive import read_archive, read_array, write_archive, write_array
from worthwhile.persist._codec import Decoder, Encoder

X, Y, COSTS = worthwhile.datasets.make_priced_classification(150, seed=1)


@pytest.fixture(scope="module")
def forest():
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, Y)
    return worthwhile.PricedModel(model, COSTS)


@pytest.fixture(scope="module")
def forest_file(forest, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "forest.worthwhile"
    forest.save(path)
    return path


def same_model(first, second, rows=X):
    assert (first.predict(rows) == second.predict(rows)).all()
    assert (first.acquired(rows) == second.acquired(rows)).all()
    assert (first.cost(rows) == second.cost(rows)).all()
    assert (first.cost(rows, budget=9) == second.cost(rows, budget=9)).all()


def test_forest_comes_back_without_foreign_code(forest, forest_file):
    again = worthwhile.load(forest_file)
    same_model(forest, again)
    assert again.costs_ == forest.costs_
    assert again.classes_.tolist() == forest.classes_.tolist()
    assert not any(name.startswith("foreign/") for name in read_archive(forest_file, 2**30))


def test_linear_model_comes_back_through_skops(tmp_path):
    model = worthwhile.PricedModel(LogisticRegression().fit(X, Y), COSTS, background=X)
    model.save(tmp_path / "linear.worthwhile")
    again = worthwhile.load(tmp_path / "linear.worthwhile")
    same_model(model, again)
    assert isinstance(again.model, LogisticRegression)


def test_regressors_and_bare_arrays_come_back(tmp_path):
    rows, target = X.to_numpy(), X.to_numpy()[:, 0]
    for inner in (RandomForestRegressor(3, random_state=0), LinearRegression()):
        model = worthwhile.PricedModel(inner.fit(rows, target), fallback=0.0)
        model.save(tmp_path / "model.worthwhile")
        again = worthwhile.load(tmp_path / "model.worthwhile")
        same_model(model, again, rows)
        assert again.costs_.feature_names is None


class Homemade(LogisticRegression):
    """A type that skops does not know."""


def test_untrusted_types_are_refused_by_name_and_accepted_when_named(tmp_path):
    model, name = Homemade().fit(X, Y), f"{__name__}.Homemade"
    path = tmp_path / "homemade.worthwhile"
    worthwhile.PricedModel(model, COSTS, fallback=0).save(path)
    with pytest.raises(BadModelFile, match=r"Homemade.*trusted="):
        worthwhile.load(path)
    assert (worthwhile.load(path, trusted=[name]).predict(X) == model.predict(X)).all()


def test_same_model_same_bytes(forest, forest_file, tmp_path):
    twin = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, Y)
    worthwhile.PricedModel(twin, COSTS).save(tmp_path / "twin.worthwhile")
    assert (tmp_path / "twin.worthwhile").read_bytes() == forest_file.read_bytes()
    for name in ("a", "b"):
        worthwhile.PricedModel(LogisticRegression().fit(X, Y), COSTS, fallback=1).save(
            tmp_path / name
        )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_load_policy_needs_neither_compiler_nor_sklearn(forest, forest_file):
    code = (
        "import sys, json, worthwhile;"
        f"session = worthwhile.Session(worthwhile.load_policy({str(forest_file)!r}))\n"
        f"row = {X.iloc[3].to_dict()!r}\n"
        "while wanted := session.ask(): session.tell({n: row[n] for n in wanted})\n"
        "heavy = [m for m in ('numba', 'sklearn', 'scipy', 'pandas') if m in sys.modules];"
        "print(json.dumps([heavy, int(session.prediction), session.spent]))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(printed) == [[], int(forest.predict(X)[3]), float(forest.cost(X)[3])]


def test_load_policy_refuses_foreign_models(tmp_path):
    worthwhile.PricedModel(LogisticRegression().fit(X, Y), COSTS).save(
        tmp_path / "linear.worthwhile"
    )
    with pytest.raises(BadModelFile, match="another library"):
        worthwhile.load_policy(tmp_path / "linear.worthwhile")


def rewrite(source, target, **changes):
    members = read_archive(source, 2**30)
    document = json.loads(members["model.json"])
    for name, change in changes.items():
        document[name] = change(document[name])
    members["model.json"] = json.dumps(document).encode()
    write_archive(target, members)


def test_newer_format_is_refused_with_advice(forest_file, tmp_path):
    rewrite(forest_file, tmp_path / "new", format=lambda _: 3)
    with pytest.raises(BadModelFile, match=r"format 3.*update worthwhile"):
        worthwhile.load(tmp_path / "new")


def fitted_as(name, value):
    return lambda model: model | {"fitted": model["fitted"] | {name: value}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_features_in_", 99),
        ("feature_names_in_", ["a", "b"]),
        ("classes_", [0, 1]),
        ("policy_", None),
        ("costs_", None),
        ("predict", 1),
        ("_private_", 1),
    ],
)
def test_a_file_cannot_set_what_follows_from_the_policy(tmp_path, name, value):
    numbers = np.asarray(X)
    booster = worthwhile.GreedyMiserRegressor(n_rounds=2).fit(numbers, numbers[:, 0])
    booster.save(tmp_path / "good")
    rewrite(tmp_path / "good", tmp_path / "bad", model=fitted_as(name, value))
    with pytest.raises(
        BadModelFile, match=f"GreedyMiserRegressor has no fitted attribute '{name}'"
    ):
        worthwhile.load(tmp_path / "bad")


def test_a_file_cannot_set_a_property(tmp_path):
    forest = worthwhile.BudgetedForestClassifier(random_state=0).fit(np.asarray(X), Y)
    forest.save(tmp_path / "good")
    rewrite(tmp_path / "good", tmp_path / "bad", model=fitted_as("n_trees_", 5))
    with pytest.raises(BadModelFile, match="no fitted attribute 'n_trees_'"):
        worthwhile.load(tmp_path / "bad")


def test_cycle_is_refused(forest_file, tmp_path):
    members = read_archive(forest_file, 2**30)
    policy = json.loads(members["model.json"])["model"]["policy"]["$policy"]
    left = dict(policy["arrays"]["$dict"])["left"]["$array"]
    array = read_array(members[left], left)
    array[np.flatnonzero(array > 0)[-1]] = 0
    members[left] = write_array(array)
    write_archive(tmp_path / "cycle", members)
    with pytest.raises(BadModelFile, match="child does not come after its parent"):
        worthwhile.load(tmp_path / "cycle")


def test_a_part_that_is_no_model_is_noticed_on_loading(tmp_path):
    """Not by the first predict, where it matters to that."""
    path = tmp_path / "subsets"
    worthwhile.FeatureSubsets(worthwhile.GreedyMiserRegressor(n_rounds=2)).fit(X, Y * 1.0).save(
        path
    )
    rewrite(path, path, model=lambda model: model | {"params": model["params"] | {"estimator": 3}})
    outcome, problem = judge(path, X.to_numpy()[:8])
    assert outcome != "wrong", problem


def test_archive_gates(forest_file, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"not a zip")
    with pytest.raises(BadModelFile, match="BadZipFile"):
        worthwhile.load(path)
    with pytest.raises(FileNotFoundError, match="no model file at"):
        worthwhile.load(tmp_path / "nowhere")
    with pytest.raises(BadModelFile, match=r"unpacks to.*max_bytes"):
        worthwhile.load(forest_file, max_bytes=1000)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", "{}")
        archive.writestr("evil.py", "1")
    with pytest.raises(BadModelFile, match=r"member 'evil\.py'"):
        worthwhile.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("arrays/0000.npy", "")
    with pytest.raises(BadModelFile, match=r"no model\.json"):
        worthwhile.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"format": NaN}', "NaN, which is not JSON"),
        (b'{"format": 1, "format": 1}', "key twice"),
        (b"[" * 100_000, "RecursionError"),
        (b"\xff", "UnicodeDecodeError"),
    ],
)
def test_json_gates(tmp_path, text, message):
    with zipfile.ZipFile(tmp_path / "file", "w") as archive:
        archive.writestr("model.json", text)
    with pytest.raises(BadModelFile, match=message):
        worthwhile.load(tmp_path / "file")


def test_array_header_is_checked_before_memory_is_taken():
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    with pytest.raises(BadModelFile, match="but has 0 bytes"):
        read_array(stream.getvalue(), "a")
    with pytest.raises(BadModelFile, match="plain numbers and text"):
        read_array(write_array(np.zeros(2, dtype="c16")), "a")


def test_values_survive():
    values = {
        "a": [1, 2.5, None, True, "é", (1, "x"), float("inf"), {"k": (1,)}],
        3: np.array([["a", "bb"]]),
        "o": np.array(["x", 1, None], dtype=object),
        "z": np.zeros((0, 3), dtype=np.float32),
        "f": pd.DataFrame({"cost": [1.5, 2.0], "n": [1, 2]}),
        "c": COSTS,
        "scalar": np.int64(7),
    }
    encoder = Encoder()
    tree = json.loads(json.dumps(encoder.encode(values)))
    back = Decoder(encoder.members, lambda content: None).decode(tree)
    assert back["a"] == values["a"]
    assert back[3].tolist() == values[3].tolist()
    assert back["o"].tolist() == values["o"].tolist()
    assert back["z"].shape == (0, 3)
    assert back["z"].dtype == np.float32
    assert back["f"].equals(values["f"])
    assert back["c"] == COSTS
    assert back["scalar"] == 7
    with pytest.raises(TypeError, match="cannot be stored in a model file"):
        encoder.encode(lambda: None)


def test_failed_save_leaves_nothing_behind(tmp_path):
    class Odd(worthwhile.PricedModel):
        def _stored_params(self):
            return {"model": object()}

    path = tmp_path / "model.worthwhile"
    with pytest.raises(TypeError, match="cannot be stored"):
        Odd(LogisticRegression().fit(X, Y), COSTS).save(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(TypeError, match="not fitted"):
        worthwhile.save(LogisticRegression(), path)
