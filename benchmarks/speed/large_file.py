"""The command line on a file of five million rows: every command answers, in chunks.

    python -m benchmarks.speed.large_file [--rows 5000000]

Writes a CSV of that many heart patients (drawn from the shipped ones), then fits on it, predicts it
and checks it, each in a process of its own. Prints seconds and peak memory; a command that fails or
shows a traceback ends the run.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import worthwhile


def write_rows(path: Path, rows: int) -> None:
    """Draw patients with replacement, and write them in pieces."""
    heart = worthwhile.datasets.load_heart()
    frame = heart.data.assign(disease=np.asarray(heart.target))
    rng = np.random.default_rng(0)
    for start in range(0, rows, 250_000):
        some = frame.iloc[rng.integers(0, len(frame), min(250_000, rows - start))]
        some.to_csv(path, mode="a" if start else "w", header=start == 0, index=False)


def run(*arguments: str) -> None:
    """One command, with its time and its peak memory."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "worthwhile", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    shown, _ = process.communicate()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(
        f"worthwhile {arguments[0]:8s} exit {process.returncode}  {time.perf_counter() - start:6.1f} s  "
        f"largest process so far {peak:,.0f} MB",
        flush=True,
    )
    if process.returncode or "Traceback" in shown:
        raise SystemExit(shown)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, prices, model = (
            folder / "large.csv",
            folder / "costs.yaml",
            folder / "model.worthwhile",
        )
        start = time.perf_counter()
        write_rows(data, options.rows)
        worthwhile.datasets.load_heart().costs.to_yaml(prices)
        size = data.stat().st_size / 1e6
        print(
            f"{options.rows:,} rows, {size:,.0f} MB, written in {time.perf_counter() - start:.0f} s"
        )
        run("costs", "check", str(prices), "--data", str(data), "--target", "disease")
        run(
            "fit", str(data), "--target", "disease", "--costs", str(prices), "--budget", "60",
            "--method", "greedy-miser", "--out", str(model),
        )  # fmt: skip
        run("info", str(model))
        run("predict", str(model), str(data), "--out", str(folder / "answers.csv"))
        with (folder / "answers.csv").open() as answers:
            found = sum(1 for _ in answers) - 1
        print(f"{found:,} answers")
        if found != options.rows:
            raise SystemExit("some rows have no answer")


if __name__ == "__main__":
    main()
