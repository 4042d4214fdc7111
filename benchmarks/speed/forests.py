"""BudgetPrune curves, and how fast budgeted forests grow, answer and are pruned.

    python -m benchmarks.speed.forests --quick
    python -m benchmarks.speed.forests --data FOLDER --save results.jsonl --figure curves.png

Parts (``--part``): ``prune`` (BudgetPrune over lam, from scikit-learn's forest and from ours, on
Forest and Letters; as it is, and with the top of the trees kept and leaves refitted), ``fewer`` (the
same where trees may be left out, refitted on all rows in the end), ``speed``
(growing and answering against scikit-learn, equal trees and threads, in one run; pruning),
``yahoo`` (trees on data of the shape of Yahoo! LTR: time and memory for more trees and more rows).
Results are kept in the file of ``--save``; the figures of ``prune`` and
``fewer`` are printed as well. ``--quick`` takes small settings
and shipped data.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.common import Kept, options
from worthwhile import (
    BudgetedForestClassifier,
    PricedModel,
    PrunedForestClassifier,
    datasets,
)
from worthwhile.core.threads import count_threads

LAMS = (0.0, 2e-3, 5e-3, 1e-2, 1.5e-2, 2e-2, 2.5e-2, 3e-2, 4e-2, 8e-2)
KEPT_LEVELS, KEPT_LAMS = (3, 5), (1e-2, 1.5e-2, 2e-2, 3e-2, 5e-2, 1e-1, 2e-1)
"""Prunings that keep the top of the trees, whose leaves are then fitted together."""

FEWER_TREES, FEWER_LEVELS = (25, 40), (3, 4)
FEWER_LAMS = (3e-2, 4e-2, 5e-2, 6e-2, 7e-2, 8e-2, 9e-2, 1e-1)
"""Prunings that may leave trees out."""

TOO_FAR = 0.03
"""Error lost at which no larger lam is tried."""

SIZES = {
    "letters": (12000, 4000, 4000), "forest": (36603, 15688, 58101), "cifar": (19761, 8468, 10000),
    "miniboone": (2000, 1000, 2000),
}  # fmt: skip
"""Training, validation and test rows of the papers; of MiniBooNE the authors' sample."""


def load(name: str, folder: str | None, seed: int, share: float = 1.0) -> tuple[Any, ...]:
    """Training, validation and test rows: (X, y) each, drawn anew for every seed."""
    rng = np.random.default_rng(seed)
    if name == "letters":
        letters = datasets.load_letters()
        # The task of the ADAPT paper: the first thirteen letters against the others.
        X, y = np.asarray(letters.data, dtype=float), np.asarray(letters.target) >= 13
    elif name == "forest":
        file = np.load(f"{folder}/covtype.npz")
        X, y = file["X"], file["y"]
    elif name == "cifar":
        file = np.load(f"{folder}/cifar10_hog400.npz")
        X, y = file["X_train"], file["y_train"] >= 5
    else:
        file = np.load(f"{folder}/miniboone_sample.npz")
        X, y = (np.concatenate([file[f"{c}_{p}"] for p in ("train", "val", "test")]) for c in "Xy")
    sizes = [int(size * share) for size in SIZES[name]]
    rows = np.split(rng.permutation(len(X)), np.cumsum(sizes))[:3]
    return tuple((np.asarray(X[r], dtype=np.float64), y[r]) for r in rows)


def measured(model: Any, X: Any, y: Any) -> tuple[float, float]:
    """Mean bill and error."""
    return float(model.cost(X).mean()), float(np.mean(model.predict(X) != y))


def start_forest(start: str, train: Any, valid: Any) -> Any:
    """The forest of 40 trees that is pruned."""
    if start == "Gini":
        return RandomForestClassifier(40, n_jobs=-1, random_state=0).fit(*train)
    preset = "paper" if start == "BudgetRF, paper" else "default"
    return BudgetedForestClassifier(random_state=0, preset=preset).fit(*train, validation=valid)


