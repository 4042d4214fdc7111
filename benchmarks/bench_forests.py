"""The comparisons of the BudgetRF paper, BudgetPrune curves, and how fast forests grow.

    python benchmarks/bench_forests.py --quick
    python benchmarks/bench_forests.py --data FOLDER --runs 10 --figure curves.png

Parts (``--part``): ``table`` (Table 1: cost in per cent of the features and error at 1, 10, 20 and 40
trees, next to the paper's figures), ``prune`` (BudgetPrune from the same start, on Forest and
Letters), ``speed`` (growing and predicting against scikit-learn, equal trees and threads, in one
run; pruning), ``yahoo`` (trees on 141,397 x 519, time and memory). Forest, the MiniBooNE sample and
the CIFAR features come from FOLDER; ``--quick`` takes small settings and shipped data.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from costwise import (
    BudgetedForestClassifier,
    PricedModel,
    PrunedForestClassifier,
    datasets,
)
from costwise.core.threads import count_threads

COUNTS = (1, 10, 20, 40)
PAPER = {
    ("forest", "Gini"): "22.6 (.2107)  63.0 (.1307)  70.8 (.1238)  76.6 (.1196)",
    ("forest", "entropy"): "21.7 (.2045)  63.6 (.1313)  72.4 (.1239)  79.3 (.1200)",
    ("forest", "BudgetRF"): "11.4 (.2122)  23.2 (.1364)  25.9 (.1232)  29.0 (.1156)",
    ("miniboone", "Gini"): "27.3 (.1278)  85.1 (.0803)  94.8 (.0730)  98.4 (.0693)",
    ("miniboone", "entropy"): "20.7 (.1230)  75.5 (.0775)  90.4 (.0713)  97.5 (.0680)",
    ("miniboone", "BudgetRF"): "16.4 (.1241)  57.8 (.0786)  73.6 (.0721)  86.8 (.0689)",
    ("cifar", "Gini"): " 3.8 (.4284)  30.4 (.3604)  49.9 (.3349)  72.2 (.3106)",
    ("cifar", "entropy"): " 3.5 (.4267)  28.3 (.3561)  46.5 (.3296)  68.5 (.3080)",
    ("cifar", "BudgetRF"): " 2.6 (.4264)  21.1 (.3600)  35.5 (.3332)  54.2 (.3125)",
}
"""Table 1 of the paper; its draws and its features of CIFAR differ from ours."""


def load(name: str, folder: str | None, seed: int, quick: bool) -> tuple[Any, ...]:
    """Training, validation and test rows: (X, y) each."""
    rng = np.random.default_rng(seed)
    if name == "letters":
        letters = datasets.load_letters()
        # The task of the ADAPT paper: the first thirteen letters against the others.
        X, y = np.asarray(letters.data, dtype=float), np.asarray(letters.target) >= 13
        sizes = (1000, 500, 1000) if quick else (12000, 4000, 4000)
    elif name == "forest":
        file = np.load(f"{folder}/covtype.npz")
        X, y = file["X"], file["y"]
        sizes = (4000, 1500, 5000) if quick else (36603, 15688, 58101)
    elif name == "cifar":
        file = np.load(f"{folder}/cifar10_hog400.npz")
        X, y = file["X_train"], file["y_train"] >= 5
        sizes = (2000, 1000, 2000) if quick else (19761, 8468, 10000)
    else:
        file = np.load(f"{folder}/miniboone_sample.npz")
        parts = [(file[f"X_{p}"], file[f"y_{p}"]) for p in ("train", "val", "test")]
        X, y = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        sizes = (2000, 1000, 2000) if len(X) >= 5000 else (2000, 0, len(X) - 2000)
    rows = np.split(rng.permutation(len(X)), np.cumsum(sizes))[:3]
    return tuple((np.asarray(X[r], dtype=np.float64), y[r]) for r in rows)


def curve(model: Any, X: Any, y: Any) -> list[tuple[float, float]]:
    """Cost in per cent and error of the first 1, 10, 20 and 40 trees, by majority vote for ours."""
    found = []
    for count in COUNTS:
        if isinstance(model, RandomForestClassifier):
            few = RandomForestClassifier()
            few.__dict__.update(model.__dict__, estimators_=model.estimators_[:count])
            part: Any = PricedModel(few)
        else:
            part = model.with_budget(model.trace_["cost"].iloc[min(count, len(model.trace_)) - 1])
        found.append((100 * part.acquired(X).mean(), float(np.mean(part.predict(X) != y))))
    return found


def table(args: argparse.Namespace) -> None:
    """Table 1, with the spread over the runs."""
    names = ["forest", "miniboone", "cifar"] if args.data else ["letters"]
    for name in args.sets or names:
        found: dict[str, list[Any]] = {}
        for seed in range(args.runs):
            train, valid, test = load(name, args.data, seed, args.quick)
            makers = {
                "Gini": RandomForestClassifier(40, n_jobs=-1, random_state=seed),
                "entropy": RandomForestClassifier(
                    40, criterion="entropy", n_jobs=-1, random_state=seed
                ),
                "BudgetRF": BudgetedForestClassifier(random_state=seed),
                "BudgetRF bootstrap": BudgetedForestClassifier(bootstrap=True, random_state=seed),
            }
            for method, model in makers.items():
                ours = isinstance(model, BudgetedForestClassifier)
                extra = {"validation": valid} if ours and len(valid[0]) else {}
                found.setdefault(method, []).append(curve(model.fit(*train, **extra), *test))
        print(
            f"\n{name}, {args.runs} runs: per cent of the features (error) at 1, 10, 20, 40 trees"
        )
        for method, curves in found.items():
            mean, spread = np.mean(curves, axis=0), np.std(curves, axis=0)
            cells = [f"{c:4.1f} ({e:.4f})" for c, e in mean]
            print(
                f"  {method:18s} "
                + "  ".join(cells)
                + f"   sd at 40: {spread[-1][0]:.2f} ({spread[-1][1]:.4f})"
            )
            if (paper := PAPER.get((name, method.split()[0]))) and method != "BudgetRF bootstrap":
                print(f"  {'  paper':18s} {paper}")


def prune(args: argparse.Namespace) -> None:
    """BudgetPrune from scikit-learn's forest and from ours, over lam."""
    drawn = {}
    for name in args.sets or (["forest", "letters"] if args.data else ["letters"]):
        train, valid, test = load(name, args.data, 0, args.quick)
        starts = {
            "Gini forest": RandomForestClassifier(40, n_jobs=-1, random_state=0).fit(*train),
            "BudgetRF": BudgetedForestClassifier(random_state=0).fit(*train, validation=valid),
        }
        for start, forest in starts.items():
            for errors in ("in-bag", "held-out"):
                begin = time.perf_counter()
                model = PrunedForestClassifier(forest, 0.0, errors=errors).fit(*valid)
                print(f"\n{name}, {start}, {errors} errors ({time.perf_counter() - begin:.1f} s)")
                points = []
                for lam in (None, 0.0, 4e-3, 2e-2, 4e-2, 8e-2, 0.15, 0.3):
                    part: Any = PricedModel(forest) if lam is None else model.with_lam(lam)
                    cost, error = (
                        part.cost(test[0]).mean(),
                        float(np.mean(part.predict(test[0]) != test[1])),
                    )
                    gap = "" if lam is None else f"  gap {part.gap_:.1e} of {part.objective_:.4f}"
                    print(f"  lam {lam!s:7s} cost {cost:6.2f}  error {error:.4f}{gap}")
                    points.append((cost, error))
                drawn[f"{name}: {start}, {errors}"] = points
    if args.figure:
        import matplotlib.pyplot as plt

        for label, points in drawn.items():
            plt.plot(*zip(*points, strict=True), marker="o", label=label)
        plt.xlabel("mean cost"), plt.ylabel("test error"), plt.legend()
        plt.savefig(args.figure)


