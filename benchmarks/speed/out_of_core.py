"""Training from a Parquet file that is never in memory, beside LightGBM fed from the same file.

    python -m benchmarks.speed.out_of_core [--rows 20000000] [--features 50] [--trees 20]

Writes a file of that size in row groups to a temporary folder. Then each side trains in a process of its
own: ours by ``ParquetTable``, LightGBM by its ``Sequence`` interface over the row groups (one group in
memory at a time; its own way of training from files that do not fit), with the same trees, depth, learning
rate and bins. Seconds are wall time, and CPU time of all threads; memory is the peak above what the process had
before it opened the file: of the process's own (RssAnon), and with pages of mapped files, which the system takes
back when it needs them.
``--check`` compares our model with that of the table in memory, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

GROUP = 1 << 19


def write(path: Path, rows: int, features: int) -> None:
    """A file of normal columns, some of them rounded, and a target that depends on a fifth of them."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    names = [f"f{c}" for c in range(features)]
    writer = None
    for start in range(0, rows, GROUP):
        n = min(GROUP, rows - start)
        X = rng.normal(size=(features, n))
        X[1::5] = np.round(4 * X[1::5])
        y = sum(np.sin(X[c] * (1 + c % 3)) for c in range(0, features, 5)) + rng.normal(size=n)
        table = pa.table([*X, y], names=[*names, "target"])
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="snappy")
        writer.write_table(table, row_group_size=GROUP)
    assert writer is not None
    writer.close()


class Memory(threading.Thread):
    """Watches the memory of this process."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.first = self.most = self.now()
        self.cpu = time.process_time()

    @staticmethod
    def now() -> dict[str, float]:
        """Gigabytes in use."""
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        found = {
            line.split(":")[0]: line.split()[1]
            for line in lines
            if line.startswith(("Rss", "VmRSS"))
        }
        return {name: int(found[name]) / 1e6 for name in ("RssAnon", "VmRSS")}

    def run(self) -> None:
        """Look twenty times a second."""
        while True:
            now = self.now()
            self.most = {name: max(self.most[name], now[name]) for name in now}
            time.sleep(0.05)

    def grown(self) -> dict[str, float]:
        """What was used at most above what there was at first, and the CPU seconds since."""
        most = {name: round(self.most[name] - self.first[name], 2) for name in self.most}
        return {"CPU seconds": round(time.process_time() - self.cpu, 1), **most}


def make(trees: int, threads: int) -> Any:
    """Our booster, with what LightGBM is given too."""
    from worthwhile import GreedyMiserRegressor

    how = {"max_depth": 6, "learning_rate": 0.1, "validation_fraction": None, "n_jobs": threads}
    return GreedyMiserRegressor(0.0, n_rounds=trees, **how)


def ours(path: Path, trees: int, threads: int) -> dict[str, float]:
    from worthwhile import ParquetTable, warm_up

    warm_up()
    model = make(trees, threads)
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    model.fit(ParquetTable(path, folder=path.parent), "target")
    took = time.perf_counter() - start
    loss = 2 * float(model.trace_["train_loss"].iloc[-1])
    model.save(path.parent / "model.ww")
    return {"seconds": round(took, 1), "mean squared error": round(loss, 5), **memory.grown()}


def lightgbm(path: Path, trees: int, threads: int) -> dict[str, float]:
    import lightgbm as lgb
    from pyarrow import parquet

    memory = Memory()
    memory.start()
    start = time.perf_counter()
    file = parquet.ParquetFile(path)
    names = [name for name in file.schema_arrow.names if name != "target"]

    class Groups(lgb.Sequence):
        """Rows of the file; a row group stays in memory until another is asked for."""

        batch_size = GROUP

        def __init__(self) -> None:
            self._number, self._held = -1, np.empty((0, 0))

        def _group(self, number: int) -> np.ndarray:
            if number != self._number:
                table = file.read_row_group(number, columns=names)
                self._held = np.column_stack([column.to_numpy() for column in table.columns])
                self._number = number
            return self._held

        def __getitem__(self, key: int | slice | list[int]) -> np.ndarray:
            if isinstance(key, slice):
                start, stop, _ = key.indices(len(self))
                parts = []
                while start < stop:
                    number, first = divmod(start, GROUP)
                    last = min(GROUP, first + stop - start)
                    parts.append(self._group(number)[first:last])
                    start += last - first
                return np.concatenate(parts)
            if isinstance(key, list):
                return np.stack([self[row] for row in key])
            return self._group(key // GROUP)[key % GROUP]

        def __len__(self) -> int:
            return file.metadata.num_rows

    target = file.read(columns=["target"])["target"].to_numpy()
    params = {
        "objective": "regression", "max_depth": 6, "num_leaves": 64, "learning_rate": 0.1,
        "max_bin": 255, "min_data_in_leaf": 20, "verbose": -1, "num_threads": threads,
    }  # fmt: skip
    data = lgb.Dataset(Groups(), target, params=params, free_raw_data=True)
    data.construct()
    binned = time.perf_counter() - start
    model = lgb.train(params, data, trees)
    took = time.perf_counter() - start
    grown = memory.grown()
    model.save_model(path.parent / "model.txt")
    some = file.read_row_group(0)
    X = np.column_stack([some[name].to_numpy() for name in names])
    loss = float(np.mean((model.predict(X) - some["target"].to_numpy()) ** 2))
    return {
        "seconds": round(took, 1), "seconds until binned": round(binned, 1),
        "mean squared error (first row group)": round(loss, 5), **grown,
    }  # fmt: skip


def check(path: Path, trees: int, threads: int) -> dict[str, object]:
    """Whether the fit in memory writes the same file."""
    import pandas as pd

    frame = pd.read_parquet(path)
    target = frame.pop("target")
    model = make(trees, threads)
    memory = Memory()
    memory.start()
    start = time.perf_counter()
    model.fit(frame, target).save(path.parent / "memory.ww")
    took = time.perf_counter() - start
    equal = (path.parent / "memory.ww").read_bytes() == (path.parent / "model.ww").read_bytes()
    return {"seconds": round(took, 1), "equal": equal, **memory.grown()}


SIDES = {"ours": ours, "lightgbm": lightgbm, "check": check}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--check", action="store_true", help="compare with the fit in memory")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument(
        "--file", type=Path, help="use this file, and make it where it is not there"
    )
    options = parser.parse_args()
    if options.side:
        print(json.dumps(SIDES[options.side](options.file, options.trees, options.threads)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or Path(folder) / "cases.parquet"
        if not path.exists():
            write(path, options.rows, options.features)
        size = path.stat().st_size / 1e9
        print(
            f"{options.rows:,} x {options.features}, {size:.1f} GB, {options.trees} trees, {options.threads} threads",
            flush=True,
        )
        for side in ["ours", "lightgbm", *(["check"] if options.check else [])]:
            command = [sys.executable, "-m", "benchmarks.speed.out_of_core", "--side", side]
            command += [
                "--file",
                str(path),
                "--trees",
                str(options.trees),
                "--threads",
                str(options.threads),
            ]
            done = subprocess.run(command, capture_output=True, text=True)
            print(f"{side:10s}", done.stdout.strip() or done.stderr[-2000:], flush=True)


if __name__ == "__main__":
    main()
