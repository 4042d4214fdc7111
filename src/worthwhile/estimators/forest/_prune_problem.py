"""BudgetPrune as an optimisation problem, and its two solvers.

Binary unknowns: whether node h is expanded, and whether row i buys item k (a feature, or the fee of
a group). Minimise the mean error of the trees plus lam times the mean bill; a node is expanded only
if its parent is and the rows that meet a new item there buy it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from worthwhile.core.forest import prune_meetings as kernels
from worthwhile.core.threads import Threads
from worthwhile.core.trees import Trees
from worthwhile.costs import QUANTA_PER_UNIT, FlatCosts

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

EXACT_MEETINGS = 200_000
"""Meetings of rows, trees and items up to which "auto" solves by minimum cut."""

POLISH = 5
"""Every so many iterations the dual ascent turns its iterate into a good pruning."""

MOST_FLOW = 2**31 - 2
"""The maximum flow of SciPy counts in 32 bits."""


@dataclass(frozen=True, eq=False)
class Pruning:
    """A solution.

    Attributes
    ----------
    expanded : bool (nodes,)
        Nodes at which walks go on.
    objective, bound : float
        Its value, and what no pruning can go below.
    n_iter : int
        Iterations of the dual ascent; 1 for a cut.
    """

    expanded: Bools
    objective: float
    bound: float
    n_iter: int = 1


class PruneProblem:
    """The problem of one forest and its pruning rows.

    Parameters
    ----------
    trees : Trees
        The forest.
    labels : int64 (nodes,)
        Class that each node votes for.
    errors : float64 (nodes,) or None
        Share of the training rows of its tree that reach a node and that its label gets wrong; None
        takes the errors of the pruning rows.
    X, codes, weights : arrays
        Pruning rows, their classes, their weights (which add to 1).
    costs : FlatCosts
        The prices.
    threads : Threads
        Who does the work.
    keep_levels : int
        Levels of splits that are always expanded.
    """

    def __init__(
        self, trees: Trees, labels: Any, errors: Floats | None, X: Floats, codes: Any, weights: Floats,
        costs: FlatCosts, threads: Threads, keep_levels: int = 0,
    ) -> None:  # fmt: skip
        self.trees, self.n_rows, self.threads = trees, len(X), threads
        self._kept = _kept_below(trees, keep_levels)
        self._first = trees.bounds
        own = np.zeros(len(trees.feature))
        self._meet(trees, labels, own if errors is None else None, X, codes, weights, costs)
        self.error = (own if errors is None else errors) / trees.n_trees
        prices = np.concatenate([costs.price, costs.fee]) / QUANTA_PER_UNIT
        self.price = prices[self._item] / self.n_rows
        self.toll = np.zeros(len(trees.feature))
        self.toll[trees.root] = costs.evaluation / QUANTA_PER_UNIT

    def _meet(
        self, trees: Trees, labels: Any, errors: Floats | None, X: Floats, codes: Any, weights: Floats,
        costs: FlatCosts,
    ) -> None:  # fmt: skip
        """Find where rows first meet each item in each tree; number the pairs of row and item."""
        nodes, n = trees.packed(), len(X)
        X = np.ascontiguousarray(X, dtype=np.float32 if trees.single else np.float64)
        items, fees = len(costs.price) + len(costs.fee), (costs.begin, costs.opens)
        wrong = errors is not None
        errors = np.zeros(len(trees.feature)) if errors is None else errors
        codes, labels = np.asarray(codes, dtype=np.int64), np.asarray(labels, dtype=np.int64)
        parts: list[Any] = [None] * trees.n_trees

        def work(tree: int) -> None:
            counts, root = np.zeros(n, dtype=np.int64), np.int64(trees.root[tree])
            seen = np.full(items, -1, dtype=np.int64)
            kernels.count_meetings(
                X,
                nodes,
                trees.sets,
                root,
                fees,
                wrong,
                labels,
                codes,
                weights,
                seen,
                errors,
                counts,
                0,
                n,
            )
            begin = np.append(0, np.cumsum(counts))
            at_node, pair = np.empty(begin[-1], dtype=np.int32), np.empty(begin[-1], dtype=np.int64)
            seen[:] = -1
            kernels.note_meetings(
                X, nodes, trees.sets, root, fees, seen, begin, at_node, pair, 0, n
            )
            parts[tree] = (at_node, pair)

        self.threads.run(trees.n_trees, work)
        self.at_node = np.concatenate([part[0] for part in parts])
        self._begin = np.cumsum([0, *(len(part[0]) for part in parts)]).astype(np.int64)
        number = np.zeros(n * items, dtype=bool)
        for _, pair in parts:
            number[pair] = True
        pairs = np.flatnonzero(number)
        place = np.zeros(n * items, dtype=np.int32)
        place[pairs] = np.arange(len(pairs))
        self.pair = place[np.concatenate([part[1] for part in parts])]
        self._item = pairs % items

    @property
    def n_meetings(self) -> int:
        """Number of meetings of rows and items, over all trees."""
        return len(self.at_node)

    def parts(self, expanded: Bools) -> tuple[float, float]:
        """Mean error of the trees and mean bill of a pruning."""
        left, right = self.trees.left, self.trees.right
        total = float(self.error[self.trees.root].sum())
        h = np.flatnonzero(expanded)
        total += float((self.error[left[h]] + self.error[right[h]] - self.error[h]).sum())
        bought = np.zeros(len(self.price), dtype=bool)
        bought[self.pair[expanded[self.at_node]]] = True
        return total, float(self.price[bought].sum() + self.toll[expanded].sum())

    def _errors(self, lam: float) -> Floats:
        """Errors of stopping at the nodes; dearer than all else where nodes below have to be expanded."""
        if not self._kept.any():
            return self.error
        everything = lam * float(self.price.sum() + self.toll.sum())
        return self.error + (2.0 + everything) * self._kept

    def solve(self, lam: float, solver: str, max_iter: int) -> Pruning:
        """Prune for one trade-off, by "cut", "dual", or what fits the size ("auto")."""
        if solver == "auto":
            solver = "cut" if self.n_meetings <= EXACT_MEETINGS else "dual"
        return self.cut(lam) if solver == "cut" else self.ascend(lam, max_iter)

    def cut(self, lam: float) -> Pruning:
        """The exact solution with the fewest expanded nodes, as a minimum cut."""
        trees = self.trees
        inner = np.flatnonzero(trees.left >= 0)
        number = np.full(len(trees.left), -1, dtype=np.int64)
        number[inner] = 2 + np.arange(len(inner))  # 0 is the source, 1 the sink
        left, right = trees.left[inner], trees.right[inner]
        error = self._errors(lam)
        profit = error[inner] - error[left] - error[right] - lam * self.toll[inner]
        price = lam * self.price
        items = 2 + len(inner) + np.arange(len(price))
        most = min(profit[profit > 0].sum(), price.sum() - profit[profit < 0].sum())
        expanded = np.zeros(len(trees.left), dtype=bool)
        if (profit > 0).any():
            scale = MOST_FLOW / (most if most > 0 else profit[profit > 0].sum()) * (1 - 1e-6)
            gains, losses, prices = (
                np.minimum(np.rint(np.maximum(a, 0.0) * scale), MOST_FLOW)
                for a in (profit, -profit, price)
            )
            children = np.concatenate([left, right])
            below = trees.left[children] >= 0
            tails = [
                np.zeros(len(inner)),
                number[inner],
                items,
                number[children[below]],
                number[self.at_node],
            ]
            heads = [
                number[inner], np.ones(len(inner)), np.ones(len(items)), np.tile(number[inner], 2)[below],
                items[self.pair],
            ]  # fmt: skip
            free = [np.full(len(tails[k]), MOST_FLOW) for k in (3, 4)]
            expanded[inner] = _source_side(tails, heads, [gains, losses, prices, *free], len(inner))
        total, bill = self.parts(expanded)
        objective = total + lam * bill
        return Pruning(expanded, objective, objective)

    def ascend(self, lam: float, max_iter: int) -> Pruning:
        """A good solution and its bound, by dual ascent with dynamic programming per tree."""
        trees, price = self.trees, lam * self.price
        toll = lam * self.toll
        n_nodes, m = len(trees.left), 500.0
        burden, worth = np.zeros(n_nodes), np.zeros(n_nodes)
        expanded, users = np.zeros(n_nodes, dtype=bool), np.zeros(len(price), dtype=np.int64)
        charged = np.zeros(len(price))
        beta = (price / np.maximum(np.bincount(self.pair, minlength=len(price)), 1))[self.pair]
        best, bound = np.inf, -np.inf
        kept = expanded.copy()
        tree = (trees.left, trees.right, self._errors(lam), toll)
        for start in (np.zeros(n_nodes, dtype=bool), trees.left >= 0):
            value = self._polish(lam, start, users, burden, worth, tree, price)
            if value < best:
                best, kept = value, start
        for iteration in range(1, max_iter + 1):
            kernels.add_burdens(self.at_node, self.pair, beta, burden, charged)
            kernels.solve_trees(0, n_nodes, *tree, burden, worth, expanded)
            bought = charged > price * (1 + 1e-12)
            dual = float(worth[trees.root].sum() + (price - charged)[bought].sum())
            bound = max(bound, dual)
            norm = kernels.subgradient_norm(self.at_node, self.pair, expanded, bought)
            if iteration % POLISH == 1 or iteration == max_iter or norm == 0:
                found = expanded.copy()
                value = self._polish(lam, found, users, burden, worth, tree, price)
                if value < best:
                    best, kept = value, found
            if best - bound < 1e-6 * max(best, 1e-12) or norm == 0:
                break
            size = (1 + m) * (best - dual) / (norm * (iteration + m))
            kernels.step_multipliers(self.at_node, self.pair, expanded, bought, size, beta)
        return Pruning(kept, best, min(bound, best), iteration)

    def _polish(
        self,
        lam: float,
        expanded: Bools,
        users: Any,
        burden: Floats,
        worth: Floats,
        tree: Any,
        price: Floats,
    ) -> float:
        """Improve a pruning tree by tree; return its objective."""
        kernels.use_pairs(self.at_node, self.pair, expanded, users)
        for _ in range(3):
            if not kernels.polish_trees(
                self._first,
                self._begin,
                self.at_node,
                self.pair,
                price,
                *tree,
                users,
                burden,
                worth,
                expanded,
            ):
                break
        error, bill = self.parts(expanded)
        return error + lam * bill


def _kept_below(trees: Trees, levels: int) -> Floats:
    """How many splits of the first levels lie in the subtree of each node, itself included."""
    found = np.zeros(len(trees.feature))
    for at in reversed(trees.levels()[:levels]):
        found[at] = 1 + found[trees.left[at]] + found[trees.right[at]]
    return found


def _source_side(tails: Any, heads: Any, capacities: Any, n_inner: int) -> Bools:
    """Nodes that residual capacity reaches from the source: the smallest minimum cut."""
    tail, head, capacity = (np.concatenate(a).astype(np.int32) for a in (tails, heads, capacities))
    used = capacity > 0
    n = int(max(tail.max(), head.max())) + 1
    graph = csr_matrix((capacity[used], (tail[used], head[used])), shape=(n, n))
    flow = maximum_flow(graph, 0, 1, method="dinic").flow
    residual = graph - flow
    residual.data = np.where(residual.data > 0, 1, 0)
    residual.eliminate_zeros()
    reached = np.zeros(n, dtype=bool)
    reached[breadth_first_order(residual, 0, return_predecessors=False)] = True
    return reached[2 : 2 + n_inner]
