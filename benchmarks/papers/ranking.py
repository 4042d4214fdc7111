"""Ranking under a budget: the right panel of Greedy Miser's Figure 1, and rankings beside LightGBM.

``panel``: NDCG@5 against the mean bill per document for stage-wise regression, feature subsets, Early Exit, Cronus,
Greedy Miser, and Greedy Miser with Early Exit, on documents of Yahoo's shape and on MQ2007 (fold 1, with unit and
with skewed prices). Settings are chosen on validation documents and reported on test documents.
``lambdarank``: the LambdaMART-style loss beside LightGBM's, without prices, at equal trees.
``scoring``: documents in queries of 24, with exits, beside LightGBM's predict.

Part of the experiments of ``greedy_miser_2012``; the page is ``ranking_page.py``.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import skewed
from benchmarks.papers import files
from benchmarks.papers.frame import Experiment
from benchmarks.papers.ranking_methods import METHODS, Documents, Problem, mean_point
from worthwhile import Costs, EarlyExitRegressor, GreedyMiserRegressor, datasets

SIZES = {"yahoo": ((20000, 24000, 24000), 250), "large": ((60000, 24000, 24000), 400)}
"""Generated documents to train on, choose on and test on, and trees at most."""
SEEDS = {"yahoo": (310, 311, 312), "large": (320, 321, 322)}
"""Of the documents: grids and rules were settled on others."""
TIMES = 10
"""How often an irrelevant document counts, as in the paper."""
PANELS = {
    "yahoo": "Yahoo-shaped", "large": "Yahoo-shaped, three times the documents",
    "unit": "MQ2007, unit prices", "skewed": "MQ2007, skewed prices",
}  # fmt: skip
BESIDE: dict[str, Any] = {
    "n_estimators": 100,
    "learning_rate": 0.1,
    "max_depth": 3,
    "num_leaves": 8,
}


def yahoo(given: argparse.Namespace, name: str = "yahoo") -> list[Problem]:
    """Documents of Yahoo's shape, or those of the files that were given."""
    real = files.ranking_given(given)
    if real:
        _, read, costs = real
        parts = [Documents(*part, times=TIMES) for part in read]
    else:
        sizes = (4000, 2000, 2000) if given.quick else SIZES[name][0]
        pairs = zip(sizes, SEEDS[name], strict=True)
        drawn = [datasets.make_yahoo_like(n, seed) for n, seed in pairs]
        parts = [Documents(X.astype(np.float32), y, qid, TIMES) for X, y, qid, _ in drawn]
        costs = drawn[0][3]
    rounds = 100 if given.quick else SIZES[name][1]
    return [
        Problem(
            PANELS[name], parts[0], parts[1], parts[2], costs, rounds, (-3.3, -2.7), 3 if given.quick else 4,
            chain=(-1.8, -1.4), more=2, alone=name == "large",
        )
    ]  # fmt: skip


def mq2007(name: str, given: argparse.Namespace) -> list[Problem]:
    """Fold 1, and the same test queries with other parts as validation in turn."""
    bunch = datasets.fetch_paper_set("mq2007_agg", given.data)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    costs = Costs(np.ones(21)) if name == "unit" else skewed(21)
    found = []
    for held in (4,) if given.quick else (4, 3, 2):
        masks = ((part != held) & (part != 5), part == held, part == 5)
        train, valid, test = (Documents(X[m], y[m], qid[m]) for m in masks)
        found.append(
            Problem(
                PANELS[name], train, valid, test, costs, 60 if given.quick else 100, (-2.5, -0.3), 6,
                finer=(-1.5, -1.3), chain=(-1.0, -0.4) if name == "unit" else (-2.2, -0.8), every=1,
                shares=(0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5),
            )
        )  # fmt: skip
    return found


def panel(name: str, part: str, given: argparse.Namespace) -> dict[str, Any]:
    """All points of some methods, means over the problems, and what they were given."""
    problems = _problems(name, given)
    runs = [METHODS[part](problem, given.quick) for problem in problems]
    points = [mean_point(own).plain() for own in zip(*runs, strict=True)]
    first = problems[0]
    parts = (first.train, first.held, first.test)
    return {
        "points": points, "documents": [len(own.y) for own in parts], "runs": len(problems),
        "queries": [len(np.unique(own.qid)) for own in parts], "trees": [first.rounds, first.more * first.rounds],
    }  # fmt: skip


