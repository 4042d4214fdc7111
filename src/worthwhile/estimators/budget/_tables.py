"""Nodes, cells and choices in one set of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from worthwhile.estimators._shared.coded_forests import Table, Trees
from worthwhile.estimators.budget._cells import Cells
from worthwhile.estimators.budget._forests import join_forests
from worthwhile.estimators.budget._induction import Induction, Points, pareto
from worthwhile.estimators.budget._nodes import Node
from worthwhile.policy.library import Library


def join_tables(table: Table, nodes: list[Node], induction: Induction, points: Points) -> Library:
    """Everything in one set of arrays, without nodes that no point goes to and that are not the best for any price."""
    choice = induction.targets(points)
    score = np.average(induction.worth, axis=1, weights=induction.payoff.weight)
    used = np.zeros(len(nodes), dtype=bool)
    used[0] = True
    used[np.unique(choice[choice >= 0])] = True
    # A case whose money or values do not suffice goes to the best set that it can have.
    used[pareto(induction.price, score)] = True
    number = np.append(np.cumsum(used) - 1, -1).astype(np.int32)
    kept = np.flatnonzero(used).tolist()
    member = np.zeros((len(kept), len(table.codes)), dtype=bool)
    for row, node in zip(member, kept, strict=True):
        row[list(nodes[node].columns)] = True
    first = induction.first
    cells = np.concatenate([np.arange(first[n], first[n + 1]) for n in kept])
    return Library(
        member=member,
        score=score[kept],
        prior=table.prior,
        centre=table.centre,
        **_joined([nodes[n].trees for n in kept]),
        **_join_cuts([induction.cells[n] for n in kept]),
        choice=np.ascontiguousarray(number[choice[:, cells]]),
        rate=points.rate,
    )


def _joined(forests: list[Trees]) -> dict[str, Any]:
    """Forests one after the other, and where each begins."""
    trees = np.cumsum([0, *(len(f.root) for f in forests)]).astype(np.int64)
    return {**join_forests(forests)._asdict(), "trees": trees}


def _join_cuts(cells: list[Cells]) -> dict[str, Any]:
    """The small trees one after the other, cells counted on."""
    nodes = np.cumsum([0, *(len(c.feature) for c in cells)])
    first = np.cumsum([0, *(c.count for c in cells)])
    child = [
        c.child + np.where(c.feature >= 0, node, cell)
        for c, node, cell in zip(cells, nodes, first, strict=False)
    ]
    return {
        "cut_feature": np.concatenate([c.feature for c in cells]).astype(np.int32),
        "cut_threshold": np.concatenate([c.threshold for c in cells]),
        "cut_child": np.concatenate(child).astype(np.int32),
        "cut_root": nodes[:-1].astype(np.int32),
        "cells": first.astype(np.int64),
    }
