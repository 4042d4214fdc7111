"""The experiments of the ADAPT paper: what a gate saves in front of an accurate model.

    python benchmarks/bench_adapt.py --quick
    python benchmarks/bench_adapt.py --data FOLDER --part letters --figure figure5.png

Parts (``--part``): ``synthetic`` (Figure 3), ``letters`` (Figure 5, with an RBF-SVM and a forest),
``forest``, ``miniboone`` and ``cifar`` (Figure 4, with Greedy Miser and, where a forest is in front,
BudgetPrune), ``heart`` (real prices, in dollars), ``growth`` (trees per second of ADAPT-GBRT, Greedy
Miser and LightGBM on the shape of Forest, in one run). Every model is chosen on validation rows and
reported on test rows. Forest, the MiniBooNE sample and the CIFAR features are read from FOLDER.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from costwise import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    Costs,
    GreedyMiserClassifier,
    L1GateClassifier,
    PricedModel,
    datasets,
)

PAPER = {"letters": 31, "forest": 32, "miniboone": 63, "cifar": 12}
"""Per cent of the feature cost that ADAPT-GBRT saves within one point of the top accuracy."""

TREES: dict[str, Any] = {"max_depth": 6, "learning_rate": 0.3, "min_samples_leaf": 10}
"""Trees of ADAPT-GBRT and Greedy Miser alike: few features, so that depth is what they have to work with."""

Rows = tuple[np.ndarray, np.ndarray]


@dataclass
class Problem:
    """Three sets of rows and their prices."""

    name: str
    train: Rows
    validation: Rows
    test: Rows
    costs: Costs


def problem(
    name: str, X: np.ndarray, y: np.ndarray, sizes: tuple[int, int, int], costs: Costs
) -> Problem:
    """Cut rows in file order into training, validation and test rows."""
    ends = np.cumsum(sizes)
    cuts = [slice(0, ends[0]), slice(ends[0], ends[1]), slice(ends[1], ends[2])]
    return Problem(name, *((X[cut], y[cut]) for cut in cuts), costs)


def svm(quick: bool) -> Any:
    return make_pipeline(StandardScaler(), SVC(C=1, gamma=1))


def forest(quick: bool) -> Any:
    return RandomForestClassifier(
        50 if quick else 200, criterion="entropy", random_state=0, n_jobs=-1
    )


def out_of_fold(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Probabilities of rows that the model did not see; scores are calibrated by a logistic fit."""
    if hasattr(model, "predict_proba"):
        return cross_val_predict(model, X, y, cv=3, method="predict_proba")
    score = cross_val_predict(model, X, y, cv=3, method="decision_function")
    return LogisticRegression().fit(score[:, None], y).predict_proba(score[:, None])


def points(models: list[Any], test: Rows) -> list[tuple[float, float]]:
    """(mean bill, accuracy) on test rows, without repetitions."""
    return sorted({(float(m.cost(test[0]).mean()), float(m.score(*test))) for m in models})


def saved(found: list[tuple[float, float]], accuracy: float, cost: float) -> str:
    """Largest saving within a point of the accuracy."""
    good = [c for c, a in found if a >= accuracy - 0.01]
    return f"{100 * (1 - min(good) / cost):.0f} %" if good else "none"


