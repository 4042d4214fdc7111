"""A data classifier that came fitted: never trained again, asked in its own columns, kept by copies and files."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import worthwhile
from worthwhile import DynamicSelectionClassifier, StaticOrderClassifier

SHAPE = {"max_iter": 2, "random_state": 0, "costs": [1, 1, 5, 0]}


def task(n=160):
    rng = np.random.default_rng(0)
    X = 3 + 2 * rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * X[:, 3] > 7, "up", "down")
    return X, y


CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "scaled": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
}


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_it_answers_with_what_is_known_and_training_means_for_the_rest(kind):
    X, y = task()
    given = CLASSIFIERS[kind].fit(X, y)
    before = given.predict_proba(X)
    model = DynamicSelectionClassifier(0.2, classifier=given, **SHAPE).fit(X[:120], y[:120])
    assert np.array_equal(given.predict_proba(X), before)
    new, bought = X[120:], model.acquired(X[120:])
    assert 0 < bought[:, :3].mean() < 1
    kept = model.policy_.model.layout
    means = np.zeros(4)
    means[kept.features] = kept.mean
    rows = np.where(bought, new, means)
    assert model.predict_proba(new) == pytest.approx(given.predict_proba(rows), abs=1e-9)


def test_a_logistic_regression_is_taken_apart_so_that_sessions_agree_to_the_bit():
    X, y = task()
    model = DynamicSelectionClassifier(0.2, classifier=LogisticRegression().fit(X, y), **SHAPE).fit(
        X, y
    )
    assert model.policy_.exact
    session = model.session()
    while wanted := session.ask():
        session.tell({column: X[3, column] for column in wanted})
    assert np.array_equal(session.probabilities, model.predict_proba(X)[3])
    forest = CLASSIFIERS["forest"].fit(X, y)
    assert (
        not DynamicSelectionClassifier(classifier=forest, lam=0.2, **SHAPE).fit(X, y).policy_.exact
    )


def test_three_classes_and_columns_that_never_vary():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    X[:, 2] = 4.0
    y = np.searchsorted([-0.5, 0.5], X[:, 0])
    given = LogisticRegression().fit(X, y)
    model = DynamicSelectionClassifier(0.0, classifier=given, max_iter=1, random_state=0).fit(X, y)
    full = model.acquired(X)[:, :2].all(axis=1)
    assert full.any()
    assert model.predict_proba(X[full]) == pytest.approx(given.predict_proba(X[full]))


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_copies_keep_it_and_files_hold_it_once(kind, tmp_path):
    X, y = task()
    frame = pd.DataFrame(X, columns=list("abcd"))
    given = clone(CLASSIFIERS[kind]).fit(frame, y)
    shape = {**SHAPE, "costs": dict(zip("abcd", SHAPE["costs"], strict=True))}
    model = DynamicSelectionClassifier(0.2, classifier=given, **shape).fit(frame, y)
    again = clone(model)
    assert again.classifier is given
    assert np.array_equal(again.fit(frame, y).predict_proba(frame), model.predict_proba(frame))
    frozen = DynamicSelectionClassifier(0.2, classifier=FrozenEstimator(given), **shape)
    assert np.array_equal(frozen.fit(frame, y).predict_proba(frame), model.predict_proba(frame))
    model.save(tmp_path / "m.worthwhile")
    trusted = [] if kind == "logistic" else ["sklearn.tree._tree.Tree"]
    read = worthwhile.load(tmp_path / "m.worthwhile", trusted=trusted)
    assert read.predict_proba(frame) == pytest.approx(model.predict_proba(frame))
    assert np.array_equal(read.acquired(frame), model.acquired(frame))
    with pytest.raises(ValueError, match="classifier is 'in the policy': a model file does not"):
        read.fit(frame, y)


def test_a_fixed_order_takes_it_too():
    X, y = task()
    given = LogisticRegression().fit(X, y)
    model = StaticOrderClassifier(n_factors=2, classifier=given, costs=[1, 1, 5, 0]).fit(X, y)
    assert model.score(X, y) > 0.9
    assert clone(model).classifier is given
    fresh = StaticOrderClassifier(classifier=LogisticRegression())
    assert clone(fresh).classifier is not fresh.classifier


def test_classifiers_that_do_not_fit_the_table_are_refused():
    X, y = task()
    fitted = LogisticRegression().fit(X, y)

    def refused(classifier, X=X, y=y):
        with pytest.raises(ValueError, match="classifier") as said:
            DynamicSelectionClassifier(0.2, classifier=classifier, max_iter=1).fit(X, y)
        return str(said.value)

    assert "fitted on 4 columns, X has 3: give the same ones" in refused(fitted, X[:, :3])
    assert "labels ['down', 'up'], y has ['no', 'up']" in refused(
        fitted, y=np.where(y == "up", y, "no")
    )
    assert "LinearSVC without predict_proba" in refused(LinearSVC().fit(X, y))
    named = LogisticRegression().fit(pd.DataFrame(X, columns=list("abcd")), y)
    assert "columns ['a', 'b', 'c', 'd'], X has 4 ['d', " in refused(
        named, pd.DataFrame(X, columns=list("dcba"))
    )
    text = pd.DataFrame(X, columns=list("abcd")).assign(a=np.where(X[:, 0] > 0, "x", "y"))
    assert "X has text, categories or dates: give numbers alone" in refused(named, text)
