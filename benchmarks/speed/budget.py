"""How long BudgetClassifier takes: to learn, to predict, for one row, on the command line, in the demo.

    python -m benchmarks.speed.budget --data FOLDER [--part train predict session command demo] [--keep FILE]

``train``: processor seconds of one training on one thread, over those of LightGBM with 300 trees (depth 4, 16 leaves,
rate 0.1), on the 16 cases of the frontier benchmark. ``predict``: 100,000 rows with bills beside that LightGBM's
``predict`` on as many threads, in turns, at the default point and at the dearest one. ``session``: one row of the
same models, from ``load_policy``, in a process without kernels: seconds of the session's own work. ``command``:
``worthwhile fit`` on tables of 4,600 x 57 and 100,000 x 50. ``demo``: ``worthwhile demo`` with an empty kernel cache.
``--keep`` holds what was run: a run may be done in pieces.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Kept, machine, markdown, options, write
from benchmarks.parts._frontier_cases import CASES, Case, load_case

PARTS = ("train", "predict", "session", "command", "demo")
ROWS = 100_000
SHOWN = [("pima", "real"), ("letters-nz", "unit"), ("letters", "skewed"), ("miniboone", "unit")]
"""Cases of which predictions and sessions are measured."""


def ours(case: Case, n_jobs: int | None = 1) -> Any:
    """The model at its defaults."""
    from worthwhile import BudgetClassifier

    return BudgetClassifier(costs=case.costs, random_state=0, n_jobs=n_jobs).fit(*case.train)


def theirs(case: Case) -> Any:
    """LightGBM with 300 trees."""
    import lightgbm

    few = len(case.train[1]) < 2000
    return lightgbm.LGBMClassifier(
        n_estimators=300, num_leaves=16, max_depth=4, learning_rate=0.1, min_child_samples=5 if few else 20,
        n_jobs=1, random_state=0, verbose=-1,
    ).fit(*case.train)  # fmt: skip


def clocked(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds of a call by a clock."""
    start = clock()
    call()
    return clock() - start


def train(case: Case) -> list[float]:
    """Processor seconds of both, medians of five on small tables, where the first call loads kernels."""
    few = len(case.train[1]) < 2000
    small = case._replace(train=(case.train[0][:300], case.train[1][:300]))
    ours(small), theirs(small)
    taken = []
    for fit, count in ((ours, 5 if few else 1), (theirs, 15 if few else 3)):
        seconds = [clocked(lambda fit=fit: fit(case), time.process_time) for _ in range(count)]
        taken.append(statistics.median(seconds))
    return taken


def predict(case: Case, folder: Path) -> list[list[float]]:
    """Seconds of both at two points, in turns, for rows drawn from the test rows; the files stay."""
    model, peer = ours(case, None), theirs(case).booster_
    model.save(folder / "ours")
    np.save(folder / "rows", case.test[0][:200])
    rows = case.test[0][np.random.default_rng(0).integers(0, len(case.test[0]), ROWS)]
    found = []
    for point in (model.point_, model.n_stages_ - 1):
        policy = model.at(stage=point).policy_

        def run(policy: Any = policy) -> None:
            outcome = policy.serve(rows)
            policy.bills(outcome)
            policy.output.predict(outcome.raw)

        calls = (run, lambda: peer.predict(rows, num_threads=os.cpu_count()))
        times: list[list[float]] = [[], []]
        for number in range(6):
            for taken, call in zip(times, calls, strict=True):
                seconds = clocked(call, time.perf_counter)
                if number:  # the first is for warming up
                    taken.append(seconds)
        found.append([statistics.median(taken) for taken in times])
    return found


def session(folder: str) -> None:
    """Print median seconds of a session without what fetches values, over 200 rows; no kernel is loaded."""
    from worthwhile import Session, load_policy

    rows = np.load(f"{folder}/rows.npy")
    policy = load_policy(f"{folder}/ours")
    policy = policy.at(len(policy.library.rate) - 1)
    names = policy.costs.names_of(range(policy.n_features))

    def run(row: dict[Any, float]) -> float:
        start = time.perf_counter()
        case = Session(policy)
        while wanted := case.ask():
            case.tell({name: row[name] for name in wanted})
        _ = case.prediction, case.spent
        return time.perf_counter() - start

    times = [run(dict(zip(names, row, strict=True))) for row in rows.tolist()]
    if "numba" in sys.modules:
        raise SystemExit("a session has loaded the compiler")
    print(times[0], statistics.median(times))


