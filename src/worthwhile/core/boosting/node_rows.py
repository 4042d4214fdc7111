"""The data as growers see it: histograms of these nodes, and partition the rows by these splits.

A grower knows nodes by their pieces (see :mod:`worthwhile.core.boosting.partition`) and never touches a row.
:class:`NodeRows` answers for rows in this process; a class with the same methods may hold
them elsewhere and add up histograms.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting import partition, splitting, wide_splitting
from worthwhile.core.dtypes import BLOCK, CODES, GRADIENT, PACKED_ROWS, ROW, SET_WORDS, SUM

HISTOGRAM_BYTES = 1 << 29
"""Memory for histograms that wait for subtraction; beyond it children are built from their rows."""

SMALL = 1 << 19
"""Histogram updates (or row moves, times eight) below which waking other threads does not pay."""

_NO_GRADIENTS = np.empty(0, dtype=GRADIENT)


class NodeRows:
    """Histograms and partitions of rows in this process.

    Parameters
    ----------
    words : uint64 (blocks, n)
        Code words.
    layout : Layout
        Where features lie in them.
    threads : Threads
        Who does the work.

    Attributes
    ----------
    rows : int32 (n,)
        Row numbers by position, once something was moved.
    all_rows : bool
        Nothing was moved yet and position p is row p; ``rows`` is then not valid.
    """

    def __init__(self, words, layout, threads):
        self.words = words
        self.layout = layout
        self.threads = threads
        self.rows = np.empty(words.shape[1], dtype=ROW)
        self.all_rows = True
        self._gradients = np.empty(words.shape[1], dtype=GRADIENT)
        self._source = self._gradients
        self._statistics, self._outputs, self._most = None, 1, 0
        self._histograms = np.empty((0, 0, 0), dtype=SUM)

    def begin(self, gradients=None, statistics=None, chosen=None, outputs=1, weighted=True):
        """Start a tree on rounded gradients (packed) or on statistics (n, S) of so many outputs.

        Statistics are the weight, the gradients and, where gains go by it, the curvature of every output.
        ``weighted``: not all weights are 1. ``chosen``: the rows (ascending) that the tree sees; None for all.
        Returns the root's pieces.
        """
        self._statistics, self._outputs = statistics, outputs
        self._most = 0 if weighted or outputs > 1 else PACKED_ROWS
        self.all_rows = chosen is None and statistics is None
        count = len(self.rows) if chosen is None else len(chosen)
        if not self.all_rows:
            self.rows[:count] = np.arange(count, dtype=ROW) if chosen is None else chosen
        if statistics is None and chosen is not None:
            self._gradients[:count] = gradients[chosen]
            gradients = self._gradients
        # At the root, gradients are read where they are; a partition then writes our own copy.
        self._source = gradients
        return partition.chunks(count)

    @property
    def width(self):
        """Statistics per bin; 1 stands for the packed layout."""
        return 1 if self._statistics is None else self._statistics.shape[1]

    def slots(self, wanted):
        """Make room for up to ``wanted`` histograms that wait; return how many there are."""
        shape = (self.layout.n_blocks, BLOCK * CODES * self.width)
        count = min(wanted, max(1, HISTOGRAM_BYTES // (8 * shape[0] * shape[1])))
        if self._histograms.shape[1:] != shape or len(self._histograms) < count:
            self._histograms = np.empty((count, *shape), dtype=SUM)
        return count

    def totals(self, nodes):
        """Sum of the statistics (wide) over the pieces of each node: int64 (k, S)."""
        found = np.zeros((len(nodes), self.width), dtype=SUM)
        partition.add_statistics(self._statistics, self.rows, partition.gather_pieces(nodes), found)
        return found

    def score(self, jobs, pieces, totals, allowed, rules):
        """Return (gain, cut, left, sets) per node and feature: histograms built, subtracted and scanned.

        ``jobs`` as in :mod:`worthwhile.core.boosting.splitting`, on ``pieces`` (k, 4); ``totals``: packed sum
        (nodes,) or statistics (nodes, S); ``rules``: ``min_leaf``, ``smooth`` and ``least`` of
        :class:`worthwhile.core.boosting.grower.Rules`. ``left``, the packed sum of the left side, is None in the
        wide layout. ``sets`` (nodes, categories, 4) are those of the cuts of categories.
        """
        n_nodes, d = len(totals), len(allowed)
        gain = np.full((n_nodes, d), -np.inf)
        cut = np.empty((n_nodes, d), dtype=np.int32)
        layout, blocks = self.layout, self.layout.n_blocks
        sets = np.empty((n_nodes, layout.n_categories, SET_WORDS), dtype=SUM)
        updates = int((pieces[:, partition.HIGH] - pieces[:, partition.LOW]).sum()) * blocks * BLOCK
        parts = 1 if updates < SMALL else min(blocks, 4 * self.threads.count)
        if self._statistics is None:
            left = np.empty((n_nodes, d), dtype=SUM)

            def work(part):
                splitting.score_packed(
                    self.words, self.rows, self._source, self.all_rows, self._histograms, jobs, pieces,
                    totals, layout.members, layout.offsets, allowed, gain, cut, left, sets, *rules[:2],
                    part * blocks // parts, (part + 1) * blocks // parts,
                )  # fmt: skip

        else:
            left = None

            def work(part):
                wide_splitting.score_wide(
                    self.words, self.rows, self._statistics, self._histograms, jobs, pieces, totals,
                    layout.members, layout.offsets, allowed, gain, cut, sets, *rules, self._outputs,
                    self._most, part * blocks // parts, (part + 1) * blocks // parts,
                )  # fmt: skip

        self.threads.run(parts, work)
        return gain, cut, left, sets

    def divide(self, nodes, splits, *, carry):
        """Split nodes, given by their pieces, in place; return the pieces of both children of each.

        ``carry``: the children's histograms will be built, so gradients move with their rows.
        """
        carry = carry and self._statistics is None
        pieces = partition.gather_pieces(nodes)
        count = len(pieces)
        moved = int((pieces[:, partition.HIGH] - pieces[:, partition.LOW]).sum())
        parts = 1 if moved * 8 < SMALL else min(count, 2 * self.threads.count)
        source = self._source if carry else _NO_GRADIENTS

        def work(part):
            partition.divide(
                self.words, self.rows, source, self._gradients, self.all_rows, carry, splits, pieces,
                part * count // parts, (part + 1) * count // parts,
            )  # fmt: skip

        self.threads.run(parts, work)
        self.all_rows = False
        if carry:
            self._source = self._gradients
        children, first = [], 0
        both = np.empty((count, 3), dtype=SUM)
        both[:, 0], both[:, 2] = pieces[:, partition.LOW], pieces[:, partition.HIGH]
        both[:, 1] = both[:, 0] + pieces[:, partition.LEFTS]
        for node in nodes:
            left, right = both[first : first + len(node), :2], both[first : first + len(node), 1:]
            children.append((left[left[:, 1] > left[:, 0]], right[right[:, 1] > right[:, 0]]))
            first += len(node)
        return children
