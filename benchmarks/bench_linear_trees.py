"""The comparison of the ASTC paper: curves, training speed-ups, and the distance to the hardware.

    python benchmarks/bench_linear_trees.py --quick
    python benchmarks/bench_linear_trees.py --data FOLDER --figure curves.png

Parts (``--part``): ``hardware`` (a depth-5 tree on 141,397 x 519 against the BLAS calls it cannot
avoid, in one run), ``curves`` (Fig. 3: L1, CSTC, ASTC, ASTC soft), ``speed`` (Tables 1 and 2: ASTC
at the node budgets that a trained CSTC used), ``solver`` (CSTC's block descent against L-BFGS to
the same objective). The Yahoo data is licensed: a generator of its shape with the real prices
stands for it. Forest, the CIFAR features and the MiniBooNE sample are read from FOLDER.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import costwise
from costwise import (
    Costs,
    CostSensitiveTreeClassifier,
    CostWeightedL1Classifier,
    SubmodularTreeClassifier,
    datasets,
    metrics,
)
from costwise.estimators import _cstc_fit as cstc
from costwise.estimators._cstc_finish import standardise
from costwise.estimators._cstc_objective import BLOCK_ROWS, Objective, Topology
from costwise.estimators._cstc_solver import solve_block, solve_joint, start
from costwise.estimators._linear_threads import n_threads, workers

DEPTH = 5
PAPER = {
    "yahoo": "119 52 41 21 15 9.2 6.6 at budgets 10 52 86 169 468 800 1495",
    "forest": "8.4 7.0 6.3 4.9 3.1 1.4 at budgets 3 5 8 13 23 50",
    "cifar": "5.6 2.3 0.68 0.25 0.14 at budgets 9 24 76 180 239",
    "miniboone": "7.4 7.9 5.5 5.2 4.1 3.1 2.0 at budgets 4 5 12 14 18 33 47",
}
"""Speed-ups of ASTC over CSTC in Tables 1 and 2."""


@dataclass
class Problem:
    """Training and test data, prices, and the queries where the measure is precision@5."""

    name: str
    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]
    costs: Costs
    queries: np.ndarray | None = None

    def score(self, model: Any) -> float:
        """Precision@5, or error, on the test rows."""
        X, y = self.test
        if self.queries is None:
            return 1.0 - model.score(X, y)
        return float(metrics.run_precision_at_k(y, model.decision_function(X), self.queries, k=5))

    @property
    def measure(self) -> str:
        """Name of the score."""
        return "error" if self.queries is None else "precision@5"


def yahoo(n: int) -> Problem:
    X, grade, _, costs = datasets.make_yahoo_like(n, 0)
    T, test_grade, queries, _ = datasets.make_yahoo_like(min(n, 60000), 1)
    return Problem(
        "yahoo", (X, (grade >= 3).astype(int)), (T, (test_grade >= 3).astype(int)), costs, queries
    )


def from_folder(name: str, folder: str, quick: bool) -> Problem:
    rng = np.random.default_rng(0)
    if name == "forest":
        data = datasets.fetch_forest(folder)
        X, y = (
            np.asarray(data.data, dtype=np.float32),
            (np.asarray(data.target).astype(int) == 2).astype(int),
        )
        order, n, m = rng.permutation(len(X)), 36603, 58101
    elif name == "cifar":
        data = datasets.fetch_paper_set("cifar10_hog400", folder)
        X, y = (
            np.asarray(data.data, dtype=np.float32),
            (np.asarray(data.target).astype(int) >= 5).astype(int),
        )
        order, n, m = np.arange(len(X)), 19761, 10000
        order = np.concatenate([rng.permutation(50000), np.arange(50000, 60000)])
    else:
        data = datasets.fetch_paper_set("miniboone_sample", folder)
        X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target).astype(int)
        X[X == -999] = np.nan
        order, n, m = np.arange(len(X)), 3000, 2000
    if quick:
        n, m = min(n, 3000), min(m, 3000)
    train, test = order[:n], order[-m:]
    return Problem(name, (X[train], y[train]), (X[test], y[test]), Costs(np.ones(X.shape[1])))


def timed(function: Any) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def unavoidable(X: np.ndarray) -> float:
    """Symmetric products (dsyrk, all threads): the root, and the lighter child of every pair."""
    X = X.astype(np.float64)
    with threadpool_limits(n_threads(None)):
        begin = time.perf_counter()
        X.T @ X
        for level in range(1, DEPTH):
            rows = len(X) // 2**level
            for pair in range(2 ** (level - 1)):
                part = X[pair * rows : (pair + 1) * rows]
                part.T @ part
        return time.perf_counter() - begin


def hardware(problem: Problem, budgets: list[float], repeats: int) -> None:
    X, y = problem.train
    print(
        f"\nHardware: depth {DEPTH} on {X.shape[0]} x {X.shape[1]} {X.dtype}, {n_threads(None)} threads"
    )
    blas = min(unavoidable(X) for _ in range(repeats))
    print(f"  unavoidable dsyrk calls (1 root + 15 lighter children): {blas:.2f} s")
    for budget in budgets:
        for certify in (True, False):
            model = SubmodularTreeClassifier(
                budget, costs=problem.costs, depth=DEPTH, certify=certify
            )
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            took = min(timed(lambda model=model: model.fit(X, y))[0] for _ in range(repeats))
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(
                f"  budget {budget:6g}, certificates {'on ' if certify else 'off'}: {took:.2f} s, ratio "
                f"{took / blas:.2f}, largest leaf {np.diff(model.policy_.tree.start).max()} features, "
                f"peak memory +{grown:.0f} MB (data {X.nbytes / 2**20:.0f} MB)"
            )


def node_budgets(model: CostSensitiveTreeClassifier) -> list[float]:
    """What a full CSTC tree spends on new features at each node, in level order."""
    tree = model.policy_.tree
    bills, parents = model.costs_.price(model.policy_.path_masks()), tree.parents()
    return [
        float(round(b - (bills[p] if p >= 0 else 0.0), 9))
        for b, p in zip(bills, parents, strict=True)
    ]


def speed(problem: Problem, lams: list[float], max_iter: int) -> None:
    X, y = problem.train
    print(f"\nTraining speed-up on {problem.name} {X.shape}; the paper's: {PAPER[problem.name]}")
    for lam in lams:
        slow = CostSensitiveTreeClassifier(
            lam, costs=problem.costs, depth=DEPTH, validation_fraction=None, max_iter=max_iter
        )
        slow_time, _ = timed(lambda slow=slow: slow.fit(X, y))
        budgets = node_budgets(slow)
        line = f"  lam {lam:8.2g}: CSTC {slow_time:7.1f} s, mean bill {slow.cost(problem.test[0]).mean():7.1f}"
        for routing in ("hard", "soft"):
            fast = SubmodularTreeClassifier(
                budgets, costs=problem.costs, depth=DEPTH, routing=routing, certify=False
            )
            fast_time, _ = timed(lambda fast=fast: fast.fit(X, y))
            line += f"; ASTC {routing} {fast_time:6.2f} s ({slow_time / fast_time:.1f} x)"
        print(line, flush=True)


def curves(problem: Problem, points: int, max_iter: int) -> dict[str, list[tuple[float, float]]]:
    X, y = problem.train
    total = problem.costs.total
    print(f"\nCurves on {problem.name}: test cost and {problem.measure}")
    budgets = np.geomspace(total / 400 if problem.queries is not None else 1, total / 12, points)
    l1 = CostWeightedL1Classifier(costs=problem.costs, tol=1e-8)
    grid = l1.trade_off_grid(X[:20000], y[:20000])
    lams = [grid[i]["lam"] for i in np.linspace(1, len(grid) - 3, points).astype(int)]
    prices = np.geomspace(0.3, 0.003, points) * X.shape[1] / total
    # Both trees drop splits that do not help on the same tenth of the rows.
    pruned: dict[str, Any] = {
        "costs": problem.costs, "depth": DEPTH, "certify": False, "validation_fraction": 0.1, "random_state": 0,
    }  # fmt: skip
    methods: dict[str, list[Any]] = {
        "cost-weighted l1": [
            CostWeightedL1Classifier(lam, costs=problem.costs, tol=1e-8) for lam in lams
        ],
        "CSTC": [
            CostSensitiveTreeClassifier(
                lam, costs=problem.costs, depth=DEPTH, max_iter=max_iter, random_state=0
            )
            for lam in prices
        ],
        "ASTC": [SubmodularTreeClassifier(b, **pruned) for b in budgets],
        "ASTC, soft": [
            SubmodularTreeClassifier(b, **pruned, routing="soft", tau="std") for b in budgets
        ],
    }
    found: dict[str, list[tuple[float, float]]] = {}
    for name, models in methods.items():
        found[name] = []
        for model in models:
            took, _ = timed(lambda model=model: model.fit(X, y))
            cost, score = float(model.cost(problem.test[0]).mean()), problem.score(model)
            found[name].append((cost, score))
            print(
                f"  {name:17s} cost {cost:8.2f}  {problem.measure} {score:.4f}  ({took:.2f} s)",
                flush=True,
            )
    return found


def solver(problem: Problem, lam: float, steps: int) -> None:
    """Time of block descent to the objective that L-BFGS reaches, and of L-BFGS itself."""
    X, y = problem.train
    share = np.full(len(X), 1.0 / len(X))
    price, member = cstc.price_terms(problem.costs)
    with workers(None) as run:
        columns = standardise(X, np.asarray(X.mean(axis=0), dtype=np.float64), share, BLOCK_ROWS)
        objective = Objective(
            columns.blocks, np.where(y == 1, 1.0, -1.0)[:, None], share, np.full(1, 5.0), Topology.tree(DEPTH),
            price, member, lam, 1e-4, run,
        )  # fmt: skip
        root = cstc.dense_start(objective)
        logs = {}
        for name, solve, most in (("joint", solve_joint, steps), ("block", solve_block, steps)):
            state = start(objective, root)
            state.history = Clock()
            solve(objective, state, 1e-6 if name == "block" else 1e-12, most)
            logs[name] = state.history
    print(f"\nCSTC's solvers on {problem.name} {X.shape}, lam {lam:g}: seconds to an objective")
    target = max(logs["joint"][-1], logs["block"][-1])
    for share_left in (0.1, 0.03, 0.01, 0.0):
        goal = target + share_left * (logs["joint"][0] - target)
        times = {name: log.when(goal) for name, log in logs.items()}
        ratio = times["block"] / times["joint"]
        print(
            f"  J <= {goal:.5f}: block {times['block']:.1f}, L-BFGS {times['joint']:.1f}, ratio {ratio:.2f}"
        )
    print(
        f"  ends: block {logs['block'][-1]:.5f}, L-BFGS {logs['joint'][-1]:.5f} after {steps} steps"
    )


class Clock(list):
    """A list that remembers when things were appended."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []
        self.begin = time.perf_counter()

    def append(self, value: float) -> None:
        """Append and take the time."""
        super().append(value)
        self.times.append(time.perf_counter() - self.begin)

    def when(self, goal: float) -> float:
        """Seconds until a value at most ``goal`` was appended."""
        return next(
            (t for t, value in zip(self.times, self, strict=True) if value <= goal), float("nan")
        )


