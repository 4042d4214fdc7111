"""The experiments of the ADAPT paper: what a gate saves in front of an accurate model.

    python -m benchmarks.papers.adapt_2017_parts --quick
    python -m benchmarks.papers.adapt_2017_parts --data FOLDER --part letters --json results.json

Parts (``--part``): ``synthetic`` (Figure 3), ``letters`` (Figure 5, with an RBF-SVM and a forest),
``letters-splits`` (the same with other divisions of the rows), ``forest``, ``miniboone`` and ``cifar``
(Figure 4, with Greedy Miser and BudgetPrune, as it is and with leaves refitted), ``heart`` (real prices, in
dollars), ``growth`` (trees per second of ADAPT-GBRT, Greedy Miser and LightGBM on the shape of Forest,
in one run). ``--json`` gathers the figures of several runs in one file, from which
``benchmarks/papers/adapt_2017.py`` writes the page. Forest, the MiniBooNE sample and the CIFAR features
are read from FOLDER.

How a saving is found: every method is swept; each of 200 budgets picks the most accurate model on
validation rows; of these, the cheapest whose validation accuracy is within one point of the existing
model's is taken. The best of many models looks better on the rows it was chosen on than on others;
``max_drop``, the second rule, therefore lets halves of the validation rows choose for each other; the
gates also with half a point to lose. The third rule is a budget: the most accurate model on validation
rows that costs no more there than the paper's gate did. Test rows only say what a model taken costs and
how good it is.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers.adapt_2017_small import growth, heart, synthetic
from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    Costs,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    PrunedForestClassifier,
    datasets,
)
from worthwhile.estimators.gates._drop import Trial, deal

GATES = {
    "ADAPT-GBRT": AdaptiveBoostingClassifier,
    "ADAPT-LIN": AdaptiveLinearClassifier,
    "L1 gate": L1GateClassifier,
}

PAPER = {"letters": 0.31, "forest": 0.32, "miniboone": 0.63, "cifar": 0.12}
"""The share of the cost that ADAPT-GBRT saves in the paper, within one point."""

TREES: dict[str, Any] = {
    "max_depth": 8, "newton": True, "learning_rate": 0.2, "min_samples_leaf": 10,
}  # fmt: skip
"""Trees of ADAPT-GBRT and Greedy Miser alike: few features, so that depth is what they have to work with."""

PRUNE_LEVELS = (0, 3, 5, 7, 9)
"""Levels of splits that a pruning keeps."""

PRUNE_SHARES = (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.8, 1.0, 1.5, 2.5)
"""Values of lam of a pruning, times the cost of the existing model."""

WITHIN = 0.01
"""Accuracy that may be lost."""

MOST_POINTS = 40
"""Points of a curve."""

Rows = tuple[np.ndarray, np.ndarray]


@dataclass
class Problem:
    """Three sets of rows and their prices."""

    train: Rows
    validation: Rows
    test: Rows
    costs: Costs
    saving: float
    """The share of the cost that the paper saves."""

    @classmethod
    def cut(
        cls, X: np.ndarray, y: np.ndarray, sizes: tuple[int, int, int], saving: float
    ) -> Problem:
        """Rows in the order given: so many to train, to choose, and to test on; all prices are 1."""
        ends = np.cumsum(sizes)
        parts = [slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], ends[2])]
        return cls(
            *((X[part], y[part]) for part in parts), Costs(np.ones(X.shape[1], dtype=int)), saving
        )


@dataclass
class Existing:
    """The model that is there: fitted, what it says about the training rows out of fold, and its figures."""

    model: Any
    proba: np.ndarray
    accuracy: float
    cost: float
    right: np.ndarray
    right_test: np.ndarray
    """Validation and test rows that it gets right."""

    @classmethod
    def of(cls, model: Any, proba: np.ndarray, p: Problem) -> Existing:
        """Accuracy and bill on test rows."""
        parts = (p.validation, p.test)
        if isinstance(model, tuple):  # a function that reads everything
            cost = float(p.costs.total)
            right = [np.argmax(model[0](X), axis=1) == y for X, y in parts]
        else:
            priced = PricedModel(model, p.costs)
            cost = float(priced.cost(p.test[0]).mean())
            right = [priced.predict(X) == y for X, y in parts]
        return cls(model, proba, float(right[1].mean()), cost, *right)


def svm(p: Problem, **settings: Any) -> Existing:
    """An RBF-SVM; its scores become probabilities by a slope found out of fold, which moves no answer.

    Validation and test rows are asked once and looked up from then on: dozens of gates stand in front.
    """
    base = make_pipeline(StandardScaler(), SVC(**settings))
    X, y = p.train
    scores = cross_val_predict(base, X, y, cv=3, method="decision_function")[:, None]
    slope = LogisticRegression(fit_intercept=False).fit(scores, y)
    fitted = clone(base).fit(X, y)
    known = {}
    for rows, _ in (p.validation, p.test):
        said = slope.predict_proba(fitted.decision_function(rows)[:, None])
        known |= {row.tobytes(): answer for row, answer in zip(rows, said, strict=True)}

    def answers(rows: np.ndarray) -> np.ndarray:
        return np.array([known[row.tobytes()] for row in np.asarray(rows)]).reshape(-1, 2)

    return Existing.of((answers, list(range(X.shape[1]))), slope.predict_proba(scores), p)


def forest(p: Problem, n_trees: int) -> Existing:
    """A random forest; trees that did not see a row speak about it."""
    model = RandomForestClassifier(
        n_trees, criterion="entropy", oob_score=True, random_state=0, n_jobs=-1
    )
    model.fit(*p.train)
    proba = np.nan_to_num(model.oob_decision_function_, nan=1 / len(model.classes_))
    return Existing.of(model, proba, p)


# Methods ------------------------------------------------------------------------------------------


def gated(name: str, p: Problem, existing: Existing, **settings: Any) -> tuple[Any, ...]:
    """Gates for 200 budgets, each model once, and the cheapest that may lose a point, or half of one."""
    model = GATES[name](existing.model, costs=p.costs, random_state=0, **settings)
    budgets = existing.cost * np.linspace(0.005, 1.0, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *models, kept, stricter = model.fit_path(
            *p.train,
            budgets,
            drops=[WITHIN, WITHIN / 2],
            existing_proba=existing.proba,
            validation=p.validation,
        )
    models = list({int(np.argmax(model.trace_["chosen"])): model for model in models}.values())
    return models, kept, stricter


def misers(p: Problem, **settings: Any) -> list[Any]:
    """Greedy Miser for several lam, each cut to its best round on validation rows."""
    model = GreedyMiserClassifier(costs=p.costs, scoring="accuracy", patience=None, **settings)
    top = model.lam_max(*p.train)
    steps = (0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 0.003, 0.001, 1e-4)
    return model.fit_path(*p.train, [top * step for step in steps], validation=p.validation)


def pruned(p: Problem, existing: Existing, most: int = 2000) -> list[Any]:
    """BudgetPrune of a forest for several lam and levels kept, on validation rows.

    A lam of 1 over the forest's cost would give up all of its accuracy for its price. Without levels
    kept, everything is pruned away at about half of that, in one step: prunings between are had by
    keeping levels. Where the existing model is no forest, one of 40 trees is pruned.
    """
    model, (X, y) = existing.model, p.validation
    if not isinstance(model, RandomForestClassifier):
        model = RandomForestClassifier(40, criterion="entropy", random_state=0).fit(*p.train)
    found, kept = [], set()
    for levels in PRUNE_LEVELS:
        start = PrunedForestClassifier(model, 0.0, costs=p.costs, keep_levels=levels)
        start.fit(X[:most], y[:most])
        for share in PRUNE_SHARES:
            other = start.at(lam=share / existing.cost)
            if (nodes := (levels, other.trace_["nodes"][1])) not in kept:
                kept.add(nodes)
                found.append(other)
    return found


def look(model: Any, p: Problem, rows: Rows, *, mean: bool = True) -> tuple[np.ndarray, Any]:
    """Which rows are right, and their bills or the mean of these, in one walk."""
    outcome = model.policy_.batch(rows[0])
    right = model.policy_.output.predict(outcome.raw) == rows[1]
    bills = p.costs.price(outcome.acquired)
    return right, float(np.mean(bills)) if mean else bills


def taken(model: Any, p: Problem, existing: Existing, **more: float) -> dict[str, Any]:
    """What a rule's model costs, and what it loses, on test rows."""
    right, cost = look(model, p, p.test)
    accuracy = float(right.mean())
    return {
        **more, "cost": cost, "accuracy": accuracy, "saved": 1 - cost / existing.cost,
        "lost": existing.accuracy - accuracy,
        "lost_error": float((existing.right_test * 1.0 - right).std() / np.sqrt(len(right))),
    }  # fmt: skip


