"""Forests that vote: from grown trees to the arrays that walks read, and their parts."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.forest.prefix_bills import Prefixes, write_votes
from worthwhile.core.threads import Threads
from worthwhile.core.trees import Trees, shifted
from worthwhile.costs import QUANTA_PER_UNIT, FlatCosts

Floats = npt.NDArray[np.float64]

HUGE = 1 << 22
"""Bytes from which on numpy asks for huge pages."""


def votes(counts: Floats) -> Floats:
    """Values of nodes (m, 2K): a vote for the heaviest class (the first of equals), then the weights."""
    m, k = counts.shape
    value = np.empty((m, 2 * k))
    write_votes(np.ascontiguousarray(counts, dtype=np.float64), value, np.empty(m, dtype=np.int64))
    return value


def _small_pages(n: int, width: int) -> Floats:
    """An array (n, width) with zeros in it.

    For large arrays numpy asks for huge pages. Where memory is in pieces, the system first moves
    other memory out of the way, which took up to half as long as growing the forest.
    """
    size = 8 * n * width
    if size < HUGE:
        return np.zeros((n, width))
    memory = mmap.mmap(-1, size, access=mmap.ACCESS_COPY)  # lives as long as the array
    return np.frombuffer(memory, dtype=np.float64).reshape(n, width)


def plant(
    grown: Sequence[Any], prior: Floats, threads: Threads, *, single: bool = False
) -> tuple[Trees, npt.NDArray[np.int64]]:
    """Voting trees from trees with class weights, and the class that each node votes for.

    ``prior`` (K,) is the answer of no tree at all.
    """
    first = np.cumsum([0, *(len(tree.feature) for tree in grown)])
    n = int(first[-1])
    nodes: dict[str, npt.NDArray[Any]] = {
        "feature": np.empty(n, dtype=np.int32), "threshold": np.empty(n),
        "missing_left": np.empty(n, dtype=bool), "left": np.empty(n, dtype=np.int32),
        "right": np.empty(n, dtype=np.int32), "value": _small_pages(n, 2 * len(prior)),
    }  # fmt: skip

    label = np.empty(n, dtype=np.int64)

    def place(number: int) -> None:  # a forest has many nodes: each is written once
        tree, start = grown[number], int(first[number])
        part = slice(start, int(first[number + 1]))
        for name in ("feature", "threshold", "missing_left"):
            nodes[name][part] = getattr(tree, name)
        for side in ("left", "right"):
            nodes[side][part] = shifted(getattr(tree, side), start)
        write_votes(tree.counts, nodes["value"][part], label[part])

    threads.run(len(grown), place)
    trees = Trees.build(
        **nodes, root=first[:-1], base=np.concatenate([prior, prior]), average=True, single=single
    )
    return trees, label


class Path:
    """Bills and votes of some rows after every tree of a voting forest.

    Attributes
    ----------
    quanta : list of int
        Sum over the rows of what they paid, evaluations included, after each tree.
    n_rows : int
        Number of rows.
    score : list of float
        Share of rows whose majority vote is right after each tree.
    features : list of int
        Features that the trees so far test.
    """

    def __init__(
        self,
        X: Floats,
        codes: npt.NDArray[np.intp],
        trees: Trees,
        label: npt.NDArray[np.int64],
        costs: FlatCosts,
        threads: Threads,
    ) -> None:
        rows, k = Prefixes(X, trees, costs), trees.n_outputs // 2
        voters = (label, codes, np.zeros((len(X), k), dtype=np.int32))
        self.quanta: list[int] = []
        self.score: list[float] = []
        so_far = np.logical_or.accumulate(trees.tests(len(costs.price)), axis=0)
        self.features: list[int] = np.count_nonzero(so_far, axis=1).tolist()
        self.n_rows, self.codes = len(X), codes
        paid = 0
        for tree in range(trees.n_trees):
            newly, right = rows.follow(tree, threads, voters)
            paid += newly + costs.evaluation * len(X)
            self.quanta.append(paid)
            self.score.append(right / len(X))

    def cost(self, n_trees: int) -> float:
        """Mean bill after some trees."""
        return mean_bill(self.quanta[n_trees - 1], self.n_rows) if n_trees else 0.0


def mean_bill(quanta: int, n_rows: int) -> float:
    """The float64 nearest to a mean bill, from the sum over all rows."""
    return quanta / (QUANTA_PER_UNIT * n_rows)


def n_within(quanta: Sequence[int], n_rows: int, budget: float) -> int:
    """How many trees come before the first whose mean bill, as users see it, passes the budget."""
    return sum(mean_bill(paid, n_rows) <= budget for paid in quanta)
