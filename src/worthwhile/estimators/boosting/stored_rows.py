"""Rows of a Parquet table as Greedy Miser takes them, and their bins, a column at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_feature_names, check_X_y

from worthwhile.columns import Column
from worthwhile.columns.parquet import ParquetTable
from worthwhile.core.boosting.binning import Bins
from worthwhile.core.boosting.layout import Layout, find_exclusive
from worthwhile.core.boosting.stored_states import StoredStates
from worthwhile.core.dtypes import MAX_BINS
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators._shared.encoding import Encoding
from worthwhile.estimators.boosting.binned_data import BinnedData, find_bins_with, whole_weights

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

COLUMN_BYTES = 1 << 28
"""Columns that are looked at side by side take about this much, three times."""


class StoredRows:
    """Rows of a table; choosing among them reads nothing.

    Parameters
    ----------
    table : ParquetTable
        Where they are.
    encoding : Encoding, or None
        What its columns are, where they are no plain numbers.
    rows : int array, or None
        Numbers of the rows, ascending; None for all.
    """

    def __init__(
        self,
        table: ParquetTable,
        encoding: Encoding | None = None,
        rows: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self.table, self._encoding, self._rows = table, encoding, rows
        expansion = None if encoding is None else encoding.expansion
        self.first = list(range(len(table.names) + 1)) if expansion is None else expansion.first

    def __len__(self) -> int:
        return len(self.table) if self._rows is None else len(self._rows)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that the method works with."""
        return len(self), self.first[-1]

    def __getitem__(self, rows: Array) -> StoredRows:
        """Some of the rows: a mask, or numbers."""
        known = np.arange(len(self.table), dtype=np.int32) if self._rows is None else self._rows
        return StoredRows(self.table, self._encoding, known[rows])

    def read(self, source: int) -> Floats:
        """The columns that are made of one of the table, of all its rows, (m, n)."""
        column = Column() if self._encoding is None else self._encoding.columns[source]
        numbers = self.table.numbers(source, column)
        if self._encoding is None or self._encoding.expansion is None:
            return numbers[None, :]
        return np.ascontiguousarray(self._encoding.expansion.of(source, numbers).T)

    def of(self, values: Floats) -> Floats:
        """Those of the values of all rows that belong to these."""
        return values if self._rows is None else values[self._rows]


def read_stored(
    model: Any, table: ParquetTable, y: Any, named: Sequence[Any]
) -> tuple[StoredRows, Any, Costs, list[Any]]:
    """Columns, targets and prices, checked as those of a table in memory are.

    ``named`` are weights and the like: arrays, None, or names of columns, which are read.
    """
    roles = [name for name in (y, *named) if isinstance(name, str)]
    features = table.without(roles)
    if not features.names:
        raise ValueError("the table has no column beside those of targets and weights.")
    y, *others = (table.column(name) if isinstance(name, str) else name for name in (y, *named))
    columns = features.learn(model.categorical, model.dates)
    sample = features.head()
    _, y = check_X_y(np.zeros((len(table), 1), dtype=np.int8), y, ensure_min_samples=2)
    model._encoding = None
    if columns is None:
        _check_feature_names(model, sample, reset=True)
        model.n_features_in_ = len(features.names)
        return StoredRows(features), y, model._costs_for(sample), others
    timed = [
        column.kind == "date" and _has_times(features.numbers(place, column))
        for place, column in enumerate(columns[c] for c in range(len(columns)))
    ]
    # Of the values, trees only need to know whether dates have a time of day.
    codes = np.where(timed, 0.5, 0.0)[None, :]
    _, costs = model._take_columns(sample, columns, codes, np.zeros(1))
    return StoredRows(features, model._encoding), y, costs, others


def _has_times(days: Floats) -> bool:
    return bool((np.floor(days) != days)[~np.isnan(days)].any())


def bin_by_column(
    X: StoredRows,
    threads: Threads,
    sample_weight: Floats | None = None,
    others: Sequence[Any] = (),
    categorical: npt.NDArray[np.bool_] | None = None,
) -> BinnedData:
    """As :meth:`BinnedData.prepare`, with one column in memory at a time, and codes in files.

    ``others`` are further rows of the same table, or arrays.
    """
    weight, power = whole_weights(sample_weight, len(X), threads)
    n_features, folder = X.shape[1], X.table.folder
    category = np.zeros(n_features, dtype=bool) if categorical is None else categorical
    found: list[Bins | None] = [None] * n_features
    stored = [StoredStates(len(rows), n_features, folder) for rows in (X, *others)]

    def work(source: int) -> None:
        made = X.read(source)
        with Threads(1) as alone:
            for column, values in zip(range(*X.first[source : source + 2]), made, strict=True):
                parts = [
                    rows.of(values) if isinstance(rows, StoredRows) else rows[:, column].astype(np.float64)
                    for rows in (X, *others)
                ]  # fmt: skip
                whole = [part[:, None] for part in parts]
                own = category[column : column + 1]
                bins = find_bins_with(whole[0], weight, alone, whole[1:], own)
                found[column] = bins
                for states, part in zip(stored, parts, strict=True):
                    states.put(column, part, bins.thresholds[0], int(bins.count[0]))

    beside = max(1, min(threads.count, COLUMN_BYTES // (8 * max(1, len(X.table)))))
    sources = len(X.first) - 1
    for first in range(0, sources, beside):
        some = range(first, min(first + beside, sources))
        threads.run(len(some), partial(_nth, work, some))
    bins = _joined([part for part in found if part is not None])
    # States are compared as values are: the lowest lies below one half.
    between = Bins(
        thresholds=np.full((n_features, MAX_BINS), 0.5), count=bins.count, missing=bins.missing,
        category=bins.category,
    )  # fmt: skip
    layout = Layout.plan(bins, find_exclusive(stored, between, threads))
    words, *coded = (states.words(layout, threads, folder) for states in stored)
    return BinnedData(bins, layout, words, coded, weight, power)


def _nth(work: Callable[[int], None], some: range, number: int) -> None:
    work(some[number])


def _joined(parts: Sequence[Bins]) -> Bins:
    """Bins of single features as those of all."""
    return Bins(
        thresholds=np.concatenate([part.thresholds for part in parts]),
        count=np.concatenate([part.count for part in parts]),
        missing=np.concatenate([part.missing for part in parts]),
        category=np.concatenate([part.category for part in parts]),
    )
