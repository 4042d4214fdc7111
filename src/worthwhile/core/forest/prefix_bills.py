"""What rows pay and where they end, tree by tree: the bills of every prefix of a forest."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.bit_columns import lowest_bit
from worthwhile.core.trees import CATEGORY, MISSING_LEFT
from worthwhile.core.walks.general import holds

CHUNK = 512
"""Rows that walk together, and whose bills are added in one int64: a full bill may be 2**53 quanta."""

_U, _U32 = np.uint64, np.uint32


@kernel()
def note_paths(nodes, first, end, begin, opens, met):
    """What is bought on the way to each node of a tree, as bits: features, then fees (m, words)."""
    n_features = begin.shape[0] - 1
    for word in range(met.shape[1]):
        met[0, word] = 0
    for at in range(first, end):
        f = np.int64(nodes[at]["feature"])
        if f < 0:
            continue
        for child in (nodes[at]["left"] - first, nodes[at]["right"] - first):
            for word in range(met.shape[1]):
                met[child, word] = met[at - first, word]
            met[child, f // 64] |= _U(1) << _U(f % 64)
            for entry in range(begin[f], begin[f + 1]):
                fee = n_features + opens[entry]
                met[child, fee // 64] |= _U(1) << _U(fee % 64)


@kernel()
def descend(X, nodes, sets, root, start, n, ends, going):
    """Take rows ``start..start + n`` down a tree, a level at a time: while one waits, others step on."""
    for j in range(n):
        ends[start + j], going[j] = root, j
    left = n
    while left > 0:
        kept = _U(0)
        for i in range(left):
            j = _U(going[i])
            row = _U(start) + j
            at = _U32(ends[row])
            f, threshold, flags = (
                nodes[at]["feature"], nodes[at]["threshold"], nodes[at]["flags"],
            )  # fmt: skip
            low, high = nodes[at]["left"], nodes[at]["right"]
            x = X[row, _U32(max(f, 0))]
            goes_left = np.int32(x <= threshold) | (flags & MISSING_LEFT & np.int32(x != x))
            if sets is not None and flags & CATEGORY and x == x:
                goes_left = np.int32(holds(sets, threshold, x))
            inner = np.int32(f >= 0)
            ends[row] = inner * (high + goes_left * (low - high)) + (
                np.int32(1) - inner
            ) * np.int32(at)
            going[kept] = _U32(j)
            kept += _U(inner)
        left = np.int64(kept)


@kernel()
def follow_tree(X, nodes, sets, first, end, begin, opens, price, bought, ends, sums, start, stop):
    """Walk rows ``start..stop`` through one tree and charge for what they have not bought before.

    ``price`` is of features, then of fees. ``bought`` (n, words) remembers purchases from tree to
    tree, as bits. ``ends`` (n,) gets the leaves; ``sums`` (chunks,) the new quanta per CHUNK rows.
    """
    met = np.empty((end - first, bought.shape[1]), np.uint64)
    going = np.empty(CHUNK, np.uint32)
    note_paths(nodes, first, end, begin, opens, met)
    for low in range(start, stop, CHUNK):
        n, paid = min(CHUNK, stop - low), np.int64(0)
        descend(X, nodes, sets, first, low, n, ends, going)
        for row in range(low, low + n):
            leaf = ends[row] - first
            for word in range(bought.shape[1]):
                new = met[leaf, word] & ~bought[row, word]
                bought[row, word] |= new
                while new != _U(0):
                    paid += price[64 * word + lowest_bit(new)]
                    new &= new - _U(1)
        sums[low // CHUNK] += paid


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


@kernel("void(float64[:,::1], float64[:,::1], int64[::1])")
def write_votes(counts, value, label):
    """Values of nodes (m, 2K) from class weights (m, K): a vote, then the weights; and whom it is for.

    That is the heaviest class, the first of equals.
    """
    n_classes = counts.shape[1]
    for node in range(counts.shape[0]):
        best = 0
        for k in range(n_classes):
            value[node, k] = 0.0
            value[node, n_classes + k] = counts[node, k]
            if counts[node, k] > counts[node, best]:
                best = k
        value[node, best] = 1.0
        label[node] = best


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
    ends : int32 (n,)
        Where each row ended in the last tree.
    """

    def __init__(self, X, trees, costs):
        self._X = np.ascontiguousarray(X, dtype=np.float32 if trees.single else X.dtype)
        self._first = trees.bounds
        self._nodes, self._sets = trees.packed(), trees.sets
        self._fees = (costs.begin, costs.opens)
        self._price = np.concatenate([costs.price, costs.fee])
        self._bought = np.zeros((len(X), -(-len(self._price) // 64)), dtype=np.uint64)
        self.ends = np.zeros(len(X), dtype=np.int32)

    def follow(self, tree, threads, voters=None):
        """Walk through one tree; return the quanta that all rows together newly pay.

        With ``voters``, how many of them the trees so far get right, too.
        """
        n = len(self._X)
        sums, right = np.zeros((2, -(-n // CHUNK)), dtype=np.int64)
        parts = min(threads.count, len(sums))
        step = -(-len(sums) // max(parts, 1)) * CHUNK

        def work(part):
            start, stop = part * step, min((part + 1) * step, n)
            follow_tree(
                self._X, self._nodes, self._sets, *self._first[tree : tree + 2], *self._fees, self._price,
                self._bought, self.ends, sums, start, stop,
            )  # fmt: skip
            if voters is not None:
                count_votes(self.ends, *voters, right, start, stop)

        threads.run(parts, work)
        paid = sum(sums.tolist())
        return paid if voters is None else (paid, sum(right.tolist()))
