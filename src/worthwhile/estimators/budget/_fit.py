"""From a table to a library: lists, nodes, policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators.budget._forests import Table, no_trees
from worthwhile.estimators.budget._induction import Induction, Points
from worthwhile.estimators.budget._nodes import Node, grow_nodes
from worthwhile.estimators.budget._payoff import Payoff
from worthwhile.estimators.budget._search import Columns, Search, Shop
from worthwhile.estimators.budget._tables import join_tables
from worthwhile.policy.library import Library

SINGLES = 6
"""Single purchases that are nodes of their own."""


@dataclass(frozen=True)
class Fitted:
    """A library and its points."""

    library: Library
    points: Points


class Workshop:
    """What policies are made from: nodes and their answers to training rows.

    Parameters
    ----------
    table : Table
    payoff : Payoff
        What answers are worth in the search; policies may be made for another.
    costs : Costs
    n_trees, seed : int
    threads : Threads
    """

    def __init__(
        self, table: Table, payoff: Payoff, costs: Costs, n_trees: int, threads: Threads, seed: int
    ) -> None:
        shop = Shop(costs)
        search = Search(table, payoff, shop, threads, seed)
        prices = costs.flat.alone
        powers = (1.0,) if len(np.unique(prices[prices > 0])) <= 1 else (1.0, 0.5, 0.0)
        lists = list(dict.fromkeys(tuple(search.forward(power)) for power in powers))
        sets, self._lists = _nodes_of(shop, search, lists)
        prior = np.broadcast_to(table.prior, (table.n_rows, table.n_outputs))
        grown = grow_nodes(table, payoff, sets[1:], n_trees, threads, seed)
        self._nodes = [Node(frozenset(), no_trees(), prior), *grown]
        self._price, self._seed = shop.prices(sets), seed
        self._evaluation = costs.flat.evaluation * 1e-9
        self._table = table

    def solve(self, payoff: Payoff, threads: Threads) -> Fitted:
        """All policies for a payoff; nothing is grown again."""
        induction = Induction(
            self._table, payoff, self._nodes, self._lists, self._price, self._evaluation, threads,
            self._seed,
        )  # fmt: skip
        points = induction.points(threads)
        return Fitted(join_tables(self._table, self._nodes, induction, points), points)


def _nodes_of(
    shop: Shop, search: Search, lists: list[tuple[Columns, ...]]
) -> tuple[list[Columns], list[list[int]]]:
    """All sets, smaller before larger, the empty one first; and the lists as numbers of sets."""
    singles = shop.steps(shop.free)
    worth = np.array(search.score(singles))
    best = np.argsort(-worth, kind="stable")[:SINGLES].tolist()
    nothing: Columns = frozenset()
    found = {nothing: None} | {columns: None for order in lists for columns in order}
    found |= {singles[i]: None for i in best}
    price = dict(zip(found, shop.prices(found), strict=True))
    sets = sorted(found, key=lambda columns: (len(columns), price[columns], sorted(columns)))
    number = {columns: i for i, columns in enumerate(sets)}
    return sets, [[number[columns] for columns in order] for order in lists]