_read: dict[str, list[Problem]] = {}


def _problems(name: str, given: argparse.Namespace) -> list[Problem]:
    """Documents of a panel, kept for its next experiment."""
    if name not in _read:
        _read.clear()
        _read[name] = yahoo(given, name) if name in SIZES else mq2007(name, given)
    return _read[name]


def threads() -> int:
    """Threads for both sides: the cores that may be used."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def lambdarank(given: argparse.Namespace) -> dict[str, Any]:
    """NDCG@5 on test queries without prices, at equal trees; times are medians of three, in turns."""
    import lightgbm

    bunch = datasets.fetch_paper_set("mq2007_agg", given.data)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    peer = lightgbm.LGBMRanker(**BESIDE, min_child_samples=20, n_jobs=threads(), verbose=-1)
    ours = GreedyMiserRegressor(
        loss="lambdarank", preset="paper", max_depth=3, n_rounds=100, n_jobs=threads()
    )
    ours.fit(X[:500], y[:500], qid=qid[:500])  # kernels compile once for a machine
    folds, gaps = [], []
    for fold in range(1 if given.quick else 5):
        test = part == (4 + fold) % 5 + 1
        train = ~test & (part != (3 + fold) % 5 + 1)
        group = np.unique(qid[train], return_counts=True)[1]
        took = []
        for _ in range(3):
            start = time.process_time()
            peer.fit(X[train], y[train], group=group)
            middle = time.process_time()
            ours.fit(X[train], y[train], qid=qid[train])
            took.append((middle - start, time.process_time() - middle))
        documents = Documents(X[test], y[test], qid[test])
        scores = [model.predict(X[test]) for model in (peer, ours)]
        groups = [documents.by_group(score) for score in scores]
        gaps += (np.array(groups[1]) - np.array(groups[0])).tolist()
        ndcg = [documents.ndcg(score) for score in scores]
        folds.append({"ndcg": ndcg, "seconds": np.median(took, axis=0).tolist()})
    error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps)))
    return {"folds": folds, "gap": float(np.mean(gaps)), "error": error}


def scoring(given: argparse.Namespace) -> dict[str, Any]:
    """Processor seconds for documents in queries of 24, medians of three in turns; and mean trees evaluated."""
    import lightgbm

    rng = np.random.default_rng(0)
    n, d, fit = (30_000 if given.quick else 300_000), 40, 20_000
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.clip((X[:fit] @ rng.normal(size=d) + rng.normal(size=fit)).round(), 0, 4)
    qid = np.arange(n) // 24
    one = {"n_jobs": threads()}
    ours = GreedyMiserRegressor(n_rounds=300, max_depth=3, preset="paper", **one).fit(X[:fit], y)
    peer = lightgbm.LGBMRegressor(**BESIDE | {"n_estimators": 300}, **one, verbose=-1).fit(
        X[:fit], y
    )
    runs: dict[str, Any] = {
        "LightGBM predict": lambda: peer.predict(X),
        "worthwhile predict": lambda: ours.predict(X),
    }
    trees = dict.fromkeys(runs, 300.0)
    for s in (np.inf, 1.0, 0.3):
        exits = EarlyExitRegressor(ours, threshold=s, every=10).fit(X[:100], y[:100])
        runs[f"exits every 10 trees, s={s:g}"] = partial(exits.predict, X, qid=qid)
        trees[f"exits every 10 trees, s={s:g}"] = float(exits.evaluated(X, qid=qid).mean())
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):  # taking turns: a machine that slows down does so for all
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    lines = {
        name: {"seconds": float(np.median(took)), "trees": trees[name]}
        for name, took in seconds.items()
    }
    return {"documents": n, "lines": lines}


def experiments(given: argparse.Namespace) -> Iterator[Experiment]:
    """Everything of the page."""
    for name in PANELS:
        needs, seeds = ((), list(SEEDS[name])) if name in SIZES else (("data",), 0)
        for part in ("plain", "miser") if name == "large" else METHODS:
            run = partial(panel, name, part, given)
            yield Experiment(f"panel {name} {part}", run, {"set": PANELS[name]}, seeds, needs)
    yield Experiment("lambdarank", partial(lambdarank, given), {}, 0, ("data",))
    yield Experiment("scoring", partial(scoring, given))
