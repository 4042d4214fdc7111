"""From values to codes: quantile bins, thresholds, and the code matrix that kernels read.

A feature gets one bin per distinct value where there are at most 255 of them, otherwise bins of
about equal weight in which very common values stand alone. A threshold is the midpoint of two
adjacent distinct values, so raw values compared with thresholds take the same side as codes do.
:mod:`worthwhile.core.boosting.layout` tells where the codes of a feature lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from worthwhile.core.boosting.layout import FEATURE, TILE, runs_of
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import BLOCK, CODE, MAX_BINS, WORD

_U = np.uint64

FEW = 8
"""Up to this many bins, counting the thresholds below a value beats searching."""

HELD_BYTES = 1 << 23
"""Columns that a thread sorts at a time take about this much: tall data must not double in memory."""

SENT_ROWS = 1 << 17
"""Rows of some columns that ranks send each other at a time."""


@kernel(inline=True)
def _middle(a, b):
    """Midpoint of two values a < b, never b itself."""
    middle = 0.5 * a + 0.5 * b
    return middle if a <= middle < b else a


@kernel(inline=True)
def _run(values, weights, start, count):
    """End of the run of equal values that begins at ``start``, and its weight."""
    stop = start + 1
    while stop < count and values[stop] == values[start]:
        stop += 1
    if weights.shape[0] == 0:
        return stop, np.int64(stop - start)
    weight = np.int64(0)
    for i in range(start, stop):
        weight += weights[i]
    return stop, weight


@kernel(inline=True)
def _is_fine(values, count):
    """Whether sorted values have more than 255 distinct ones, none of which fills an even bin."""
    width = (
        count // MAX_BINS
    )  # a value that fills more lies at both ends of a stretch of this length
    repeated, distinct = 0, 1
    for i in range(count - width):
        repeated += values[i] == values[i + width]
    if width == 0 or repeated > 0:
        return False
    for i in range(1, count):
        distinct += values[i] != values[i - 1]
    return distinct > MAX_BINS


@kernel(inline=True)
def _even_cuts(values, count, thresholds):
    """What :func:`cut_points` does where no value is heavy: from bin to bin instead of row by row."""
    start, found = 0, 0
    while found < MAX_BINS - 1:
        bins = MAX_BINS - found
        stop = start + (count - start + bins - 1) // bins
        while stop < count and values[stop] == values[stop - 1]:
            stop += 1
        if stop >= count:
            break
        thresholds[found] = _middle(np.float64(values[stop - 1]), np.float64(values[stop]))
        found += 1
        start = stop
    return found


@kernel(
    "int64(float32[::1], int64[::1], int64, float64[::1])",
    "int64(float64[::1], int64[::1], int64, float64[::1])",
    lean=True,
)
def cut_points(values, weights, count, thresholds):
    """Write the thresholds of one feature; return how many there are.

    ``values``: sorted, the first ``count`` are numbers. ``weights``: of the same rows, or empty for
    unit weights. Comparisons multiply integers, so repeating every row changes nothing.
    """
    total = np.int64(count)
    if weights.shape[0] > 0:
        total = np.int64(0)
        for i in range(count):
            total += weights[i]
    elif _is_fine(values, count):
        return _even_cuts(values, count, thresholds)
    # A value that weighs more than an even bin stands alone; the others share what is left.
    distinct = 0
    light = total
    light_bins = np.int64(MAX_BINS)
    start = 0
    while start < count:
        start, weight = _run(values, weights, start, count)
        distinct += 1
        if weight * MAX_BINS > total:
            light -= weight
            light_bins -= 1
    heavy_left = MAX_BINS - light_bins
    found = 0
    held = np.int64(0)  # weight of the bin being filled
    start, weight = _run(values, weights, 0, count) if count > 0 else (0, np.int64(0))
    while start < count and found < MAX_BINS - 1:
        previous = values[start - 1]
        following = values[start]
        heavy = weight * MAX_BINS > total
        heavy_left -= heavy
        held += weight
        stop, weight = _run(values, weights, start, count)
        close = True
        if distinct > MAX_BINS and not heavy:
            need = 2
            if weight * MAX_BINS > total:
                # A heavy value follows: close, or, where bins run short, if half an even one is full.
                need = 0 if light_bins > heavy_left else 1
            close = light_bins > 0 and 2 * held * light_bins >= need * light
            if close:
                light -= held
                light_bins -= 1
        if close:
            thresholds[found] = _middle(np.float64(previous), np.float64(following))
            found += 1
            held = 0
        start = stop
    return found


@kernel(
    "void(float32[::1], float64[::1], int64, int64, uint8[::1])",
    "void(float64[::1], float64[::1], int64, int64, uint8[::1])",
    lean=True,
)
def encode(values, thresholds, missing, stride, codes):
    """Add one feature's states, times ``stride``, to the codes (n,) of its column.

    ``thresholds`` is filled up with infinity to 255 entries. Eight halvings find the bin by
    arithmetic alone: jumps would be mispredicted half of the time, which is five times slower.
    """
    if missing <= FEW:
        for k in range(missing - 1):
            for i in range(values.shape[0]):
                codes[i] += np.uint8(stride) if thresholds[k] < values[i] else np.uint8(0)
        for i in range(values.shape[0]):
            codes[i] += np.uint8(stride * missing) if values[i] != values[i] else np.uint8(0)
        return
    for i in range(values.shape[0]):
        x = np.float64(values[i])
        state = _U(128) * _U(thresholds[127] < x)
        state += _U(64) * _U(thresholds[state + _U(63)] < x)
        state += _U(32) * _U(thresholds[state + _U(31)] < x)
        state += _U(16) * _U(thresholds[state + _U(15)] < x)
        state += _U(8) * _U(thresholds[state + _U(7)] < x)
        state += _U(4) * _U(thresholds[state + _U(3)] < x)
        state += _U(2) * _U(thresholds[state + _U(1)] < x)
        state += _U(thresholds[state] < x)
        if x != x:
            state = _U(missing)
        codes[i] += np.uint8(state * _U(stride))


@dataclass(frozen=True, eq=False)
class Bins:
    """Thresholds of every feature.

    Attributes
    ----------
    thresholds : float64 (d, 255)
        Ascending, filled up with infinity.
    count : int64 (d,)
        Number of value bins of each feature: thresholds in use plus one.
    missing : bool (d,)
        Whether values were missing.
    category : bool (d,)
        Whether bins are categories: bin and code are the same number, and their order means nothing.
    """

    thresholds: np.ndarray
    count: np.ndarray
    missing: np.ndarray
    category: np.ndarray

    def with_codes(self, X, threads):
        """The same with a bin for every code of the categories in further rows (n, d)."""
        columns = np.flatnonzero(self.category)
        if not len(columns):
            return self
        highest, empty = map(threads.collective.max, count_codes(X, columns, threads))
        count, missing, thresholds = self.count.copy(), self.missing.copy(), self.thresholds.copy()
        count[columns] = np.maximum(count[columns], highest + 1)
        missing[columns] |= empty
        between = np.arange(MAX_BINS) + 0.5
        thresholds[columns] = np.where(between < count[columns, None] - 1, between, np.inf)
        return Bins(thresholds=thresholds, count=count, missing=missing, category=self.category)

    def threshold(self, feature, cut):
        """Return the number that a value must not exceed to lie in bins 0..cut."""
        if cut >= self.count[feature] - 1:  # every value on one side, missing ones on the other
            return float(np.finfo(np.float64).max)
        return float(self.thresholds[feature, cut])


def _float(X):
    """The float type that holds a matrix's values: small integers fit float32 exactly."""
    small = X.dtype == np.float32 or (X.dtype.kind in "iub" and X.dtype.itemsize <= 2)
    return np.float32 if small else np.float64


