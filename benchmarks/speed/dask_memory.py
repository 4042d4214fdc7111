"""Training on Dask on ten times the data of one worker's memory limit.

    python -m benchmarks.speed.dask_memory [--limit 800] [--times 10] [--workers 6] [--features 200] [--trees 5]

Workers are processes whose nannies end them at 95 % of the limit, as Dask has it by default. The table is made of
random numbers, partition by partition, and never in one place. Prints the seconds, the largest memory of each worker
that was seen (twice a second), and how many workers were lost. ``--check`` fits the same table in memory in this
process and compares the files.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

PART = 25_000_000
"""Bytes of a partition."""


def watch(pids: list[int], most: dict[int, float], done: threading.Event) -> None:
    """Note the largest memory of processes, in MB."""
    while not done.wait(0.5):
        for pid in pids:
            try:
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            except OSError:
                continue
            used = next(
                int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")
            )
            most[pid] = max(most.get(pid, 0.0), used / 1000)


def table(rows: int, features: int) -> tuple[Any, Any]:
    """Columns of normal numbers, and a target that depends on some of them."""
    import dask.array as da

    X = da.random.default_rng(0).normal(
        size=(rows, features), chunks=(PART // (8 * features), features)
    )
    return X, da.sin(X[:, 0]) + da.fabs(X[:, 1]) + X[:, 2] * (X[:, 3] > 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=800, help="megabytes of a worker")
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--trees", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    import os

    from distributed import Client, LocalCluster
    from worthwhile import GreedyMiserRegressor
    from worthwhile.dask import DaskGreedyMiserRegressor

    rows = int(options.times * options.limit * 1e6 / (8 * options.features))
    settings = {"n_rounds": options.trees, "max_depth": 4, "validation_fraction": None}
    print(
        f"{rows:,} x {options.features}, {8e-9 * rows * options.features:.1f} GB; {options.workers} workers of "
        f"{options.limit} MB each",
        flush=True,
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            options.workers, threads_per_worker=1, memory_limit=f"{options.limit}MB",
            dashboard_address=None, local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        pids = list(client.run(os.getpid).values())
        most: dict[int, float] = {}
        done = threading.Event()
        threading.Thread(target=watch, args=(pids, most, done), daemon=True).start()
        X, y = table(rows, options.features)
        start = time.perf_counter()
        model = DaskGreedyMiserRegressor(0.001, client=client, timeout=600.0, **settings).fit(X, y)
        took = time.perf_counter() - start
        done.set()
        lost = len(set(pids) - set(client.run(os.getpid).values()))
        shown = ", ".join(f"{used:.0f}" for used in most.values())
        print(f"trained in {took:.0f} s; at most {shown} MB; {lost} workers lost", flush=True)
        if options.check:
            whole, targets = table(rows, options.features)
            whole, targets = (
                whole.compute(scheduler="threads"),
                targets.compute(scheduler="threads"),
            )
            local = GreedyMiserRegressor(0.001, **settings).fit(whole, targets)
            names = [Path(folder) / name for name in ("dask", "local")]
            for fitted, name in zip((model, local), names, strict=True):
                fitted.save(name)
            print("the file of the local fit:", names[0].read_bytes() == names[1].read_bytes())
    assert np.isfinite(model.trace_["train_loss"]).all()


if __name__ == "__main__":
    main()
