"""Files of version 0.1.0: models load and answer as they did then, sessions are refused with the reason."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import worthwhile
from worthwhile.exceptions import BadModelFile, SessionError
from worthwhile.persist import _format_1, describe
from worthwhile.persist._codec import POLICIES

HERE = Path(__file__).parent / "format_1"
FILES = sorted(HERE.glob("*.model"))
ANSWERS = np.load(HERE / "answers.npz")

RENAMED = {
    "adaptive_boosting": ("max_iter", 2),
    "budgeted_forest": ("n_trees", 3),
    "cascade": ("n_rounds", 5),
    "cost-sensitive_classes": ("max_depth", 2),
    "cost-sensitive_tree": ("max_depth", 2),
    "dynamic_selection": ("max_iter", 1),
    "feature_subsets": ("estimator__preset", "paper"),
    "miser_from_the_mean": ("preset", "default"),
    "miser_from_zero": ("preset", "paper"),
    "miser_of_the_authors": ("preset", "authors"),
    "submodular_tree": ("max_depth", 2),
    "submodular_tree_on_trees": ("max_depth", 2),
}
"""What was renamed in each file, and its value."""


def document(path: Path) -> dict:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


@pytest.fixture
def rows() -> pd.DataFrame:
    names = worthwhile.load_policy(HERE / "budgeted_forest.model").costs.feature_names
    return pd.DataFrame(ANSWERS["X"], columns=names)


def skip_newer_parts(name: str) -> None:
    """The linear model inside was stored by scikit-learn 1.8, which an older one cannot use."""
    if name == "priced_line" and parse_version(sklearn.__version__) < parse_version("1.8"):
        pytest.skip("the model inside needs scikit-learn 1.8")


def check(model, name: str, rows: pd.DataFrame) -> None:
    predicted = model.predict(rows)
    if name == "priced_line":  # another library's arithmetic
        assert np.allclose(predicted, ANSWERS[f"{name}/predict"])
    else:
        assert (predicted == ANSWERS[f"{name}/predict"]).all()
    assert (model.cost(rows) == ANSWERS[f"{name}/cost"]).all()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_models_answer_as_they_did_and_are_written_anew(path, rows, tmp_path):
    assert document(path)["format"] == 1
    skip_newer_parts(path.stem)
    model = worthwhile.load(path)
    check(model, path.stem, rows)
    model.save(tmp_path / "again.model")
    assert document(tmp_path / "again.model")["format"] == 2
    check(worthwhile.load(tmp_path / "again.model"), path.stem, rows)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_old_models_can_be_described_and_used_without_the_estimator(path, rows):
    summary = describe(path)
    assert summary["class"] == document(path)["model"]["class"]
    if summary["kind"] == "whole":  # a model of another library is inside
        return
    outcome = worthwhile.load_policy(path).batch(rows.to_numpy())
    model = worthwhile.load(path)
    assert (model.acquired(rows) == outcome.acquired).all()


@pytest.mark.parametrize("name", RENAMED)
def test_parameters_have_the_names_of_today(name):
    model, (parameter, value) = worthwhile.load(HERE / f"{name}.model"), RENAMED[name]
    assert model.get_params()[parameter] == value
    if "__" not in parameter:
        assert describe(HERE / f"{name}.model")["parameters"][parameter] == value


def test_the_kept_files_cover_every_kind_and_every_new_name():
    newer = {"encoded", "library", "mixture", "pipeline"}
    assert {describe(path)["kind"] for path in FILES} == set(POLICIES) - newer
    classes = {document(path)["model"]["class"] for path in FILES}
    pairs = {kind.removesuffix("Classifier").removesuffix("Regressor") for kind in classes}
    assert {
        kind.removesuffix("Classifier").removesuffix("Regressor") for kind in _format_1.RENAMED
    } <= pairs


def test_a_group_may_be_named_like_a_tag():
    costs = {"$costs": {"groups": {"$estimator": {"fee": "1", "features": ["a"]}}}}
    content = {"class": "PricedModel", "params": {"costs": costs}, "fitted": {}, "policy": None}
    assert _format_1.upgraded({"format": 1, "model": content})["model"] == content


def test_old_files_are_checked_like_new_ones(tmp_path):
    with zipfile.ZipFile(HERE / "submodular_tree.model") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    bad = json.loads(members["model.json"])
    bad["model"]["params"]["height"] = 3
    for changed, text in (
        (bad, "has no parameter 'height'"),
        ({"format": 1}, "KeyError"),
        ({"format": 1, "model": [3]}, "TypeError"),
    ):
        with zipfile.ZipFile(tmp_path / "bad.model", "w") as archive:
            for name, content in {**members, "model.json": json.dumps(changed)}.items():
                archive.writestr(name, content)
        with pytest.raises(BadModelFile, match=text):
            worthwhile.load(tmp_path / "bad.model")


def test_old_sessions_are_refused_with_what_to_do():
    policy = worthwhile.load_policy(HERE / "budgeted_forest.model")
    stored = json.loads((HERE / "session.json").read_text(encoding="utf-8"))
    with pytest.raises(SessionError, match=r"stored by version 0\.1\.0.* start a new session"):
        worthwhile.Session.from_dict(policy, stored)
