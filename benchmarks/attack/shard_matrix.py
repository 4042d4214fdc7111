"""Losses, penalties, weights, gaps, categories, fees and shards in all combinations: equal files, or not.

    python -m benchmarks.attack.shard_matrix [--cases 200] [--rows 60000] [--seed 0]

Each case is drawn from the product of what a fit in several processes takes, and compared with the local
fit byte for byte; ranks are threads with real sockets between them. Prints a line for every case that differs,
and ends with their number. ``--all`` goes through the product.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worthwhile import Costs, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.distributed import Listener, Mesh, Shard, plan_fit, train

AXES: dict[str, tuple[Any, ...]] = {
    "loss": (
        "squared",
        "absolute",
        "quantile",
        "poisson",
        "tweedie",
        "lambdarank",
        "two classes",
        "three classes",
        "three trees",
    ),
    "penalty": ("model", "row"),
    "weights": (None, "whole", "fractions with zeros"),
    "missing": (False, True),
    "categories": (False, True),
    "prices": ("plain", "nested fees"),
    "order": ("shuffled", "sorted"),
    "ranks": (1, 2, 3, 5),
    "subsample": (1.0, 0.5),
    "held": (None, 0.2),
}
"""What a case is made of. Five ranks on few rows leave some of them without any."""


def cases(count: int | None, seed: int = 0) -> Iterator[dict[str, Any]]:
    """So many cases drawn at random, or all of them."""
    if count is None:
        for values in itertools.product(*AXES.values()):
            yield dict(zip(AXES, values, strict=True))
        return
    rng = random.Random(seed)
    for _ in range(count):
        yield {name: rng.choice(values) for name, values in AXES.items()}


def data(case: dict[str, Any], n: int) -> tuple[pd.DataFrame, Any, Any]:
    """Rows, targets and weights of a case."""
    rng = np.random.default_rng(n)
    X = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    X["b"] = np.round(X["b"])
    X["c"] = (X["c"] > 1).astype(float)
    X["d"] = ((X["d"] > 1) & (X["c"] == 0)).astype(float)
    signal = (X["a"] + X["e"].abs() + X["c"] + 0.5 * X["b"] * (X["f"] > 0)).to_numpy()
    if case["categories"]:
        X["b"] = rng.choice(["left", "right", "up", None], n)
        X["f"] = np.datetime64("2024-01-01", "h") + rng.integers(0, 10_000, n)
        signal = signal + (X["b"] == "up").to_numpy()
    if case["missing"]:
        X[["a", "c", "e"]] = X[["a", "c", "e"]].mask(rng.random((n, 3)) < 0.1)
    y = {
        "squared": signal, "absolute": signal, "quantile": np.round(signal),
        "poisson": np.floor(np.clip(signal, 0, None)), "tweedie": np.clip(signal, 0, None),
        "two classes": np.where(signal > 0.7, "yes", "no"),
    }.get(case["loss"], np.digitize(signal, [0.0, 1.0]))  # fmt: skip
    weight = None
    if case["weights"] is not None:
        weight = rng.integers(1, 4, n) if case["weights"] == "whole" else rng.integers(0, 4, n) / 3
    if case["order"] == "sorted":
        order = np.argsort(signal, kind="stable")
        X, y = X.iloc[order].reset_index(drop=True), y[order]
    return X, y, weight


def model_of(case: dict[str, Any]) -> GreedyMiserClassifier | GreedyMiserRegressor:
    """The estimator of a case."""
    groups = {
        "outer": {"fee": 2, "features": list("abcde")},
        "inner": {"fee": 1, "features": ["b", "c"]},
    }
    costs = Costs(
        dict.fromkeys("abcdef", 1.0), groups=groups if case["prices"] == "nested fees" else None
    )
    how = {
        "lam": 0.002, "costs": costs, "n_rounds": 3, "max_depth": 3, "penalty": case["penalty"], "random_state": 1,
        "subsample": case["subsample"], "validation_fraction": case["held"],
    }  # fmt: skip
    if case["loss"] in ("squared", "absolute", "quantile", "poisson", "tweedie", "lambdarank"):
        return GreedyMiserRegressor(loss=case["loss"], **how)
    return GreedyMiserClassifier(
        leaves="scalar" if case["loss"] == "three trees" else "vector", **how
    )


def content(model: Any, folder: Path) -> bytes:
    """The file of a model."""
    model.save(folder / "model.ww")
    return (folder / "model.ww").read_bytes()


def is_equal(case: dict[str, Any], n: int, folder: Path) -> bool:
    """Whether all ranks of a case have the local file."""
    X, y, weight = data(case, n)
    # Queries have 1 to 59 documents.
    ranks = case["loss"] == "lambdarank"
    qid = np.repeat(np.arange(n), np.random.default_rng(0).integers(1, 60, n))[:n]
    expected = content(model_of(case).fit(X, y, weight, **{"qid": qid} if ranks else {}), folder)
    model = model_of(case)
    read, targets, costs = model._read_training(X, y, dtype="numeric", weight=weight)
    plan = plan_fit(model, targets, weight, costs, case["ranks"], None, qid if ranks else None)
    listeners = [Listener() for _ in range(case["ranks"])]
    addresses = [listener.address for listener in listeners]

    def rank_of(rank: int) -> Any:
        with Mesh(rank, addresses, listeners[rank], b"matrix", timeout=120) as mesh:
            return train(Shard.of(plan, rank, read.__getitem__), mesh, 1 + rank % 2)

    with ThreadPoolExecutor(case["ranks"]) as pool:
        found = list(pool.map(rank_of, range(case["ranks"])))
    return all(content(fitted, folder) == expected for fitted in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tried = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(None if options.all else options.cases, options.seed):
            tried += 1
            if not is_equal(case, options.rows, Path(folder)):
                wrong += 1
                print(f"differs: {case}", flush=True)
            if tried % 50 == 0:
                print(f"{tried} cases, {wrong} differ", flush=True)
    print(f"{tried} cases of {options.rows:,} rows, {wrong} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
