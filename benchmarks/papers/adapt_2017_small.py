"""The parts of ``adapt_2017_parts.py`` with a protocol of their own: the paper's example, heart, speed."""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC

from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    datasets,
)


def synthetic(args: argparse.Namespace) -> dict[str, Any]:
    """Synthetic-2: equal clusters, and the uneven ones that lead the L1 gate astray."""
    found = {}
    for shares in ((0.25,) * 4, (0.26, 0.26, 0.24, 0.24)):
        X, y, costs = datasets.make_synthetic_2(1000, shares=shares, separation=2)
        exact = SVC(gamma=1).fit(X, y)
        for name, cls, extra in (
            ("ADAPT-LIN", AdaptiveLinearClassifier, {"p_full": 0.5}),
            ("L1 gate", L1GateClassifier, {"budget": 1.9}),
        ):
            model = cls(exact, costs=costs, **extra).fit(X, y, validation=(X, y))
            figures = (float(model.score(X, y)), float(model.cost(X).mean()))
            found[f"{name}, clusters of {100 * shares[0]:.0f} %"] = figures
    for name, (score, cost) in found.items():
        print(f"  {name:32s} accuracy {score:.3f} at {cost:.3f}")
    return found


# Heart --------------------------------------------------------------------------------------------

HEART_GATES: dict[str, tuple[Any, dict[str, Any], tuple[float, ...]]] = {
    "ADAPT-GBRT": (
        AdaptiveBoostingClassifier,
        {"n_rounds": 30, "max_depth": 3, "min_samples_leaf": 10, "max_iter": 3, "learning_rate": 0.3},
        (2e-3, 3e-4, 1.5e-4, 6e-5, 3e-5),
    ),
    "ADAPT-LIN": (
        AdaptiveLinearClassifier,
        {"max_iter": 15, "refit_supports": False},
        (2e-2, 5e-3, 2e-3, 1e-3, 5e-4),
    ),
}  # fmt: skip
"""Settings for 200 rows (shallow trees, few rounds, a penalty instead of refits), and gammas per dollar."""

HEART_SHARES = (0.0, 0.3, 0.6)
HEART_BUDGETS = (25, 50, 100, 150, 200, 250)


class HeartSplit:
    """One division of the heart rows, and the forest that is there already."""

    def __init__(self, seed: int) -> None:
        data = datasets.load_heart()
        X, y = data.data, np.asarray(data.target)
        self.train, self.test = (
            (X.iloc[part], y[part])
            for part in train_test_split(
                np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y
            )
        )
        forest = RandomForestClassifier(200, random_state=seed, oob_score=True).fit(*self.train)
        self.proba = forest.oob_decision_function_
        self.said = forest.classes_[np.argmax(self.proba, axis=1)]
        self.existing = PricedModel(forest, data.costs)
        self.folds = list(StratifiedKFold(5, shuffle=True, random_state=seed).split(*self.train))

    def gate(self, name: str, p_full: float, gamma: float) -> Any:
        """A gate to be fitted."""
        cls, settings, _ = HEART_GATES[name]
        constraint = "equal" if p_full else "at_most"
        return cls(self.existing, p_full=p_full, gamma=gamma, constraint=constraint, **settings)

    def fitted(self, name: str, p_full: float, gamma: float) -> tuple[float, float]:
        """Accuracy and bill on the test rows."""
        model = self.gate(name, p_full, gamma).fit(*self.train, existing_proba=self.proba)
        return float(model.score(*self.test)), float(model.cost(self.test[0]).mean())

    def tried(self, name: str, p_full: float, gamma: float) -> tuple[float, float]:
        """Accuracy and bill over the folds; trees that did not see a row answer for the forest."""
        X, y = self.train
        right, bill = [], []
        for seen, held in self.folds:
            model = self.gate(name, p_full, gamma)
            model.fit(X.iloc[seen], y[seen], existing_proba=self.proba[seen])
            rows, cheap = X.iloc[held], model.policy_.cheap
            kept = cheap.output.predict(cheap.batch(rows.to_numpy(dtype=float), billed=False).raw)
            right.append(np.where(model.sent(rows), self.said[held], kept) == y[held])
            bill.append(model.cost(rows))
        return float(np.concatenate(right).mean()), float(np.concatenate(bill).mean())

    def chosen(self, name: str, shares: tuple[float, ...]) -> dict[str, tuple[float, float]]:
        """What each rule takes from the grid, on the test rows."""
        points = [(p_full, gamma) for p_full in shares for gamma in HEART_GATES[name][2]]
        tried = [(*self.tried(name, *point), point) for point in points]
        bar = float(np.mean(self.said == self.train[1])) - 0.01
        good = [t for t in tried if t[0] >= bar]
        rules = {"within one point": min(good, key=lambda t: t[1])[2] if good else None}
        for budget in HEART_BUDGETS:
            fits = [t for t in tried if t[1] <= budget]
            rules[f"best within ${budget}"] = (
                max(fits, key=lambda t: (t[0], -t[1]))[2] if fits else None
            )
        return {
            rule: self.alone() if point is None else self.fitted(name, *point)
            for rule, point in rules.items()
        }

    def alone(self) -> tuple[float, float]:
        """The forest itself on the test rows."""
        cost = float(self.existing.cost(self.test[0]).mean())
        return float(self.existing.score(*self.test)), cost


