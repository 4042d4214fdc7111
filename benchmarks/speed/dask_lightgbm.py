"""Training on Dask beside DaskLGBM with the same prices, on the same cluster and rows.

    python -m benchmarks.speed.dask_lightgbm [--rows 141397] [--features 519] [--trees 30] [--workers 2]

Prints wall seconds of both, and CPU seconds of their workers, second fits, when kernels are loaded. Then it
shows what each worker has after a fit: ours are compared with the local file byte for byte; LightGBM is trained
on the workers by its own sockets (``machines``), as DaskLGBM does it, and every worker hands back its model
instead of the first alone. Prices are LightGBM's ``cegb_penalty_feature_coupled``.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import tempfile
import time
from pathlib import Path

import lightgbm as lgb
import numpy as np

from worthwhile import GreedyMiserRegressor
from worthwhile.datasets import make_yahoo_like

LAM = 0.001


def digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()[:12]


def cpu(client) -> float:
    """CPU seconds of all workers so far."""
    return sum(sum(os_times[:2]) for os_times in client.run(os.times).values())


def timed(client, fit):
    """The result of the second of two fits, its wall seconds and the CPU seconds of workers."""
    fit()
    start, before = time.perf_counter(), cpu(client)
    fitted = fit()
    return fitted, time.perf_counter() - start, cpu(client) - before


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def light_rank(
    X: list[np.ndarray], y: list[np.ndarray], params: dict, trees: int, port: int
) -> str:
    """What one worker has at the end of a LightGBM training among several."""
    data = lgb.Dataset(np.concatenate(X), np.concatenate(y), params=params)
    model = lgb.train({**params, "local_listen_port": port}, data, trees)
    lines = model.model_to_string().split("parameters:")[0]
    return digest(lines.encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=141_397)
    parser.add_argument("--features", type=int, default=519)
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    import dask.array as da
    from lightgbm.dask import DaskLGBMRegressor

    from distributed import Client, LocalCluster
    from worthwhile.dask import DaskGreedyMiserRegressor

    X, y, _, costs = make_yahoo_like(options.rows, 0)
    X, y = np.asarray(X)[:, : options.features].copy(), np.asarray(y, dtype=float)
    prices = (costs.own / 1e9)[: options.features]
    settings = {"costs": prices, "n_rounds": options.trees, "max_depth": 3, "learning_rate": 0.1}
    local = GreedyMiserRegressor(LAM, validation_fraction=None, **settings).fit(X, y)
    params = {
        "objective": "regression", "num_leaves": 8, "max_depth": 3, "learning_rate": 0.1, "max_bin": 255,
        "min_data_in_leaf": 20, "verbose": -1, "cegb_tradeoff": 1.0,
        "cegb_penalty_feature_coupled": (LAM * len(X) * prices).tolist(), "enable_bundle": False,
    }  # fmt: skip
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        chunk = -(-len(X) // (2 * options.workers))
        table = client.persist(da.from_array(X, chunks=(chunk, -1)))
        target = client.persist(da.from_array(y, chunks=chunk))
        print(
            f"{X.shape[0]} x {X.shape[1]}, {options.trees} trees, {options.workers} workers, 1 thread each"
        )

        def ours():
            model = DaskGreedyMiserRegressor(
                LAM, validation_fraction=None, client=client, **settings
            )
            return model.fit(table, target)

        def light():
            model = DaskLGBMRegressor(
                client=client, n_estimators=options.trees, tree_learner="data", **params
            )
            return model.fit(table, target)

        model, wall, used = timed(client, ours)
        for name, fitted in (("local", local), ("dask", model)):
            fitted.save(Path(folder) / name)
        same = len({(Path(folder) / name).read_bytes() for name in ("local", "dask")}) == 1
        print(
            f"ours      {wall:6.1f} s, {used:6.1f} s of CPU on the workers; the local file: {same}",
            flush=True,
        )
        _, wall, used = timed(client, light)
        print(f"DaskLGBM  {wall:6.1f} s, {used:6.1f} s of CPU on the workers", flush=True)
        together = params | {
            "tree_learner": "data", "num_machines": options.workers, "num_threads": 1, "time_out": 2,
        }  # fmt: skip
        for name, prices_too in (("with prices", True), ("without", False)):
            how = together if prices_too else {k: v for k, v in together.items() if "cegb" not in k}
            ports = [
                free_port() for _ in range(options.workers)
            ]  # those of a run stay taken for a while
            how = how | {"machines": ",".join(f"127.0.0.1:{port}" for port in ports)}
            cuts = [slice(2 * r * chunk, 2 * (r + 1) * chunk) for r in range(options.workers)]
            ranks = [
                client.submit(
                    light_rank, [X[cut]], [y[cut]], how, options.trees, ports[rank], workers=[worker], pure=False
                )
                for rank, (worker, cut) in enumerate(zip(client.scheduler_info()["workers"], cuts, strict=True))
            ]  # fmt: skip
            found = client.gather(ranks)
            print(
                f"LightGBM's models on its workers, {name}: {', '.join(found)}: equal {len(set(found)) == 1}"
            )


if __name__ == "__main__":
    main()
