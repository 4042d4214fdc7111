"""What rows pay and where they end, tree by tree: the bills of every prefix of a forest."""

from __future__ import annotations

import numpy as np

from costwise.core.compile import kernel
from costwise.core.walk import _next_node as next_node

CHUNK = 512
"""Rows whose bills are added in one int64: a full bill may be 2**53 quanta."""


@kernel()
def follow_tree(X, nodes, root, price, group, fee, acquired, opened, ends, sums, start, stop):
    """Walk rows ``start..stop`` through one tree and charge for what they have not bought before.

    ``acquired`` (n, d) and ``opened`` (n, groups) remember purchases from tree to tree. ``ends``
    (n,) gets the leaves; ``sums`` (chunks,) the new quanta per CHUNK rows.
    """
    for row in range(start, stop):
        at, paid = root, np.int64(0)
        while nodes[at]["feature"] >= 0:
            f = nodes[at]["feature"]
            if not acquired[row, f]:
                acquired[row, f] = True
                paid += price[f]
                if group[f] >= 0 and not opened[row, group[f]]:
                    opened[row, group[f]] = True
                    paid += fee[group[f]]
            at = next_node(nodes[at], X[row, f])
        ends[row] = at
        sums[row // CHUNK] += paid


@kernel()
def count_votes(ends, label, codes, ballots, right, start, stop):
    """Let rows ``start..stop`` vote for the class of the leaf they reached.

    ``ballots`` (n, K) remembers votes from tree to tree; ``right`` (chunks,) counts the rows whose
    class has most votes, the first class of equals, per CHUNK rows.
    """
    for row in range(start, stop):
        ballots[row, label[ends[row]]] += 1
        best = 0
        for k in range(1, ballots.shape[1]):
            if ballots[row, k] > ballots[row, best]:
                best = k
        if best == codes[row]:
            right[row // CHUNK] += 1


class Prefixes:
    """Follows rows through a forest, one tree after the other.

    Parameters
    ----------
    X : float64 or float32 (n, d)
        The rows.
    trees : Trees
        The forest.
    costs : FlatCosts
        The prices.

    Attributes
    ----------
    acquired : bool (n, d)
        What each row has bought so far.
    ends : int32 (n,)
        Where each row ended in the last tree.
    """

    def __init__(self, X, trees, costs):
        n = len(X)
        self._X = np.ascontiguousarray(X, dtype=np.float32 if trees.single else X.dtype)
        self._trees, self._nodes, self._costs = trees, trees.packed(), costs
        self.acquired = np.zeros(X.shape, dtype=bool)
        self._opened = np.zeros((n, len(costs.fee)), dtype=bool)
        self.ends = np.zeros(n, dtype=np.int32)

    def follow(self, tree, threads, voters=None):
        """Walk through one tree; return the quanta that all rows together newly pay.

        With ``voters``, how many of them the trees so far get right, too.
        """
        n = len(self._X)
        sums, right = np.zeros((2, -(-n // CHUNK)), dtype=np.int64)
        parts = min(threads.count, len(sums))
        step = -(-len(sums) // max(parts, 1)) * CHUNK
        flat, root = self._costs, np.int64(self._trees.root[tree])

        def work(part):
            start, stop = part * step, min((part + 1) * step, n)
            follow_tree(
                self._X, self._nodes, root, flat.price, flat.group, flat.fee, self.acquired, self._opened,
                self.ends, sums, start, stop,
            )  # fmt: skip
            if voters is not None:
                count_votes(self.ends, *voters, right, start, stop)

        threads.run(parts, work)
        paid = sum(sums.tolist())
        return paid if voters is None else (paid, sum(right.tolist()))