def heart(args: argparse.Namespace) -> dict[str, Any]:
    """A forest that is charged for every test it reads, fronted by a gate: ten divisions, in dollars.

    Settings come from five folds within the training rows: the cheapest within one point of the forest,
    and the most accurate within a budget. Where no setting qualifies, the forest answers alone.
    """
    results: dict[str, list[tuple[float, float]]] = {}
    for seed in range(2 if args.quick else 10):
        split = HeartSplit(seed)
        results.setdefault("forest alone", []).append(split.alone())
        for name in HEART_GATES:
            shares = HEART_SHARES[::2] if args.quick else HEART_SHARES
            for rule, point in split.chosen(name, shares).items():
                results.setdefault(f"{name}, {rule}", []).append(point)
    found = {}
    base = np.array(results["forest alone"])[:, 0]
    for name, runs in results.items():
        score, cost = np.mean(runs, axis=0)
        behind = np.array(runs)[:, 0] - base
        error = float(behind.std(ddof=1) / np.sqrt(len(behind)))
        found[name] = {
            "accuracy": float(score), "cost": float(cost), "difference": float(behind.mean()), "error": error,
        }  # fmt: skip
        print(f"  {name:34s} {score:.3f} at ${cost:7.2f} ({behind.mean():+.3f} +- {error:.3f})")
    return found


# Speed --------------------------------------------------------------------------------------------


def growth(args: argparse.Namespace) -> dict[str, float]:
    """Trees per second on 36,603 x 54, all of them in one run, after compiling."""
    n = 8000 if args.quick else 36603
    if args.data:
        data = datasets.fetch_paper_set("forest", args.data)
        X, y = data.data.to_numpy(dtype=float)[:n], (np.asarray(data.target)[:n] == 2).astype(int)
    else:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, 54))
        y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    proba = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    outer = 3 if args.quick else 10
    shared: dict[str, Any] = {"n_rounds": 100, "costs": np.ones(54, dtype=int)}
    GreedyMiserClassifier(n_rounds=2).fit(X[:500], y[:500])
    adapt = AdaptiveBoostingClassifier(
        (lambda rows: np.full((len(rows), 2), 0.5), list(range(54))),  # costs nothing to run
        p_full=0.4, gamma=1e-5, max_iter=outer, **shared,
    )  # fmt: skip
    # Reading and binning the rows weighs on 100 trees, hardly on thousands: so more rounds as well.
    longer = {**shared, "n_rounds": 100 if args.quick else 2000}
    paper: dict[str, Any] = {"preset": "paper", "max_depth": 3, **shared}  # trees of the same kind
    rates: dict[str, float] = {}
    for name, model, extra in (
        ("Greedy Miser", GreedyMiserClassifier(lam=1e-5, **paper), {}),
        ("ADAPT-GBRT", adapt, {"existing_proba": proba}),
        ("Greedy Miser, 2000 rounds", GreedyMiserClassifier(lam=1e-5, **{**paper, **longer}), {}),
        ("Greedy Miser again", GreedyMiserClassifier(lam=1e-5, **paper), {}),
    ):
        start = time.perf_counter()
        model.fit(X, y, **extra)
        elapsed = time.perf_counter() - start
        trees = 100 + 200 * len(model.trace_) if model is adapt else model.n_rounds
        rates[name] = trees / elapsed
        print(f"  {name:25s} {trees:5d} trees in {elapsed:6.2f} s: {rates[name]:6.0f} trees / s")
    try:
        import lightgbm
    except ImportError:
        print("  LightGBM is not installed")
    else:
        model = lightgbm.LGBMClassifier(n_estimators=100, max_depth=3, num_leaves=8, verbose=-1)
        start = time.perf_counter()
        model.fit(X, y)
        rates["LightGBM"] = 100 / (time.perf_counter() - start)
        print(f"  {'LightGBM':20s}   100 trees: {rates['LightGBM']:6.0f} trees / s")
    fastest = max(rates["Greedy Miser"], rates.pop("Greedy Miser again"))
    rates["Greedy Miser"] = fastest
    for name in ("Greedy Miser", "Greedy Miser, 2000 rounds"):
        print(f"  ADAPT-GBRT / {name}: {rates['ADAPT-GBRT'] / rates[name]:.2f}")
    return rates
