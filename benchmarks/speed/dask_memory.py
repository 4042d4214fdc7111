"""Training on Dask on ten times the data of one worker's memory limit.

    python -m benchmarks.speed.dask_memory [--limit 800] [--times 10] [--workers 6] [--features 200] [--trees 5]

Workers are processes whose nannies end them at 95 % of the limit, as Dask has it by default. The table is made of
random numbers, partition by partition, and never in one place. Prints the seconds, the processor time of all workers,
the largest memory of each that was seen (five times a second), and how many of them were lost. ``--check`` writes the
same rows to a Parquet file, trains on it out of core in this process, and compares the model files.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PART = 25_000_000
"""Bytes of a partition."""

LAM = 0.001
SETTINGS: dict[str, Any] = {"n_rounds": 5, "max_depth": 4, "validation_fraction": None, "n_jobs": 1}


def watch(pids: list[int], most: dict[int, float], done: threading.Event) -> None:
    """Note the largest memory of processes, in MB."""
    while not done.wait(0.2):
        for pid in pids:
            try:
                status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
            except OSError:
                continue
            used = next(
                int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")
            )
            most[pid] = max(most.get(pid, 0.0), used / 1000)


def column(part: int, number: int, rows: int) -> Any:
    """Values of one column in one partition."""
    return np.random.default_rng([part, number]).standard_normal(rows)


def features_of(part: int, rows: int, features: int) -> Any:
    """A partition without its target."""
    made = np.empty((rows, features))
    for number in range(features):
        made[:, number] = column(part, number, rows)
    return pd.DataFrame(made, columns=[f"x{number}" for number in range(features)])


def target_of(part: int, rows: int) -> Any:
    """Its target, which depends on four columns."""
    a, b, c, d = (column(part, number, rows) for number in range(4))
    return pd.Series(np.sin(a) + np.abs(b) + c * (d > 0), name="y")


def write_parquet(path: Path, parts: int, rows: int, features: int) -> None:
    """The same rows as a file, a partition at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for part in range(parts):
        frame = features_of(part, rows, features).assign(y=target_of(part, rows))
        some = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or parquet.ParquetWriter(
            path, some.schema, compression="none", use_dictionary=False
        )
        writer.write_table(some)
    assert writer is not None
    writer.close()


@dataclass
class Trained:
    """A model, and what its training took.

    Attributes
    ----------
    model : DaskGreedyMiserRegressor
        The model.
    seconds, cpu : float
        Wall time, and processor time of the workers.
    most : list of float
        The largest memory that was seen of each worker, in MB.
    lost : int
        Workers that are no more.
    """

    model: Any
    seconds: float
    cpu: float
    most: list[float]
    lost: int


def train(limit: int, parts: int, workers: int, features: int, settings: dict[str, Any]) -> Trained:
    """Train on a cluster of this machine whose workers have a limit, in MB."""
    import dask.dataframe as dd

    from distributed import Client, LocalCluster
    from worthwhile.dask import DaskGreedyMiserRegressor

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers, threads_per_worker=1, memory_limit=f"{limit}MB", dashboard_address=None,
            local_directory=folder,
        ) as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        client.wait_for_workers(workers, timeout=60)
        pids = list(client.run(os.getpid).values())
        most: dict[int, float] = {}
        done = threading.Event()
        threading.Thread(target=watch, args=(pids, most, done), daemon=True).start()
        rows = PART // (8 * features)
        X = dd.from_map(features_of, range(parts), rows=rows, features=features)
        y = dd.from_map(target_of, range(parts), rows=rows)
        start = time.perf_counter()
        model = DaskGreedyMiserRegressor(LAM, client=client, **settings).fit(X, y)
        took = time.perf_counter() - start
        done.set()
        lost = len(set(pids) - set(client.run(os.getpid).values()))
        cpu = sum(client.run(time.process_time).values())
    return Trained(model, took, cpu, list(most.values()), lost)


def is_equal(model: Any, parts: int, features: int, settings: dict[str, Any]) -> bool:
    """Whether training on one machine, from a file, gives the same model file."""
    from worthwhile import GreedyMiserRegressor, ParquetTable

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_parquet(path, parts, PART // (8 * features), features)
        local = GreedyMiserRegressor(LAM, **settings).fit(ParquetTable(path), "y")
        names = [Path(folder) / name for name in ("dask", "local")]
        for fitted, name in zip((model, local), names, strict=True):
            fitted.save(name)
        return names[0].read_bytes() == names[1].read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=800, help="megabytes of a worker")
    parser.add_argument("--times", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--trees", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    parts = round(options.times * options.limit * 1e6 / PART)
    rows = parts * (PART // (8 * options.features))
    print(
        f"{rows:,} x {options.features}, {8e-9 * rows * options.features:.1f} GB; {options.workers} workers of "
        f"{options.limit} MB each",
        flush=True,
    )
    settings = {**SETTINGS, "n_rounds": options.trees}
    trained = train(options.limit, parts, options.workers, options.features, settings)
    shown = ", ".join(f"{used:.0f}" for used in trained.most)
    print(
        f"trained in {trained.seconds:.0f} s, {trained.cpu:.0f} s of CPU on the workers; at most {shown} MB; "
        f"{trained.lost} workers lost",
        flush=True,
    )
    if options.check:
        start = time.process_time()
        equal = is_equal(trained.model, parts, options.features, settings)
        print(
            f"the file of one machine, out of core: {equal}; written and trained in {time.process_time() - start:.0f} "
            "s of CPU"
        )


if __name__ == "__main__":
    main()