def command(n_rows: int, n_columns: int) -> float:
    """Seconds of ``worthwhile fit`` on a generated table."""
    from sklearn.datasets import make_classification

    X, y = make_classification(n_rows, n_columns, n_informative=12, random_state=0)
    names = [f"x{i}" for i in range(n_columns)]
    prices = np.random.default_rng(0).integers(1, 20, n_columns)
    with tempfile.TemporaryDirectory() as folder:
        table = np.column_stack([X.round(5), y])
        np.savetxt(
            f"{folder}/data.csv", table, "%.6g", ",", header=",".join([*names, "y"]), comments=""
        )
        lines = [
            "features:",
            *(f"  {name}: {price}" for name, price in zip(names, prices, strict=True)),
        ]
        Path(f"{folder}/costs.yaml").write_text("\n".join(lines) + "\n")
        return run_command(
            folder, "fit", "data.csv", "--target", "y", "--costs", "costs.yaml", "--budget", "30"
        )


def run_command(folder: str, *arguments: str, **more: str) -> float:
    """Wall seconds of a command in a folder; the run ends if it fails."""
    start = time.perf_counter()
    run = subprocess.run(
        [sys.executable, "-m", "worthwhile", *arguments], cwd=folder, env={**os.environ, **more},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)
    return time.perf_counter() - start


def demo() -> float:
    """Seconds of the demo where nothing is compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        return run_command(folder, "demo", NUMBA_CACHE_DIR=f"{folder}/kernels")


def trained(given: Any, kept: Kept) -> str:
    """Lines of all cases."""
    lines, ratios = [], []
    for name, prices in CASES:
        case = load_case(name, prices, given.data, given.seed)
        own, other = kept.get(f"train {name} {prices}", lambda case=case: train(case))
        ratios.append(own / other)
        lines.append(
            [f"{name}, {prices}", "x".join(map(str, case.train[0].shape)), own, other, own / other]
        )
    lines.append(["median", "", None, None, statistics.median(ratios)])
    lines.append(["largest", "", None, None, max(ratios)])
    return markdown(["case", "rows x columns", "CPU s", "LightGBM's", "ratio"], lines)


def predicted(given: Any, kept: Kept) -> str:
    """Lines of batches and of sessions."""
    lines = []
    for name, prices in SHOWN:

        def both(name: str = name, prices: str = prices) -> list[Any]:
            with tempfile.TemporaryDirectory() as folder:
                found = predict(load_case(name, prices, given.data, given.seed), Path(folder))
                child = [sys.executable, "-m", "benchmarks.speed.budget", "--session", folder]
                said = subprocess.run(child, capture_output=True, text=True, check=True).stdout
            return [*found, [float(word) for word in said.split()]]

        usual, dearest, one = kept.get(f"predict {name} {prices}", both)
        lines.append([
            f"{name}, {prices}", usual[0], usual[1], usual[0] / usual[1], dearest[0] / dearest[1], 1e3 * one[0],
            1e3 * one[1],
        ])  # fmt: skip
    heads = [
        "case",
        "100,000 rows, s",
        "LightGBM's",
        "ratio",
        "dearest point",
        "first session, ms",
        "session, ms",
    ]
    return markdown(heads, lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--part", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--keep", metavar="FILE", help="keep results here, and go on from there")
    parser.add_argument("--session", metavar="FOLDER", help="one child process of --part session")
    given = parser.parse_args()
    if given.session:
        session(given.session)
        return
    kept, text = Kept(given.keep), f"{machine()}\n\n"
    if "train" in given.part:
        text += trained(given, kept) + "\n"
    if {"predict", "session"} & set(given.part):
        text += predicted(given, kept) + "\n"
    if "command" in given.part:
        for shape in ((4600, 57), (100_000, 50)):
            seconds = kept.get(f"command {shape}", lambda shape=shape: command(*shape))
            text += f"worthwhile fit on {shape[0]:,} x {shape[1]}: {seconds:.1f} s\n"
    if "demo" in given.part:
        text += f"worthwhile demo, kernels compiled: {kept.get('demo', demo):.1f} s\n"
    write(given.out, text)


if __name__ == "__main__":
    main()