def fair(models: list[Any], seen: list[tuple[np.ndarray, np.ndarray]], right: np.ndarray) -> Any:
    """The rule of ``max_drop`` for models that have no such parameter."""
    block = deal(len(right))

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(block, weights=values)

    rights, bills = (
        np.array([sums(column) for column in columns]) for columns in zip(*seen, strict=True)
    )
    kept = Trial(rights, bills, sums(np.ones(len(right))), sums(right)).cheapest(WITHIN)
    return None if kept is None else models[kept.model]


def report(
    models: list[Any], p: Problem, existing: Existing, kept: Any = None, stricter: Any = None
) -> dict[str, Any]:
    """A curve on test rows, and what the rules take."""
    seen = [look(model, p, p.validation, mean=False) for model in models]
    lines = [
        (float(bill.mean()), float((existing.right * 1.0 - right).mean()), k)
        for k, (right, bill) in enumerate(seen)
    ]
    lines.sort()
    good = [line for line in lines if line[1] <= WITHIN + 1e-12]
    kept = kept or fair(models, seen, existing.right)
    found: dict[str, Any] = {"plain": None, "fair": kept and taken(kept, p, existing)}
    if stricter:
        found["stricter"] = taken(stricter, p, existing)
    if good:
        cost, behind, k = good[0]
        found["plain"] = taken(models[k], p, existing, validation_cost=cost, behind=behind)
    if cheap := [line for line in lines if line[0] <= (1 - p.saving) * existing.cost]:
        cost, behind, k = min(cheap, key=lambda line: line[1])
        found["budget"] = taken(models[k], p, existing, validation_cost=cost, behind=behind)
    some = np.unique(np.linspace(0, len(lines) - 1, MOST_POINTS).astype(int))
    curve = [look(models[lines[k][2]], p, p.test) for k in some]
    found["curve"] = [(cost, float(right.mean())) for right, cost in curve]
    return found


