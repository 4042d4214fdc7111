"""Rows and labels as class trees read them.

Columns with more than two states lie in blocks of one cache line per row, so that a node of few
rows loads nothing twice. A column with two states is one bit: set where the value is the rarer one,
so that counting a row costs one step per set bit instead of one per column. Columns with a single
state take no room.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worthwhile.core.boosting.binning import find_bins
from worthwhile.core.dtypes import WORD
from worthwhile.core.forest.stumps import TOP

LINE = 64
"""Bytes in a cache line, hence in one row of a block."""

VALUE = np.dtype(np.float32)
"""How values are held: exact for numbers of values and bins, rounded for random thresholds."""

WORD_BITS = 64


@dataclass(frozen=True, eq=False)
class ClassData:
    """A training matrix.

    Attributes
    ----------
    blocks : float32 (blocks, n, columns in a line)
        Values (random stumps), or numbers of values or bins in ascending order (scans).
    bits : uint64 (n, words)
        Columns with two states.
    column_feature, bit_feature : int32
        Feature of each block column and of each bit; -1 where there is none.
    place : int32 (d,)
        Block column c as c, bit b as -2 - b, nothing as -1.
    bit_low : bool (bits,)
        Whether the bit stands for the lower of the two values.
    bit_value : float64 (bits,)
        Midpoint of the two values.
    lowest, highest : float64
        For scans: least and greatest value that each number stands for, feature after feature.
    offset : int64 (d + 1,)
        Where the values of each feature begin there.
    single : bool
        Whether values were rounded, so that walks have to round as well.
    complete : bool
        Whether no value is missing.
    """

    blocks: np.ndarray
    bits: np.ndarray
    column_feature: np.ndarray
    bit_feature: np.ndarray
    place: np.ndarray
    bit_low: np.ndarray
    bit_value: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    offset: np.ndarray
    single: bool
    complete: bool

    def thresholds(self, feature, cuts):
        """Midpoints between the values that numbers ``cuts`` (m, 2) stand for; TOP after the last."""
        numbered = self.offset[feature] < self.offset[feature + 1]  # two-state columns are not
        last = numbered & (cuts[:, 1] == TOP)
        found, inner = np.where(last, TOP, 0.0), np.flatnonzero(numbered & ~last)
        start = self.offset[feature[inner]]
        below, above = cuts[inner].astype(np.int64).T
        found[inner] = middle(self.highest[start + below], self.lowest[start + above])
        return found

    @property
    def n_rows(self):
        """Number of rows."""
        return self.bits.shape[0]

    @property
    def n_features(self):
        """Number of features."""
        return len(self.place)


def middle(low, high):
    """Midpoints of values low < high, never high itself."""
    found = 0.5 * low + 0.5 * high
    return np.where((low <= found) & (found < high), found, low)


def _two_states(values):
    """(low, high, where high) of a column with exactly two values and none missing, else None."""
    low, high = np.min(values), np.max(values)  # NaN if one is missing
    if not low < high:
        return None
    where = values == high
    return (low, high, where) if (where | (values == low)).all() else None


def _numbers(values, edges):
    """Values as numbers of distinct values, or of bins with ``edges``; NaN stays."""
    seen = ~np.isnan(values)
    distinct, codes = np.unique(values[seen], return_inverse=True)
    low = high = distinct
    if edges is not None:
        group = np.searchsorted(edges, distinct)  # bin b holds values in (edge b - 1, edge b]
        first = np.flatnonzero(np.append(True, np.diff(group) > 0))
        low, high = distinct[first], distinct[np.append(first[1:], len(distinct)) - 1]
        codes = (np.cumsum(np.append(False, np.diff(group) > 0)))[codes]
    numbers = np.full(len(values), np.nan, dtype=np.float32)
    numbers[seen] = codes
    return numbers, low, high


def fits_single(X):
    """Whether every value survives float32. Refuses values beyond its range."""
    if X.dtype == np.float32 or (X.dtype.kind in "iub" and X.dtype.itemsize <= 2):
        return True
    fits, largest = True, 0.0
    for part in np.array_split(X, max(1, X.size >> 20)):
        with np.errstate(over="ignore"):
            fits &= bool(((part == part.astype(np.float32)) | (part != part)).all())
        largest = max(largest, float(np.nanmax(np.abs(part), initial=0.0)))
    if largest > float(np.finfo(np.float32).max):
        raise ValueError(
            f"X has a value of size {largest:g}: random thresholds take values up to {np.finfo(np.float32).max:g}. "
            "Rescale the column, or use thresholds='exact'."
        )
    return fits


def prepare(X, mode, threads, weights=None):
    """Lay a matrix (n, d) out; ``mode`` is "random", "histogram" or "exact". NaN is missing.

    ``weights``: whole numbers by which rows count in the bins of histograms; None means 1 each.

    Random thresholds part values rounded to float32, as scikit-learn's trees do; scans part the
    values themselves.
    """
    n, d = X.shape
    weights = np.empty(0, dtype=np.int64) if weights is None else weights
    bins = find_bins(X, weights, threads) if mode == "histogram" else None
    single = mode == "random" and not fits_single(X)
    states = [None] * d
    wide, missing = np.zeros((2, d), dtype=bool)
    lowest, highest = [np.empty(0)] * d, [np.empty(0)] * d

    def look(feature):
        values = np.asarray(X[:, feature], dtype=np.float64)
        states[feature] = _two_states(values)
        if states[feature] is None:
            absent = np.isnan(values)
            wide[feature] = (values != values[0]).any() and not absent.all()
            missing[feature] = absent.any()

    threads.run(d, look)
    columns = np.flatnonzero(wide)
    per_line = LINE // VALUE.itemsize
    n_blocks = max(1, -(-len(columns) // per_line))
    blocks = np.zeros((n_blocks, n, per_line), dtype=VALUE)

    def fill(number):
        feature = columns[number]
        values = np.asarray(X[:, feature], dtype=np.float64)
        if mode != "random":
            edges = None if bins is None else bins.thresholds[feature, : bins.count[feature] - 1]
            values, lowest[feature], highest[feature] = _numbers(values, edges)
        blocks[number // per_line, :, number % per_line] = values

    threads.run(len(columns), fill)
    column_feature = np.full(n_blocks * per_line, -1, dtype=np.int32)
    column_feature[: len(columns)] = columns
    place = np.full(d, -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    two = [feature for feature in range(d) if states[feature] is not None]
    bits, bit_low, bit_value = _pack(n, [states[feature] for feature in two])
    place[two] = -2 - np.arange(len(two))
    bit_feature = np.full(bits.shape[1] * WORD_BITS, -1, dtype=np.int32)
    bit_feature[: len(two)] = two
    return ClassData(
        blocks, bits, column_feature, bit_feature, place, bit_low, bit_value, np.concatenate(lowest),
        np.concatenate(highest), np.cumsum([0, *map(len, lowest)]), single,
        not missing.any(),
    )  # fmt: skip


def _pack(n, states):
    """Columns of two states as bits: the words, which value each bit stands for, and the midpoints."""
    bits = np.zeros((n, max(1, -(-len(states) // WORD_BITS))), dtype=WORD)
    bit_low = np.zeros(len(states), dtype=bool)
    bit_value = np.zeros(len(states))
    for number, (low, high, where) in enumerate(states):
        bit_low[number] = 2 * int(np.count_nonzero(where)) > n
        bit_value[number] = middle(low, high)
        bits[:, number // WORD_BITS] |= (where ^ bit_low[number]).astype(WORD) << WORD(
            number % WORD_BITS
        )
    return bits, bit_low, bit_value
