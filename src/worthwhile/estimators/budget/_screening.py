"""Which sets are worth a forest of their own: those that policies on small forests lead to."""

from __future__ import annotations

import numpy as np

from worthwhile.core.threads import Threads
from worthwhile.estimators.budget._forests import no_trees
from worthwhile.estimators.budget._induction import Induction
from worthwhile.estimators.budget._nodes import Node
from worthwhile.estimators.budget._search import Columns, Search

LEAST_ROWS = 4000
"""With fewer rows forests take less time than it takes to find out which are needed."""

LEAST_ENDS = 0.06
"""Share of the rows that must stop at a set under some policy."""


def sets_to_grow(
    search: Search, lists: list[tuple[Columns, ...]], sets: dict[Columns, None], threads: Threads
) -> dict[Columns, None]:
    """The sets of the first list, and those of the others at which rows stop.

    Parameters
    ----------
    search : Search
        Whose rows and small forests say where rows stop.
    lists : list of tuples of sets
        The first is by gain per price, from the smallest set to all columns.
    sets : dict of sets
        Those of all lists, and others.
    """
    if search.n_pool < LEAST_ROWS:
        return sets
    shop, table = search.shop, search.table
    priced = [columns for columns in sets if columns]
    price = dict(zip(priced, shop.prices(priced), strict=True))
    priced.sort(key=lambda s: (len(s), price[s], sorted(s)))
    prior = np.broadcast_to(table.prior, (table.n_rows, table.n_outputs))
    nodes = [Node(frozenset(), no_trees(), prior)]
    nodes += [
        Node(columns, no_trees(), votes)
        for columns, votes in zip(priced, search.votes(priced), strict=True)
    ]
    number = {node.columns: i for i, node in enumerate(nodes)}
    induction = Induction(
        table, search.payoff, nodes, [sorted(number[s] for s in order if s) for order in lists],
        np.array([0.0, *(price[columns] for columns in priced)]),
        shop.costs.flat.evaluation * 1e-9, threads, search.seed,
    )  # fmt: skip
    ends = induction.ends(induction.points(threads)).max(axis=0)
    wanted = {nodes[i].columns for i in np.flatnonzero(ends >= LEAST_ENDS).tolist()}
    wanted.update(lists[0])
    return {columns: None for columns in sets if columns in wanted}
