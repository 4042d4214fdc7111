"""How the gates of the ADAPT paper and their rivals are swept, chosen and measured in front of an accurate model.

Every method is swept. Three rules choose, on validation rows: ``budget`` takes the most accurate model that costs no
more than what the paper's gate left of the existing model's cost; ``fair`` is ``max_drop=0.01`` of the gates, where
halves of the validation rows choose for each other; ``plain`` takes the cheapest model that loses a point at most on
the rows that chose it, which flatters. Test rows only say what a model taken costs and how good it is. Documents are
judged by precision@5 instead of accuracy.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.papers.sets import Part, Problem
from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    BudgetedForestClassifier,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    PrunedForestClassifier,
)
from worthwhile.estimators.gates._drop import Trial, deal

TREES: dict[str, Any] = {
    "learning_rate": 0.2, "min_samples_leaf": 10, "leaves": "vector", "newton": True, "max_iter": 10,
}  # fmt: skip
"""Of ADAPT-GBRT, named here so that a page does not change with the defaults."""

MISER: dict[str, Any] = {
    "learning_rate": "auto", "max_depth": 6, "min_samples_leaf": 20, "newton": "auto", "leaves": "vector",
}  # fmt: skip
"""Of Greedy Miser, likewise."""

GATES: dict[str, tuple[Any, dict[str, Any]]] = {
    "ADAPT-GBRT": (AdaptiveBoostingClassifier, TREES),
    "ADAPT-LIN": (AdaptiveLinearClassifier, {"refit_supports": True}),
    "ADAPT-LIN, no refits": (AdaptiveLinearClassifier, {"refit_supports": False}),
    "ADAPT-LSTSQ": (AdaptiveLinearClassifier, {"distance": "lstsq"}),
    "L1 gate": (L1GateClassifier, {}),
}

SAVED = {"letters": 0.31, "forest": 0.32, "miniboone": 0.63, "cifar": 0.12, "yahoo": 0.58}
"""The share of the cost that ADAPT-GBRT saves in the paper, within one point."""

PRUNE_LEVELS = (0, 3, 6)
"""Levels of splits that a pruning keeps."""

PRUNE_SHARES = (0.1, 0.3, 0.45, 0.6, 1.0, 2.0)
"""Values of lam of a pruning, times the cost of the existing model."""

WITHIN = 0.01
"""Accuracy that may be lost."""

MOST_POINTS = 40
"""Points of a curve."""


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
        parts = (p.held, p.test)
        if isinstance(model, tuple):  # a function that reads everything
            cost = float(p.costs.total)
            right = [np.argmax(model[0](X), axis=1) == y for X, y in parts]
        else:
            priced = with_bills(model, p)
            cost = float(priced.cost(p.test[0]).mean())
            right = [priced.predict(X) == y for X, y in parts]
        return cls(model, proba, float(right[1].mean()), cost, *right)


def with_bills(model: Any, p: Problem) -> Any:
    """A model that says what it reads."""
    own = isinstance(model, BudgetedForestClassifier)
    return model if own else PricedModel(model, p.costs)


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
    for rows, _ in (p.held, p.test):
        said = slope.predict_proba(fitted.decision_function(rows)[:, None])
        known |= {row.tobytes(): answer for row, answer in zip(rows, said, strict=True)}

    def answers(rows: np.ndarray) -> np.ndarray:
        return np.array([known[row.tobytes()] for row in np.asarray(rows)]).reshape(-1, 2)

    return Existing.of((answers, list(range(X.shape[1]))), slope.predict_proba(scores), p)


def forest(p: Problem, n_trees: int) -> Existing:
    """A random forest; trees that did not see a row speak about it."""
    model = RandomForestClassifier(
        n_trees, criterion="entropy", oob_score=True, random_state=0, n_jobs=1
    )
    model.fit(*p.train)
    proba = np.nan_to_num(model.oob_decision_function_, nan=1 / len(model.classes_))
    return Existing.of(model, proba, p)


def budget_forest(p: Problem, n_trees: int) -> Existing:
    """BudgetRF as in its paper, which the authors prune and gate on Yahoo's documents; asked out of fold."""
    model = BudgetedForestClassifier(
        np.inf, preset="paper", n_trees=n_trees, costs=p.costs, random_state=0, n_jobs=1
    )
    proba = cross_val_predict(model, *p.train, cv=3, method="predict_proba")
    return Existing.of(model.fit(*p.train), proba, p)


