"""The nodes of a library: a forest for each set, of the kind that suits it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import spread, spread_fields
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import (
    ROWS_PER_COLUMN,
    STYLES,
    Style,
    Table,
    Trees,
    sample_size,
    styles_for,
)
from worthwhile.estimators.budget._boosters import with_boosters
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._payoff import Payoff

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Columns = frozenset[int]

TRIAL_ROWS, WIDE_ROWS, TRIAL_TREES = 2000, 4000, 12
"""Rows of the forests that say which kind suits a set of few and of many columns, and their trees."""

ALL_TRIALS = 100_000
"""Rows of the trials of all sets together: where there are few sets, each may have more."""

FEW_SETS = 16
"""Up to so many sets each has trials of its own; of more, one of about every size."""


@dataclass(frozen=True)
class Node:
    """A set, its forest, and what that says about rows it was not grown on.

    ``of_part``: it was grown on a part of the rows, and has the usual answer for the others.
    """

    columns: Columns
    trees: Trees
    votes: Floats
    style: Style = STYLES[0]
    of_part: bool = False


def grow_nodes(
    table: Table, payoff: Payoff, sets: list[Columns], shape: Shape, threads: Threads,
    boosted: Collection[Columns] = (),
) -> list[Node]:  # fmt: skip
    """A forest for each set, side by side; for those in ``boosted`` also trees that correct one another."""
    if shape.styles:
        kinds = {columns: _nearest(shape.styles, len(columns)) for columns in sets}
    else:
        kinds = find_styles(table, payoff, sets, shape, threads)

    def grown(columns: Columns) -> tuple[Array, ...]:
        order = sorted(columns)
        most = ROWS_PER_COLUMN * (len(order) + 1)
        wide = len(order) >= shape.wide
        size = kinds[columns].size(shape.n_trees, table.n_pool, most, wide)
        trees, votes = table.forest(order, kinds[columns], *size, shape.seed)
        if columns in boosted:
            trees, votes = with_boosters(table, payoff, order, trees, votes, shape)
        return *trees, votes

    return [
        Node(columns, Trees(*trees), votes, kinds[columns])
        for columns, (*trees, votes) in zip(
            sets, spread_fields(threads.map, grown, sets), strict=True
        )
    ]


def find_styles(
    table: Table, payoff: Payoff, sets: list[Columns], shape: Shape, threads: Threads
) -> dict[Columns, Style]:
    """The kind of forest with the best score for every set; of many sets, for those of about a size together."""
    many = len(sets) > FEW_SETS
    tried: dict[Any, Columns] = {}
    for columns in sets:
        tried.setdefault(_likeness(columns, many), columns)
    jobs = [
        (key, columns, style)
        for key, columns in tried.items()
        for style in styles_for(len(columns))
    ]
    order = np.random.default_rng(shape.seed).permutation(table.n_pool)
    few = max(TRIAL_ROWS, ALL_TRIALS // max(len(sets), 1))

    def on(most: int) -> tuple[Table, Payoff]:
        rows = np.sort(order[:most])
        return table.part(rows) if len(rows) < table.n_rows else table, payoff.part(rows)

    narrow, wide = on(TRIAL_ROWS if many else few), on(WIDE_ROWS if many else few)

    def score(job: tuple[Any, Columns, Style]) -> Floats:
        trial, judge = wide if len(job[1]) >= shape.wide else narrow
        n = sample_size(trial.n_rows, trial.n_rows)
        votes = trial.votes(sorted(job[1]), job[2], TRIAL_TREES, n, shape.seed)
        return np.array(np.average(judge.mixed(votes), weights=judge.weight))

    best: dict[Any, tuple[float, Style]] = {}
    for (key, _, style), worth in zip(jobs, spread(threads.map, score, jobs), strict=True):
        if key not in best or worth > best[key][0]:
            best[key] = float(worth), style
    return {columns: best[_likeness(columns, many)][1] for columns in sets}


def _likeness(columns: Columns, many: bool) -> Any:
    """What sets have in common that get one kind of forest: about their size, of which kinds depend."""
    size = len(columns)
    if not many:
        return columns
    return size if size < 5 else round(4 * np.log2(size))


def _nearest(styles: dict[int, Style], size: int) -> Style:
    return styles[min(styles, key=lambda known: abs(known - size))]


def usual_styles(nodes: list[Node]) -> dict[int, Style]:
    """The most frequent kind by number of columns."""
    sizes: dict[int, Counter[Style]] = {}
    for node in nodes:
        if node.columns:
            sizes.setdefault(len(node.columns), Counter())[node.style] += 1
    return {size: counts.most_common(1)[0][0] for size, counts in sizes.items()}
