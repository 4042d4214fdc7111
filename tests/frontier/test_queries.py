"""Ranking through a search, scores by name whatever the labels, weights of classes."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import BudgetSearchCV, GreedyMiserClassifier, GreedyMiserRegressor
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
