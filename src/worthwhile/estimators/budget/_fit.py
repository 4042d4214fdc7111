"""From a table to a library: lists, nodes, policies, and what they will cost."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.compile import compile_beside
from worthwhile.core.forest.value_cells import grow_cells
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators._shared.calibration import fit_map, quality_of
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.budget._boosters import FEW_ROWS, sets_to_boost
from worthwhile.estimators.budget._branches import lists_of_parts
from worthwhile.estimators.budget._bridges import ROUNDS, find_bridges
from worthwhile.estimators.budget._forests import Shape, no_trees
from worthwhile.estimators.budget._induction import Induction, Points
from worthwhile.estimators.budget._nodes import Node, grow_nodes, usual_styles
from worthwhile.estimators.budget._parts import Part, find_parts
from worthwhile.estimators.budget._payoff import Classes, Payoff
from worthwhile.estimators.budget._promise import (
    FOLDS,
    Promise,
    deal_folds,
    dearer_and_better,
    promise,
    smoothed,
    thinned,
)
from worthwhile.estimators.budget._screening import sets_to_grow
from worthwhile.estimators.budget._search import Columns, Search, Shop
from worthwhile.estimators.budget._stages import Stages
from worthwhile.estimators.budget._tables import join_tables
from worthwhile.policy.calibration import Calibration
from worthwhile.policy.library import Library

Array = npt.NDArray[Any]

LEAST_ROWS, MOST_ROWS = 20, 5000
"""Of fewer rows none can be spared to judge by; of more some are left that no choice was made on."""

MORE_TREES = 3
"""On few rows, where trees cost next to nothing, the model has so many times more; its folds do not."""

BOOSTED_ROWS, BOOSTED_COLUMNS = 2500, 60
"""From so many rows and columns on, where prices differ, trees that correct one another are tried on wide sets, and say
how lists go on."""

LARGEST, LARGEST_COLUMNS = 3, 30
"""Elsewhere on so many of the largest sets, from so many columns on, up to 5,000 rows; on one with few rows."""

LEAST_TO_BOOST = 50
"""Rows for each class, in the mean, if those trees are to say anything."""

SINGLES = 6
"""Single purchases that are nodes of their own."""

MAP_ROWS = 1000
"""Rows that say how votes become probabilities, each by every set, at most."""

POWERS = (1.0, 0.5, 0.0)
"""Lists are by gain over these powers of the price, where prices differ."""

MOST_STAGES = len(POWERS) + FOLDS
"""Further lists, parts of the rows, gaps, further folds; counted whether there is anything to do or not."""


@dataclass(frozen=True)
class Fitted:
    """A library, what is promised of its points, and how many models say so."""

    library: Library
    promise: Promise
    judges: int


class Training:
    """All that policies are made from, and judged by.

    Parameters
    ----------
    table : Table
    payoff : Payoff
        What answers are worth in the search; policies may be made for another.
    costs : Costs
    shape : Shape
    stages : Stages
        The first list, its forests and the first fold are made whatever it says.
    threads : Threads
    cross_validated : bool
        Whether few rows are judged by folds; otherwise by themselves, which flatters.
    """

    def __init__(
        self, table: Table, payoff: Payoff, costs: Costs, shape: Shape, stages: Stages,
        threads: Threads, *, cross_validated: bool,
    ) -> None:  # fmt: skip
        compile_beside(grow_cells)  # on a new machine: meanwhile this process compiles the forests
        shop = Shop(costs)
        more = MORE_TREES if table.n_rows <= FEW_ROWS else 1
        large = table.n_rows >= BOOSTED_ROWS and shop.n >= BOOSTED_COLUMNS
        shape = shape._replace(
            boosted=large and shop.prices_differ, largest=_largest_to_boost(table, shop)
        )
        rich = shape._replace(n_trees=more * shape.n_trees)
        self._payoff, self._own = payoff, Workshop(table, payoff, shop, rich, stages, threads)
        made = stages.done
        self._folds: list[tuple[Array, Payoff, Workshop]] = []
        if not cross_validated or not LEAST_ROWS <= table.n_rows <= MOST_ROWS:
            return
        # Kinds of forests are taken over and there are fewer trees: a fold costs a third as much.
        shape = shape._replace(
            n_trees=min(shape.n_trees, max(16, shape.n_trees // 2)), search_trees=shape.search_trees // 2,
            search_rows=shape.search_rows // 2, styles=self._own.styles, parts=2,
        )  # fmt: skip
        for rows, n_pool in deal_folds(table.slot, shape.seed):
            if not self._folds or stages.go("folds"):
                part, own = table.holding_out(rows, n_pool), payoff.part(rows)
                same = Stages(made, None, lambda *_: None)
                self._folds.append((rows, own, Workshop(part, own, shop, shape, same, threads)))

    def calibration(self) -> tuple[Calibration | None, dict[str, Any]]:
        """From votes to probabilities that hold, and how well they do."""
        return self._own.calibration()

    def solve(self, payoff: Payoff, threads: Threads, calibrated: bool = False) -> Fitted:
        """All policies for a payoff, by what they will cost; nothing is grown again.

        ``calibrated``: decisions are by probabilities that hold, not by votes.
        """
        known = payoff is self._payoff
        own = self._own.induction(payoff, threads, calibrated)
        others = [
            fold.induction(searched if known else payoff.part(rows), threads, calibrated)
            for rows, searched, fold in self._folds
        ]
        points, said = _judged(own, others, lambda each: each.points(threads))
        for_all, of_all = _judged(own, others, lambda each: each.for_everybody())
        if others or own.judged_apart:
            more = dearer_and_better(said, of_all)
        else:  # scores flatter what was chosen on the same rows, and say nothing against the whole
            more = np.flatnonzero(of_all.bill > said.bill.max()).tolist()[-1:]
        points, said = points.and_then(for_all.some(more)), said.and_then(of_all.some(more))
        order = np.argsort(said.bill, kind="stable")
        said = said.some(order)
        said = replace(said, score=smoothed(said.score))
        lines = thinned(said, payoff.in_money)
        library = self._own.join(own, points.some(order[lines]))
        return Fitted(library, said.some(lines), max(len(others), 1))


class Workshop:
    """What policies are made from: nodes and their answers to training rows.

    Parameters as those of :class:`Training`, and the shop, which remembers.
    """

    def __init__(
        self, table: Table, payoff: Payoff, shop: Shop, shape: Shape, stages: Stages,
        threads: Threads,
    ) -> None:  # fmt: skip
        seed, every = shape.seed, shop.all_sets()
        lists: list[tuple[Columns, ...]] = []
        if every is None:
            search = Search(table, payoff, shop, threads, shape)
            lists = _lists_of(search, stages)
        parts_wanted = stages.go("parts") and every is None
        split = find_parts(table, payoff, shop, threads, seed) if parts_wanted else None
        if parts_wanted and table.n_pool > MOST_ROWS:
            lists += lists_of_parts(search, lists[0], POWERS[0])
        if every is None:
            sets = sets_to_grow(search, lists, _sets_of(shop, search, lists), threads)
        else:
            # Columns come in bundles, so that all sets are large, and every step is by sureness.
            sets, shape = dict.fromkeys(every), shape._replace(wide=shop.n + 1)
        if split is not None:
            sets.setdefault(split[0])
        prior = np.broadcast_to(table.prior, (table.n_rows, table.n_outputs))
        found = [Node(frozenset(), no_trees(), prior)]
        boosted = sets_to_boost(lists, shape) if every is None else _all_if_many_rows(sets, table)
        found += grow_nodes(table, payoff, [s for s in sets if s], shape, threads, boosted)
        chains = [[node for node in found if node.columns in order] for order in lists]
        if split is not None:
            parts = _grow_parts(table, payoff, split[1], shape, threads)
            first = next(node for node in found if node.columns == split[0])
            chains += [[first, *chain] for chain in parts]
            found += [node for chain in parts for node in chain]
        self._table, self._seed, self.styles = table, seed, usual_styles(found)
        self._evaluation = shop.costs.flat.evaluation * 1e-9
        self._made: tuple[Payoff, Induction] | None = None
        self._arrange(found, chains, shop)
        gaps_wanted = stages.go("gaps") and every is None and shop.prices_differ
        if gaps_wanted and table.n_rows > FEW_ROWS:
            self._close_gaps(payoff, shop, shape._replace(styles=self.styles), threads)

    def _arrange(self, nodes: list[Node], chains: list[list[Node]], shop: Shop) -> None:
        """Nodes by size and price, and the lists that they are on."""
        price = dict(zip(map(id, nodes), shop.prices(n.columns for n in nodes), strict=True))
        nodes.sort(key=lambda n: (len(n.columns), price[id(n)], sorted(n.columns)))
        number = {id(node): i for i, node in enumerate(nodes)}
        self._nodes = nodes
        self._lists = [sorted(number[id(node)] for node in chain) for chain in chains]
        self._price = np.array([price[id(node)] for node in nodes])

    def _close_gaps(self, payoff: Payoff, shop: Shop, shape: Shape, threads: Threads) -> None:
        """Grow what lies between neighbouring policies whose bills are far apart."""
        for _ in range(ROUNDS):
            induction = self.induction(payoff, threads)
            bridges = find_bridges(induction, induction.points(threads), shop)
            known = {node.columns: node for node in self._nodes if not node.of_part}
            sets = dict.fromkeys(columns for _, larger in bridges for columns in larger)
            new = [columns for columns in sets if columns not in known]
            if not new:
                self._made = payoff, induction
                return
            grown = grow_nodes(self._table, payoff, new, shape, threads)
            known |= {node.columns: node for node in grown}
            chains = [[self._nodes[i] for i in numbers] for numbers in self._lists]
            chains += [
                [self._nodes[node], *(known[columns] for columns in larger)]
                for node, larger in bridges
            ]
            self._arrange(self._nodes + grown, chains, shop)

    def calibration(self) -> tuple[Calibration | None, dict[str, Any]]:
        """A map from what trees say to rows that they were not grown on, all sets together.

        None where votes hold better as they are.
        """
        step = -(-self._table.n_pool // MAP_ROWS)
        rows = np.arange(0, self._table.n_pool, step)
        votes = np.concatenate([node.votes[rows] for node in self._nodes])
        logs, many = links.log_shares(votes), len(self._nodes)
        codes = np.tile(self._table.slot[rows].astype(np.intp), many)
        weight, fold = np.tile(self._table.weight[rows], many), np.tile(rows % FOLDS, many)
        quality = quality_of("isotonic", logs, codes, weight, fold)
        return (fit_map("isotonic", logs, codes, weight) if quality["kind"] else None), quality

    def induction(self, payoff: Payoff, threads: Threads, calibrated: bool = False) -> Induction:
        """What choices for a payoff are made by; once, what was made for the last look at gaps."""
        made, self._made = self._made, None
        if made is not None and made[0] is payoff and not calibrated:
            return made[1]
        map_ = self.calibration()[0] if calibrated else None
        if map_ is not None and isinstance(payoff, Classes):
            payoff = payoff.calibrated(map_)
        return Induction(
            self._table, payoff, self._nodes, self._lists, self._price, self._evaluation, threads,
            self._seed,
        )  # fmt: skip

    def join(self, induction: Induction, points: Points) -> Library:
        """Nodes and choices in one set of arrays."""
        return join_tables(self._table, self._nodes, induction, points)


def _largest_to_boost(table: Table, shop: Shop) -> int:
    """How many of the largest sets have trees that correct one another, where not all wide ones have."""
    if table.n_rows <= FEW_ROWS:
        return int(table.n_rows >= LEAST_TO_BOOST * table.n_outputs)
    return LARGEST if table.n_rows <= MOST_ROWS and shop.n >= LARGEST_COLUMNS else 0


def _all_if_many_rows(sets: Collection[Columns], table: Table) -> set[Columns]:
    """Every set that something is bought in, where rows are many: few sets cost little, and each says who goes on."""
    enough = table.n_rows > max(MOST_ROWS, LEAST_TO_BOOST * table.n_outputs)
    return {columns for columns in sets if columns} if enough else set()


def _judged(
    own: Induction, others: list[Induction], make: Callable[[Induction], Points]
) -> tuple[Points, Promise]:
    """Policies of a kind, and what they will cost: by those of the same kind of folds, or by rows that are left."""
    points = make(own)
    pairs = [(each, make(each)) for each in others] or [(own, points)]
    judged = [(found, each.seen(found)) for each, found in pairs]
    return points, promise(points, own.range_of_bills(points), judged)


def _lists_of(search: Search, stages: Stages) -> list[tuple[Columns, ...]]:
    """Lists by gain per price, and by gain alone and in between where prices differ."""
    lists = {tuple(search.forward(POWERS[0])): None}
    for power in POWERS[1:]:
        if stages.go("lists") and search.shop.prices_differ:
            lists.setdefault(tuple(search.forward(power)))
    return list(lists)


def _sets_of(shop: Shop, search: Search, lists: list[tuple[Columns, ...]]) -> dict[Columns, None]:
    """All sets on the lists, and the best single purchases."""
    singles = shop.steps(shop.free)
    worth = np.array(search.score(singles))
    best = np.argsort(-worth, kind="stable")[:SINGLES].tolist()
    found: dict[Columns, None] = {columns: None for order in lists for columns in order}
    return found | {singles[i]: None for i in best}


def _grow_parts(
    table: Table, payoff: Payoff, parts: list[Part], shape: Shape, threads: Threads
) -> list[list[Node]]:
    """Forests for parts of the rows; for the others they have no answer but the usual one."""
    chains = []
    for part in parts:
        own, judge = table.part(part.rows), payoff.part(part.rows)
        sets = list(dict.fromkeys(part.sets))
        chain = []
        for node in grow_nodes(own, judge, sets, shape, threads):
            votes = np.tile(table.prior, (table.n_rows, 1))
            votes[part.rows] = node.votes
            chain.append(Node(node.columns, node.trees, votes, node.style, of_part=True))
        chains.append(chain)
    return chains