def prune_from(name: str, start: str, way: str, args: Any) -> dict[str, Any]:
    """One curve: bills and errors on pruning and test rows, the start forest first.

    Nodes' errors are those of the training rows, and leaves are refitted on training rows: the labels
    of the pruning rows decide nothing but which point is chosen.
    """
    train, valid, test = load(name, args.data, args.seed, 0.05 if args.quick else 1.0)
    forest = start_forest(start, train, valid)
    whole = PricedModel(forest) if start == "Gini" else forest
    points = [{"lam": None, "valid": measured(whole, *valid), "test": measured(whole, *test)}]
    took = 0.0
    for keep in (0,) if way == "pruned" else KEPT_LEVELS[:1] if args.quick else KEPT_LEVELS:
        model = PrunedForestClassifier(forest, 0.0, keep_levels=keep).fit(*valid)
        for lam in LAMS if way == "pruned" else KEPT_LAMS:
            begin = time.process_time()
            part = model.at(lam=lam)
            point = {"lam": lam, "keep": keep, "gap": part.gap_, "objective": part.objective_}
            if way == "refitted":
                part = part.refit(*train)
            took += time.process_time() - begin
            points.append({**point, "valid": measured(part, *valid), "test": measured(part, *test)})
    return {"points": points, "cpu": took}


def chosen(points: list[dict[str, Any]], within: float = 0.005) -> dict[str, Any]:
    """The cheapest pruning within 0.5 points of the start forest's error, on the pruning rows."""
    allowed = points[0]["valid"][1] + within
    good = [p for p in points[1:] if p["valid"][1] <= allowed]
    return min(good or points[1:2], key=lambda p: p["valid"][0])


