"""Greedy Miser for numbers on a task of ranking: with nothing set, and as the script of its paper sets it."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import Kept, markdown
from worthwhile import GreedyMiserRegressor, datasets
from worthwhile.metrics import ndcg_at_k

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "script": {"preset": "paper", "max_depth": 4, "n_rounds": 500, "scoring": "ndcg"},
    "for rankings": {"loss": "lambdarank", "scoring": "ndcg"},
}
"""What is set."""

FOLDS = 2
"""Parts of the five of MQ2007 that are tested on."""


def measure(params: dict[str, Any], folder: str | None, fold: int) -> dict[str, Any]:
    """NDCG@5 of each query of one part; with nothing set the part for validation trains, too."""
    bunch = datasets.fetch_paper_set("mq2007_agg", folder)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    test, held = part == fold + 1, part == (fold + 1) % 5 + 1
    model = GreedyMiserRegressor(n_jobs=1, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if params:
            train, more = ~test & ~held, (X[held], y[held], qid[held])
            model.fit(X[train], y[train], qid=qid[train], validation=more)
        else:
            model.fit(X[~test], y[~test])
    score, relevance, queries = model.predict(X[test]), y[test], qid[test]
    masks = [queries == query for query in np.unique(queries[relevance > 0])]
    ndcg = [float(ndcg_at_k(relevance[own], score[own], queries[own])) for own in masks]
    return {"ndcg": ndcg, "rounds": int(model.n_rounds_)}


def run(folder: str | None, kept: Kept) -> None:
    """All settings on all folds."""
    for label, params in SETTINGS.items():
        for fold in range(FOLDS):
            key = f"ranking {label}/{fold}"
            found = kept.get(key, partial(measure, params, folder, fold))
            print(key, np.mean(found["ndcg"]), found["rounds"], flush=True)


def table(kept: Kept) -> str:
    """NDCG@5 beside that of the script, over the queries of all folds."""
    if any(
        f"ranking {label}/{fold}" not in kept.found for label in SETTINGS for fold in range(FOLDS)
    ):
        return "Rankings were not run.\n"
    lines = []
    base, _ = _queries(kept, "script")
    for label, params in SETTINGS.items():
        own, rounds = _queries(kept, label)
        gap = own - base
        error = float(gap.std() / np.sqrt(len(gap)))
        told = ", ".join(f"`{name}={value!r}`" for name, value in params.items()) or "-"
        verdict = "-" if label == "script" else "yes" if gap.mean() >= -error else "no"
        figures = f"{own.mean():.4f}", f"{gap.mean():+.4f}", f"{error:.4f}"
        lines.append([label, told, *figures, verdict, rounds])
    heads = [
        "`GreedyMiserRegressor`", "what is set", "NDCG@5", "to the script", "standard error", "within it", "rounds",
    ]  # fmt: skip
    return (
        "Rankings: MQ2007 as it is published. Two of its five parts are tested on in turn, three train, and one says "
        "which round is best; with nothing set it trains, too.\n\n" + markdown(heads, lines)
    )


def _queries(kept: Kept, label: str) -> tuple[Any, str]:
    """NDCG@5 of all queries, and how many rounds were kept."""
    found = [kept.found[f"ranking {label}/{fold}"] for fold in range(FOLDS)]
    return np.concatenate([one["ndcg"] for one in found]), ", ".join(
        str(one["rounds"]) for one in found
    )
