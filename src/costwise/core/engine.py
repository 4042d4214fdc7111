"""The data as growers see it: histograms of these nodes, and partition the rows by these splits.

A grower knows nodes by their stretch of positions and never touches a row. :class:`Engine` answers
for rows in this process; another engine may hold them elsewhere and add up histograms.
"""

from __future__ import annotations

import numpy as np

from costwise.core import partition, splitting
from costwise.core.dtypes import BLOCK, CODES, GRADIENT, ROW, SUM

HISTOGRAM_BYTES = 1 << 29
"""Memory for histograms that wait for subtraction; beyond it children are built from their rows."""

SMALL = 1 << 18
"""Histogram updates (or row moves, times eight) below which waking other threads does not pay."""

_NO_GRADIENTS = np.empty(0, dtype=GRADIENT)


class RowSet:
    """Rows that follow splits: each node owns a stretch of positions.

    ``all_rows``: nothing was moved yet and position p is row p; ``rows`` is then not valid.
    """

    def __init__(self, words, threads, *, carry=False):
        self.words = words
        self.threads = threads
        self.n_rows = words.shape[1]
        self.rows = np.empty(self.n_rows, dtype=ROW)
        self.gradients = np.empty(self.n_rows if carry else 0, dtype=GRADIENT)
        self.all_rows = True
        self._carry = carry
        self._to_rows = np.empty_like(self.rows)
        self._to_gradients = np.empty_like(self.gradients)
        self._source = self.gradients

    def reset(self, chosen=None, gradients=None):
        """Start a tree at the root with all rows, or with ``chosen`` (ascending)."""
        self.all_rows = chosen is None
        if chosen is not None:
            self.n_rows = len(chosen)
            self.rows[: self.n_rows] = chosen
        else:
            self.n_rows = self.words.shape[1]
        if gradients is not None and chosen is not None:
            self.gradients[: self.n_rows] = gradients[chosen]
            gradients = self.gradients
        # At the root, gradients are read where they are; a partition then writes our own copy.
        self._source = self.gradients if gradients is None else gradients

    def parallel(self, pieces, work):
        """Call ``work(low, high)`` for ranges of pieces that together cover all."""
        small = len(pieces) * partition.CHUNK * 8 < SMALL
        parts = 1 if small else min(len(pieces), 2 * self.threads.count)
        count = len(pieces)
        self.threads.run(
            parts, lambda part: work(part * count // parts, (part + 1) * count // parts)
        )

    def divide(self, splits, *, carry):
        """Partition the stretches of ``splits``; return the number of rows that went left in each."""
        carry = carry and self._carry
        pieces = partition.cut_up(splits)
        source = self._source if carry else _NO_GRADIENTS
        self.parallel(
            pieces,
            lambda low, high: partition.divide(
                self.words, self.rows, source, self.all_rows, carry, self._to_rows, self._to_gradients,
                splits, pieces, low, high,
            ),
        )  # fmt: skip
        lefts = np.bincount(
            pieces[:, partition.SPLIT], weights=pieces[:, partition.LEFTS], minlength=len(splits)
        ).astype(SUM)
        self.parallel(
            pieces,
            lambda low, high: partition.gather(
                self.rows, self.gradients, self._to_rows, self._to_gradients, carry, splits, pieces, lefts,
                low, high,
            ),
        )  # fmt: skip
        self.all_rows = False
        if carry:
            self._source = self.gradients
        return lefts

    def follow(self, tree):
        """Send all rows down a tree that was grown on other rows; return its ends with our positions."""
        stretch = {0: (0, self.n_rows)}
        for numbers, splits in tree.levels:
            own = splits.copy()
            own[:, :2] = [stretch[number] for number in numbers]
            for number, (start, stop), n_left in zip(
                numbers, own[:, :2].tolist(), self.divide(own, carry=False).tolist(), strict=True
            ):
                stretch[tree.left[number]] = (start, start + n_left)
                stretch[tree.right[number]] = (start + n_left, stop)
        ends = tree.splits.copy()
        ends[:, :2] = [stretch[number] for number in tree.ends]
        return ends

    def add_values(self, splits, pieces, values, scores):
        """Add the values (splits, 2, outputs) of both sides of each split to the scores (outputs, n)."""
        self.parallel(
            pieces,
            lambda low, high: partition.add_values(
                self.words, self.rows, self.all_rows, splits, pieces, values, scores, low, high
            ),
        )

    def add_curvature(self, splits, curvature, weights):
        """Sum of the curvature (outputs, n) on both sides of each split: float64 (splits, 2, outputs)."""
        pieces = partition.cut_up(splits)
        parts = self.threads.count
        sums = np.zeros((parts, len(splits), 2, len(curvature), 2), dtype=SUM)

        def work(part):
            low, high = part * len(pieces) // parts, (part + 1) * len(pieces) // parts
            partition.add_curvature(
                self.words,
                self.rows,
                self.all_rows,
                splits,
                pieces,
                curvature,
                weights,
                sums[part],
                low,
                high,
            )

        self.threads.run(parts, work)
        # Exact: whole numbers of Python are rounded once, at the end.
        whole = sums.sum(axis=0).astype(object)
        return ((whole[..., 0] << 15) + whole[..., 1]).astype(np.float64) / 2.0**30

    @property
    def source(self):
        """Gradients in the order of positions."""
        return self._source


class Engine:
    """Histograms and partitions of rows in this process.

    Parameters
    ----------
    words : uint64 (blocks, n)
        Code words.
    layout : Layout
        Where features lie in them.
    threads : Threads
        Who does the work.
    """

    def __init__(self, words, layout, threads):
        self.words = words
        self.layout = layout
        self.threads = threads
        self.row_set = RowSet(words, threads, carry=True)
        self._histograms = np.empty((0, 0, 0), dtype=SUM)
        self._statistics = None

    def begin(self, gradients=None, statistics=None, chosen=None):
        """Start a tree on rounded gradients (packed) or on statistics (n, S) with the weight first."""
        self._statistics = statistics
        self.row_set.reset(chosen, gradients)
        if statistics is not None and self.row_set.all_rows:
            self.row_set.rows[:] = np.arange(self.row_set.n_rows, dtype=ROW)

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

    def totals(self, stretches):
        """Sum of the statistics (wide) over each stretch (k, 2): int64 (k, S)."""
        found = np.zeros((len(stretches), self.width), dtype=SUM)
        pieces = partition.cut_up(stretches)
        partition.add_statistics(self._statistics, self.row_set.rows, pieces, 0, len(pieces), found)
        return found

    def score(self, jobs, totals, allowed, min_leaf, criterion):
        """Return (gain, cut, left) per node and feature: histograms built, subtracted and scanned.

        ``jobs`` as in :mod:`costwise.core.splitting`; ``totals``: packed sum (nodes,) or statistics
        (nodes, S). ``left``, the packed sum of the left side, is None in the wide layout.
        """
        n_nodes, d = len(totals), len(allowed)
        gain = np.full((n_nodes, d), -np.inf)
        cut = np.empty((n_nodes, d), dtype=np.int32)
        layout, blocks = self.layout, self.layout.n_blocks
        updates = int((jobs[:, splitting.STOP] - jobs[:, splitting.START]).sum()) * blocks * BLOCK
        parts = 1 if updates < SMALL else min(blocks, 4 * self.threads.count)
        rows = self.row_set.rows
        if self._statistics is None:
            left = np.empty((n_nodes, d), dtype=SUM)
            source, all_rows = self.row_set.source, self.row_set.all_rows

            def work(part):
                splitting.score_packed(
                    self.words, rows, source, all_rows, self._histograms, jobs, totals, layout.members,
                    layout.offsets, allowed, gain, cut, left, min_leaf, part * blocks // parts,
                    (part + 1) * blocks // parts,
                )  # fmt: skip

        else:
            left = None

            def work(part):
                splitting.score_wide(
                    self.words, rows, self._statistics, self._histograms, jobs, totals, layout.members,
                    layout.offsets, allowed, gain, cut, min_leaf, criterion, part * blocks // parts,
                    (part + 1) * blocks // parts,
                )  # fmt: skip

        self.threads.run(parts, work)
        return gain, cut, left

    def divide(self, splits, *, carry):
        """Partition the rows; return how many went left in each split."""
        return self.row_set.divide(splits, carry=carry and self._statistics is None)
