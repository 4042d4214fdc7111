"""The nodes of a library: a forest for each set, of the kind that suits it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads
from worthwhile.estimators.budget._forests import STYLES, Shape, Style, Table, Trees, sample_size
from worthwhile.estimators.budget._payoff import Payoff

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Columns = frozenset[int]

TRIAL_ROWS, TRIAL_TREES = 2000, 12
"""Rows and trees of the forests that say which kind suits a set."""

ALL_TRIALS = 100_000
"""Rows of the trials of all sets together: where there are few sets, each may have more."""

ROWS_PER_COLUMN = 1500
"""A tree on few columns needs no more rows than so many for each, and for one more."""


@dataclass(frozen=True)
class Node:
    """A set, its forest, and what that says about rows it was not grown on."""

    columns: Columns
    trees: Trees
    votes: Floats
    style: Style = STYLES[0]


def grow_nodes(
    table: Table, payoff: Payoff, sets: list[Columns], shape: Shape, threads: Threads
) -> list[Node]:
    """A forest for each set, side by side."""
    most = max(TRIAL_ROWS, ALL_TRIALS // max(len(sets), 1))
    rows = np.sort(np.random.default_rng(shape.seed).permutation(table.n_pool)[:most])
    trial = table.part(rows) if len(rows) < table.n_rows else table
    judge = payoff.part(rows)

    def suited(order: list[int]) -> Style:
        """The kind with the best score."""
        if shape.styles:
            return shape.styles[min(shape.styles, key=lambda size: abs(size - len(order)))]
        size, scores = sample_size(trial.n_rows, trial.n_rows), []
        for style in _styles(len(order)):
            votes = trial.votes(order, style, TRIAL_TREES, size, shape.seed)
            scores.append(float(np.average(judge.mixed(votes), weights=judge.weight)))
        return _styles(len(order))[int(np.argmax(scores))]

    def grown(columns: Columns) -> Node:
        order = sorted(columns)
        style = suited(order)
        size = sample_size(table.n_pool, ROWS_PER_COLUMN * (len(order) + 1))
        trees, votes = table.forest(order, style, shape.n_trees, size, shape.seed)
        return Node(columns, trees, votes, style)

    return list(threads.map(grown, sets))


def usual_styles(nodes: list[Node]) -> dict[int, Style]:
    """The most frequent kind by number of columns."""
    sizes: dict[int, Counter[Style]] = {}
    for node in nodes:
        if node.columns:
            sizes.setdefault(len(node.columns), Counter())[node.style] += 1
    return {size: counts.most_common(1)[0][0] for size, counts in sizes.items()}


def _styles(n_columns: int) -> tuple[Style, ...]:
    """Kinds worth trying for so many columns."""
    if n_columns <= 1:
        return STYLES[:2]
    return STYLES[:4] if n_columns <= 3 else STYLES[1:]