def gated(
    cls: Any, p: Problem, existing: Any, proba: np.ndarray, budgets: np.ndarray, **extra: Any
) -> Any:
    start = time.perf_counter()
    model = cls(existing, costs=p.costs, random_state=0, **extra)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = model.fit_path(*p.train, budgets, existing_proba=proba, validation=p.validation)
    print(
        f"    {cls.__name__}: {len(models[0].trace_)} models in {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return models


def misers(p: Problem, n_rounds: int) -> list[Any]:
    """Greedy Miser for several lam, each cut to its best round on validation rows."""
    model = GreedyMiserClassifier(costs=p.costs, n_rounds=n_rounds, scoring="accuracy", **TREES)
    top = model.lam_max(*p.train)
    return model.fit_path(*p.train, [top * s for s in (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 1e-4, 0)],
                          validation=p.validation)  # fmt: skip


def pruned(p: Problem, model: Any) -> list[Any]:
    """BudgetPrune of a forest for several lam."""
    from costwise import PrunedForestClassifier

    return [
        PrunedForestClassifier(model, lam=lam, costs=p.costs, random_state=0).fit(*p.validation)
        for lam in (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1)
    ]


def compare(
    p: Problem, base: Any, methods: list[Any], *, rounds: int, quick: bool, prune: bool = False
) -> dict[str, Any]:
    """One existing model, several gates in front of it, and what they cost."""
    start = time.perf_counter()
    proba = out_of_fold(base, *p.train)
    existing = clone(base).fit(*p.train)
    priced = PricedModel(existing, p.costs)
    accuracy, cost = float(priced.score(*p.test)), float(priced.cost(p.test[0]).mean())
    name = type(existing[-1] if hasattr(existing, "steps") else existing).__name__
    print(
        f"  {name}: accuracy {accuracy:.4f} at {cost:.2f} ({time.perf_counter() - start:.0f} s)",
        flush=True,
    )
    budgets = cost * np.linspace(0.05, 1.0, 8 if quick else 20)
    curves: dict[str, Any] = {"existing": [(cost, accuracy)]}
    for cls in methods:
        extra = {"n_rounds": rounds, **TREES} if cls is AdaptiveBoostingClassifier else {}
        curves[cls.__name__] = points(gated(cls, p, existing, proba, budgets, **extra), p.test)
    curves["GreedyMiser"] = points(misers(p, rounds), p.test)
    if prune:
        curves["BudgetPrune"] = points(pruned(p, existing), p.test)
    for method, found in curves.items():
        text = "  ".join(f"{a:.3f}@{c:.1f}" for c, a in found)
        print(f"    {method:28s} saves {saved(found, accuracy, cost):>6s}   {text}")
    print(f"    paper: {PAPER.get(p.name, '-')} %", flush=True)
    return curves


# The parts ----------------------------------------------------------------------------------------


def synthetic(args: argparse.Namespace) -> dict[str, Any]:
    found = {}
    for shares in ((0.25,) * 4, (0.26, 0.26, 0.24, 0.24)):
        X, y, costs = datasets.make_synthetic_2(1000, shares=shares, separation=2)
        exact = SVC(gamma=1).fit(X, y)
        for cls, extra in (
            (AdaptiveLinearClassifier, {"p_full": 0.5}),
            (L1GateClassifier, {"budget": 1.9}),
        ):
            model = cls(exact, costs=costs, **extra).fit(X, y, validation=(X, y))
            found[f"{cls.__name__} {shares[0]}"] = (model.score(X, y), float(model.cost(X).mean()))
    for name, (score, cost) in found.items():
        print(f"  {name:32s} accuracy {score:.3f} at {cost:.3f}   (paper: 1.5 and 1.75)")
    return found


def letters(args: argparse.Namespace) -> dict[str, Any]:
    data = datasets.load_letters()
    X, y = data.data.to_numpy(dtype=float), (np.asarray(data.target) >= 13).astype(int)
    sizes = (3000, 1000, 4000) if args.quick else (12000, 4000, 4000)
    p = problem("letters", X, y, sizes, Costs(np.ones(16, dtype=int)))
    all_three = [AdaptiveBoostingClassifier, AdaptiveLinearClassifier, L1GateClassifier]
    rounds = 40 if args.quick else 100
    curves = {"svm": compare(p, svm(args.quick), all_three, rounds=rounds, quick=args.quick)}
    curves["forest"] = compare(
        p, forest(args.quick), all_three[:1], rounds=rounds, quick=args.quick, prune=True
    )
    return curves


def forest_cover(args: argparse.Namespace) -> dict[str, Any]:
    data = datasets.fetch_paper_set("forest", args.data)
    X, y = data.data.to_numpy(dtype=float), np.asarray(data.target)
    wanted = (6000, 3000, 10000) if args.quick else (36603, 15688, 58101)
    rows, _ = train_test_split(
        np.arange(len(y)), train_size=sum(wanted), random_state=0, stratify=y
    )
    p = problem("forest", X[rows], y[rows], wanted, Costs(np.ones(54, dtype=int)))
    return compare(p, forest(args.quick), [AdaptiveBoostingClassifier], rounds=40 if args.quick else 100,
                   quick=args.quick, prune=args.quick)  # fmt: skip


def miniboone(args: argparse.Namespace) -> dict[str, Any]:
    data = datasets.fetch_paper_set("miniboone_sample", args.data)
    X, y = data.data.to_numpy(dtype=float), np.asarray(data.target)
    parts = [(X[data.split == s], y[data.split == s]) for s in ("train", "validation", "test")]
    p = Problem("miniboone", *parts, Costs(np.ones(50, dtype=int)))
    return compare(p, forest(args.quick), [AdaptiveBoostingClassifier, AdaptiveLinearClassifier], rounds=60,
                   quick=args.quick, prune=True)  # fmt: skip


def cifar(args: argparse.Namespace) -> dict[str, Any]:
    data = datasets.fetch_paper_set("cifar10_hog400", args.data)
    X, y = data.data.to_numpy(dtype=float), (np.asarray(data.target) >= 5).astype(int)
    sizes = (3000, 1500, 3000) if args.quick else (19761, 8468, 10000)
    order = np.random.default_rng(0).permutation(len(y))[: sum(sizes)]
    p = problem("cifar", X[order], y[order], sizes, Costs(np.ones(400, dtype=int)))
    base = make_pipeline(StandardScaler(), SVC(C=1, gamma="scale"))
    return compare(p, base, [AdaptiveBoostingClassifier], rounds=60, quick=args.quick)


def heart(args: argparse.Namespace) -> dict[str, Any]:
    """Repeated halves: a forest that is charged for all tests, fronted by a gate."""
    data = datasets.load_heart()
    X, y, costs = data.data, np.asarray(data.target), data.costs
    budgets, seeds = (15, 30, 60, 100, 200), range(2 if args.quick else 10)
    results: dict[str, list[tuple[float, float]]] = {}
    for seed in seeds:
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.4, random_state=seed, stratify=y
        )
        Xa, ya, Xb, yb = X.iloc[train], y[train], X.iloc[test], y[test]
        model = RandomForestClassifier(200, random_state=seed, oob_score=True, n_jobs=-1).fit(
            Xa, ya
        )
        priced = PricedModel(model, costs)
        results.setdefault("forest", []).append(
            (priced.score(Xb, yb), float(priced.cost(Xb).mean()))
        )
        for cls, extra in (
            (AdaptiveBoostingClassifier, {"min_samples_leaf": 8, "n_rounds": 40}),
            (AdaptiveLinearClassifier, {}),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                gates = cls(
                    model, costs=costs, random_state=0, validation_fraction=0.35, **extra
                ).fit_path(Xa, ya, budgets, existing_proba=model.oob_decision_function_)
            for budget, gate in zip(budgets, gates, strict=True):
                point = (gate.score(Xb, yb), float(gate.cost(Xb).mean()))
                results.setdefault(f"{cls.__name__} budget {budget}", []).append(point)
    for name, runs in results.items():
        score, cost = np.mean(runs, axis=0)
        print(f"  {name:44s} accuracy {score:.3f} at {cost:7.2f} {costs.unit}")
    return {name: np.mean(runs, axis=0).tolist() for name, runs in results.items()}


def growth(args: argparse.Namespace) -> dict[str, float]:
    """Trees per second on 36,603 x 54, all of them in one run."""
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
    GreedyMiserClassifier(n_rounds=2).fit(X[:500], y[:500])  # compile
    rates = {}
    for name, model, trees, extra in (
        ("GreedyMiser", GreedyMiserClassifier(lam=1e-5, **shared), 100, {}),
        ("ADAPT-GBRT", AdaptiveBoostingClassifier(_half(), p_full=0.4, gamma=1e-5, n_iterations=outer, **shared),
         None, {"existing_proba": proba}),
        ("GreedyMiser again", GreedyMiserClassifier(lam=1e-5, **shared), 100, {}),
    ):  # fmt: skip
        start = time.perf_counter()
        model.fit(X, y, **extra)
        elapsed = time.perf_counter() - start
        trees = trees or 100 + 200 * len(model.trace_)
        rates[name] = trees / elapsed
        print(
            f"  {name:20s} {trees:5d} trees in {elapsed:6.2f} s: {rates[name]:7.0f} trees / s",
            flush=True,
        )
    try:
        import lightgbm
    except ImportError:
        print("  LightGBM is not installed")
    else:
        start = time.perf_counter()
        lightgbm.LGBMClassifier(n_estimators=100, max_depth=3, num_leaves=8, verbose=-1).fit(X, y)
        rates["LightGBM"] = 100 / (time.perf_counter() - start)
        print(f"  {'LightGBM':20s}   100 trees: {rates['LightGBM']:7.0f} trees / s")
    fastest = max(rates["GreedyMiser"], rates["GreedyMiser again"])
    print(f"  ADAPT-GBRT / the faster Greedy Miser: {rates['ADAPT-GBRT'] / fastest:.2f}")
    return rates


def _half() -> Any:
    """An existing model that costs nothing to run: only growing is measured."""
    return (lambda rows: np.full((len(rows), 2), 0.5), list(range(54)))


PARTS = {
    "synthetic": synthetic, "letters": letters, "forest": forest_cover, "miniboone": miniboone, "cifar": cifar,
    "heart": heart, "growth": growth,
}  # fmt: skip
NEED_DATA = ("forest", "miniboone", "cifar")


def draw(curves: dict[str, Any], path: str) -> None:
    """The curves of Figure 5 in one plot."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for base, methods in curves.items():
        for method, found in methods.items():
            cost, score = zip(*found, strict=True)
            axes.plot(cost, score, marker="o", label=f"{method} ({base})")
    axes.set(xlabel="mean cost of a prediction", ylabel="test accuracy", title="Letters")
    axes.legend(fontsize=7)
    figure.savefig(path, dpi=150, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=list(PARTS), action="append", help="only these parts")
    parser.add_argument("--data", help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true", help="small samples")
    parser.add_argument("--figure", help="where to draw the curves of the letters")
    parser.add_argument("--json", help="where to write all figures")
    args = parser.parse_args()
    found = {}
    for name in args.part or PARTS:
        if name in NEED_DATA and not args.data:
            print(f"{name}: give --data FOLDER")
            continue
        print(name, flush=True)
        found[name] = PARTS[name](args)
    if args.figure and "letters" in found:
        draw(found["letters"], args.figure)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
