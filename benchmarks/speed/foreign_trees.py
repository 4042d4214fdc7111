"""What bills cost in time: a LightGBM model with its purchases against LightGBM alone, in one run.

    python -m benchmarks.speed.foreign_trees

100,000 rows through 300 trees, on one thread and on all cores. Calls alternate, so that both see
the same machine. ``cost`` walks once and has answers and bills; ``predict`` and ``cost`` one after
the other walk twice. The first ratio should stay under 2.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import lightgbm
import numpy as np

import worthwhile
from benchmarks.common import machine


def seconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def spread(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} s ({min(times):.2f}-{max(times):.2f})"


def compare(model: lightgbm.LGBMRegressor, rows: np.ndarray, n_threads: int, repeats: int) -> None:
    """Time all three in turns, on as many cores as threads."""
    priced = worthwhile.PricedModel(model)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(cores)[:n_threads])
    times: dict[str, list[float]] = {"bills": [], "both": [], "LightGBM": []}
    priced.cost(rows[:1000]), priced.predict(rows[:1000])  # compile
    for _ in range(repeats):
        times["bills"].append(seconds(lambda: priced.cost(rows)))
        times["both"].append(seconds(lambda: (priced.predict(rows), priced.cost(rows))))
        times["LightGBM"].append(seconds(lambda: model.predict(rows, num_threads=n_threads)))
    os.sched_setaffinity(0, cores)
    base = statistics.median(times["LightGBM"])
    one, two = (statistics.median(times[name]) / base for name in ("bills", "both"))
    print(
        f"{n_threads} thread(s): cost {spread(times['bills'])}, predict and cost {spread(times['both'])}, LightGBM's "
        f"predict {spread(times['LightGBM'])}: ratio {one:.2f}, in two calls {two:.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--features", type=int, default=50)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    train = rng.normal(size=(20_000, options.features))
    rows = rng.normal(size=(100_000, options.features))
    target = train[:, :10].sum(axis=1) + train[:, 0] * train[:, 1] + rng.normal(size=len(train))
    model = lightgbm.LGBMRegressor(n_estimators=300, num_leaves=31, verbose=-1).fit(train, target)
    load = os.getloadavg()[0]
    print(f"{machine()}, load {load:.1f}, LightGBM {lightgbm.__version__}")
    start = time.perf_counter()
    worthwhile.PricedModel(model).policy_  # noqa: B018  reading the trees is what is timed
    print(f"reading 300 trees of 31 leaves: {time.perf_counter() - start:.2f} s")
    for n_threads in sorted({1, len(os.sched_getaffinity(0))}):
        compare(model, rows, n_threads, options.repeats)


if __name__ == "__main__":
    main()
