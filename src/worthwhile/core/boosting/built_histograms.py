"""Building histograms and scanning them apart, for rows that lie with several ranks.

:mod:`worthwhile.core.boosting.splitting` does both in one pass, block by block, while a histogram is in
cache. Here every rank builds those of its own rows, they are added up, and each rank scans the sums of
some blocks: the same integers, hence the same splits.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.counted_sums import add_pieces, room_to_count
from worthwhile.core.boosting.histogram import add_packed, clear, subtract
from worthwhile.core.boosting.partition import HIGH, LOW
from worthwhile.core.boosting.splitting import (
    FIRST,
    LAST,
    NODE,
    OTHER_NODE,
    OTHER_SLOT,
    SLOT,
    block_is_wanted,
    scan_packed_block,
)
from worthwhile.core.boosting.wide_splitting import scan_wide_block
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import CODES


@kernel(
    "void(uint64[:,::1], int32[::1], int32[::1], boolean, int64[:,::1], int64[:,::1], int64[:,:,::1], int64, int64)"
)
def build_packed(words, rows, gradients, all_rows, jobs, pieces, built, low, high):
    """Fill ``built`` (blocks, jobs, 8 * 256) for blocks ``low..high``."""
    for block in range(low, high):
        for k in range(jobs.shape[0]):
            own = built[block, k]
            clear(own)
            for p in range(jobs[k, FIRST], jobs[k, LAST]):
                add_packed(
                    words[block], rows, gradients, pieces[p, LOW], pieces[p, HIGH], all_rows, own
                )


@kernel(
    "void(uint64[:,::1], int32[::1], int64[:,::1], int64[:,::1], int64[:,::1], int64[:,:,::1], int64, int64,"
    " int64)"
)
def build_wide(words, rows, statistics, jobs, pieces, built, most, low, high):
    """As :func:`build_packed` for wide histograms (blocks, jobs, 8 * 256 * S); ``most``: see :func:`add_pieces`."""
    room = room_to_count()
    for block in range(low, high):
        for k in range(jobs.shape[0]):
            own = built[block, k]
            clear(own)
            first, last = jobs[k, FIRST], jobs[k, LAST]
            add_pieces(words[block], rows, statistics, pieces, first, last, most, room, own)


@kernel(
    "void(int64[:,:,::1], int64[:,:,::1], int64[:,::1], int64[::1], int32[:,::1], int32[::1], boolean[::1],"
    " float64[:,::1], int32[:,::1], int64[:,::1], int64[:,:,::1], int64, float64, int64, int64, int64)"
)
def scan_packed_jobs(
    built, histograms, jobs, totals, members, offsets, allowed, gain, cut, left, sets, min_leaf, smooth, first,
    low, high,
):  # fmt: skip
    """Scan the added-up histograms of all jobs; place ``b`` of ``built`` and ``histograms`` is block ``first + b``."""
    room = (
        np.empty(CODES, np.int64), np.empty(CODES, np.int64), np.empty(CODES, np.float64),
        np.empty(CODES, np.float64), np.empty(CODES, np.int64),
    )  # fmt: skip
    layout, limits, out = (members, offsets), (min_leaf, smooth), (gain, cut, left, sets)
    for place in range(low, high):
        block = first + place
        if not block_is_wanted(block, members, offsets, allowed):
            continue
        for k in range(jobs.shape[0]):
            job, own = jobs[k], built[place, k]
            if job[NODE] >= 0:
                scan_packed_block(own, block, job[NODE], layout, allowed, totals, limits, room, out)
            if job[OTHER_NODE] >= 0:
                other = histograms[job[OTHER_SLOT], place]
                subtract(other, own)
                scan_packed_block(
                    other, block, job[OTHER_NODE], layout, allowed, totals, limits, room, out
                )
            if job[SLOT] >= 0:
                histograms[job[SLOT], place] = own


@kernel(
    "void(int64[:,:,::1], int64[:,:,::1], int64[:,::1], int64[:,::1], int32[:,::1], int32[::1], boolean[::1],"
    " float64[:,::1], int32[:,::1], int64[:,:,::1], int64, float64, int64, int64, int64, int64, int64)"
)
def scan_wide_jobs(
    built, histograms, jobs, totals, members, offsets, allowed, gain, cut, sets, min_leaf, smooth, least, outputs,
    first, low, high,
):  # fmt: skip
    """As :func:`scan_packed_jobs` for wide histograms."""
    layout, limits, out = (members, offsets), (min_leaf, smooth, least), (gain, cut, sets)
    for place in range(low, high):
        block = first + place
        if not block_is_wanted(block, members, offsets, allowed):
            continue
        for k in range(jobs.shape[0]):
            job, own = jobs[k], built[place, k]
            if job[NODE] >= 0:
                scan_wide_block(
                    own, block, job[NODE], layout, allowed, totals, limits, outputs, out
                )
            if job[OTHER_NODE] >= 0:
                other = histograms[job[OTHER_SLOT], place]
                subtract(other, own)
                scan_wide_block(
                    other, block, job[OTHER_NODE], layout, allowed, totals, limits, outputs, out
                )
            if job[SLOT] >= 0:
                histograms[job[SLOT], place] = own
