"""Model files with a hostile model of another library inside: refused, never run, within the memory allowed."""

from __future__ import annotations

import io
import json
import random
import tracemalloc
import zipfile

import numpy as np
import pytest
import scipy.sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import all_estimators

import worthwhile
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import describe
from worthwhile.persist._foreign import dump

MB = 2**20


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A logistic regression in a model file."""
    X, y, costs = worthwhile.datasets.make_priced_classification(80, seed=2)
    path = tmp_path_factory.mktemp("foreign") / "model"
    worthwhile.PricedModel(LogisticRegression(max_iter=500).fit(X, y), costs).save(path)
    return path


@pytest.fixture
def hostile(file, tmp_path):
    """Write the file with another foreign part."""

    def write(part):
        whole = members(file.read_bytes())
        (name,) = (name for name in whole if name.endswith(".skops"))
        (tmp_path / "hostile").write_bytes(packed(whole | {name: part}, zipfile.ZIP_DEFLATED))
        return tmp_path / "hostile"

    return write


@pytest.fixture
def parts(file):
    """Members of the foreign part."""
    whole = members(file.read_bytes())
    return members(next(content for name, content in whole.items() if name.endswith(".skops")))


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(content, how=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", how) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    return stream.getvalue()


def swapped(parts, module, name):
    """The part with another class in place of the logistic regression."""
    schema = json.loads(parts["schema.json"]) | {"__class__": name, "__module__": module}
    return packed(parts | {"schema.json": json.dumps(schema).encode()})


def with_attribute(parts, nodes, **more):
    """The part with a list as an attribute of the model."""
    schema = json.loads(parts["schema.json"])
    schema["content"]["content"]["n_iter_"] = {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": nodes,
        "__id__": 9999,
    }  # fmt: skip
    return packed(parts | more | {"schema.json": json.dumps(schema).encode()})


def array_node(name, number):
    return {
        "__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
        "type": "numpy", "file": name, "__id__": number,
    }  # fmt: skip


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def refused(path, words, max_bytes=32 * MB):
    """Refused by all that would build it, without more memory than allowed."""
    tracemalloc.start()
    try:
        for read in (worthwhile.load, worthwhile.load_policy, describe):
            with pytest.raises(BadModelFile, match=words):
                read(path, max_bytes=max_bytes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * max_bytes


def test_the_whole_file_is_good(file, hostile, parts):
    for path in (file, hostile(packed(parts))):
        assert isinstance(worthwhile.load(path).model, LogisticRegression)
        assert describe(path)["class"] == "PricedModel"
        with pytest.raises(BadModelFile, match="a model of another library: read it with"):
            worthwhile.load_policy(path)


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("builtins", "eval"), ("sklearn.utils", "shuffle"), ("no.such", "Thing")],
)
def test_types_that_nobody_trusts_are_named_and_not_built(hostile, parts, module, name):
    path = hostile(swapped(parts, module, name))
    with pytest.raises(BadModelFile, match=rf"load it with trusted=\['{module}.{name}'\]"):
        worthwhile.load(path)
    with pytest.raises(BadModelFile, match="a model of another library"):
        worthwhile.load_policy(path)
    assert describe(path)["class"] == "PricedModel"


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sklearn.linear_model._ridge", "Ridge"),
        ("sklearn.preprocessing._data", "StandardScaler"),
        ("sklearn.cluster._kmeans", "KMeans"),
        ("builtins", "dict"),
    ],
)
def test_a_class_that_cannot_answer_is_refused(hostile, parts, module, name):
    with pytest.raises(BadModelFile):
        worthwhile.load(hostile(swapped(parts, module, name)))


def test_a_class_that_is_not_the_models_own_is_refused_or_answers(hostile, parts):
    X, _, _ = worthwhile.datasets.make_priced_classification(20, seed=3)
    refused = set()
    for name, kind in all_estimators():
        path = hostile(swapped(parts, kind.__module__, name))
        try:
            model = worthwhile.load(path)
        except BadModelFile:
            refused.add(name)
            continue
        assert model.predict(X).shape == (20,), name
        assert describe(path)["class"] == "PricedModel"
    assert {"GaussianNB", "RandomForestClassifier", "DummyClassifier", "CategoricalNB"} <= refused
    assert "LogisticRegression" not in refused


def test_a_model_of_other_classes_is_refused(hostile):
    X, y, costs = worthwhile.datasets.make_priced_classification(80, seed=2, n_classes=3)
    other = worthwhile.PricedModel(LogisticRegression(max_iter=500).fit(X, y), costs)
    with pytest.raises(BadModelFile, match="gives 3 numbers for a row, not 2"):
        worthwhile.load(hostile(dump(other.model)))


def test_the_data_classifier_of_an_order_is_tried_out(tmp_path):
    X, y, costs = worthwhile.datasets.make_priced_classification(80, seed=2)
    order = worthwhile.StaticOrderClassifier(classifier=GaussianNB(), n_folds=None, costs=costs)
    order.fit(X, y).save(tmp_path / "model")
    worthwhile.load(tmp_path / "model")
    whole = members((tmp_path / "model").read_bytes())
    for name in [name for name in whole if name.endswith(".skops")]:
        whole[name] = swapped(members(whole[name]), "sklearn.dummy", "DummyClassifier")
    (tmp_path / "hostile").write_bytes(packed(whole))
    with pytest.raises(BadModelFile, match="the DummyClassifier of another library cannot answer"):
        worthwhile.load(tmp_path / "hostile")


def test_damaged_parts_are_refused_or_are_still_a_model(hostile, parts):
    chance, whole = random.Random(0), packed(parts)
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 3, 20])):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path = hostile(bytes(data[: chance.choice([None, None, chance.randrange(len(data))])]))
        for read in (worthwhile.load, describe):
            try:
                read(path)
            except BadModelFile:
                continue
    for part in (b"", b"PK", whole[:-1], packed({}), packed({"schema.json": b"[" * 10**5})):
        with pytest.raises(BadModelFile):
            worthwhile.load(hostile(part))


def test_packed_members_are_refused(hostile, parts):
    # skops would unpack them whole, whatever size they state.
    zeros = parts | {"0.npy": bytes(256 * MB)}
    refused(hostile(packed(zeros, zipfile.ZIP_DEFLATED)), "not as model files hold it")


def test_one_array_read_many_times_is_counted_each_time(hostile, parts):
    array = npy(np.zeros(4 * MB, dtype=np.int8))
    once = with_attribute(parts, [array_node("big.npy", 9000)] * 40, **{"big.npy": array})
    assert len(worthwhile.load(hostile(once), max_bytes=32 * MB).model.n_iter_) == 40
    again = [array_node("big.npy", 9000 + i) for i in range(40)]
    refused(hostile(with_attribute(parts, again, **{"big.npy": array})), "unpacks to 16. MB")
    nameless = [array_node("big.npy", None) for i in range(40)]
    refused(hostile(with_attribute(parts, nameless, **{"big.npy": array})), "unpacks to 16. MB")


def test_sparse_matrices_are_counted_unpacked(hostile, parts):
    stream, zeros = io.BytesIO(), np.zeros(8 * MB, dtype=np.int32)
    matrix = scipy.sparse.csr_matrix((zeros.astype(np.int8), zeros, [0, len(zeros)]), shape=(1, 1))
    scipy.sparse.save_npz(stream, matrix)
    node = array_node("big.npz", 9000) | {"__loader__": "SparseMatrixNode", "type": "scipy"}
    node |= {"__class__": "csr_matrix", "__module__": "scipy.sparse._csr"}
    part = with_attribute(parts, [node], **{"big.npz": stream.getvalue()})
    assert len(part) < 4 * MB
    refused(hostile(part), "unpacks to 40 MB")


def test_an_array_that_lies_about_its_shape_is_refused(hostile, parts):
    lie = npy(np.zeros(3)).replace(b"(3,), }", b"(300000000000,), }").replace(b" " * 11, b"", 1)
    part = with_attribute(parts, [array_node("lie.npy", 9000)], **{"lie.npy": lie})
    with pytest.raises(BadModelFile):
        worthwhile.load(hostile(part))