def compare(
    p: Problem, existing: Existing, gates: list[str], trees: dict[str, Any], *, rivals: bool = True
) -> dict[str, Any]:
    """One existing model, several gates in front of it, what they cost, and what rivals cost."""
    print(f"  existing: {existing.accuracy:.4f} at {existing.cost:.2f}", flush=True)
    makers: dict[str, Any] = {
        name: (lambda name=name: gated(
            name, p, existing, **(trees if name == "ADAPT-GBRT" else {})
        )) for name in gates
    }  # fmt: skip
    if rivals:
        rounds = {**trees, "n_rounds": 3 * trees["n_rounds"]}
        makers["Greedy Miser"] = lambda: (misers(p, **rounds),)
        prunings = cache(partial(pruned, p, existing))
        makers["BudgetPrune"] = lambda: (prunings(),)
        makers["BudgetPrune, refitted"] = lambda: ([m.refit(*p.train) for m in prunings()],)
    methods = {}
    for name, make in makers.items():
        start = time.perf_counter()
        models, *kept = make()
        methods[name] = report(models, p, existing, *kept)
        tell(name, methods[name], time.perf_counter() - start)
    return {
        "accuracy": existing.accuracy, "cost": existing.cost, "methods": methods,
        "rows": [len(part[1]) for part in (p.train, p.validation, p.test)],
    }  # fmt: skip


def tell(name: str, found: dict[str, Any], seconds: float) -> None:
    """One line per method."""
    texts = []
    for rule in [key for key in found if key != "curve"]:
        figures = found[rule]
        texts.append(
            f"{rule}: not reached" if figures is None else
            f"{rule}: saves {100 * figures['saved']:.1f} %, {100 * figures['lost']:+.2f} points lost"
        )  # fmt: skip
    print(f"    {name:14s} {'; '.join(texts)} ({seconds:.0f} s)", flush=True)


# The parts ----------------------------------------------------------------------------------------


LETTERS = {False: (12000, 4000, 4000), True: (3000, 1000, 4000)}
"""Rows to train, choose and test on; True: with --quick."""


def letters_rows() -> Rows:
    data = datasets.load_letters()
    return data.data.to_numpy(dtype=float), (np.asarray(data.target) >= 13).astype(int)


def letters(args: argparse.Namespace) -> dict[str, Any]:
    """The paper's rows, in file order."""
    p = Problem.cut(*letters_rows(), LETTERS[args.quick], PAPER["letters"])
    trees = {**TREES, "n_rounds": 40 if args.quick else 100}
    curves = {"RBF-SVM": compare(p, svm(p, C=1, gamma=1), list(GATES), trees)}
    curves["forest"] = compare(p, forest(p, 50 if args.quick else 200), list(GATES), trees)
    return curves


