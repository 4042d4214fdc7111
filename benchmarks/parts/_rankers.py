"""Greedy Miser for numbers, and Early Exit, on a task of ranking: with nothing set, and as the papers' scripts do."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.common import Kept, markdown
from worthwhile import EarlyExitRegressor, GreedyMiserRegressor, datasets
from worthwhile.metrics import ndcg_at_k

CLASSES = ("GreedyMiserRegressor", "EarlyExitRegressor")

SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "script": {"preset": "paper", "max_depth": 4, "n_rounds": 500, "scoring": "ndcg"},
    "for rankings": {"loss": "lambdarank", "scoring": "ndcg"},
}
"""What is set."""

FOLDS = 2
"""Parts of the five of MQ2007 that are tested on."""

EXITS: dict[str, float | None] = {"defaults": None, "script": 0.6}
"""Thresholds of Early Exit, in standard deviations of the score: the middle one of three of the script."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Documents, their grades and queries, and which of them test and choose the best round; the others train."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    test: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, folder: str | None, number: int) -> Fold:
        """One of the five."""
        bunch = datasets.fetch_paper_set("mq2007_agg", folder)
        X, part = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.part)
        test, held = part == number + 1, part == (number + 1) % 5 + 1
        return cls(X, np.asarray(bunch.target), np.asarray(bunch.qid), test, held)

    def fitted(self, params: dict[str, Any]) -> GreedyMiserRegressor:
        """With nothing set the part for validation trains, too."""
        model = GreedyMiserRegressor(n_jobs=1, **params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not params:
                return model.fit(self.X[~self.test], self.y[~self.test])
            train, held = ~self.test & ~self.held, self.held
            more = (self.X[held], self.y[held], self.qid[held])
            return model.fit(self.X[train], self.y[train], qid=self.qid[train], validation=more)

    def ndcg(self, score: Any) -> list[float]:
        """NDCG@5 of each query to test on that has something relevant."""
        relevance, queries = self.y[self.test], self.qid[self.test]
        masks = [queries == query for query in np.unique(queries[relevance > 0])]
        return [float(ndcg_at_k(relevance[own], score[own], queries[own])) for own in masks]


def measure(params: dict[str, Any], folder: str | None, number: int) -> dict[str, Any]:
    """NDCG@5 of each query of one part, and rounds."""
    fold = Fold.of(folder, number)
    model = fold.fitted(params)
    return {"ndcg": fold.ndcg(model.predict(fold.X[fold.test])), "rounds": int(model.n_rounds_)}


def measure_exits(share: float | None, folder: str | None, number: int) -> dict[str, Any]:
    """The same with exits from the script's trees, and the bill as a share of all features."""
    fold = Fold.of(folder, number)
    model, held = fold.fitted(SETTINGS["script"]), fold.X[fold.held]
    own = {} if share is None else {"threshold": share * float(np.std(model.predict(held)))}
    exits = EarlyExitRegressor(model, **own).fit(held, fold.y[fold.held])
    X, qid = fold.X[fold.test], fold.qid[fold.test]
    bill = float(exits.cost(X, qid=qid).mean()) / X.shape[1]
    return {"ndcg": fold.ndcg(exits.predict(X, qid=qid)), "bill": bill}


def run(folder: str | None, kept: Kept) -> None:
    """All settings on all folds."""
    for label, params in SETTINGS.items():
        for fold in range(FOLDS):
            key = f"ranking {label}/{fold}"
            found = kept.get(key, partial(measure, params, folder, fold))
            print(key, np.mean(found["ndcg"]), found["rounds"], flush=True)
    for label, share in EXITS.items():
        for fold in range(FOLDS):
            key = f"exits {label}/{fold}"
            found = kept.get(key, partial(measure_exits, share, folder, fold))
            print(key, np.mean(found["ndcg"]), found["bill"], flush=True)


def table(kept: Kept) -> str:
    """NDCG@5 beside that of the scripts, over the queries of all folds."""
    wanted = [f"ranking {label}" for label in SETTINGS] + [f"exits {label}" for label in EXITS]
    if any(f"{key}/{fold}" not in kept.found for key in wanted for fold in range(FOLDS)):
        return "Rankings were not run.\n"
    lines = []
    for label, params in SETTINGS.items():
        told = ", ".join(f"`{name}={value!r}`" for name, value in params.items()) or "-"
        rounds = ", ".join(str(one["rounds"]) for one in _folds(kept, f"ranking {label}"))
        lines.append([label, told, *_beside(kept, "ranking", label), rounds])
    heads = ["what is set", "NDCG@5", "to the script", "standard error", "within it"]
    exits = []
    for label, share in EXITS.items():
        told = "-" if share is None else f"`threshold`: {share:g} standard deviations of the score"
        bill = np.mean([one["bill"] for one in _folds(kept, f"exits {label}")])
        exits.append([label, told, *_beside(kept, "exits", label), f"{100 * bill:.0f}"])
    return (
        "Rankings: MQ2007 as it is published. Two of its five parts are tested on in turn, three train, and one says "
        "which round is best; with nothing set it trains, too.\n\n"
        + markdown(["`GreedyMiserRegressor`", *heads, "rounds"], lines)
        + "\nDocuments of a query that leave the trees of the script above:\n\n"
        + markdown(["`EarlyExitRegressor`", *heads, "bill, % of all"], exits)
    )


def _beside(kept: Kept, what: str, label: str) -> list[str]:
    """NDCG@5, the difference to the script with its error, and whether it is within that."""
    own, base = (
        np.concatenate([one["ndcg"] for one in _folds(kept, f"{what} {name}")])
        for name in (label, "script")
    )
    gap = own - base
    error = float(gap.std() / np.sqrt(len(gap)))
    verdict = "-" if label == "script" else "yes" if gap.mean() >= -error else "no"
    return [f"{own.mean():.4f}", f"{gap.mean():+.4f}", f"{error:.4f}", verdict]


def _folds(kept: Kept, key: str) -> list[dict[str, Any]]:
    return [kept.found[f"{key}/{fold}"] for fold in range(FOLDS)]
