"""What bills cost in time: a forest with its purchases against the forest alone, in one run.

    python -m benchmarks.speed.priced_model [--rows 100000]

Two ratios against scikit-learn on the same machine: purchases of 100,000 rows against the forest's
own ``predict``, and a whole session against one-row ``predict`` calls.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import worthwhile


def seconds(function: Callable[[], object], repeats: int) -> list[float]:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times


def report(name: str, ours: list[float], theirs: list[float]) -> None:
    a, b = statistics.median(ours), statistics.median(theirs)
    spread = f"{min(ours) * 1e3:.2f}-{max(ours) * 1e3:.2f} ms against {min(theirs) * 1e3:.2f}-{max(theirs) * 1e3:.2f}"
    print(f"{name}: {a * 1e3:.2f} ms against {b * 1e3:.2f} ms, ratio {a / b:.2f}  ({spread})")


def drive(model: worthwhile.PricedModel, row: np.ndarray) -> None:
    session = model.session()
    while wanted := session.ask():
        session.tell({name: row[name] for name in wanted})
    session.prediction  # noqa: B018  reading it is part of the work


def compare(forest: RandomForestClassifier, rows: np.ndarray, n_jobs: int | None) -> None:
    model = worthwhile.PricedModel(forest)
    model.acquired(rows[:1000])  # compile
    ours, theirs = [], []
    for _ in range(5):  # alternating, so that both see the same machine
        ours += seconds(lambda: model.acquired(rows), 1)
        theirs += seconds(lambda: forest.predict(rows), 1)
    report(f"acquired of {len(rows):,} rows against predict with n_jobs={n_jobs}", ours, theirs)
    drive(model, rows[0])
    ours, theirs = [], []
    for row in rows[:20]:
        ours += seconds(lambda row=row: drive(model, row), 1)
        theirs += seconds(lambda row=row: forest.predict(row[None, :]), 1)
    report(f"a session against one-row predict with n_jobs={n_jobs}", ours, theirs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    train, rows = rng.normal(size=(5000, 50)), rng.normal(size=(options.rows, 50))
    target = (train[:, :5].sum(axis=1) + rng.normal(size=5000) > 0).astype(int)
    for n_jobs in (None, 2):
        forest = RandomForestClassifier(100, random_state=0, n_jobs=n_jobs).fit(train, target)
        compare(forest, rows, n_jobs)


if __name__ == "__main__":
    main()
