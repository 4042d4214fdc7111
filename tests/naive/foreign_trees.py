"""The features on a row's paths through foreign trees, from what each library prints or computes."""

from __future__ import annotations

import json

import numpy as np


def lightgbm_paths(model, row):
    for tree in model.booster_.dump_model()["tree_info"]:
        node = tree["tree_structure"]
        while "split_index" in node:
            yield node["split_feature"]
            value = row[node["split_feature"]]
            if np.isnan(value) and node["missing_type"] == "NaN":
                left = node["default_left"]
            else:
                left = np.nan_to_num(value) <= node["threshold"]
            node = node["left_child" if left else "right_child"]


def xgboost_paths(model, row):
    booster = model.get_booster()
    names = booster.feature_names
    for text in booster.get_dump(dump_format="json"):
        node = json.loads(text)
        while "split" in node:
            column = names.index(node["split"]) if names else int(node["split"][1:])
            yield column
            value = np.float32(row[column])
            yes = value < np.float32(node["split_condition"])
            to = node["missing"] if np.isnan(value) else node["yes" if yes else "no"]
            node = next(child for child in node["children"] if child["nodeid"] == to)


def catboost_paths(model, row, path):
    model.save_model(str(path), format="json")
    dump = json.loads(path.read_text())
    floats = dump["features_info"]["float_features"]

    def test(split):
        feature = floats[split["float_feature_index"]]
        column = feature["flat_feature_index"]
        if np.isnan(row[column]):
            return column, feature["nan_value_treatment"] == "AsTrue"
        return column, np.float32(row[column]) > np.float32(split["border"])

    for tree in dump.get("oblivious_trees", ()):
        yield from (test(split)[0] for split in tree["splits"])
    for node in dump.get("trees", ()):
        while "split" in node:
            column, above = test(node["split"])
            yield column
            node = node["right" if above else "left"]


def gradient_paths(model, row):
    X = row[None, :].astype(np.float32)
    for member in model.estimators_.ravel():
        columns = member.tree_.feature[member.decision_path(X).indices]
        yield from columns[columns >= 0]


def histogram_paths(model, row):
    for tree in (tree for round_ in model._predictors for tree in round_):
        node = tree.nodes[0]
        while not node["is_leaf"]:
            yield node["feature_idx"]
            value = row[node["feature_idx"]]
            left = node["missing_go_to_left"] if np.isnan(value) else value <= node["num_threshold"]
            node = tree.nodes[node["left" if left else "right"]]


def paths(name, model, row, folder):
    walk = globals()[f"{name.split()[0]}_paths"]
    return {int(c) for c in walk(model, row, *([folder / "m.json"] if "cat" in name else []))}