def count_codes(X, columns, threads):
    """Highest code (k,; -1: none) of some columns of categories, and whether values are missing (k,).

    Refuses what is no whole number from 0 to 254.
    """
    tiles = -(-X.shape[0] // TILE)
    highest = np.full((tiles, len(columns)), -1.0)
    missing = np.zeros((tiles, len(columns)), dtype=bool)
    wrong = np.full(tiles, np.nan)

    def work(tile):
        part = X[tile * TILE : (tile + 1) * TILE][:, columns].astype(np.float64)
        empty = np.isnan(part)
        missing[tile] = empty.any(axis=0)
        part[empty] = -1.0
        highest[tile] = part.max(axis=0, initial=-1.0)
        strange = ~empty & ((part < 0) | (part >= MAX_BINS) | (part != np.floor(part)))
        if strange.any():
            wrong[tile] = part[strange][0]

    threads.run(tiles, work)
    if len(found := wrong[~np.isnan(wrong)]):
        raise ValueError(
            f"a categorical column holds {found[0]:g}: categories are codes, whole numbers from 0 to {MAX_BINS - 1}, "
            "or NaN where the value is missing."
        )
    return highest.max(axis=0, initial=-1.0).astype(np.int64), missing.any(axis=0)


def find_bins(X, weights, threads, categorical=None):
    """Return the :class:`Bins` of a matrix (n, d) of numbers; NaN is missing.

    ``weights``: int64 (n,), or empty for unit weights. All rows count, those of all ranks, none is
    sampled: edges from a part of the rows cost accuracy. ``categorical`` (d,) says which columns hold
    codes of categories.
    """
    if threads.collective.size > 1:
        bins = _find_bins_together(X, weights, threads, categorical)
    else:
        bins = _find_bins_here(X, weights, threads, categorical)
    return bins.with_codes(X, threads)


def _find_bins_together(X, weights, threads, categorical):
    """As :func:`_find_bins_here`, where every rank has some of the rows.

    A few columns at a time, each rank gets some of them whole, and finds their bins as if alone.
    """
    shared, n_features = threads.collective, X.shape[1]
    lengths = [int(n[0]) for n in shared.gather(np.array([len(X)]))]
    each = max(1, min(BLOCK, threads.count * HELD_BYTES // (8 * sum(lengths))))
    weights = np.concatenate(shared.gather(weights))
    category = np.zeros(n_features, dtype=bool) if categorical is None else categorical
    found = []
    for start in range(0, n_features, each * shared.size):
        firsts = [start + each * rank for rank in range(shared.size)]
        own = category[firsts[shared.rank] : firsts[shared.rank] + each]
        whole = _bring_together(X, [slice(c, c + each) for c in firsts], lengths, shared)
        some = _no_bins(own)
        threads.run(len(own), partial(_find_bins_of, whole, weights, some))
        found += zip(*map(shared.gather, (some.thresholds, some.count, some.missing)), strict=True)
    thresholds, count, missing = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Bins(thresholds=thresholds, count=count, missing=missing, category=category)


def _bring_together(X, columns, lengths, shared):
    """The columns (k, n) that are for this rank, of all rows; ``columns`` has those for each rank.

    They are sent a stretch of rows at a time: a column of very many rows is in memory once.
    """
    ends = np.cumsum([0, *lengths])
    n_own = len(range(X.shape[1])[columns[shared.rank]])
    whole = np.empty((n_own, ends[-1]), dtype=_float(X))
    for row in range(0, max(lengths), SENT_ROWS):
        told = shared.exchange([X[row : row + SENT_ROWS, some] for some in columns])
        for rank, part in enumerate(told):
            whole[:, ends[rank] + row : ends[rank] + row + len(part)] = part.T
    return whole


def _no_bins(category):
    """Bins of columns of which nothing is known yet."""
    d = len(category)
    return Bins(
        thresholds=np.full((d, MAX_BINS), np.inf), count=np.ones(d, dtype=np.int64),
        missing=np.zeros(d, dtype=bool), category=category,
    )  # fmt: skip


def _find_bins_of(columns, weights, bins, place, first=0):
    """Find the bins of one of some columns (k, n), which is sorted; ``first``: where they begin in ``bins``.

    Those of categories are left to ``Bins.with_codes``.
    """
    values, feature = columns[place], first + place
    if bins.category[feature]:
        return
    if len(weights):
        order = np.argsort(values)
        values, weights = values[order], weights[order]
    else:
        values.sort()
    numbers = int(np.searchsorted(values, np.nan))  # NaN sorts last
    bins.missing[feature] = numbers < len(values)
    bins.count[feature] = cut_points(values, weights, numbers, bins.thresholds[feature]) + 1


def _find_bins_here(X, weights, threads, categorical):
    """Bins from the rows of a matrix alone; those of categories are left to ``Bins.with_codes``."""
    n_features = X.shape[1]
    bins = _no_bins(np.zeros(n_features, dtype=bool) if categorical is None else categorical)
    width = max(1, min(BLOCK, HELD_BYTES // (X.shape[0] * np.dtype(_float(X)).itemsize)))

    def work(task):
        start, stop = task * width, min((task + 1) * width, n_features)
        if bins.category[start:stop].all():
            return
        columns = np.empty((stop - start, X.shape[0]), dtype=_float(X))
        for row in range(0, X.shape[0], TILE):
            columns[:, row : row + TILE] = X[row : row + TILE, start:stop].T
        for place in range(stop - start):
            _find_bins_of(columns, weights, bins, place, start)

    threads.run(-(-n_features // width), work)
    return bins


def encode_matrix(X, bins, layout, threads):
    """Return the code words (blocks, n) of a matrix."""
    codes = np.zeros((layout.n_blocks, X.shape[0], BLOCK), dtype=CODE)
    blocks = [
        layout.members[layout.offsets[b * BLOCK] : layout.offsets[(b + 1) * BLOCK]]
        for b in range(layout.n_blocks)
    ]
    rows = max(TILE, -(-X.shape[0] // (4 * threads.count * TILE)) * TILE)

    def work(task):
        stretch, block = divmod(task, len(blocks))
        members = blocks[block][blocks[block][:, FEATURE].argsort()]
        runs = runs_of(members[:, FEATURE].tolist())
        # Columns are filled one by one: side by side, the compiler could not vectorise.
        columns = np.empty((BLOCK, TILE), dtype=CODE)
        tile = np.empty((len(members), TILE), dtype=_float(X))
        for row in range(stretch * rows, min((stretch + 1) * rows, X.shape[0]), TILE):
            here = codes[block, row : row + TILE]
            for place, feature, count in runs:
                part = X[row : row + TILE, feature : feature + count]
                tile[place : place + count, : len(here)] = part.T
            columns[:] = 0
            for values, (feature, stride, _, count, up, _) in zip(tile, members, strict=True):
                column = columns[layout.column(feature) % BLOCK, : len(here)]
                step = int(stride) * max(int(up), 1)
                encode(values[: len(here)], bins.thresholds[feature], int(count), step, column)
            here[:] = columns[:, : len(here)].T

    threads.run(-(-X.shape[0] // rows) * len(blocks), work)
    return codes.view(WORD)[:, :, 0]
