"""Weighted moments of rows, and the parts of them that greedy selection reads.

A block of rows becomes ``Z = [x - shift, 1, y]`` with every row times the root of its weight, and
its moments are the symmetric product ``Z.T @ Z`` (one BLAS ``syrk``; products and sums in float64
whatever the dtype of the data). Blocks are fixed by their row numbers alone, each is one
single-threaded call, and they are added in block order: the result does not depend on how many
threads worked, nor on how many processes that hold the same rows share the blocks. The caller limits
BLAS to one thread and passes a ``run`` that maps in order.

Moments about a fixed shift add up, so those of a sibling are a subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from worthwhile.core.collective import spread

BLOCK_ROWS = 2048
"""Rows per block: large enough for BLAS to be at full speed, small enough to stay near the cache."""

LOST_DIGITS = 1e-6
"""A subtracted square below this share of its parent's is computed again from the data."""

Run = Callable[[Callable, Iterable], Iterator]


@dataclass(frozen=True)
class WeightedRows:
    """Weighted rows of one node: what is summed, and about which point.

    Attributes
    ----------
    X : ndarray (n, d) of any real dtype; NaN stands for the shift
    Y : ndarray (n, m) float64
    shift : ndarray (d,) float64, the training mean
    holes : ndarray of int, the columns that hold NaN
    index : ndarray of int or None for all rows, ascending
    weight : ndarray (n,) float64 or None for ones; indexed like X, not like ``index``
    """

    X: np.ndarray
    Y: np.ndarray
    shift: np.ndarray
    holes: np.ndarray
    index: np.ndarray | None = None
    weight: np.ndarray | None = None

    def __len__(self):
        return self.X.shape[0] if self.index is None else self.index.shape[0]

    def blocks(self):
        """Row selectors of the fixed blocks, in order."""
        for start in range(0, len(self), BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, len(self))
            yield slice(start, stop) if self.index is None else self.index[start:stop]

    def augmented(self, block, columns=None):
        """``[x - shift, 1, y]`` of one block, float64, rows times the root of their weight."""
        part = self.X[block] if columns is None else self.X[block][:, columns]
        shift = self.shift if columns is None else self.shift[columns]
        d, m = part.shape[1], self.Y.shape[1]
        Z = np.empty((part.shape[0], d + 1 + m))
        np.subtract(part, shift, out=Z[:, :d], dtype=np.float64)
        holes = self.holes if columns is None else np.flatnonzero(np.isin(columns, self.holes))
        for hole in holes:
            column = Z[:, hole]
            column[np.isnan(column)] = 0.0
        Z[:, d] = 1.0
        Z[:, d + 1 :] = self.Y[block]
        if self.weight is not None:
            Z *= np.sqrt(self.weight[block])[:, None]
        return Z


def in_order(function, items):
    """The plain ``run``: one after the other in this thread."""
    return map(function, items)


def column_means(X, weight=None, run: Run = in_order):
    """Weighted mean of each column over what is there, and the columns with NaN.

    A column with nothing in it has mean 0.

    Returns
    -------
    means : ndarray (d,) float64
    holes : ndarray of int
    """
    n, d = X.shape
    slices = [slice(s, min(s + BLOCK_ROWS, n)) for s in range(0, n, BLOCK_ROWS)]

    def sums(rows):
        part = X[rows]
        w = None if weight is None else weight[rows]
        mass = part.shape[0] if w is None else np.add.reduce(w)
        if w is None:
            total = np.add.reduce(part, axis=0, dtype=np.float64)
        else:
            total = np.add.reduce(part * w[:, None], axis=0, dtype=np.float64)
        count = np.full(d, mass, dtype=np.float64)
        holes = np.flatnonzero(np.isnan(total))
        for hole in holes:
            column = part[:, hole].astype(np.float64)
            there = ~np.isnan(column)
            w_there = there.astype(np.float64) if w is None else np.where(there, w, 0.0)
            total[hole] = np.add.reduce(np.where(there, column, 0.0) * w_there)
            count[hole] = np.add.reduce(w_there)
        return total, count, holes

    total, count, holes = np.zeros(d), np.zeros(d), np.zeros(d, dtype=bool)
    for part_total, part_count, part_holes in run(sums, slices):
        total += part_total
        count += part_count
        holes[part_holes] = True
    means = np.divide(total, count, out=np.zeros(d), where=count > 0)
    return means, np.flatnonzero(holes)


