"""The data as growers see it, where every rank has some of the rows."""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting import built_histograms, partition
from worthwhile.core.boosting.layout import CATEGORY, FEATURE
from worthwhile.core.boosting.node_rows import HISTOGRAM_BYTES, SMALL, NodeRows
from worthwhile.core.dtypes import BLOCK, CODES, SET_WORDS, SUM

BUILT_BYTES = 1 << 26
"""Histograms of so many nodes are built at a time, before they are added up."""


class SharedRows(NodeRows):
    """As :class:`NodeRows`, with histograms added up over all ranks.

    Each rank scans a range of blocks of columns, and keeps the histograms of these alone; then all
    tell each other what they found. So every rank has the gains that one with all rows would have.
    """

    def __init__(self, words, layout, threads):
        super().__init__(words, layout, threads)
        self._shared = threads.collective
        size, blocks = self._shared.size, layout.n_blocks
        self._bounds = [rank * blocks // size for rank in range(size + 1)]
        ends = [layout.offsets[block * BLOCK] for block in self._bounds]
        scanned = [layout.members[ends[r] : ends[r + 1]] for r in range(size)]
        self._features = [members[:, FEATURE] for members in scanned]
        numbers = [members[:, CATEGORY] for members in scanned]
        self._categories = [own[own > 0] - 1 for own in numbers]

    @property
    def _own(self):
        """First and last of the blocks that this rank scans."""
        return self._bounds[self._shared.rank], self._bounds[self._shared.rank + 1]

    def slots(self, wanted):
        """As of :class:`NodeRows`: the same number on every rank."""
        bins = BLOCK * CODES * self.width
        count = min(wanted, max(1, HISTOGRAM_BYTES // (8 * self.layout.n_blocks * bins)))
        shape = (self._own[1] - self._own[0], bins)
        if self._histograms.shape[1:] != shape or len(self._histograms) < count:
            self._histograms = np.empty((count, *shape), dtype=SUM)
        return count

    def totals(self, nodes):
        """Sum of the statistics over the rows of all ranks."""
        return self._shared.sum(super().totals(nodes))

    def divide(self, nodes, splits, *, carry):
        """Split nodes; that all ranks split them alike is checked with the next exchange."""
        self._shared.note(splits.tobytes())
        return super().divide(nodes, splits, carry=carry)

    def score(self, jobs, pieces, totals, allowed, rules):
        """As of :class:`NodeRows`, for the rows of all ranks."""
        n_nodes, d = len(totals), len(allowed)
        gain = np.full((n_nodes, d), -np.inf)
        cut = np.zeros((n_nodes, d), dtype=np.int32)
        left = np.zeros((n_nodes, d), dtype=SUM)
        sets = np.zeros((n_nodes, self.layout.n_categories, SET_WORDS), dtype=SUM)
        step = max(1, BUILT_BYTES // (8 * self.layout.n_blocks * BLOCK * CODES * self.width))
        for first in range(0, len(jobs), step):
            some = jobs[first : first + step]
            built = self._shared.reduce_scatter(self._build(some, pieces), self._bounds)
            self._scan(built, some, totals, allowed, (gain, cut, left, sets), rules)
        self._tell(gain, cut, left, sets)
        return gain, cut, left if self._statistics is None else None, sets

    def _build(self, jobs, pieces):
        """Histograms (blocks, jobs, bins) of own rows."""
        blocks = self.layout.n_blocks
        built = np.empty((blocks, len(jobs), BLOCK * CODES * self.width), dtype=SUM)
        rows = int((pieces[:, partition.HIGH] - pieces[:, partition.LOW]).sum())
        parts = 1 if rows * blocks * BLOCK < SMALL else min(blocks, 4 * self.threads.count)

        def work(part):
            low, high = part * blocks // parts, (part + 1) * blocks // parts
            if self._statistics is None:
                built_histograms.build_packed(
                    self.words, self.rows, self._source, self.all_rows, jobs, pieces, built, low, high
                )  # fmt: skip
            else:
                built_histograms.build_wide(
                    self.words, self.rows, self._statistics, jobs, pieces, built, self._most, low, high
                )  # fmt: skip

        self.threads.run(parts, work)
        return built

    def _scan(self, built, jobs, totals, allowed, out, rules):
        """Scan the sums of own blocks into ``out``."""
        layout, (gain, cut, left, sets) = self.layout, out
        first, blocks = self._own[0], self._own[1] - self._own[0]
        parts = min(blocks, 4 * self.threads.count)

        def work(part):
            low, high = part * blocks // parts, (part + 1) * blocks // parts
            if self._statistics is None:
                built_histograms.scan_packed_jobs(
                    built, self._histograms, jobs, totals, layout.members, layout.offsets, allowed, gain,
                    cut, left, sets, *rules[:2], first, low, high,
                )  # fmt: skip
            else:
                built_histograms.scan_wide_jobs(
                    built, self._histograms, jobs, totals, layout.members, layout.offsets, allowed, gain,
                    cut, sets, *rules, self._outputs, first, low, high,
                )  # fmt: skip

        self.threads.run(parts, work)

    def _tell(self, gain, cut, left, sets):
        """Let all ranks have what each found for its features."""
        own = self._features[self._shared.rank]
        found = np.stack([gain[:, own].view(SUM), cut[:, own], left[:, own]])
        for features, told in zip(self._features, self._shared.gather(found), strict=True):
            gain[:, features] = told[0].view(np.float64)
            cut[:, features], left[:, features] = told[1], told[2]
        if self.layout.n_categories:
            own = self._categories[self._shared.rank]
            for numbers, told in zip(
                self._categories, self._shared.gather(sets[:, own]), strict=True
            ):
                sets[:, numbers] = told
