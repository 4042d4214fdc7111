"""Trees of linear models against the hardware, and CSTC's solver against L-BFGS.

    python -m benchmarks.speed.linear_trees --quick
    python -m benchmarks.speed.linear_trees --data FOLDER --save results.json

Parts (``--part``): ``hardware`` (a depth-5 tree on 141,397 x 519: time against the BLAS calls it
cannot avoid, measured in the same run, and memory), ``solver`` (CSTC's block descent against L-BFGS
to the same objective). The comparison of the ASTC paper is
``benchmarks/papers/astc_2014.py``. The Yahoo data is licensed: a generator of its shape
with the real prices stands for it. Forest, the CIFAR features and the MiniBooNE sample are read
from FOLDER.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.common import machine
from worthwhile import Costs, SubmodularTreeClassifier, datasets
from worthwhile.core.linear import moments as mo
from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators.linear import _cstc_fit as cstc
from worthwhile.estimators.linear._cstc_objective import BLOCK_ROWS, Objective, Topology
from worthwhile.estimators.linear._cstc_refit import standardise
from worthwhile.estimators.linear._cstc_solver import solve_block, solve_joint, start

DEPTH = 5
SETS = ("yahoo", "forest", "cifar", "miniboone")
Part = tuple[np.ndarray, np.ndarray]


@dataclass
class Problem:
    """Rows, prices, and the queries of validation and test where the measure is precision@5."""

    name: str
    train: Part
    held: Part
    test: Part
    costs: Costs
    queries: dict[str, np.ndarray] | None = None

    @property
    def mean_price(self) -> float:
        """Of a feature."""
        return self.costs.total / self.costs.n_features


def yahoo(n: int) -> Problem:
    """The Yahoo shape; a document is relevant from grade 3 on."""
    parts, queries = [], {}
    for name, seed, rows in (
        ("train", 0, n),
        ("held", 2, min(n, 30000)),
        ("test", 1, min(n, 60000)),
    ):
        X, grade, queries[name], costs = datasets.make_yahoo_like(rows, seed)
        parts.append((X, (grade >= 3).astype(int)))
    return Problem("yahoo", *parts, costs, queries)


def from_folder(name: str, folder: str, quick: bool) -> Problem:
    """One of the others, every feature at price 1; rows of training, validation and test as in the papers."""
    rng = np.random.default_rng(0)
    if name == "forest":
        data, sizes = datasets.fetch_forest(folder), (36603, 15688, 58101)
        X, y = np.asarray(data.data, dtype=np.float32), np.asarray(data.target).astype(int) == 2
        order = rng.permutation(len(X))
    elif name == "cifar":
        data, sizes = datasets.fetch_paper_set("cifar10_hog400", folder), (19761, 8468, 10000)
        X, y = np.asarray(data.data, dtype=np.float32), np.asarray(data.target).astype(int) >= 5
        order = np.concatenate([rng.permutation(50000), np.arange(50000, 60000)])
    else:
        data, sizes = datasets.fetch_paper_set("miniboone_sample", folder), (2000, 1000, 2000)
        X, y = np.asarray(data.data, dtype=np.float64), np.asarray(data.target).astype(int) == 1
        X[X == -999] = np.nan
        order = np.arange(len(X))
    n, v, m = (min(size, 3000) for size in sizes) if quick else sizes
    parts = [(X[rows], y[rows].astype(int)) for rows in (order[:n], order[n : n + v], order[-m:])]
    return Problem(name, *parts, Costs(np.ones(X.shape[1])))


def timed(function: Any) -> tuple[float, Any]:
    """Seconds and the result."""
    begin = time.perf_counter()
    result = function()
    return time.perf_counter() - begin, result


def keep(path: str | None, key: str, value: Any) -> None:
    """Put a result into a file of results, next to what is there."""
    if path:
        file = Path(path)
        results = json.loads(file.read_text()) if file.exists() else {}
        results[key] = value | {"machine": machine()}
        file.write_text(json.dumps(results, indent=1))


def unavoidable(X: np.ndarray) -> float:
    """Symmetric products (dsyrk, all threads): the root, and the lighter child of every pair."""
    with threadpool_limits(count_threads(None)):
        begin = time.perf_counter()
        X.T @ X
        for level in range(1, DEPTH):
            rows = len(X) // 2**level
            for pair in range(2 ** (level - 1)):
                part = X[pair * rows : (pair + 1) * rows]
                part.T @ part
        return time.perf_counter() - begin


def peak_memory() -> int:
    """Most memory since the last call, bytes (Linux only, elsewhere 0)."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return 0
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    reset.write_text("5")
    return 1024 * int(line.split()[1])


