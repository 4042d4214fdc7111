"""CPU time of the busiest rank beside the local fit: what training in several processes costs.

Every rank is a process with one thread; CPU time, not wall time, so that ranks may share cores. The model
of the ranks is compared with the local one, byte for byte.

    python -m benchmarks.speed.distributed --rows 141397 --ranks 2 4
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np

from worthwhile import GreedyMiserRegressor
from worthwhile.datasets import make_yahoo_like
from worthwhile.distributed import Listener, Mesh, Shard, plan_fit, train


def work(rank, addresses, listener, shard, results):
    """Train as one rank; the second time counts, when kernels are loaded."""
    mesh = Mesh(rank, addresses, listener, b"benchmark", timeout=600)
    train(shard, mesh, 1)
    start, sent = time.process_time(), mesh.sent
    model = train(shard, mesh, 1)
    used, sent = time.process_time() - start, mesh.sent - sent
    mesh.close()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        results.put((rank, used, sent, (Path(folder) / "model").read_bytes()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=141_397)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4])
    options = parser.parse_args()
    X, y, _, costs = make_yahoo_like(options.rows, 0)
    X, y = np.asarray(X), np.asarray(y, dtype=float)
    model = GreedyMiserRegressor(
        0.001, costs=costs.own / 1e9, n_rounds=options.rounds, max_depth=3, learning_rate=0.1,
        validation_fraction=None, n_jobs=1,
    )  # fmt: skip
    model.fit(X, y)
    start = time.process_time()
    model.fit(X, y)
    local = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        expected = (Path(folder) / "model").read_bytes()
    print(f"{X.shape[0]} x {X.shape[1]}, {options.rounds} rounds: local {local:.2f} s of CPU")
    for size in options.ranks:
        read, targets, prices = model._read_training(X, y, dtype="numeric")
        plan = plan_fit(model, targets, None, prices, size)
        listeners = [Listener() for _ in range(size)]
        addresses = [listener.address for listener in listeners]
        context, results = (
            multiprocessing.get_context("fork"),
            multiprocessing.get_context("fork").Queue(),
        )
        ranks = [
            context.Process(
                target=work,
                args=(
                    r,
                    addresses,
                    listeners[r],
                    Shard.of(plan, r, read.__getitem__),
                    results,
                ),
            )
            for r in range(size)
        ]
        for rank in ranks:
            rank.start()
        found = [results.get(timeout=1200) for _ in ranks]
        for rank in ranks:
            rank.join()
        busiest = max(used for _, used, _, _ in found)
        equal = all(content == expected for *_, content in found)
        sent = max(bytes_ for _, _, bytes_, _ in found) / options.rounds / 1e6
        print(
            f"  {size} ranks: busiest {busiest:.2f} s ({busiest / local:.2f} of local), all "
            f"{sum(used for _, used, _, _ in found):.2f} s, {sent:.2f} MB a round (bins included), equal: {equal}"
        )


if __name__ == "__main__":
    main()
