"""Rows, splits and prices of the frontier benchmark."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import by_position
from worthwhile import Costs, datasets

SMALL = ("heart", "pima", "ionosphere", "segmentation")
"""Sets that are run on five splits."""

CASES = [
    ("heart", "real"), ("pima", "real"),
    *((name, prices) for name in ("segmentation", "ionosphere", "letters-nz", "letters", "usps", "miniboone", "covtype")
      for prices in ("unit", "skewed")),
]  # fmt: skip


class Case(NamedTuple):
    """Rows to train on, to choose on and to report, and prices."""

    train: tuple[Any, Any]
    choose: tuple[Any, Any]
    test: tuple[Any, Any]
    costs: Costs


def load_case(name: str, prices: str, folder: str, seed: int) -> Case:
    """A case of the benchmark; seeds divide rows anew where no division is published."""
    X, y, cuts = _rows(name, Path(folder), seed)
    costs = _published(name)
    if costs is None:
        amounts = np.ones(X.shape[1])
        if prices == "skewed":
            listed = np.loadtxt(Path(folder) / "yahoo_ltr_costs.txt", ndmin=2)[:, -1]
            amounts = np.random.default_rng(sum(map(ord, name))).choice(listed, X.shape[1])
        costs = Costs(amounts)
    parts = [(X[rows], y[rows]) for rows in cuts]
    return Case(parts[0], parts[1], parts[2], costs)


def _published(name: str) -> Costs | None:
    if name == "heart":
        return by_position(datasets.load_heart().costs)
    if name == "pima":
        prices = [1, 15.51, 1, 1, 20.68, 1, 1, 1]
        return Costs(prices, groups={"blood": {"fee": 2.10, "features": [1, 4]}})
    return None


def _rows(name: str, folder: Path, seed: int) -> tuple[Any, Any, list[Any]]:
    files = {
        "heart": "heart_cleveland", "letters": "letter", "letters-nz": "letter", "miniboone": "miniboone_sample"
    }  # fmt: skip
    data = np.load(folder / f"{files.get(name, name)}.npz", allow_pickle=False)
    if name in ("heart", "pima", "ionosphere"):
        y = np.asarray(data["y"])
        return np.asarray(data["X"], dtype=np.float64), y, stratified(y, (0.6, 0.8), seed)
    if name in ("segmentation", "usps", "miniboone"):
        parts = [part for part in ("train", "valid", "val", "test") if f"X_{part}" in data]
        X = np.vstack([data[f"X_{part}"] for part in parts]).astype(np.float64)
        y = np.concatenate([data[f"y_{part}"] for part in parts])
        ends = np.cumsum([0, *(len(data[f"y_{part}"]) for part in parts)])
        cuts = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        if len(parts) == 2:
            train, choose, _ = stratified(data["y_train"], (0.75, 1.0), seed)
            cuts = [train, choose, cuts[1]]
        return X, y, cuts
    if name == "covtype":
        order = np.random.default_rng(seed).permutation(len(data["y"]))
        ends = (36603, 36603 + 15688, 36603 + 15688 + 58101)
        X, y = data["X"][order[: ends[2]]].astype(np.float64), data["y"][order[: ends[2]]]
        return X, y, [np.arange(a, b) for a, b in ((0, ends[0]), ends[:2], ends[1:])]
    X, y = np.asarray(data["X"], dtype=np.float64), np.asarray(data["y"])
    y = (y >= 13).astype(int) if name == "letters-nz" else y
    if seed >= 100:  # design
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    return X, y, [np.arange(12000), np.arange(12000, 16000), np.arange(16000, 20000)]


def stratified(y: Any, ends: tuple[float, float], seed: int) -> list[Any]:
    """Three parts of the rows, with their share of every class; ``ends`` of the first two."""
    rng, parts = np.random.default_rng(seed), ([], [], [])  # type: ignore[var-annotated]
    for label in np.unique(y):
        rows = rng.permutation(np.flatnonzero(y == label))
        cuts = [round(end * len(rows)) for end in ends]
        for part, some in zip(parts, np.split(rows, cuts), strict=True):
            part.append(some)
    return [np.sort(np.concatenate(part)) for part in parts]