def hardware(problem: Problem, budgets: list[float], repeats: int) -> dict[str, Any]:
    """Time and memory of a tree at several budgets per node, beside the BLAS calls of the same shape."""
    X, y = problem.train
    gram = 8 * (X.shape[1] + 2) ** 2
    print(
        f"\ndepth {DEPTH} on {X.shape[0]} x {X.shape[1]} {X.dtype}, {count_threads(None)} threads"
    )
    models = {
        (budget, certify): SubmodularTreeClassifier(
            budget, costs=problem.costs, max_depth=DEPTH, certify=certify
        )
        for budget in budgets
        for certify in (False, True)
    }
    models[budgets[0], False].fit(X[:2000], y[:2000])
    times: dict[Any, list[float]] = {key: [] for key in [*models, "syrk"]}
    peak_memory()
    ground, most = peak_memory(), {}
    for _ in range(repeats):
        # BLAS and fits in turn, so that a busy moment of the machine meets both.
        wide = X.astype(np.float64)
        times["syrk"].append(unavoidable(wide))
        del wide
        peak_memory()
        for key, model in models.items():
            times[key].append(timed(lambda model=model: model.fit(X, y))[0])
            most[key] = peak_memory() - ground
    blas = min(times["syrk"])
    rows = []
    for (budget, certify), model in models.items():
        took = min(times[budget, certify])
        rows.append({
            "budget": budget, "certify": certify, "seconds": took, "ratio": took / blas,
            "features": int(np.diff(model.policy_.tree.start).max()),
            "memory": most[budget, certify], "grams": most[budget, certify] / gram,
        })  # fmt: skip
        print("  " + ", ".join(f"{name} {value:.4g}" for name, value in rows[-1].items()))
    print(f"  dsyrk {blas:.2f} s (runs: {', '.join(f'{t:.2f}' for t in times['syrk'])})")
    return {"rows": rows, "syrk": blas, "data": X.nbytes, "shape": X.shape}


def solver(problem: Problem, rows: int, lam: float, steps: int) -> dict[str, Any]:
    """Seconds of block descent and of L-BFGS on everything to the same values of the objective."""
    X, y = (part[:rows] for part in problem.train)
    share = np.full(len(X), 1.0 / len(X))
    price, member = cstc.price_terms(problem.costs)
    logs = {}
    with threadpool_limits(1), Threads(count_threads(None)) as threads:
        columns = standardise(X, mo.column_means(X, None, threads.map)[0], share, BLOCK_ROWS)
        objective = Objective(
            columns.blocks, np.where(y == 1, 1.0, -1.0)[:, None], share, np.full(1, 5.0), Topology.tree(DEPTH),
            price, member, lam / problem.mean_price, 1e-4, threads.map,
        )  # fmt: skip
        root = cstc.dense_start(objective)
        solve_block(objective, start(objective, root), 1.0, 1)
        for name, solve, most in (
            ("L-BFGS", solve_joint, steps),
            ("block", solve_block, steps // 15),
        ):
            state = start(objective, root)
            state.history = Clock()
            solve(objective, state, 1e-12, most)
            logs[name] = state.history
    print(f"\nCSTC on {problem.name} {X.shape}, lam {lam:g} / mean price: seconds to an objective")
    target = max(log[-1] for log in logs.values())
    found = []
    for left in (0.1, 0.03, 0.01, 0.0):
        goal = target + left * (logs["block"][0] - target)
        block, joint = logs["block"].when(goal), logs["L-BFGS"].when(goal)
        seconds = {"block": block, "joint": joint}
        found.append({"left": left, "objective": goal, "seconds": seconds})
        print(
            f"  J <= {goal:.5f}: block {block:.2f}, L-BFGS {joint:.2f}, ratio {block / joint:.2f}"
        )
    ends = {name: log[-1] for name, log in logs.items()}
    print(f"  ends: {ends}", flush=True)
    return {"rows": found, "ends": ends, "shape": X.shape, "lam": lam}


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


def load(names: list[str], folder: str | None, quick: bool) -> list[Problem]:
    """The named problems; without a folder, only the generated one."""
    found = [yahoo(8000 if quick else 141397)] if "yahoo" in names else []
    if folder:
        found += [from_folder(name, folder, quick) for name in SETS[1:] if name in names]
    return found


def arguments(text: str | None, parts: list[str]) -> argparse.ArgumentParser:
    """The options of this script."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small data, few points")
    parser.add_argument(
        "--data", help="folder with covtype.npz, cifar10_hog400.npz, miniboone_sample.npz"
    )
    parser.add_argument("--part", choices=parts, nargs="*", default=parts)
    parser.add_argument("--only", nargs="*", choices=SETS, default=SETS, help="only these data")
    parser.add_argument("--save", help="add the results to this JSON file")
    parser.add_argument("--rows", type=int, default=141397, help="most training rows for CSTC")
    return parser


def main() -> None:
    given = arguments(__doc__, ["hardware", "solver"]).parse_args()
    print(machine())
    for problem in load(given.only, given.data, given.quick):
        if "hardware" in given.part and problem.name == "yahoo":
            budgets = [10, 86] if given.quick else [10, 86, 468, 1495]
            found = hardware(problem, budgets, 1 if given.quick else 2)
            keep(given.save, "hardware", found)
        if "solver" in given.part:
            found = solver(problem, given.rows, 0.1, 60 if given.quick else 300)
            keep(given.save, f"solver {problem.name}", found)


if __name__ == "__main__":
    main()