def speed(args: argparse.Namespace) -> None:
    """Growing and predicting against scikit-learn, and pruning; alternating, best of three."""
    train, valid, test = load("forest" if args.data else "letters", args.data, 0, args.quick)
    forest = RandomForestClassifier(40, n_jobs=-1, random_state=0)
    makers = {
        "scikit-learn": forest,
        "ours": BudgetedForestClassifier(validation_fraction=None, random_state=0),
        "ours, bootstrap": BudgetedForestClassifier(
            validation_fraction=None, bootstrap=True, random_state=0
        ),
    }
    for model in list(makers.values())[1:]:
        model.fit(train[0][:600], train[1][:600])  # compile
        model.cost(test[0][:600])
    best: dict[str, list[float]] = {name: [np.inf] * 4 for name in makers}
    for _ in range(3):
        for name, model in makers.items():
            cells = best[name]
            wall, cpu = time.perf_counter(), time.process_time()
            model.fit(*train)
            cells[0] = min(cells[0], time.perf_counter() - wall)
            cells[1] = min(cells[1], time.process_time() - cpu)
            wall = time.perf_counter()
            model.predict(test[0])
            cells[2] = min(cells[2], time.perf_counter() - wall)
            if name != "scikit-learn":
                wall = time.perf_counter()
                model.cost(test[0])
                cells[3] = min(cells[3], time.perf_counter() - wall)
    print(f"\n40 trees on {train[0].shape}, {count_threads(None)} threads, best of 3 (seconds)")
    for name, (wall, cpu, predict, bills) in best.items():
        print(
            f"  {name:16s} fit {wall:6.2f} (CPU {cpu:6.2f})  predict {predict:.3f}  bills {bills:.3f}"
        )
    for name, start in (("Gini forest", forest), ("BudgetRF", makers["ours"])):
        wall, cpu = time.perf_counter(), time.process_time()
        model = PrunedForestClassifier(start, 1e-3).fit(*valid)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"  pruning {name} on {len(valid[0])} rows: {wall:.1f} (CPU {cpu:.1f}), gap {model.gap_:.1e}"
        )


def yahoo(args: argparse.Namespace) -> None:
    """Trees on data of the shape of Yahoo! LTR: time per tree and the peak of memory."""
    n, trees = (5000, 4) if args.quick else (141397, args.trees)
    X, y, _, costs = datasets.make_yahoo_like(n, 0)
    X, y = np.asarray(X, dtype=np.float32), np.asarray(y) > 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    model = BudgetedForestClassifier(
        max_trees=trees, costs=list(map(float, costs.prices.values())), random_state=0
    )
    model.fit(X, y)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"\n{trees} trees on {X.shape}: {wall:.1f} s (CPU {cpu:.1f}); memory above the data "
        f"{(peak - before) / 2**20:.2f} GB, data {X.nbytes / 2**30:.2f} GB"
    )
    print(model.trace_.iloc[[0, -1]].to_string(index=False))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--trees", type=int, default=140, help="trees of the part yahoo")
    parser.add_argument("--part", nargs="+", default=["table", "prune", "speed", "yahoo"])
    parser.add_argument("--sets", nargs="+", help="data sets of the parts table and prune")
    parser.add_argument("--figure", help="where to draw the curves of the part prune")
    args = parser.parse_args()
    if args.quick:
        args.runs = min(args.runs, 2)
    for part in args.part:
        {"table": table, "prune": prune, "speed": speed, "yahoo": yahoo}[part](args)


if __name__ == "__main__":
    main()
