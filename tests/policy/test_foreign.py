"""Fingerprints of models of other libraries: by what they are, in every process."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import threading

import numpy as np
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

import worthwhile
from tests.runtime.session_policies import finish
from worthwhile import AdaptiveLinearClassifier, PricedModel, Session, StaticOrderClassifier
from worthwhile.datasets import make_priced_classification
from worthwhile.exceptions import SessionError
from worthwhile.policy.foreign import digest_of

MODELS = {
    "logistic": lambda c: LogisticRegression(C=c),
    "sgd": lambda c: SGDClassifier(loss="log_loss", alpha=c, random_state=0),
    "bayes": lambda c: GaussianNB(var_smoothing=c / 100),
    "lda": lambda c: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=c),
    "svm": lambda c: SVC(C=c, random_state=0),
    "neighbours": lambda c: KNeighborsClassifier(int(10 * c), algorithm="kd_tree"),
    "net": lambda c: MLPClassifier(4, alpha=c, max_iter=20, random_state=0),
    "pipeline": lambda c: make_pipeline(StandardScaler(), PolynomialFeatures(), LogisticRegression(C=c)),
    "function": lambda c: make_pipeline(FunctionTransformer(np.tanh), LogisticRegression(C=c)),
    "calibrated": lambda c: CalibratedClassifierCV(LogisticRegression(C=c)),
    "voting": lambda c: VotingClassifier([("a", LogisticRegression(C=c)), ("b", GaussianNB())], voting="soft"),
    "bagging": lambda c: BaggingClassifier(LogisticRegression(C=c), 3, random_state=0),
    "boosted": lambda c: AdaBoostClassifier(n_estimators=3, learning_rate=c, random_state=0),
}  # fmt: skip


@pytest.fixture(scope="module")
def data():
    return make_priced_classification(120, 0, n_signals=2, n_noise=1)


def foreign_types(model):
    return skops.io.get_untrusted_types(data=skops.io.dumps(model.model))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_fingerprint_is_of_the_model_and_of_nothing_else(data, name, tmp_path):
    X, y, costs = data

    def priced(c):
        return PricedModel(MODELS[name](c).fit(X, y), costs)

    model = priced(0.3)
    before = model.policy_.fingerprint()
    assert priced(0.3).policy_.fingerprint() == before
    assert priced(0.9).policy_.fingerprint() != before
    model.predict(X)
    assert PricedModel(model.model, costs).policy_.fingerprint() == before
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile", trusted=foreign_types(model))
    assert again.policy_.fingerprint() == before


OTHER_PROCESS = """
import json, sys
import worthwhile
path, trusted, data = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
model = worthwhile.load(path, trusted=trusted)
print(worthwhile.Session.from_dict(model.policy_, data).spent)
"""


def test_a_session_goes_on_in_another_process_with_the_model_read_from_its_file(data, tmp_path):
    X, y, costs = data
    model = PricedModel(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), costs)
    path = tmp_path / "model.worthwhile"
    model.save(path)
    session = finish(model.session(), X.iloc[0].to_dict())
    stored = json.dumps(session.to_dict())
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESS, path, "[]", stored],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert float(done.stdout) == session.spent


def refused(session, model):
    with pytest.raises(SessionError, match="belongs to another model"):
        Session.from_dict(model.policy_, session.to_dict())


def test_a_session_of_one_foreign_model_is_refused_by_another(data):
    """Also where it stands behind a gate, or scores a fixed order."""
    X, y, costs = data

    def foreign(c):
        return LogisticRegression(C=c).fit(X, y)

    one, other = PricedModel(foreign(1e-3), costs), PricedModel(foreign(10), costs)
    refused(one.session(), other)
    gates = [
        AdaptiveLinearClassifier(existing=foreign(c), costs=costs, max_iter=2, random_state=0)
        for c in (1.0, 1.0 + 1e-9)
    ]
    refused(
        *[gate.fit(X, y).session() if i == 0 else gate.fit(X, y) for i, gate in enumerate(gates)]
    )
    orders = [
        StaticOrderClassifier(costs=costs, classifier=GaussianNB(var_smoothing=v))
        for v in (1e-9, 1e-8)
    ]
    refused(orders[0].fit(X, y).session(), orders[1].fit(X, y))


def function_of(weight):
    return lambda rows: np.tanh(rows[:, 0] * weight)


def test_functions_are_what_they_do():
    assert digest_of(function_of(2.0)) == digest_of(function_of(2.0))
    assert digest_of(function_of(2.0)) != digest_of(function_of(3.0))
    assert digest_of(functools.partial(max, 1)) != digest_of(functools.partial(max, 2))
    assert digest_of(np.log) != digest_of(np.exp)
    assert digest_of(len) != digest_of(sum)


def test_parts_are_told_apart():
    values = [
        None, 0, False, 0.0, -0.0, "0", b"0", (), [], {}, set(), frozenset(), [[]], [0, 0], [[0], 0],
        np.zeros(2), np.zeros(2, np.float32), np.zeros((1, 2)), np.float64(0), np.array([0, None]),
        {"a": 0}, {0: "a"}, {"a": 0, "b": 0}, object, int, slice(0, 1), np.dtype("f8"),
    ]  # fmt: skip
    assert len({digest_of(value) for value in values}) == len(values)


def test_bytes_between_fields_do_not_count():
    kind = np.dtype([("a", "u1"), ("b", "f8")], align=True)
    arrays = []
    for filler in (0, 255):
        raw = np.full(3 * kind.itemsize, filler, dtype=np.uint8).view(kind)
        raw["a"], raw["b"] = 1, 2.0
        arrays.append(raw)
    assert arrays[0].tobytes() != arrays[1].tobytes()
    assert digest_of(arrays[0]) == digest_of(arrays[1])


def test_what_holds_itself_has_a_digest():
    loops = []
    for value in (1, 1, 2):
        loop = [value]
        loop.append(loop)
        loops.append(digest_of(loop))
    assert loops[0] == loops[1] != loops[2]


def test_sharing_does_not_count():
    part = [1.0, 2.0]
    assert digest_of([part, part]) == digest_of([[1.0, 2.0], [1.0, 2.0]])


class Locked(LogisticRegression):
    """Holds something that no process can give to another."""

    def fit(self, X, y):
        self.lock_ = threading.Lock()
        return super().fit(X, y)


def test_what_cannot_be_told_apart_is_refused_with_what_to_do(data):
    X, y, costs = data
    model = PricedModel(Locked().fit(X, y), costs)
    session = finish(model.session(), X.iloc[0].to_dict())
    with pytest.raises(
        SessionError,
        match=r"holds a lock, which cannot be told from others.*Drive them to their end",
    ):
        session.to_dict()
    assert session.prediction in (0, 1)