def moments(rows: WeightedRows, run: Run = in_order):
    """All second moments of ``[x - shift, 1, y]``: ndarray (d + 1 + m, d + 1 + m)."""
    width = rows.X.shape[1] + 1 + rows.Y.shape[1]
    total = np.zeros((width, width))

    def product(block):
        Z = rows.augmented(block)
        return Z.T @ Z

    for part in spread(run, product, rows.blocks()):
        total += part
    return total


def moment_columns(rows: WeightedRows, columns, run: Run = in_order):
    """The named columns of :func:`moments` without the rest: ndarray (d + 1 + m, len(columns))."""
    columns = np.asarray(columns, dtype=np.int64)
    total = np.zeros((rows.X.shape[1] + 1 + rows.Y.shape[1], columns.shape[0]))

    def product(block):
        Z = rows.augmented(block)
        return Z.T @ np.ascontiguousarray(Z[:, columns])

    for part in spread(run, product, rows.blocks()):
        total += part
    return total


def moment_border(rows: WeightedRows, run: Run = in_order):
    """Diagonal and last ``1 + m`` columns of :func:`moments`, all that a first choice needs.

    Returns
    -------
    diagonal : ndarray (d + 1 + m,)
    border : ndarray (d + 1 + m, 1 + m)
    """
    d, m = rows.X.shape[1], rows.Y.shape[1]
    total = np.zeros((d + 1 + m, 2 + m))

    def product(block):
        Z = rows.augmented(block)
        edge = Z.T @ np.ascontiguousarray(Z[:, d:])
        np.multiply(Z, Z, out=Z)
        return np.column_stack([np.add.reduce(Z, axis=0), edge])

    for part in spread(run, product, rows.blocks()):
        total += part
    return total[:, 0].copy(), np.ascontiguousarray(total[:, 1:])


def sibling(parent, child, rows: WeightedRows, run: Run = in_order):
    """Moments of the other child by subtraction, with lost columns computed from its own rows.

    Parameters
    ----------
    parent, child : moments of the parent and of one child
    rows : the rows of the other child
    """
    other = parent - child
    diagonal, before = np.diagonal(other), np.diagonal(parent)
    d = rows.X.shape[1]
    lost = np.flatnonzero(diagonal[:d] < LOST_DIGITS * before[:d])
    if lost.size:
        exact = moment_columns(rows, lost, run)
        other[:, lost] = exact
        other[lost, :] = exact.T
    return other


@dataclass(frozen=True)
class Centred:
    """Moments about the node's own means, or (``own=False``) about the shift and 0 as they are.

    Attributes
    ----------
    weight : float, total weight
    x_mean : ndarray (d,), mean of ``x - shift``
    y_mean : ndarray (m,)
    gram : ndarray (d, d) or None
    cross : ndarray (d, m)
    y_square : ndarray (m,)
    square : ndarray (d,), the centred squares (the Gram's diagonal)
    about_shift : ndarray (d,), squares about the shift: the scale rounding errors have
    """

    weight: float
    x_mean: np.ndarray
    y_mean: np.ndarray
    gram: np.ndarray | None
    cross: np.ndarray
    y_square: np.ndarray
    square: np.ndarray
    about_shift: np.ndarray

    @classmethod
    def of(cls, M, d, own=True):
        """From the full moments."""
        return cls._make(np.diagonal(M).copy(), M[:, d:], d, M[:d, :d], own)

    @classmethod
    def of_border(cls, diagonal, border, d, own=True):
        """From the border alone; Gram columns come later through :meth:`centre_columns`."""
        return cls._make(diagonal, border, d, None, own)

    @classmethod
    def _make(cls, diagonal, border, d, second, own):
        weight = float(border[d, 0])
        if weight <= 0.0:
            weight = 1.0
        x_mean, y_mean = (own * border[rows, 0] / weight for rows in (slice(d), slice(d + 1, None)))
        cross = border[:d, 1:] - weight * np.outer(x_mean, y_mean)
        square = np.maximum(diagonal[:d] - weight * x_mean**2, 0.0)
        y_square = np.maximum(diagonal[d + 1 :] - weight * y_mean**2, 0.0)
        gram = None
        if second is not None:
            gram = np.outer(x_mean, -weight * x_mean)
            gram += second
        return cls(weight, x_mean, y_mean, gram, cross, y_square, square, diagonal[:d])

    def centre_columns(self, raw, columns):
        """Centred Gram rows (len(columns), d) out of raw moment columns (d + 1 + m, len(columns))."""
        d = self.x_mean.shape[0]
        return raw[:d].T - self.weight * np.outer(self.x_mean[columns], self.x_mean)