def chosen_crossed(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The same by halves of the pruning rows that are refitted on and measured on in turn."""
    allowed = points[0]["valid"][1] + 0.005
    good = [p for p in points[1:] if p["crossed"] <= allowed]
    return min(good or points[1:2], key=lambda p: p["valid"][0])


def edge(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points that are best for their bill on the pruning rows, cheapest first."""
    found: list[dict[str, Any]] = []
    for p in sorted(points, key=lambda p: tuple(p["valid"])):
        if not found or p["valid"][1] < found[-1]["valid"][1]:
            found.append(p)
    return found


def prune(args: Any, kept: Kept) -> None:
    """BudgetPrune from three forests, as it is and with levels kept and leaves refitted."""
    for name in args.sets or (["forest", "letters"] if args.data else ["letters"]):
        for start in ("Gini", "BudgetRF, paper", "BudgetRF"):
            for way in ("pruned", "refitted"):
                key = f"prune {name}|{start}|{way}" + (f"|seed {args.seed}" if args.seed else "")
                found = kept.get(key, partial(prune_from, name, start, way, args))
                best = chosen(found["points"])
                print(f"{key}: {found['points'][0]['test']} -> {best['test']} at lam {best['lam']}")


def crossed(model: Any, train: Any, valid: Any) -> float:
    """Error on the pruning rows of leaves refitted on the training rows and the other half of these."""
    wrong, half = 0, np.arange(len(valid[1])) % 2
    for side in (0, 1):
        fit = [np.concatenate([a, b[half != side]]) for a, b in zip(train, valid, strict=True)]
        X, y = (part[half == side] for part in valid)
        wrong += int(np.sum(model.refit(*fit).predict(X) != y))
    return wrong / len(half)


def fewer_from(name: str, args: Any) -> dict[str, Any]:
    """Prunings of the first trees or of all, a finer path, leaves refitted on all rows once chosen.

    ``valid`` and ``test``: leaves refitted on the training rows. ``crossed``: on these and half of the
    pruning rows, measured on the other half. ``all``: on all of both, on test rows. ``more``: the start
    forest grown on all of both.
    """
    train, valid, test = load(name, args.data, args.seed, 0.05 if args.quick else 1.0)
    both = tuple(np.concatenate(parts) for parts in zip(train, valid, strict=True))
    forest = start_forest("BudgetRF", train, valid)
    way = {"criterion": forest.criterion_, "bootstrap": forest.bootstrap_}
    more = BudgetedForestClassifier(random_state=0, **way).fit(*both, validation=valid)
    points: list[dict[str, Any]] = [{
        "lam": None, "valid": measured(forest, *valid), "test": measured(forest, *test),
        "more": measured(more, *test),
    }]  # fmt: skip
    for trees in FEWER_TREES:
        few = forest.at(budget=forest.trace_["cost"].iloc[trees - 1])
        for keep in FEWER_LEVELS:
            model = PrunedForestClassifier(few, 0.0, keep_levels=keep, max_iter=25).fit(*valid)
            for lam in FEWER_LAMS[:2] if args.quick else FEWER_LAMS:
                part = model.at(lam=lam)
                own, last = part.refit(*train), part.refit(*both)
                points.append({
                    "trees": trees, "keep": keep, "lam": lam, "valid": measured(own, *valid),
                    "test": measured(own, *test), "all": measured(last, *test),
                    "crossed": crossed(part, train, valid),
                })  # fmt: skip
                if points[-1]["valid"][1] > points[0]["valid"][1] + TOO_FAR:
                    break  # a larger lam cuts further
    return {"points": points}


def fewer(args: Any, kept: Kept) -> None:
    """BudgetPrune that may also leave trees out."""
    for name in args.sets or ["letters"]:
        key = f"fewer {name}|seed {args.seed}"
        points = kept.get(key, partial(fewer_from, name, args))["points"]
        print(
            f"{key}: {points[0]}\n  by training rows {chosen(points)}\n  crossed {chosen_crossed(points)}"
        )


def draw(kept: Kept, path: str) -> None:
    """The curves, one panel per data set."""
    import matplotlib.pyplot as plt

    # One draw is enough for a picture.
    found = [key for key in kept.found if key.startswith("prune ") and "|seed" not in key]
    keys = [key.removeprefix("prune ") for key in found]
    names = sorted({key.split("|")[0] for key in keys})
    figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.4), squeeze=False)
    colours = {"Gini": "0.5", "BudgetRF, paper": "tab:orange", "BudgetRF": "tab:blue"}
    for ax, name in zip(axes[0], names, strict=True):
        for key in (key for key in keys if key.startswith(f"{name}|")):
            _, start, way = key.split("|")
            points = kept.found[f"prune {key}"]["points"]
            line = [p["test"] for p in edge(points[1:])]
            style = {"pruned": ":", "refitted": "-"}[way]
            ax.plot(
                *zip(*line, strict=True),
                style,
                color=colours[start],
                marker=".",
                label=f"{start}, {way}",
            )
            ax.plot(*points[0]["test"], "o", color=colours[start], markerfacecolor="none")
        seen = [
            p["test"] for key in keys if key.startswith(f"{name}|") for p in kept.found[f"prune {key}"]["points"]
        ]  # fmt: skip
        top = 1.8 * max(error for cost, error in seen if cost > 0.9 * max(seen)[0])
        low = min(cost for cost, error in seen if error <= top)
        ax.set(title=name, xlabel="mean number of features", ylabel="test error")
        ax.set(ylim=(0.8 * min(seen, key=lambda p: p[1])[1], top), xlim=(0.95 * low, None))
        ax.legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def took(work: Any, repeats: int = 1) -> float:
    """Seconds, the median of some repeats."""
    times = []
    for _ in range(repeats):
        wall = time.perf_counter()
        work()
        times.append(time.perf_counter() - wall)
    return float(np.median(times))


def median_times(makers: dict[str, Any], args: Any, rounds: int = 9) -> dict[str, list[float]]:
    """Seconds to fit (wall, CPU), to predict for the first time and later, and to predict with bills.

    Bills: by the calls ``predict`` and ``cost``, and by the one walk that gives both. Alternating.
    """
    train, valid, (X, _) = load("forest" if args.data else "letters", args.data, 0)
    times: dict[str, list[list[float]]] = {name: [] for name in makers}
    for _ in range(rounds):
        for name, model in makers.items():
            ours = isinstance(model, BudgetedForestClassifier)
            extra = {"validation": valid} if ours else {}
            cpu = time.process_time()
            cells = [took(partial(model.fit, *train, **extra))]
            cells += [time.process_time() - cpu, took(partial(model.predict, X))]
            cells.append(took(partial(model.predict, X), 5))
            if ours:
                cells.append(took(partial(predict_and_bill, model, X), 5))
                cells.append(took(partial(model.policy_.batch, X), 5))
            times[name].append(cells + [np.nan] * (6 - len(cells)))
    return {name: np.median(cells, axis=0).tolist() for name, cells in times.items()}


