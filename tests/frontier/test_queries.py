"""Ranking through a search, scores by name whatever the labels, weights of classes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from worthwhile import (
    BudgetSearchCV,
    EarlyExitRegressor,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    compare,
)
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.metrics import RankingScorer


def test_a_ranker_is_searched_with_its_queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 1), 0, 3)
    qid = np.repeat(np.arange(24), 10)
    miser = GreedyMiserRegressor(
        loss="lambdarank", n_rounds=4, min_samples_leaf=5, costs=[1, 2, 3, 4]
    )
    search = BudgetSearchCV(miser, 4.0, cv=2, scoring=RankingScorer("ndcg"), refine=0, tune=0)
    search.fit(X, y, qid=qid)
    assert search.best_score_ > 0.7
    assert search.cost(X).mean() <= 4.0
    assert len(search.frontier_) > 5


def ranking_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 1), 0, 3)
    return X, y, np.repeat(np.arange(24), 10)


def test_with_queries_and_no_scoring_the_order_is_what_counts():
    """R2 of a ranker's scores means nothing: it would choose a model by how small they are."""
    X, y, qid = ranking_rows()
    miser = GreedyMiserRegressor(
        loss="lambdarank", n_rounds=20, min_samples_leaf=5, costs=[1, 2, 3, 4]
    )
    shape = {"cv": 2, "refine": 0, "tune": 0}
    plain = BudgetSearchCV(miser, 10.0, **shape).fit(X, y, qid=qid)
    named = BudgetSearchCV(miser, 10.0, scoring="ndcg", **shape).fit(X, y, qid=qid)
    assert plain.frontier_.score_name == "NDCG@5"
    assert plain.best_score_ == named.best_score_ > 0.8
    assert plain.score(X, y, qid=qid) == named.score(X, y, qid=qid)


def test_what_buys_nothing_is_scored_by_queries_too():
    X, y, qid = ranking_rows()
    exits = EarlyExitRegressor(GreedyMiserRegressor(n_rounds=10, costs=[1, 2, 3, 4]))
    search = BudgetSearchCV(exits, 0.001, cv=2, scoring="ndcg", refine=0, tune=0)
    with pytest.warns(WorthwhileWarning, match="The model that buys nothing is kept"):
        search.fit(X, y, qid=qid)
    assert search.best_score_ == search.score(X, y, qid=qid)
    assert search.best_score_ != search.score(X, y)


