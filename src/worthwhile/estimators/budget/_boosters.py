"""Trees that correct one another, averaged with the forest of a set where that answers better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worthwhile.core.forest.boosted_trees import Kind, grow, purchase_order
from worthwhile.core.links import shares_of
from worthwhile.estimators._shared.coded_forests import Table, Trees
from worthwhile.estimators.budget._forests import Shape, join_forests
from worthwhile.estimators.budget._payoff import Payoff

Floats = npt.NDArray[np.float64]
Columns = frozenset[int]

ROUNDS, DEPTH, RATE = 60, 6, 0.2
"""Rounds for each part of the rows, which trees on the others answer; levels of splits, and step."""

SAMPLE, MOST_ROWS, TRIED, MIN_LEAF = 0.6, 6000, 0.5, 10
"""Share of the rows and of the columns that a tree sees, rows at most, and rows of a leaf."""

TURNS, RATES = 120, (100.0, 0.01)
"""Rounds of the trees that say what is bought next, and what everything costs in the first and in the last of them, as
a share of what is left to explain."""

WEIGHTS = (0.5, 1.0)
"""Weights beside the forest that are tried, besides none."""

FEW_ROWS, HALF = 1000, 0.5
"""Up to so many rows scores say less about the weight than that both together are better than either."""

APART = 1.25
"""Of the sets of a list, those that are so many times larger than the one before have boosters."""


def sets_to_boost(lists: list[tuple[Columns, ...]], shape: Shape) -> set[Columns]:
    """Sets of the first list, by gain per price, that are wide and not about alike; the largest of them, or all."""
    found: list[Columns] = []
    for columns in lists[0] if lists and (shape.boosted or shape.largest) else ():
        least = APART * len(found[-1]) if found else shape.wide
        if len(columns) >= least or (found and columns is lists[0][-1]):
            found.append(columns)
    return set(found if shape.boosted else found[-shape.largest :])


def with_boosters(
    table: Table, payoff: Payoff, columns: Sequence[int], forest: Trees, votes: Floats, shape: Shape
) -> tuple[Trees, Floats]:
    """A forest and its votes, or the average with boosted trees that has the best score; half of each on few rows."""
    boosted, own = _boost(table, columns, shape)
    pool = np.arange(table.n_pool)
    judge = payoff.part(pool)
    if table.n_outputs == 1:
        own = table.absolute(own)
    if table.n_rows <= FEW_ROWS:
        return _average(forest, boosted, HALF), _between(votes, own, HALF)
    answers = {0.0: votes} | {w: _between(votes, own, w) for w in WEIGHTS}
    score = {w: np.average(judge.mixed(v[pool]), weights=judge.weight) for w, v in answers.items()}
    best = max(score, key=lambda w: score[w])
    return (_average(forest, boosted, best) if best else forest), answers[best]


def _between(votes: Floats, own: Floats, weight: float) -> Floats:
    mean = (1 - weight) * votes + weight * own
    return shares_of(mean) if votes.shape[1] > 1 else mean


def _boost(table: Table, columns: Sequence[int], shape: Shape) -> tuple[Trees, Floats]:
    """Boosted trees whose mean is their answer, and what they say about rows they were not grown on."""
    part = np.zeros(table.n_rows, dtype=np.int32)
    order = np.random.default_rng(shape.seed).permutation(table.n_pool)
    part[order] = np.arange(table.n_pool) % shape.parts
    kind = Kind(
        table.n_outputs, table.n_pool, shape.parts, ROUNDS, DEPTH, SAMPLE, MOST_ROWS, TRIED, MIN_LEAF,
        RATE, np.uint64(shape.seed),
    )  # fmt: skip
    votes = np.zeros((table.n_rows, table.n_outputs))
    feature, cut, child, root, share, base = grow(
        table.rows(), kind, np.array(columns, dtype=np.int32), table.targets(), part, votes
    )
    leaves, outputs = share.shape
    # A mean over the trees of all parts: each part's are a sum, and begin with what is usual.
    share = ROUNDS * share + base.mean(axis=0).astype(np.float32)
    return Trees(
        feature, table.cut_at(feature, cut), child, root,
        outputs * np.arange(leaves + 1, dtype=np.int64),
        np.tile(np.arange(outputs, dtype=np.int32), leaves), share.ravel(),
    ), votes  # fmt: skip


def _average(forest: Trees, boosted: Trees, weight: float) -> Trees:
    """Both in one, the mean of whose trees is their average with this weight of the second."""
    if weight == 1:
        return boosted
    count = len(forest.root) + len(boosted.root)
    scaled = [
        trees._replace(share=trees.share * np.float32(share * count / len(trees.root)))
        for trees, share in ((forest, 1 - weight), (boosted, weight))
    ]
    return join_forests(scaled)


def order_of_use(table: Table, prices: Floats, columns: Sequence[int], seed: int) -> list[int]:
    """Columns in the order in which boosted trees first use them while money counts ever less.

    ``prices`` (d,) of what is still to be bought, as shares of the price of everything. Columns that are never
    used are left out.
    """
    kind = Kind(
        table.n_outputs, table.n_pool, 1, TURNS, DEPTH, SAMPLE, MOST_ROWS, TRIED, MIN_LEAF, RATE,
        np.uint64(seed),
    )  # fmt: skip
    chosen = np.array(columns, dtype=np.int32)
    target = table.targets()
    target -= np.average(target[: table.n_pool], axis=0, weights=table.weight[: table.n_pool])
    rates = np.geomspace(*RATES, TURNS)
    order = purchase_order(table.rows(), kind, chosen, target, prices[chosen], rates)
    return chosen[order].tolist()