def predict_and_bill(model: Any, X: Any) -> None:
    """What a user calls for both."""
    model.predict(X)
    model.cost(X)


def speed(args: Any, kept: Kept) -> None:
    """Growing and answering against scikit-learn, and pruning."""
    train, valid, test = load("forest" if args.data else "letters", args.data, 0)
    forest = RandomForestClassifier(40, n_jobs=-1, random_state=0)
    makers = {
        "scikit-learn": forest,
        "BudgetRF, paper": BudgetedForestClassifier(random_state=0, preset="paper"),
        "BudgetRF, expected, no bootstrap": BudgetedForestClassifier(
            random_state=0, criterion="expected", bootstrap=False
        ),
        "BudgetRF": BudgetedForestClassifier(random_state=0),
    }
    few = slice(600)
    for model in list(makers.values())[1:]:  # compile
        model.fit(train[0][few], train[1][few], validation=(train[0][few], train[1][few]))
        model.cost(test[0][few])

    def run() -> dict[str, Any]:
        found: dict[str, Any] = {"shape": train[0].shape, "threads": count_threads(None)}
        found["times"] = median_times(makers, args)
        for name, start in (("Gini", forest), ("BudgetRF", makers["BudgetRF"])):
            PrunedForestClassifier(start, 1e-3).fit(valid[0][:300], valid[1][:300])
            wall, cpu = time.perf_counter(), time.process_time()
            model = PrunedForestClassifier(start, 1e-3).fit(*valid)
            found[f"prune {name}"] = (
                time.perf_counter() - wall, time.process_time() - cpu, model.gap_, model.objective_
            )  # fmt: skip
        return found

    for name, value in kept.get("speed", run).items():
        print(f"  {name}: {value}")


def grow_large(n_rows: int, trees: int) -> dict[str, Any]:
    """Trees on data of the shape of Yahoo! LTR: seconds, and what memory is needed above the data."""
    X, y, _, costs = datasets.make_yahoo_like(n_rows, 0)
    X, y = np.asarray(X, dtype=np.float32), np.asarray(y) > 0
    prices = list(map(float, costs.prices.values()))
    BudgetedForestClassifier(2.0, n_trees=1, random_state=0, preset="paper").fit(X[:600], y[:600])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    model = BudgetedForestClassifier(n_trees=trees, costs=prices, random_state=0, preset="paper")
    model.fit(X, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "wall": wall, "cpu": cpu, "above": (peak - before) / 2**20, "data": X.nbytes / 2**30,
        "nodes": len(model.policy_.trees.feature) + (len(model.rest_.trees.feature) if model.rest_ else 0),
    }  # fmt: skip


def yahoo(args: Any, kept: Kept) -> None:
    """More trees, and more rows; every size in a process of its own, so that peaks are its own."""
    grid = [(2000, 2), (4000, 2)] if args.quick else args.grid
    for n, trees in grid:
        found = kept.get(f"yahoo {n} {trees}", partial(apart, n, trees))
        print(f"{trees} trees on {n} rows: {found}")


def apart(n_rows: int, trees: int) -> dict[str, Any]:
    """:func:`grow_large` in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found: dict[str, Any] = pool.apply(grow_large, (n_rows, trees))
    return found


def pair(text: str) -> tuple[int, int]:
    """Rows and trees from text like 141397x140."""
    rows, trees = text.split("x")
    return int(rows), int(trees)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--save", help="file of results, read and added to")
    parser.add_argument("--part", nargs="+", default=["prune", "speed", "yahoo"])
    parser.add_argument("--sets", nargs="+", help="data sets of the part prune")
    parser.add_argument(
        "--grid", nargs="+", type=pair, default=[(141397, 35), (141397, 70), (141397, 140)],
        help="rows x trees of the part yahoo",
    )  # fmt: skip
    parser.add_argument("--figure", help="where to draw the curves of the part prune")
    args = parser.parse_args()
    kept = Kept(args.save)
    for part in args.part:
        {"prune": prune, "fewer": fewer, "speed": speed, "yahoo": yahoo}[part](args, kept)
    if args.figure:
        draw(kept, args.figure)


if __name__ == "__main__":
    main()