def test_the_second_label_is_the_positive_one_where_the_first_is_a_1():
    """scikit-learn would take 1 for the positive label of 1 and 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    codes = (X[:, 0] + 0.3 * rng.normal(size=200) > 0.7).astype(int)
    miser = GreedyMiserClassifier(
        n_rounds=3, learning_rate=1.0, min_samples_leaf=5, costs=[1, 2, 3]
    )
    shape = {"cv": 2, "scoring": "f1", "trade_off": [{"lam": 0.0}], "refine": 0, "tune": 0}
    of_codes, of_labels, of_first = (
        BudgetSearchCV(miser, np.inf, **shape, **more).fit(X, labels).best_score_
        for labels, more in ((codes, {}), (codes + 1, {}), (codes + 1, {"positive": 1}))
    )
    assert of_codes == of_labels < of_first


@pytest.mark.parametrize("scoring", ["f1", "precision", "recall", "average_precision", "roc_auc"])
def test_scores_by_name_take_labels_of_any_kind(scoring):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    codes = (X[:, 0] + 0.3 * rng.normal(size=200) > 0.7).astype(int)
    miser = GreedyMiserClassifier(
        n_rounds=3, learning_rate=1.0, min_samples_leaf=5, costs=[1, 2, 3]
    )
    found = [
        BudgetSearchCV(
            miser, np.inf, cv=2, scoring=scoring, trade_off=[{"lam": 0.0}], refine=0, tune=0
        ).fit(X, labels).best_score_
        for labels in (codes, np.array(["no", "yes"])[codes])
    ]  # fmt: skip
    assert found[0] == found[1] > 0.5


def test_scores_that_are_about_all_classes_are_told_of_no_positive_one():
    X = np.random.default_rng(0).normal(size=(200, 3))
    y = np.where(X[:, 0] > 0.7, "yes", "no")
    miser = GreedyMiserClassifier(n_rounds=3, learning_rate=1.0, min_samples_leaf=5)
    shape = {"cv": 2, "trade_off": [{"lam": 0.0}], "refine": 0, "tune": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = BudgetSearchCV(miser, np.inf, scoring="f1_macro", **shape).fit(X, y)
    assert search.best_score_ > 0.8


def test_class_weights_equal_weights_of_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] > 1, "rare", "common")
    shape = {"n_rounds": 4, "min_samples_leaf": 5}
    weight = np.where(y == "rare", 5.0, 1.0)
    by_class = GreedyMiserClassifier(class_weight={"rare": 5, "common": 1}, **shape).fit(X, y)
    by_row = GreedyMiserClassifier(**shape).fit(X, y, weight)
    plain = GreedyMiserClassifier(**shape).fit(X, y)
    assert np.array_equal(by_class.predict_proba(X), by_row.predict_proba(X))
    assert not np.array_equal(by_class.predict_proba(X), plain.predict_proba(X))
    balanced = GreedyMiserClassifier(class_weight="balanced", n_rounds=0).fit(X, y)
    assert balanced.predict_proba(X[:1])[0] == pytest.approx([0.5, 0.5])
    with pytest.raises(ValueError, match="'class_weight' parameter"):
        GreedyMiserClassifier(class_weight="fair").fit(X, y)


def test_rankings_are_compared_by_whole_queries():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 1), 0, 3).astype(int)
    qid = np.repeat(np.arange(24), 10)
    found = compare(
        X, y, None, ["greedy-miser-rank", "cost-weighted-l1", "decision-tree"], [3], qid=qid, n_splits=1, effort=2
    )  # fmt: skip
    assert found.score_name == "NDCG@5"
    assert found.failures == {}
    assert found.best(3).score > 0.8
    with pytest.raises(ValueError, match="methods has 'greedy-miser-rank', which does not apply"):
        compare(X, y.astype(float) + 0.5, None, ["greedy-miser-rank"], n_splits=1)
    with pytest.raises(ValueError, match="y is not numbers: with qid it is the relevance"):
        compare(X, y.astype(str), None, ["greedy-miser-rank"], qid=qid, n_splits=1)


def test_comparisons_take_weights_and_the_label_that_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 1.2, "ill", "well")
    shape = {"n_splits": 1, "effort": 2, "scoring": "recall"}
    names = ["greedy-miser", "decision-tree"]
    weight = np.where(y == "ill", 8.0, 1.0)
    ill, well, heavy = (
        compare(X, y, None, names, [3], **shape, **more).best(3).score
        for more in (
            {"positive": "ill"}, {"positive": "well"}, {"positive": "ill", "sample_weight": weight}
        )
    )  # fmt: skip
    assert ill < heavy
    assert ill != well
    with pytest.raises(ValueError, match="positive is 'sick': it is one of the labels"):
        BudgetSearchCV(GreedyMiserClassifier(n_rounds=2), 3, scoring="f1", positive="sick").fit(
            X, y
        )


def test_methods_that_know_no_weights_are_left_out_of_weighted_comparisons(monkeypatch):
    from worthwhile.frontier import _compare as module

    X = np.random.default_rng(0).normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    plain = module.takes
    monkeypatch.setattr(module, "takes", lambda f, name: "Miser" not in repr(f) and plain(f, name))
    with pytest.warns(WorthwhileWarning, match="left out: ValueError: it does not take sample_w"):
        found = compare(
            X, y, None, ["greedy-miser", "decision-tree"], [2], sample_weight=y + 1.0, n_splits=1, effort=2
        )  # fmt: skip
    assert found.methods == ["decision-tree"]