def draw(results: dict[str, dict[str, list[tuple[float, float]]]], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(results), figsize=(5 * len(results), 4), layout="constrained", squeeze=False
    )
    for ax, (name, methods) in zip(axes[0], results.items(), strict=True):
        for method, points in methods.items():
            ax.plot(*zip(*sorted(points), strict=True), marker="o", markersize=3, label=method)
        ax.set(
            title=name,
            xlabel="feature cost",
            ylabel="precision@5" if name == "yahoo" else "test error",
        )
    axes[0][0].legend()
    figure.savefig(path)
    print(f"wrote {path}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="small data, few points: a minute or two"
    )
    parser.add_argument(
        "--data", help="folder with covtype.npz, cifar10_hog400.npz, miniboone_sample.npz"
    )
    parser.add_argument(
        "--part", choices=["hardware", "curves", "speed", "solver", "all"], default="all"
    )
    parser.add_argument("--only", nargs="*", choices=list(PAPER), help="only these data sets")
    parser.add_argument("--figure", help="write the curves to this file")
    arguments = parser.parse_args()
    wanted = arguments.only or list(PAPER)
    print(f"costwise {costwise.__version__}, numpy {np.__version__}, {n_threads(None)} threads")
    problems = [yahoo(8000 if arguments.quick else 141397)] if "yahoo" in wanted else []
    if arguments.data:
        problems += [
            from_folder(n, arguments.data, arguments.quick)
            for n in PAPER
            if n != "yahoo" and n in wanted
        ]
    points, max_iter = (3, 5) if arguments.quick else (7, 30)
    results = {}
    for problem in problems:
        mean_price = problem.costs.total / problem.costs.n_features
        if arguments.part in ("hardware", "all") and problem.name == "yahoo":
            hardware(
                problem,
                [10, 86] if arguments.quick else [10, 86, 468, 1495],
                1 if arguments.quick else 3,
            )
        if arguments.part in ("speed", "all"):
            speed(problem, [p / mean_price for p in np.geomspace(0.3, 0.01, points)], max_iter)
        if arguments.part in ("solver", "all"):
            solver(problem, 0.03 / mean_price, 60 if arguments.quick else 300)
        if arguments.part in ("curves", "all"):
            results[problem.name] = curves(problem, points, max_iter)
    if results and arguments.figure:
        draw(results, arguments.figure)


if __name__ == "__main__":
    main()
