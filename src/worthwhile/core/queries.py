"""Rows that belong together: the documents of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows grouped by query, in the order in which queries first appear.

    Attributes
    ----------
    rows : int64 (n,), or None
        Rows query after query, in input order within each; None if they lie like that already.
    bounds : int64 (queries + 1,)
        Where each query begins, and the end.

    Examples
    --------
    >>> queries = Queries.of([7, 3, 7], 3)
    >>> queries.rows.tolist(), queries.bounds.tolist()
    ([0, 2, 1], [0, 2, 3])
    """

    rows: Ints | None
    bounds: Ints

    @classmethod
    def of(cls, qid: npt.ArrayLike | None, n_rows: int) -> Queries:
        """Group rows by their query; ``qid`` None makes all rows one query."""
        if qid is None:
            return cls(None, np.array([0, n_rows] if n_rows else [0], dtype=np.int64))
        qid = np.asarray(qid)
        if qid.shape != (n_rows,):
            raise ValueError(
                f"qid has shape {qid.shape}: give one query number (or name) per row, shape ({n_rows},)."
            )
        if qid.dtype.kind == "f" and np.isnan(qid).any():
            raise ValueError("qid has NaN: every row needs a query.")
        begins = np.flatnonzero(np.append(True, qid[1:] != qid[:-1])) if n_rows else np.empty(0)
        labels = qid[begins.astype(np.int64)]
        names, first, code = np.unique(labels, return_index=True, return_inverse=True)
        if len(names) == len(labels):
            return cls(None, np.append(begins, n_rows).astype(np.int64))
        # Queries come in pieces: number them by first appearance and bring the pieces together.
        place = np.empty(len(names), dtype=np.int64)
        place[np.argsort(first)] = np.arange(len(names))
        lengths = np.diff(np.append(begins, n_rows))
        number = np.repeat(place[code.reshape(-1)], lengths)
        counts = np.bincount(number, minlength=len(names))
        rows = np.argsort(number, kind="stable")
        return cls(rows, np.append(0, np.cumsum(counts)).astype(np.int64))

    @classmethod
    def single(cls, n_rows: int) -> Queries:
        """Every row alone."""
        return cls(None, np.arange(n_rows + 1, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def sorted(self, array: Array) -> Array:
        """An array of the rows, query after query."""
        return array if self.rows is None else array[self.rows]

    def restored(self, array: Array) -> Array:
        """The inverse of :meth:`sorted`."""
        if self.rows is None:
            return array
        back = np.empty_like(array)
        back[self.rows] = array
        return back

    @property
    def numbers(self) -> Ints:
        """Number of the query of each row, query after query, int64 (n,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.bounds))

    def tables(self) -> Iterator[tuple[Ints, Ints]]:
        """Queries of similar length as tables, so that numpy can sort all their rows at once.

        Yields
        ------
        queries : int64 (b,)
            Numbers of the queries.
        places : int64 (b, width)
            Places of their rows (query after query); n where a query has no more.
        """
        lengths = np.diff(self.bounds)
        n_rows = int(self.bounds[-1])
        # Widths 1, 2, 3, 4, 6, 8, 12, 16, 24 ...: at most a third of a table is padding, or one.
        low = 2 ** np.floor(np.log2(np.maximum(lengths, 1))).astype(np.int64)
        width = np.where(
            lengths == low, low, np.where(2 * lengths <= 3 * low, 3 * low // 2, 2 * low)
        )
        for size in np.unique(width[lengths > 0]):
            queries = np.flatnonzero((width == size) & (lengths > 0))
            column = np.arange(max(size, 1))
            places = self.bounds[queries][:, None] + column
            places[column >= lengths[queries][:, None]] = n_rows
            yield queries, places
