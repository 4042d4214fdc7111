"""Where rows end in a grown tree: one pass over the codes in the order of rows.

A walk is a chain of table look-ups, one per level, the same for every row: leaves lead to
themselves. From the leaf numbers follow scores, sums per leaf, and what rows have met.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from worthwhile.core.boosting.partition import goes_left
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import CODES, SUM

MANY = 100_000
"""Rows from which a pass is shared among threads: waking them takes as long as some 20,000 rows."""

LEAF = np.uint16
"""Number of a node: trees have at most 16 levels of splits."""


@kernel("void(int64[:,::1], uint16[:,::1], int64[:,::1])")
def fill_tables(children, table, splits):
    """Fill the table (nodes, 256) of next nodes; ``children`` (nodes, 2), -1 at leaves."""
    left = np.empty(CODES, np.uint8)
    for node in range(table.shape[0]):
        if children[node, 0] < 0:
            for code in range(CODES):
                table[node, code] = node
        else:
            goes_left(splits[node], left)
            for code in range(CODES):
                table[node, code] = children[node, 0] if left[code] else children[node, 1]


@kernel(inline=True)
def _step(node, i, words, first, shift, table):
    """Next node of row i; unsigned numbers need no sign test."""
    code = (words[first[node] + i] >> shift[node]) & np.uint64(255)
    return np.uint64(table[(node << np.uint64(8)) | code])


@kernel(
    "void(uint64[:,::1], uint64[::1], uint64[::1], uint16[:,::1], int64, uint16[::1], int64, int64)"
)
def find_leaves(words, first, shift, table, depth, leaf, start, stop):
    """Write the number of the leaf of rows ``start..stop``.

    ``first``: position of a node's block in all words. Leaves lead to themselves, so three levels
    can be written out, which is faster than a loop over them.
    """
    flat, nexts = words.reshape(-1), table.reshape(-1)
    for i in range(np.uint64(start), np.uint64(stop)):
        node = _step(np.uint64(0), i, flat, first, shift, nexts)
        node = _step(node, i, flat, first, shift, nexts)
        node = _step(node, i, flat, first, shift, nexts)
        for _ in range(depth - 3):
            node = _step(node, i, flat, first, shift, nexts)
        leaf[i] = node


@kernel("void(uint16[::1], float64[:,::1], float64[:,::1], int64, int64)", lean=True)
def add_values(leaf, values, scores, start, stop):
    """Add to the scores (outputs, n) what the leaves of rows ``start..stop`` say: values (outputs, nodes)."""
    for k in range(scores.shape[0]):
        score, value = scores[k], values[k]
        for i in range(start, stop):
            score[i] += value[leaf[i]]


@kernel(
    "void(uint16[::1], int32[::1], boolean, int32[:,::1], int64[::1], int64[:,:,::1], int64, int64)",
    "void(uint16[::1], int32[::1], boolean, int64[:,::1], int64[::1], int64[:,:,::1], int64, int64)",
    lean=True,
)
def add_curvature(leaf, rows, all_rows, curvature, weights, sums, start, stop):
    """Add up the rounded curvature (outputs, n) per leaf: sums (nodes, outputs, 2).

    With weights (empty for unit weights) the last axis holds the sums of the upper and of the lower
    15 bits, so that neither can overflow; without, all is in the second.
    """
    for k in range(curvature.shape[0]):
        for i in range(start, stop):
            row = np.uint32(i) if all_rows else np.uint32(rows[i])
            value = np.int64(curvature[k, row])
            if weights.shape[0] > 0:
                sums[leaf[row], k, 0] += (value >> 15) * weights[row]
                sums[leaf[row], k, 1] += (value & 32767) * weights[row]
            else:
                sums[leaf[row], k, 1] += value


@dataclass(frozen=True)
class Step:
    """What a tree adds to scores.

    Attributes
    ----------
    leaf : uint16 (n,)
        Leaf of every row.
    values : float64 (outputs, nodes)
        What the leaves say.
    """

    leaf: np.ndarray
    values: np.ndarray

    def add(self, scores, threads):
        """Add it to the scores (outputs, n)."""
        in_parts(
            threads, len(self.leaf),
            lambda start, stop: add_values(self.leaf, self.values, scores, start, stop),
        )  # fmt: skip


class Route:
    """A grown tree as tables over codes.

    Parameters
    ----------
    grown : Grown
        The tree.
    layout : Layout
        Where features lie.

    Attributes
    ----------
    paths : list of tuple
        Features tested on the way to each node.
    """

    def __init__(self, grown, layout):
        self._grown, self._layout = grown, layout
        self.paths = grown.paths()

    @cached_property
    def _tables(self):
        """Block, shift and table of next nodes of every node; only rows that are walked need them."""
        grown = self._grown
        splits = np.array(
            [
                self._layout.split(*split)
                for split in zip(grown.feature, grown.cut, grown.words, strict=True)
            ]
        )
        children = np.stack([grown.left, grown.right], axis=1).astype(SUM)
        table = np.empty((len(splits), CODES), dtype=LEAF)
        fill_tables(children, table, splits)
        return splits[:, 0].astype(np.uint64), (8 * splits[:, 1]).astype(np.uint64), table

    def leaves(self, words, threads, out=None):
        """Leaf number of every row of the code words (blocks, n)."""
        leaf = np.empty(words.shape[1], dtype=LEAF) if out is None else out
        block, shift, table = self._tables
        first, depth = block * np.uint64(words.shape[1]), max(map(len, self.paths))
        in_parts(
            threads, len(leaf),
            lambda start, stop: find_leaves(words, first, shift, table, depth, leaf, start, stop),
        )  # fmt: skip
        return leaf


def in_parts(threads, n_rows, work):
    """Call ``work(start, stop)`` for parts that together cover all rows."""
    parts = 2 * threads.count if n_rows >= MANY else 1
    threads.run(parts, lambda part: work(part * n_rows // parts, (part + 1) * n_rows // parts))


def curvature_sums(leaf, rows, curvature, bits, weights, n_nodes, threads):
    """Sum of the rounded curvature of the given rows (None: all) per node: float64 (nodes, outputs).

    ``curvature`` (outputs, n) is in units of 2**-bits. Whole numbers: the sums do not depend on the
    number of threads, and are rounded once; they are over the rows of all ranks.
    """
    count = len(leaf) if rows is None else len(rows)
    parts = threads.count if count >= MANY else 1
    sums = np.zeros((parts, n_nodes, len(curvature), 2), dtype=SUM)
    chosen = np.empty(0, dtype=np.int32) if rows is None else rows

    def work(part):
        start, stop = part * count // parts, (part + 1) * count // parts
        add_curvature(leaf, chosen, rows is None, curvature, weights, sums[part], start, stop)

    threads.run(parts, work)
    whole = threads.collective.sum(sums.sum(axis=0)).astype(object)
    return np.ldexp(((whole[..., 0] << 15) + whole[..., 1]).astype(np.float64), -bits)
