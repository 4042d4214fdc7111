"""Rankings in several processes: queries stay whole, and the file is that of the local fit."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from tests.distributed.ranks import content, spread, table
from tests.distributed.test_equality import regressor
from worthwhile.distributed import plan_fit
from worthwhile.metrics import ndcg_at_k

N = 12_000


def grades(signal):
    return np.digitize(signal, [0.0, 1.0, 2.0]).astype(float)


def queries(order, n=N):
    """Queries of 1 to 60 documents, one of 3,000; with names, one after the other or in pieces."""
    rng = np.random.default_rng(1)
    sizes = np.append(3_000, rng.integers(1, 60, n))
    qid = np.repeat(np.arange(len(sizes)), sizes)[:n]
    if order == "pieces":  # some of them begin here and go on far behind, beyond any share
        qid[: n // 4] = rng.permutation(qid[: n // 4])
        qid[5_000:6_000] = qid[-1_000:]
    return np.array([f"q{number}" for number in qid], dtype=object)


def ndcg(y, scores):
    """A function of the user's own over all rows that were held out."""
    return ndcg_at_k(y, scores, np.arange(len(y)) // 50)


CASES = {
    "lambdarank": ({"loss": "lambdarank"}, "sorted", False),
    "queries in pieces": ({"loss": "lambdarank"}, "pieces", False),
    "with weights": ({"loss": "lambdarank", "validation_fraction": 0.3}, "sorted", True),
    "all rows train": ({"loss": "lambdarank", "validation_fraction": None}, "sorted", False),
    "squares, whole queries held out": ({"validation_fraction": 0.4}, "pieces", False),
    "best in NDCG": ({"scoring": "ndcg", "validation_fraction": 0.4, "n_rounds": 9}, "sorted", False),
    "best by a function": ({"scoring": ndcg, "validation_fraction": 0.4, "n_rounds": 9}, "sorted", True),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [2, 4])
def test_the_file_is_that_of_the_local_fit(name, size, tmp_path):
    how, order, weighted = CASES[name]
    n = N if how.get("loss") else 3 * N  # other shares begin at multiples of 16,384 rows
    X, signal, rng = table(0, n, "missing")
    qid, y = queries(order, n), grades(signal)
    weight = rng.integers(0, 3, n) / 2 if weighted else None
    model = regressor(random_state=0, **how)
    expected = content(copy.deepcopy(model).fit(X, y, weight, qid=qid), tmp_path)
    for found in spread(model, X, y, weight, size=size, qid=qid):
        assert content(found, tmp_path) == expected


@pytest.mark.parametrize("order", ["sorted", "pieces"])
def test_no_query_is_cut(order):
    X, signal, _ = table(0, N)
    qid = queries(order)
    model = regressor(loss="lambdarank", validation_fraction=0.3, random_state=0)
    _, y, costs = model._read_training(X, grades(signal))
    for parts in (plan := plan_fit(model, y, None, costs, 2, None, qid)).train, plan.held:
        own = [set(qid[part.rows]) for part in parts]
        assert sum(map(len, own)) == len(set.union(*own))
    if order == "sorted":
        assert min(len(part.rows) for part in plan.train) > 1_000


def test_a_ranking_needs_its_queries():
    X, signal, _ = table(0, 100)
    with pytest.raises(ValueError, match="loss='lambdarank' needs queries"):
        spread(regressor(loss="lambdarank"), X, grades(signal))
    with pytest.raises(ValueError, match="scoring='ndcg' needs queries"):
        spread(regressor(scoring="ndcg", validation_fraction=0.5), X, signal)
    with pytest.raises(ValueError, match="a grade below 0"):
        spread(regressor(loss="lambdarank"), X, -grades(signal), qid=np.arange(100) // 10)
