"""From a table to a library: lists, nodes, policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators.budget._forests import Table, no_trees
from worthwhile.estimators.budget._induction import Induction, Points
from worthwhile.estimators.budget._nodes import Node, grow_nodes
from worthwhile.estimators.budget._parts import Part, find_parts
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
        split = find_parts(table, payoff, shop, threads, seed)
        sets = _sets_of(shop, search, lists)
        if split is not None:
            sets.setdefault(split[0])
        prior = np.broadcast_to(table.prior, (table.n_rows, table.n_outputs))
        found = [Node(frozenset(), no_trees(), prior)]
        found += grow_nodes(table, payoff, [s for s in sets if s], n_trees, threads, seed)
        chains = [[node for node in found if node.columns in order] for order in lists]
        if split is not None:
            parts = _grow_parts(table, payoff, split[1], n_trees, threads, seed)
            first = next(node for node in found if node.columns == split[0])
            chains += [[first, *chain] for chain in parts]
            found += [node for chain in parts for node in chain]
        price = dict(zip(map(id, found), shop.prices(n.columns for n in found), strict=True))
        found.sort(key=lambda n: (len(n.columns), price[id(n)], sorted(n.columns)))
        number = {id(node): i for i, node in enumerate(found)}
        self._nodes, self._seed = found, seed
        self._lists = [sorted(number[id(node)] for node in chain) for chain in chains]
        self._price = np.array([price[id(node)] for node in found])
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


def _sets_of(shop: Shop, search: Search, lists: list[tuple[Columns, ...]]) -> dict[Columns, None]:
    """All sets on the lists, and the best single purchases."""
    singles = shop.steps(shop.free)
    worth = np.array(search.score(singles))
    best = np.argsort(-worth, kind="stable")[:SINGLES].tolist()
    found: dict[Columns, None] = {columns: None for order in lists for columns in order}
    return found | {singles[i]: None for i in best}


def _grow_parts(
    table: Table, payoff: Payoff, parts: list[Part], n_trees: int, threads: Threads, seed: int
) -> list[list[Node]]:
    """Forests for parts of the rows; for the others they have no answer but the usual one."""
    chains = []
    for part in parts:
        own, judge = table.part(part.rows), payoff.part(part.rows)
        sets = list(dict.fromkeys(part.sets))
        chain = []
        for node in grow_nodes(own, judge, sets, n_trees, threads, seed):
            votes = np.tile(table.prior, (table.n_rows, 1))
            votes[part.rows] = node.votes
            chain.append(Node(node.columns, node.trees, votes))
        chains.append(chain)
    return chains
