"""Ranking through a search: queries reach the grid, the folds, the fits and the score."""

from __future__ import annotations

import numpy as np

from worthwhile import BudgetSearchCV, GreedyMiserRegressor
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