# Methods ------------------------------------------------------------------------------------------


def gated(
    name: str, p: Problem, existing: Existing, **settings: Any
) -> tuple[list[Any], Any, list[Any]]:
    """Gates for 200 budgets, each model once; the cheapest that may lose a point; those as they were trained."""
    make, own = GATES[name]
    model = make(existing.model, costs=p.costs, random_state=0, n_jobs=1, **own, **settings)
    budgets = existing.cost * np.linspace(0.005, 1.0, 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        *models, kept = model.fit_path(
            *p.train,
            budgets,
            drops=[WITHIN],
            existing_proba=existing.proba,
            validation=p.held,
        )
    models = list({int(np.argmax(model.trace_["chosen"])): model for model in models}.values())
    return models, kept, as_trained(kept, budgets)


def as_trained(model: Any, budgets: np.ndarray) -> list[Any]:
    """Of the same sweep, the best gates within each budget whose thresholds stay where training put them."""
    sweep, task = model._swept
    own = [k for k, point in enumerate(sweep.points) if point["threshold"] == 0]
    kept: dict[int, Any] = {}
    for budget in budgets:
        fits = [k for k in own if sweep.verdicts[k].cost <= budget]
        if fits:
            best = max(fits, key=lambda k: (sweep.verdicts[k].score, -sweep.verdicts[k].cost))
            if best not in kept:
                kept[best] = copy.copy(model)
                kept[best]._keep(sweep, task, best)
    return list(kept.values())


def misers(p: Problem, **settings: Any) -> list[Any]:
    """Greedy Miser for several lam, each cut to its best round on validation rows."""
    scoring = "accuracy" if p.queries is None else "loss"
    model = GreedyMiserClassifier(
        costs=p.costs,
        scoring=scoring,
        patience=None,
        split_noise=0,
        n_jobs=1,
        random_state=0,
        **(MISER | settings),
    )
    top = model.lam_max(*p.train)
    steps = (0.3, 0.1, 0.05, 0.03, 0.01, 0.003, 0.001, 1e-4)
    return model.fit_path(*p.train, [top * step for step in steps], validation=p.held)


def pruned(p: Problem, existing: Existing, most: int = 2000) -> list[Any]:
    """BudgetPrune of a forest for several lam and levels kept, on validation rows.

    A lam of 1 over the forest's cost would give up all of its accuracy for its price. Without levels
    kept, everything is pruned away at about half of that, in one step: prunings between are had by
    keeping levels. Where the existing model is no forest, one of 40 trees is pruned.
    """
    model, (X, y) = existing.model, p.held
    if isinstance(model, tuple):
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


def look(
    model: Any, p: Problem, rows: Part, *, mean: bool = True, scores: bool = False
) -> tuple[np.ndarray, Any]:
    """Which rows are right (or how relevant they are), and their bills or the mean of these, in one walk."""
    outcome = model.policy_.batch(rows[0])
    output = model.policy_.output
    told = (
        output.probabilities(outcome.raw)[:, 1]
        if scores
        else output.predict(outcome.raw) == rows[1]
    )
    bills = p.costs.price(outcome.acquired)
    return told, float(np.mean(bills)) if mean else bills


def taken(model: Any, p: Problem, existing: Existing) -> dict[str, Any]:
    """What a rule's model costs, and what it loses, on test rows."""
    right, cost = look(model, p, p.test)
    accuracy = float(right.mean())
    return {
        "cost": cost, "accuracy": accuracy, "saved": 1 - cost / existing.cost,
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


def few(lines: list[tuple[float, float, int]]) -> list[int]:
    """Models of a curve: at most so many, spread over the costs."""
    lines = sorted(lines)
    some = np.unique(np.linspace(0, len(lines) - 1, MOST_POINTS).astype(int))
    return [lines[k][2] for k in some]


def report(
    models: list[Any], p: Problem, existing: Existing, saving: float, kept: Any = None
) -> dict[str, Any]:
    """A curve on test rows, and what the rules take."""
    seen = [look(model, p, p.held, mean=False) for model in models]
    lines = [
        (float(bill.mean()), float((existing.right * 1.0 - right).mean()), k)
        for k, (right, bill) in enumerate(seen)
    ]
    good = [line for line in lines if line[1] <= WITHIN + 1e-12]
    cheap = [line for line in lines if line[0] <= (1 - saving) * existing.cost]
    chosen = {
        "plain": models[min(good)[2]] if good else None,
        "fair": kept or fair(models, seen, existing.right),
        "budget": models[min(cheap, key=lambda line: (line[1], line[0]))[2]] if cheap else None,
    }
    found: dict[str, Any] = {
        rule: model and taken(model, p, existing) for rule, model in chosen.items()
    }
    curve = [look(models[k], p, p.test) for k in few(lines)]
    return found | {"curve": [(cost, float(right.mean())) for right, cost in curve]}


def ranked(models: list[Any], p: Problem, existing: Existing, saving: float) -> dict[str, Any]:
    """The same by precision@5, of which validation documents choose; one point to lose, or the paper's cost."""
    own = with_bills(existing.model, p)
    said = [own.predict_proba(X)[:, 1] for X, _ in (p.held, p.test)]
    base = [p.precision(k, score) for k, score in enumerate(said)]
    groups = p.precision_by_group(said[1])
    lines = []
    for k, model in enumerate(models):
        score, bill = look(model, p, p.held, scores=True)
        lines.append((bill, base[0] - p.precision(0, score), k))
    good = [line for line in lines if line[1] <= WITHIN + 1e-12]
    cheap = [line for line in lines if line[0] <= (1 - saving) * existing.cost]

    def on_test(k: int) -> dict[str, float]:
        score, cost = look(models[k], p, p.test, scores=True)
        precision, gaps = p.precision(1, score), groups - p.precision_by_group(score)
        return {
            "cost": cost, "accuracy": precision, "saved": 1 - cost / existing.cost,
            "lost": base[1] - precision,
            "lost_error": float(gaps.std(ddof=1) / np.sqrt(len(gaps))),
        }  # fmt: skip

    curve = [on_test(k) for k in few(lines)]
    return {
        "plain": on_test(min(good)[2]) if good else None, "fair": None,
        "budget": on_test(min(cheap, key=lambda line: (line[1], line[0]))[2]) if cheap else None,
        "curve": [(point["cost"], point["accuracy"]) for point in curve], "existing": base[1],
    }  # fmt: skip


def compare(
    name: str, p: Problem, existing: Existing, method: str, trees: dict[str, Any]
) -> dict[str, Any]:
    """One method in front of, or instead of, an existing model."""
    kept, plain = None, []
    if method in GATES:
        own = trees if method == "ADAPT-GBRT" else {}
        models, kept, plain = gated(method, p, existing, **own)
    elif method == "Greedy Miser":
        models = misers(p, **trees)
    else:
        models = pruned(p, existing)
        if "refitted" in method:
            models = [model.refit(*p.train) for model in models]
    about = {
        "cost": existing.cost,
        "accuracy": existing.accuracy,
        "rows": p.rows,
        "models": len(models),
    }
    if plain:
        found = _figures(name, plain, p, existing, None)
        about["as trained"] = {key: found[key] for key in ("budget", "curve")}
    return about | _figures(name, models, p, existing, kept)


def _figures(name: str, models: list[Any], p: Problem, existing: Existing, kept: Any) -> Any:
    """A method in figures: of accuracy, or of precision@5 where there are queries."""
    if p.queries is not None:
        return ranked(models, p, existing, SAVED[name])
    return report(models, p, existing, SAVED[name], kept)
