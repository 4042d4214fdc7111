"""Readers of the real files behind the papers, in the form in which their publishers give them.

Ranking sets are svmlight lines with queries, in three files; prices are read from ``costs.txt`` in the same folder
(one number per feature) and are 1 to 100 by chance, always the same, where there is no such file.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.common import skewed
from worthwhile import Costs, datasets

RANKING = {
    "yahoo": (("set1.train.txt", "set1.valid.txt", "set1.test.txt"), 700),
    "mslr": (("train.txt", "vali.txt", "test.txt"), 136),
    "letor": (("train.txt", "vali.txt", "test.txt"), 46),
}
"""Files of training, validation and test documents, and how many features lines number."""


class Ranked(NamedTuple):
    """Documents of queries."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray


def found(folder: str | Path, names: Sequence[str]) -> Path:
    """The first of some files that a folder has, packed or not."""
    tried = [Path(folder) / f"{name}{end}" for name in names for end in ("", ".gz")]
    for path in tried:
        if path.is_file():
            return path
    listed = ", ".join(path.name for path in tried)
    raise FileNotFoundError(f"{folder} has none of {listed}: give the folder that holds one.")


def ranking(name: str, folder: str | Path) -> tuple[list[Ranked], Costs]:
    """Training, validation and test documents of ``yahoo``, ``mslr`` or ``letor``, and prices.

    Of Yahoo's 700 numbers 519 are features; columns that are 0 in all training documents are dropped when
    ``costs.txt`` has a price for each of the others.
    """
    files, n_features = RANKING[name]
    parts = [
        Ranked(*datasets.read_svmlight(found(folder, [file]), n_features=n_features, dtype=np.float32))
        for file in files
    ]  # fmt: skip
    used = np.flatnonzero(parts[0].X.any(axis=0))
    path = Path(folder) / "costs.txt"
    prices = np.loadtxt(path).ravel() if path.is_file() else None
    if prices is None or len(prices) == n_features:
        used = np.arange(n_features)
    elif len(prices) != len(used):
        raise ValueError(
            f"{path} has {len(prices)} prices: {n_features} features are numbered in {files[0]}, {len(used)} of them "
            "are ever other than 0. Give one price for each of the one or of the other."
        )
    costs = skewed(n_features) if prices is None else Costs(prices.tolist())
    return [Ranked(part.X[:, used], part.y, part.qid) for part in parts], costs


def relevant(parts: Sequence[Ranked]) -> list[np.ndarray]:
    """Which documents are relevant: from grade 3 on, of grades up to 2 from 1 on."""
    least = 3 if max(part.y.max() for part in parts) > 2 else 1
    return [(part.y >= least).astype(int) for part in parts]


def miniboone(folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """UCI's file: two counts, then signal events, then background; -999 is missing."""
    path = found(folder, ["MiniBooNE_PID.txt"])
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        signal, background = (int(word) for word in file.readline().split())
        X = pd.read_csv(file, sep=r"\s+", header=None, dtype=np.float64).to_numpy()
    if len(X) != signal + background:
        raise ValueError(f"{path}: {len(X)} events follow counts of {signal} and {background}.")
    X[X == -999] = np.nan
    return X, (np.arange(len(X)) < signal).astype(np.int64)


def forest(folder: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """UCI's file: 54 numbers and a class from 1 to 7 in each line."""
    path = found(folder, ["covtype.data"])
    table = pd.read_csv(path, header=None)
    if table.shape[1] != 55:
        raise ValueError(f"{path} has {table.shape[1]} columns: 54 features and a class make 55.")
    return table.iloc[:, :54].to_numpy(np.float32), table.iloc[:, 54].to_numpy(np.int64)


def ranking_given(given: argparse.Namespace) -> tuple[str, list[Ranked], Costs] | None:
    """The ranking set whose folder was given, and its name."""
    for name in RANKING:
        if folder := getattr(given, name):
            return name, *ranking(name, folder)
    return None
