"""Searches on joblib's Dask backend give what they give locally."""

from __future__ import annotations

import pytest

from tests.distributed.ranks import table
from tests.distributed.test_equality import PRICES, two
from worthwhile import BudgetSearchCV, GreedyMiserClassifier

distributed = pytest.importorskip("distributed")
joblib = pytest.importorskip("joblib")


def test_a_search_on_dask_is_the_local_one():
    X, signal, _ = table(0, 400)
    search = BudgetSearchCV(
        GreedyMiserClassifier(costs=PRICES, n_rounds=3, max_depth=2), budget=3, cv=2, n_jobs=2
    )
    expected = search.fit(X, two(signal))
    chosen, found = expected.best_params_, expected.predict_proba(X)
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster):  # noqa: SIM117
        with joblib.parallel_backend("dask"):
            again = search.fit(X, two(signal))
    assert again.best_params_ == chosen
    assert (again.predict_proba(X) == found).all()
