"""Rows of the sets that BudgetRF and ADAPT are run on, drawn anew for every seed; real files where they were given."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.papers import files
from worthwhile import Costs, datasets, metrics

SIZES = {
    "letters": (12000, 4000, 4000), "forest": (36603, 15688, 58101), "cifar": (19761, 8468, 10000),
    "miniboone": (2000, 1000, 2000), "yahoo": (141397, 146769, 184968),
}  # fmt: skip
"""Training, validation and test rows of the papers; of MiniBooNE the authors' sample."""
FULL_MINIBOONE = (45523, 19510, 65031)

GROUPS = 20
"""Groups of test queries."""

Part = tuple[np.ndarray, np.ndarray]
Shares = float | tuple[float, float, float]
"""Of the paper's rows: one share for all parts, or one each for training, validation and test."""


@dataclass
class Problem:
    """Rows, prices, and the queries of validation and test rows where precision@5 is asked for."""

    train: Part
    held: Part
    test: Part
    costs: Costs
    queries: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def rows(self) -> list[int]:
        """How many there are to train, choose and test on."""
        return [len(part[1]) for part in (self.train, self.held, self.test)]

    def precision(self, number: int, score: np.ndarray) -> float:
        """Precision@5 of scores, on validation (0) or test documents (1): how far relevant ones lead."""
        assert self.queries is not None
        y = (self.held, self.test)[number][1]
        return metrics.run_precision_at_k(y, score, self.queries[number], k=5)

    def precision_by_group(self, score: np.ndarray) -> np.ndarray:
        """The same of test documents, in each of some groups of queries, whose spread gives standard errors."""
        assert self.queries is not None
        qid, y = self.queries[1], self.test[1]
        group = np.unique(qid, return_inverse=True)[1] % GROUPS
        masks = [group == g for g in range(GROUPS)]
        return np.array([metrics.run_precision_at_k(y[m], score[m], qid[m], k=5) for m in masks])


def problem(name: str, given: argparse.Namespace, seed: int, share: Shares = 1.0) -> Problem:
    """A share of the rows of a set."""
    own = tuple(
        (option, getattr(given, option))
        for option in ("data", *files.RANKING, "forest", "miniboone")
    )
    return _problem(name, own, seed, share)


def needs(name: str, given: argparse.Namespace) -> tuple[str, ...]:
    """What must be given to read a set: nothing where it is generated, shipped, or its own files are there."""
    own = name in ("letters", "yahoo") or getattr(given, name, None)
    return () if own else ("data",)


@lru_cache(maxsize=1)
def _problem(name: str, own: tuple[tuple[str, Any], ...], seed: int, share: Shares) -> Problem:
    given = argparse.Namespace(**dict(own))
    if name == "yahoo":
        return _documents(given, seed, share)
    X, y, sizes = _all_rows(name, given)
    order = np.random.default_rng(seed).permutation(len(X))
    rows = np.split(order, np.cumsum(_parts(sizes, share)))[:3]
    parts = [(np.asarray(X[r], dtype=np.float64), np.asarray(y[r]).astype(int)) for r in rows]
    return Problem(parts[0], parts[1], parts[2], Costs(np.ones(X.shape[1], dtype=int)))


def _parts(sizes: tuple[int, ...], share: Shares) -> list[int]:
    """Rows of each part."""
    shares = share if isinstance(share, tuple) else (share,) * len(sizes)
    return [int(size * own) for size, own in zip(sizes, shares, strict=True)]


def _all_rows(name: str, given: argparse.Namespace) -> tuple[Any, Any, tuple[int, ...]]:
    """Features, classes, and how many rows the paper has."""
    if name == "letters":
        letters = datasets.load_letters()
        # The task of the ADAPT paper: the first thirteen letters against the others.
        return letters.data.to_numpy(dtype=float), np.asarray(letters.target) >= 13, SIZES[name]
    if name == "forest" and given.forest:
        return *files.forest(given.forest), SIZES[name]
    if name == "miniboone" and given.miniboone:
        return *files.miniboone(given.miniboone), FULL_MINIBOONE
    known = {"cifar": "cifar10_hog400", "miniboone": "miniboone_sample"}.get(name, name)
    data = datasets.fetch_paper_set(known, given.data)
    y = np.asarray(data.target)
    return data.data.to_numpy(), y >= 5 if name == "cifar" else y, SIZES[name]


def _documents(given: argparse.Namespace, seed: int, share: Shares) -> Problem:
    """Documents of queries, generated in Yahoo's shape unless files were given."""
    real = files.ranking_given(given)
    if real:
        _, found, costs = real
    else:
        drawn = [
            datasets.make_yahoo_like(n, seed=seed + k) for k, n in enumerate(_parts(SIZES["yahoo"], share))
        ]  # fmt: skip
        found, costs = [files.Ranked(X, y, qid) for X, y, qid, _ in drawn], drawn[0][3]
    parts = [(part.X, y) for part, y in zip(found, files.relevant(found), strict=True)]
    return Problem(parts[0], parts[1], parts[2], costs, (found[1].qid, found[2].qid))
