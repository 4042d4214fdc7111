"""Purchases that say which others matter: lists of their own for parts of the rows.

One cheap value may split the rows into parts that need different columns, though it says nothing
itself. For values that could, a forest on each part ranks the other columns by where it splits on
them; bundles of the best, bought together, are then compared with what is best for all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import spread_fields
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import SEARCHING, Table, Trees, sample_size
from worthwhile.estimators.budget._payoff import Payoff
from worthwhile.estimators.budget._search import Columns, Shop

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LEAST_ROWS, LEAST_PART = 300, 50
"""Rows from which on parts are looked for, and rows of a part."""

MOST_ROWS = 4000
"""Rows on which they are looked for."""

MOST_PARTS = 8
"""Values of a column that splits."""

TRIED = 8
"""Columns that are tried."""

SIZES = (3, 6, 10, 16)
"""Columns of a bundle."""

JUDGED = 10
"""Columns of the bundles by which parts are compared with the whole."""

TREES = 48
"""Of the forests that rank columns."""

SURE = 4.0
"""Standard errors that lists of their own must be ahead by."""


@dataclass(frozen=True)
class Part:
    """Rows, and the sets to buy for them, ever larger."""

    rows: Array
    sets: list[Columns]


def find_parts(
    table: Table, payoff: Payoff, shop: Shop, threads: Threads, seed: int
) -> tuple[Columns, list[Part]] | None:
    """The purchase that splits best and its parts; None where no split is clearly ahead."""
    if table.n_pool < LEAST_ROWS or shop.n <= JUDGED:
        return None
    chosen = np.sort(np.random.default_rng(seed).permutation(table.n_pool)[:MOST_ROWS])
    some, judge = table.part(chosen), payoff.part(chosen)
    splits = _splits(some, shop)[:TRIED]
    jobs = [(shop.free, np.arange(len(chosen)))]
    jobs += [(step, _where(some, step - shop.free, v)) for step, values in splits for v in values]
    (_, whole), *judged = spread_fields(
        threads.map, lambda job: _judge(some, judge, job[0], job[1], seed), jobs
    )
    best, found = 0.0, None
    for step, values in splits:
        ranked, judged = judged[: len(values)], judged[len(values) :]
        rows = [_where(some, step - shop.free, value) for value in values]
        ahead = np.concatenate(
            [worth - whole[part] for (_, worth), part in zip(ranked, rows, strict=True)]
        )
        certain = float(ahead.mean() - SURE * ahead.std() / np.sqrt(len(ahead)))
        if certain > best:
            best, found = certain, (step, values, [order.tolist() for order, _ in ranked])
    if found is None:
        return None
    step, values, orders = found
    return step, [
        Part(
            _where(table, step - shop.free, value),
            [shop.closed(step | set(order[:size])) for size in SIZES],
        )
        for value, order in zip(values, orders, strict=True)
    ]


def _splits(table: Table, shop: Shop) -> list[tuple[Columns, list[int]]]:
    """Single purchases of few values, and those values, where enough rows have them."""
    found = []
    for step in shop.steps(shop.free):
        own = sorted(step - shop.free)
        values = np.flatnonzero(np.bincount(table.codes[own[0]]) >= LEAST_PART).tolist()
        if len(own) == 1 and 2 <= len(values) <= MOST_PARTS:
            found.append((step, values))
    return found


def _where(table: Table, own: Columns, value: int) -> Array:
    """Rows in which a column has this code."""
    (column,) = own
    return np.flatnonzero(table.codes[column] == value)


def _judge(
    table: Table, payoff: Payoff, have: Columns, rows: Array, seed: int
) -> tuple[Array, Floats]:
    """Columns by where a forest on these rows splits on them, and what the first ones are worth."""
    part, judge = table.part(rows), payoff.part(rows)
    size = sample_size(len(rows), 2000)
    everything = list(range(len(table.codes)))
    trees, _ = part.forest(everything, SEARCHING, TREES, size, seed)
    order = [c for c in _ranking(trees, len(everything)) if c not in have]
    votes = part.votes(sorted({*have, *order[:JUDGED]}), SEARCHING, TREES, size, seed)
    return np.array(order, dtype=np.int64), judge.drawn(votes)


def _ranking(trees: Trees, n_columns: int) -> list[int]:
    """Columns, best first: a split counts half as much as the one above it."""
    weight = np.zeros(len(trees.feature))
    weight[trees.root] = 1.0
    for node in np.flatnonzero(trees.feature >= 0).tolist():
        weight[trees.child[node] : trees.child[node] + 2] = weight[node] / 2
    inner = trees.feature >= 0
    total = np.bincount(trees.feature[inner] >> 1, weight[inner], n_columns)
    return np.argsort(-total, kind="stable").tolist()
