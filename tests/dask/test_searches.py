"""Searches on joblib's Dask backend give what they give locally."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.distributed.ranks import table
from tests.distributed.test_equality import PRICES, two
from worthwhile import BudgetSearchCV, GreedyMiserClassifier, compare

distributed = pytest.importorskip("distributed")
joblib = pytest.importorskip("joblib")


@contextmanager
def on_dask():
    """What joblib runs is run by a cluster."""
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        with joblib.parallel_backend("dask"):
            yield
        steps = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)
        assert steps > 10  # it was the cluster that did the work


def test_a_search_on_dask_is_the_local_one():
    X, signal, _ = table(0, 400)
    search = BudgetSearchCV(
        GreedyMiserClassifier(costs=PRICES, n_rounds=3, max_depth=2), budget=3, cv=2, n_jobs=2
    )
    expected = search.fit(X, two(signal))
    chosen, found = expected.best_params_, expected.predict_proba(X)
    with on_dask():
        again = search.fit(X, two(signal))
    assert again.best_params_ == chosen
    assert (again.predict_proba(X) == found).all()


def test_a_comparison_on_dask_is_the_local_one():
    X, signal, _ = table(0, 400)
    how = {
        "methods": ["greedy-miser", "decision-tree"],
        "budgets": [2, 6],
        "n_splits": 2,
        "effort": 2,
        "n_jobs": 2,
    }
    expected = compare(X, two(signal), PRICES, **how)
    with on_dask():
        again = compare(X, two(signal), PRICES, **how)
    for method in how["methods"]:
        assert (again.scores(method) == expected.scores(method)).all()
        assert (again.bills(method) == expected.bills(method)).all()
