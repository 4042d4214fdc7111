"""Model files say each thing once and nothing unknown; describing one builds no foreign model."""

from __future__ import annotations

import json

import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import worthwhile
from tests.estimators.small import make, public_estimators
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import describe
from worthwhile.persist._archive import read_archive, write_archive
from worthwhile.persist._codec import DERIVED, FITTED, _declared

X, Y, COSTS = worthwhile.datasets.make_priced_classification(150, seed=1)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    path = tmp_path_factory.mktemp("files") / "tree.worthwhile"
    worthwhile.PricedModel(tree, COSTS).save(path)
    return path


def changed(source, target, change, **more):
    """The file with a change of its document, and more members."""
    members = read_archive(source, 2**30)
    document = json.loads(members["model.json"])
    change(document)
    write_archive(target, {**members, **more, "model.json": json.dumps(document).encode()})
    return target


def test_an_array_named_twice_is_refused_before_it_is_read(file, tmp_path):
    def twice(document):
        arrays = document["model"]["policy"]["$policy"]["arrays"]["$dict"]
        arrays[1][1] = arrays[0][1]

    path = changed(file, tmp_path / "twice", twice)
    for read in (worthwhile.load, worthwhile.load_policy, describe):
        with pytest.raises(BadModelFile, match="twice: a model file names it once"):
            read(path)


def test_a_member_that_nothing_names_is_refused(file, tmp_path):
    more = {"arrays/0099.npy": read_archive(file, 2**30)["arrays/0000.npy"]}
    path = changed(file, tmp_path / "more", lambda document: None, **more)
    with pytest.raises(
        BadModelFile, match=r"a member 'arrays/0099\.npy' that model\.json does not"
    ):
        worthwhile.load_policy(path)


def below(*path):
    """A change that adds a key somewhere in the document."""

    def change(document):
        node = document
        for key in path:
            node = node[key]
        if isinstance(node, list):
            node.append(["surprise", 1])
        else:
            node["surprise_"] = 1

    return change


POLICY = ("model", "policy", "$policy")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (below(), r"model\.json has the keys \['format', 'model'\]"),
        (below("model"), "an estimator has the keys"),
        (below(*POLICY), "a policy has the keys"),
        (below(*POLICY, "settings", "$dict"), "has no setting 'surprise'"),
        (below(*POLICY, "arrays", "$dict"), "surprise"),
        (below("model", "params"), "has no parameter 'surprise_'"),
        (below("model", "fitted"), "has no fitted attribute 'surprise_'"),
    ],
)
def test_unknown_keys_are_refused(change, text, file, tmp_path):
    with pytest.raises(BadModelFile, match=text):
        worthwhile.load(changed(file, tmp_path / "unknown", change))


def test_groups_may_be_called_like_a_tag(tmp_path):
    groups = {"$array": {"fee": 1, "features": list(X.columns[:2])}}
    costs = worthwhile.Costs(dict.fromkeys(X.columns, 1), groups=groups)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y)
    gate = worthwhile.L1GateClassifier(worthwhile.PricedModel(tree, costs), random_state=0)
    gate.fit(X, Y).save(tmp_path / "tagged")
    assert worthwhile.load(tmp_path / "tagged").costs_ == costs


@pytest.mark.parametrize("existing", [LogisticRegression(), SVC()])
def test_a_gate_before_a_foreign_model_is_described(existing, tmp_path):
    model = worthwhile.PricedModel(existing.fit(X, Y), COSTS, fallback=Y[0])
    worthwhile.L1GateClassifier(model, random_state=0).fit(X, Y).save(tmp_path / "gate")
    summary = describe(tmp_path / "gate")
    assert summary["class"] == "L1GateClassifier"
    assert summary["may_read"] == list(X.columns)


@pytest.mark.parametrize("name", public_estimators())
def test_fitted_attributes_are_declared(name):
    y = Y.astype(float) if name.endswith("Regressor") else Y
    model = make(name).fit(X, y)
    fitted = {n for n in vars(model) if FITTED.fullmatch(n) and n not in DERIVED}
    assert fitted <= _declared(type(model))


@pytest.mark.parametrize(
    ("tree", "other", "answers"),
    [
        (DecisionTreeClassifier(max_depth=3), "EarlyExitRegressor", "classes"),
        (DecisionTreeRegressor(max_depth=3), "EarlyExitClassifier", "numbers"),
    ],
    ids=["classes", "numbers"],
)
def test_a_class_that_does_not_answer_as_the_policy_is_refused(tree, other, answers, tmp_path):
    worthwhile.PricedModel(tree.fit(X, Y), COSTS).save(tmp_path / "whole")

    def swap(document):
        document["model"].update({"class": other, "params": {}, "fitted": {}})

    path = changed(tmp_path / "whole", tmp_path / "swapped", swap)
    with pytest.raises(BadModelFile, match=f"the policy of {other} answers with {answers}"):
        worthwhile.load(path)


@pytest.fixture(scope="module")
def squeezed(tmp_path_factory):
    """A tree on two directions of four named columns, which scikit-learn makes."""
    frame = X.iloc[:, :4].set_axis(list("abcd"), axis=1)
    model = make_pipeline(StandardScaler(), PCA(2), DecisionTreeClassifier(max_depth=3))
    path = tmp_path_factory.mktemp("files") / "squeezed.worthwhile"
    worthwhile.PricedModel(model.fit(frame, Y), dict.fromkeys("abcd", 1)).save(path)
    return path


def of_the_front(name, change):
    """A change of what a file says about preprocessing."""

    def change_document(document):
        settings = document["model"]["policy"]["$policy"]["settings"]["$dict"]
        change(next(value for key, value in settings if key == name))

    return change_document


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        # Directions of a batch would look at d, those of a session would not.
        ("sources", lambda sources: sources[0].pop(), "a column that is not among its sources"),
        ("names", lambda names: names.__setitem__(3, ""), "not those that the Pipeline inside"),
    ],
)
def test_preprocessing_that_the_transformer_inside_belies_is_refused(
    squeezed, tmp_path, name, change, says
):
    assert worthwhile.load(squeezed).predict(X.iloc[:, :4].set_axis(list("abcd"), axis=1)).size
    path = changed(squeezed, tmp_path / "belied", of_the_front(name, change))
    with pytest.raises(BadModelFile, match=says):
        worthwhile.load(path)


def test_names_that_a_model_inside_was_not_fitted_on_are_refused(tmp_path):
    frame = X.iloc[:, :4].set_axis(list("abcd"), axis=1)
    model = worthwhile.PricedModel(LogisticRegression().fit(frame, Y), dict.fromkeys("abcd", 1))
    model.save(tmp_path / "whole")
    change = of_the_front("names", lambda names: names.reverse())
    with pytest.raises(BadModelFile, match="not those that the LogisticRegression inside"):
        worthwhile.load(changed(tmp_path / "whole", tmp_path / "other", change))
