"""From a table to a library: lists, nodes, policies, and the arrays of them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators.budget._forests import Table, Trees
from worthwhile.estimators.budget._induction import Induction, Points
from worthwhile.estimators.budget._nodes import Node, grow_nodes
from worthwhile.estimators.budget._payoff import Payoff
from worthwhile.estimators.budget._search import Columns, Search, Shop
from worthwhile.policy.library import Library

Array = npt.NDArray[Any]

SINGLES = 6
"""Single purchases that are nodes of their own."""


@dataclass(frozen=True)
class Fitted:
    """A library and its points."""

    library: Library
    points: Points


def fit_library(
    table: Table, payoff: Payoff, costs: Costs, n_trees: int, threads: Threads, seed: int
) -> Fitted:
    """Search, grow and decide."""
    shop = Shop(costs)
    search = Search(table, payoff, shop, threads, seed)
    prices = costs.flat.alone
    powers = (1.0,) if len(np.unique(prices[prices > 0])) <= 1 else (1.0, 0.5, 0.0)
    lists = list(dict.fromkeys(tuple(search.forward(power)) for power in powers))
    sets, orders = _nodes_of(shop, search, lists)
    empty = Node(
        frozenset(), _no_trees(), np.broadcast_to(table.prior, (table.n_rows, table.n_outputs))
    )
    nodes = [empty, *grow_nodes(table, payoff, sets[1:], n_trees, threads, seed)]
    evaluation = costs.flat.evaluation * 1e-9
    induction = Induction(
        table, payoff, nodes, orders, shop.prices(sets), evaluation, threads, seed
    )
    points = induction.points(threads)
    return Fitted(_tables(table, nodes, induction, points, costs.n_features), points)


def _nodes_of(
    shop: Shop, search: Search, lists: list[tuple[Columns, ...]]
) -> tuple[list[Columns], list[list[int]]]:
    """All sets, smaller before larger, the empty one first; and the lists as numbers of sets."""
    singles = shop.steps(shop.free)
    worth = np.array(search.score(singles)) - search.score([shop.free])[0]
    best = np.argsort(-worth, kind="stable")[:SINGLES].tolist()
    nothing: Columns = frozenset()
    found = {nothing: None} | {columns: None for order in lists for columns in order}
    found |= {singles[i]: None for i in best}
    price = dict(zip(found, shop.prices(found), strict=True))
    sets = sorted(found, key=lambda columns: (len(columns), price[columns], sorted(columns)))
    number = {columns: i for i, columns in enumerate(sets)}
    return sets, [[number[columns] for columns in order] for order in lists]


def _no_trees() -> Trees:
    empty = np.empty(0, dtype=np.int32)
    return Trees(
        empty, np.empty(0), empty, empty, np.zeros(1, dtype=np.int64), empty,
        np.empty(0, dtype=np.float32),
    )  # fmt: skip


def _tables(
    table: Table, nodes: list[Node], induction: Induction, points: Points, n_features: int
) -> Library:
    """Everything in one set of arrays, without nodes that no point goes to."""
    used = np.zeros(len(nodes), dtype=bool)
    used[0] = True
    used[np.unique(points.choice[points.choice >= 0])] = True
    number = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    kept = np.flatnonzero(used).tolist()
    member = np.zeros((len(kept), n_features), dtype=bool)
    for row, node in zip(member, kept, strict=True):
        row[list(nodes[node].columns)] = True
    first = induction.tables.first
    cells = np.concatenate([np.arange(first[n], first[n + 1]) for n in kept])
    forests = _join_forests([nodes[n].trees for n in kept])
    cuts = _join_cuts([induction.cells[n] for n in kept])
    score = np.average(induction.worth[kept], axis=1, weights=induction.payoff.weight)
    return Library(
        member=member, score=score, prior=table.prior, **forests, **cuts,
        choice=np.ascontiguousarray(number[points.choice[:, cells]]), rate=points.rate,
    )  # fmt: skip


def _join_forests(forests: list[Trees]) -> dict[str, Any]:
    """Forests one after the other, children, leaves and entries counted on."""
    nodes = np.cumsum([0, *(len(f.feature) for f in forests)])
    leaves = np.cumsum([0, *(len(f.start) - 1 for f in forests)])
    entries = np.cumsum([0, *(len(f.held) for f in forests)])
    child = [
        f.child + np.where(f.feature >= 0, node, leaf).astype(np.int32)
        for f, node, leaf in zip(forests, nodes, leaves, strict=False)
    ]
    start = [f.start[:-1] + e for f, e in zip(forests, entries, strict=False)]
    return {
        "feature": np.concatenate([f.feature for f in forests]),
        "threshold": np.concatenate([f.threshold for f in forests]),
        "child": np.concatenate(child).astype(np.int32),
        "root": np.concatenate([f.root + n for f, n in zip(forests, nodes, strict=False)]).astype(np.int32),
        "trees": np.cumsum([0, *(len(f.root) for f in forests)]).astype(np.int64),
        "start": np.append(np.concatenate(start), entries[-1]).astype(np.int64),
        "held": np.concatenate([f.held for f in forests]),
        "share": np.concatenate([f.share for f in forests]),
    }  # fmt: skip


def _join_cuts(cells: list[Any]) -> dict[str, Any]:
    """The small trees one after the other, cells counted on."""
    nodes = np.cumsum([0, *(len(c.feature) for c in cells)])
    first = np.cumsum([0, *(c.count for c in cells)])
    child = [
        c.child + np.where(c.feature >= 0, n, f)
        for c, n, f in zip(cells, nodes, first, strict=False)
    ]
    return {
        "cut_feature": np.concatenate([c.feature for c in cells]).astype(np.int32),
        "cut_threshold": np.concatenate([c.threshold for c in cells]),
        "cut_child": np.concatenate(child).astype(np.int32),
        "cut_root": nodes[:-1].astype(np.int32),
        "cells": first.astype(np.int64),
    }
