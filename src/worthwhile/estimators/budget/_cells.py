"""Cells of a node: rows that gain alike from what could be bought next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.compile import wait_for
from worthwhile.core.forest.value_cells import grow_cells
from worthwhile.estimators._shared.coded_forests import Table

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LEVELS = 128
"""Levels to which probabilities are rounded when rows are cut into cells."""

CELLS, ROWS = 24, 60
"""Cells of a node at most, and of so many rows one falls into a cell at least."""

FINE_CELLS, FINE_ROWS = 48, 120
"""The same where estimates are drawn to a line over the cells: then small cells say no less, and budgets find lines."""

CUT = 12.0
"""What a cut must explain, in variances: less is chance."""

FEW_ROWS, HANDICAP = 1000, 20.0
"""With fewer rows than that, cuts by columns of the table must explain so much more."""

COLUMNS_CUT = 12
"""Columns of the table that cells may be cut by, at most."""


@dataclass(frozen=True)
class Cells:
    """The small tree of a node, with the cell of each row it was cut on, and of others."""

    feature: Array
    threshold: Floats
    child: Array
    cell: Array
    fresh: Array

    def fields(self) -> tuple[Array, ...]:
        """All of it, in order."""
        return self.feature, self.threshold, self.child, self.cell, self.fresh

    @property
    def count(self) -> int:
        """Number of cells."""
        return int((self.feature < 0).sum())


class Cutter:
    """Cuts the rows of a node by what is known of them there.

    Parameters
    ----------
    own, fresh : Table
        Rows to cut, and rows that are only sorted into the cells.
    fine : bool
        Whether cells are many, and cuts by how sure an answer is need explain nothing.
    """

    def __init__(self, own: Table, fresh: Table, fine: bool = False) -> None:
        self._own, self._fresh, self._fine = own, fresh, fine

    def whole(self) -> Cells:
        """One cell for all."""
        one = np.array([-1], dtype=np.int32)
        nothing = (np.zeros(table.n_rows, dtype=np.int32) for table in (self._own, self._fresh))
        return Cells(one, np.zeros(1), np.zeros(1, dtype=np.int32), *nothing)

    def cut(self, columns: list[int], votes: Floats, others: Floats, targets: Floats) -> Cells:
        """Cells by columns and answers (n, outputs) of own and other rows, for targets (n, edges)."""
        targets = targets - targets.mean(axis=0)
        spread = targets.std(axis=0)
        # Taking columns may turn the order in memory, for which the kernel would be compiled again.
        targets = np.ascontiguousarray(targets[:, spread > 0] / spread[spread > 0])
        seen, columns = _seen(votes), columns[:COLUMNS_CUT]
        edges, n_seen = _edges_of(seen), seen.shape[1]
        codes = _codes(self._own, seen, edges, columns)
        handicap = np.zeros(len(codes))
        handicap[n_seen:] = HANDICAP if self._own.n_rows < FEW_ROWS else 0.0
        needed = CUT + 3.0 * float(np.sqrt(targets.shape[1]))
        most, share = (FINE_CELLS, FINE_ROWS) if self._fine else (CELLS, ROWS)
        if self._fine:
            handicap[n_seen - 1] = -needed
        wait_for(grow_cells)
        least = max(8, len(votes) // share)
        feature, cut, child, cell = grow_cells(codes, targets, handicap, least, most, needed)
        child, cell = _by_sureness(feature, child, cell, votes)
        fresh = _walk(_codes(self._fresh, _seen(others), edges, columns), feature, cut, child)
        threshold, tested = np.zeros(len(feature)), feature.copy()
        for at in np.flatnonzero(feature >= 0).tolist():
            if feature[at] < n_seen:
                tested[at] = 2 * (len(self._own.codes) + feature[at])
                threshold[at] = edges[feature[at]][cut[at]]
            else:
                column = columns[feature[at] - n_seen]
                tested[at] = 2 * column
                threshold[at] = self._own.thresholds(np.array([column]), cut[at : at + 1])[0]
        return Cells(tested, threshold, child, cell, fresh)


def _seen(votes: Floats) -> Floats:
    """Answers, and the largest of several."""
    return np.column_stack([votes, votes.max(axis=1)]) if votes.shape[1] > 1 else votes


def _edges_of(seen: Floats) -> list[Floats]:
    """Where answers are cut: between shares of a class at fixed levels, between numbers at quantiles."""
    if seen.shape[1] > 1:
        return [np.arange(1, LEVELS) / LEVELS] * seen.shape[1]
    return [np.unique(np.quantile(seen[:, 0], np.arange(1, LEVELS) / LEVELS))]


def _by_sureness(feature: Array, child: Array, cell: Array, votes: Floats) -> tuple[Array, Array]:
    """Children of the nodes and cells of the rows, where cells are numbered from the least sure to the surest."""
    count = int((feature < 0).sum())
    sureness = np.bincount(cell, votes.max(axis=1), count) / np.bincount(cell, minlength=count)
    number = np.empty(count, dtype=np.int32)
    number[np.argsort(sureness, kind="stable")] = np.arange(count)
    return np.where(feature < 0, number[np.where(feature < 0, child, 0)], child), number[cell]


def _codes(table: Table, seen: Floats, edges: list[Floats], columns: list[int]) -> Array:
    """Levels of the answers, and codes of the columns, (features, n)."""
    levels = [np.searchsorted(edge, values) for edge, values in zip(edges, seen.T, strict=True)]
    return np.vstack([np.array(levels, dtype=np.uint8), table.codes[columns]])


def _walk(codes: Array, feature: Array, cut: Array, child: Array) -> Array:
    """Cells of rows (features, n)."""
    at = np.zeros(codes.shape[1], dtype=np.intp)
    moving = np.arange(codes.shape[1])
    while len(moving := moving[feature[at[moving]] >= 0]):
        here = at[moving]
        at[moving] = child[here] + (codes[feature[here], moving] > cut[here])
    return child[at]
