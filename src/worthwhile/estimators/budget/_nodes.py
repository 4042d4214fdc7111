"""The nodes of a library: a forest for each set, of the kind that suits it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads
from worthwhile.estimators.budget._forests import STYLES, Style, Table, Trees, sample_size
from worthwhile.estimators.budget._payoff import Payoff

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Columns = frozenset[int]

TRIAL_ROWS, TRIAL_TREES = 2000, 12
"""Rows and trees of the forests that say which kind suits a set."""

ROWS_PER_COLUMN = 1500
"""A tree on few columns needs no more rows than so many for each, and for one more."""


@dataclass(frozen=True)
class Node:
    """A set, its forest, and what that says about rows it was not grown on."""

    columns: Columns
    trees: Trees
    votes: Floats


def grow_nodes(
    table: Table, payoff: Payoff, sets: list[Columns], n_trees: int, threads: Threads, seed: int
) -> list[Node]:
    """A forest for each set, side by side."""
    rows = np.sort(np.random.default_rng(seed).permutation(table.n_rows)[:TRIAL_ROWS])
    trial = table.part(rows) if len(rows) < table.n_rows else table
    judge = payoff.part(rows)

    def grown(columns: Columns) -> Node:
        chosen, order = STYLES[0], sorted(columns)
        best = -np.inf
        for style in _styles(len(order)):
            size = sample_size(trial.n_rows, trial.n_rows)
            _, votes = trial.forest(order, style, TRIAL_TREES, size, seed)
            score = float(np.average(judge.mixed(votes), weights=judge.weight))
            if score > best:
                best, chosen = score, style
        size = sample_size(table.n_rows, ROWS_PER_COLUMN * (len(order) + 1))
        trees, votes = table.forest(order, chosen, n_trees, size, seed)
        return Node(columns, trees, votes)

    return list(threads.map(grown, sets))


def _styles(n_columns: int) -> tuple[Style, ...]:
    """Kinds worth trying for so many columns."""
    if n_columns <= 1:
        return STYLES[:2]
    return STYLES[:4] if n_columns <= 3 else STYLES[1:]
