"""What the authors' released programs were compared on, by the present code: their rows, their trade-offs.

The MiniBooNE sample in the authors' own division, and Letters in the order of the file (label: the second half of the
alphabet), as their programs read them.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks.papers.adapt_2017_parts import TREES, Existing, forest, svm
from benchmarks.papers.sets import SIZES, Part, Problem
from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    BudgetedForestClassifier,
    Costs,
    datasets,
)

SEEDS = range(5)
"""Of BudgetRF's forests."""
COUNTS = (20, 40)
"""Trees of BudgetRF."""
SPENT = {"letters": 12.0, "sample": 10.0}
"""Mean bill at which the programs were compared."""


def sample(given: argparse.Namespace) -> Problem:
    """The MiniBooNE sample as the authors divide it."""
    data = datasets.fetch_paper_set("miniboone_sample", given.data)
    X, y = data.data.to_numpy(np.float64), np.asarray(data.target).astype(int)
    rows = [np.asarray(data.split) == name for name in ("train", "validation", "test")]
    return _problem([(X[own], y[own]) for own in rows])


def letters() -> Problem:
    """Letters in the order of the file."""
    data = datasets.load_letters()
    X, y = data.data.to_numpy(np.float64), (np.asarray(data.target) >= 13).astype(int)
    ends = np.cumsum(SIZES["letters"])
    return _problem(list(zip(np.split(X, ends)[:3], np.split(y, ends)[:3], strict=True)))


def _problem(parts: list[Part]) -> Problem:
    return Problem(*parts, Costs(np.ones(parts[0][0].shape[1], dtype=int)))


def forests(given: argparse.Namespace, preset: str) -> dict[str, list[float]]:
    """BudgetRF: mean bill and error on test rows by number of trees, means over the seeds."""
    p = sample(given)
    found: dict[str, list[list[float]]] = {str(count): [] for count in COUNTS}
    for seed in SEEDS:
        model = BudgetedForestClassifier(preset=preset, random_state=seed, n_jobs=1, costs=p.costs)
        model.fit(*p.train, validation=p.held)
        for count in COUNTS:
            part = model.at(budget=model.trace_["cost"].iloc[count - 1])
            bill, right = part.cost(p.test[0]).mean(), part.score(*p.test)
            found[str(count)].append([float(bill), float(1 - right)])
    return {count: np.mean(own, axis=0).tolist() for count, own in found.items()}


def gate(given: argparse.Namespace, name: str, method: str) -> dict[str, Any]:
    """A gate that may spend so much, in front of their existing model: mean bill and accuracy on test rows."""
    p = letters() if name == "letters" else sample(given)
    existing: Existing = svm(p, C=1, gamma=1) if name == "letters" else forest(p, n_trees=40)
    settings: dict[str, Any] = {
        "budget": SPENT[name], "costs": p.costs, "random_state": 0, "n_jobs": 1,
    }  # fmt: skip
    if method == "ADAPT-GBRT":
        settings |= {"n_rounds": 20 if given.quick else 300, **TREES}
        model: Any = AdaptiveBoostingClassifier(existing.model, **settings)
    else:
        refits = "no refits" not in method
        model = AdaptiveLinearClassifier(existing.model, refit_supports=refits, **settings)
    model.fit(*p.train, existing_proba=existing.proba, validation=p.held)
    return {
        "cost": float(model.cost(p.test[0]).mean()), "accuracy": float(model.score(*p.test)),
        "existing": [existing.cost, existing.accuracy], "rows": p.rows,
    }  # fmt: skip