def letters_splits(args: argparse.Namespace) -> dict[str, Any]:
    """Other divisions of the rows."""
    X, y = letters_rows()
    trees = {**TREES, "n_rounds": 40 if args.quick else 100}
    found = {}
    for seed in range(1, 2 if args.quick else 4):
        order = np.random.default_rng(seed).permutation(len(y))
        p = Problem.cut(X[order], y[order], LETTERS[args.quick], PAPER["letters"])
        for name, existing in (("RBF-SVM", svm(p, C=1, gamma=1)), ("forest", forest(p, 200))):
            gates = compare(p, existing, ["ADAPT-GBRT"], trees, rivals=False)
            found[f"{name}, division {seed}"] = gates
    return found


def forest_cover(args: argparse.Namespace) -> dict[str, Any]:
    """Seven classes; the rows are drawn, as those of the paper are not published."""
    data = datasets.fetch_paper_set("forest", args.data)
    X, y = data.data.to_numpy(dtype=float), np.asarray(data.target)
    sizes = (4000, 2000, 6000) if args.quick else (36603, 15688, 58101)
    rows, _ = train_test_split(np.arange(len(y)), train_size=sum(sizes), random_state=0, stratify=y)
    p = Problem.cut(X[rows], y[rows], sizes, PAPER["forest"])
    trees = {**TREES, "max_depth": 10, "n_rounds": 30 if args.quick else 80}
    return {"forest": compare(p, forest(p, 50), ["ADAPT-GBRT"], trees)}


def miniboone(args: argparse.Namespace) -> dict[str, Any]:
    """The public sample."""
    data = datasets.fetch_paper_set("miniboone_sample", args.data)
    X, y = data.data.to_numpy(dtype=float), np.asarray(data.target)
    parts = [(X[data.split == s], y[data.split == s]) for s in ("train", "validation", "test")]
    p = Problem(*parts, Costs(np.ones(50, dtype=int)), PAPER["miniboone"])
    trees = {"max_depth": 3, "learning_rate": 0.1, "min_samples_leaf": 10, "newton": True,
             "n_rounds": 40 if args.quick else 100}  # fmt: skip
    return {"forest": compare(p, forest(p, 50 if args.quick else 200), list(GATES), trees)}


def cifar(args: argparse.Namespace) -> dict[str, Any]:
    """Classes 0 to 4 against 5 to 9, by features made for this project: only relations compare."""
    data = datasets.fetch_paper_set("cifar10_hog400", args.data)
    X, y = data.data.to_numpy(dtype=float), (np.asarray(data.target) >= 5).astype(int)
    sizes = (2000, 1000, 2000) if args.quick else (6000, 3000, 4000)
    order = np.random.default_rng(0).permutation(len(y))[: sum(sizes)]
    p = Problem.cut(X[order], y[order], sizes, PAPER["cifar"])
    trees = {"max_depth": 3, "learning_rate": 0.1, "min_samples_leaf": 20, "newton": True,
             "n_rounds": 40 if args.quick else 60}  # fmt: skip
    return {"RBF-SVM": compare(p, svm(p, C=3, gamma="scale"), ["ADAPT-GBRT"], trees)}


PARTS = {
    "synthetic": synthetic, "letters": letters, "letters-splits": letters_splits, "forest": forest_cover,
    "miniboone": miniboone, "cifar": cifar, "heart": heart, "growth": growth,
}  # fmt: skip
NEED_DATA = ("forest", "miniboone", "cifar")


def keep(path: str, found: dict[str, Any]) -> None:
    """Add figures to those of earlier runs."""
    file = Path(path)
    earlier = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(earlier | found, indent=1))


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--part", choices=list(PARTS), action="append", help="only these parts")
    parser.add_argument("--data", help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true", help="small samples")
    parser.add_argument("--json", help="file that gathers all figures")
    args = parser.parse_args()
    for name in args.part or PARTS:
        if name in NEED_DATA and not args.data:
            print(f"{name}: give --data FOLDER")
            continue
        print(name, flush=True)
        start = time.perf_counter()
        found = {"figures": PARTS[name](args), "quick": args.quick}
        if args.json:
            keep(args.json, {name: {**found, "seconds": round(time.perf_counter() - start)}})


if __name__ == "__main__":
    main()
