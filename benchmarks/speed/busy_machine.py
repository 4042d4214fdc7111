"""How trees grow while others use the cores: all threads in one kernel against the general grower.

    python -m benchmarks.speed.busy_machine

Both ways grow the same trees, a few in turn, first with the machine to themselves, then beside one and
two busy processes per core. Beside others the ratio should stay under 1.2, alone under 1.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.common import machine, markdown
from worthwhile import Costs
from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings

SHAPES = [(50_000, 15), (200_000, 15), (100_000, 50)]
WAYS = ("general", "team")
TURN = 5
"""Trees that one way grows before it is the other's turn: what else the machine does changes slowly."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """As many processes that do nothing but use a core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        time.sleep(0.5 if count else 0.0)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


class Task:
    """A table, binned, with prices and a target that every third column has a part in."""

    def __init__(self, rows: int, columns: int, threads: Threads) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, columns))
        self.y = np.sin(3 * X[:, ::3]).sum(axis=1) + rng.normal(size=rows)
        self.data = BinnedData.prepare(X, threads)
        self.costs = Costs(np.arange(1.0, columns + 1)).flat
        self.threads = threads

    def compare(self, trees: int) -> tuple[dict[str, float], dict[str, float]]:
        """Grow the same trees both ways, a few in turn: seconds, and seconds of the processor."""
        boosters = {way: self._booster(way) for way in WAYS}
        totals = {way: np.zeros((1, len(self.y))) for way in WAYS}
        took, used = dict.fromkeys(WAYS, 0.0), dict.fromkeys(WAYS, 0.0)
        for _ in range(0, trees, TURN):
            for way, booster in boosters.items():
                start, cpu = time.perf_counter(), time.process_time()
                for _ in range(TURN):
                    booster.add(booster.grow(self.y - totals[way]), totals[way])
                took[way] += time.perf_counter() - start
                used[way] += time.process_time() - cpu
        assert (totals["general"] == totals["team"]).all()
        return took, used

    def _booster(self, way: str) -> Booster:
        booster = Booster(
            self.data, self.costs, BoosterSettings(lam=1e-4, max_depth=5), self.threads
        )
        booster._suits_team = way == "team"
        return booster


def measure(task: Task, trees: int, repeats: int) -> list[float]:
    """Median milliseconds a tree of both ways, their ratio, the worst ratio, the ratio of processor time."""
    runs = [task.compare(trees) for _ in range(repeats)]
    slow, fast = (1000 * statistics.median(took[way] for took, _ in runs) / trees for way in WAYS)
    ratios = [took["team"] / took["general"] for took, _ in runs]
    busy = statistics.median(used["team"] / used["general"] for _, used in runs)
    return [slow, fast, statistics.median(ratios), max(ratios), busy]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    cores, lines = count_threads(None), []
    with Threads(cores) as threads:
        for rows, columns in SHAPES:
            task = Task(rows, columns, threads)
            task.compare(TURN)  # compile
            for others in (0, cores, 2 * cores):
                with busy(others):
                    found = measure(task, options.trees, options.repeats)
                lines.append([f"{rows:,} x {columns}", others, *found])
    print(machine())
    heads = ["general, ms a tree", "team", "ratio", "worst ratio", "ratio of processor time"]
    print(markdown(["table", "busy others", *heads], lines))


if __name__ == "__main__":
    main()
