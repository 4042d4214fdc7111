"""Dask arrays and frames as partitions of rows, and what their columns are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals
from sklearn.utils.validation import _check_feature_names, _num_features, check_array

from distributed import Client, Future
from worthwhile.columns import Column, Columns
from worthwhile.columns.table import labels_of
from worthwhile.costs import Costs
from worthwhile.distributed.plan import Miser
from worthwhile.estimators.boosting import read_validation_table

Array = npt.NDArray[Any]


def is_array(X: Any) -> bool:
    """Whether it is a Dask array."""
    return isinstance(X, dask.array.Array)


def is_frame(X: Any) -> bool:
    """Whether it is a Dask frame."""
    return isinstance(X, dask.dataframe.DataFrame)


def check_table(X: Any, name: str) -> None:
    """Refuse what is no Dask table."""
    if not is_array(X) and not is_frame(X):
        raise TypeError(
            f"X is a {type(X).__name__}: {name} takes Dask arrays and frames. Use {name.removeprefix('Dask')} for a "
            "table in memory, or dask.array.from_array and dask.dataframe.from_pandas."
        )
    if is_array(X) and X.ndim != 2:
        raise ValueError(f"X is an array of {X.ndim} dimensions: it takes rows and columns.")


def partitions(X: Any) -> list[Any]:
    """Partitions of a table, with all columns, as what Dask computes later."""
    if is_array(X):
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    return list(X.to_delayed())


def sample_of(X: Any) -> Any:
    """A table in memory without rows: its columns, names and types."""
    return np.empty((0, X.shape[1]), dtype=X.dtype) if is_array(X) else X._meta


def values_of(client: Client, y: Any, what: str) -> Array | None:
    """Targets or weights, one number or label per row, brought here."""
    if y is None:
        return None
    if hasattr(y, "dask"):
        y = client.compute(y).result()
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} has the shape {values.shape}: give one value per row.")
    return values


class Parts:
    """Partitions on the cluster.

    Attributes
    ----------
    parts : list of Future
        Numbers of each partition, (n, d).
    lengths : list of int
        Rows of each.
    kind : dtype
        What holds the numbers of all.
    """

    def __init__(self, client: Client, raw: list[Future], read: Callable[..., Array], **how: Any):
        self.parts: list[Future] = client.map(read, raw, pure=False, **how)
        found = client.gather(client.map(_describe, self.parts, pure=False))
        self.lengths: list[int] = [length for length, _ in found]
        kinds = sorted({kind for length, kind in found if length})
        self.kind = np.result_type(*kinds) if kinds else np.dtype(np.float64)

    def __len__(self) -> int:
        return sum(self.lengths)

    def pieces(self, rows: npt.NDArray[np.int64]) -> list[tuple[int, Any]]:
        """Which rows (ascending) of all to take from which partition: (partition, places in it)."""
        ends = np.cumsum([0, *self.lengths])
        cuts = np.searchsorted(rows, ends)
        return [
            (part, _short(rows[low:high] - ends[part]))
            for part, (low, high) in enumerate(itertools.pairwise(cuts.tolist()))
            if high > low
        ]


def _short(places: npt.NDArray[np.int64]) -> Any:
    """Ascending places as a slice, where none is left out: they are sent to a worker."""
    first, last = int(places[0]), int(places[-1])
    return slice(first, last + 1) if last - first + 1 == len(places) else places


class HeldTable(Parts):
    """Validation rows on the cluster, read as the model reads rows after those it has seen.

    Parameters
    ----------
    client : Client
        The cluster.
    X : Dask array or frame
        The rows.
    model : GreedyMiserRegressor or GreedyMiserClassifier
        Knows names and columns of the training rows.
    n_columns : int
        Columns that are trained on.
    """

    def __init__(self, client: Client, X: Any, model: Miser, n_columns: int) -> None:
        if not (is_frame(X) or (is_array(X) and X.ndim == 2)):
            raise TypeError(
                f"in validation, X is a {type(X).__name__}: give a table of rows and columns."
            )
        raw = client.compute(partitions(X))
        super().__init__(client, raw, _read_held_part, model=model, n_columns=n_columns)
        if not len(self):
            raise ValueError("validation has no rows: give some, or leave it out.")


class Table(Parts):
    """A table whose partitions are on the cluster.

    Parameters
    ----------
    client : Client
        The cluster.
    X : Dask array or frame
        The table.
    model : GreedyMiserRegressor or GreedyMiserClassifier
        What it is for: its prices, and what it says of columns. It is told names and columns.

    Attributes
    ----------
    costs : Costs
        Prices of the columns that are trained on.
    """

    def __init__(self, client: Client, X: Any, model: Miser) -> None:
        self._client = client
        sample = sample_of(X)
        raw = client.compute(partitions(X))
        columns, timed = self._learn(raw, sample, model)
        self.costs: Costs
        if columns is None:
            _check_feature_names(model, sample, reset=True)
            model.n_features_in_ = _num_features(sample)
            self.costs = model._costs_for(sample)
        else:
            # Of the values, trees only need to know whether dates have a time of day.
            codes = np.where(timed, 0.5, 0.0)[None, :]
            _, self.costs = model._take_columns(sample, columns, codes, np.zeros(1))
        how = {"encoding": model._encoding, "n_columns": len(self.costs.own)}
        super().__init__(client, raw, _read_part, **how)

    def _learn(
        self, raw: list[Future], sample: Any, model: Miser
    ) -> tuple[Columns | None, list[bool]]:
        """What the columns are, as if one machine had seen them whole; and which dates have times."""
        Columns.learn(sample, model.categorical, model.dates)  # refuses columns that are not there
        labels = labels_of(sample)
        said = dict.fromkeys(model.categorical or (), "categorical")
        said |= dict.fromkeys(model.dates or (), "dates")
        whole = {
            place: self._client.submit(
                _learn_column,
                self._client.map(_one_column, raw, place=place, pure=False),
                label,
                said.get(label),
                pure=False,
            )
            for place, label in enumerate(labels)
            if label in said or not _is_plain(sample, place)
        }
        found = self._client.gather(whole)
        columns = [found[c][0] if c in found else Column() for c in range(len(labels))]
        timed = [c in found and found[c][1] for c in range(len(labels))]
        if all(column.kind == "number" for column in columns):
            return None, timed
        return Columns(columns), timed


def _is_plain(sample: Any, place: int) -> bool:
    """Whether a column is of numbers by its type."""
    kind = sample.dtype if isinstance(sample, np.ndarray) else sample.dtypes.iloc[place]
    return isinstance(kind, np.dtype) and kind.kind in "iuf"


# On the workers -----------------------------------------------------------------------------------


def _describe(part: Array) -> tuple[int, str]:
    return len(part), part.dtype.str


def _one_column(part: Any, place: int) -> Any:
    return part[:, place : place + 1] if isinstance(part, np.ndarray) else part.iloc[:, [place]]


def _learn_column(parts: list[Any], label: Any, said: str | None) -> tuple[Column, bool]:
    """What a column is, from all its partitions."""
    parts = [part for part in parts if len(part)] or parts[:1]
    whole: Any
    if isinstance(parts[0], np.ndarray):
        whole, label = np.concatenate(parts), 0
    else:
        whole = pd.DataFrame({label: joined([part.iloc[:, 0] for part in parts])})
    how = {} if said is None else {said: [label]}
    columns = Columns.learn(whole, **how)
    if columns is None:
        return Column(), False
    timed = False
    if columns[0].kind == "date":
        days = columns.read_training(whole)[:, 0]
        timed = bool((np.floor(days) != days)[~np.isnan(days)].any())
    return columns[0], timed


def joined(parts: list[Any]) -> Any:
    """Partitions of a column one after the other; categories stay such."""
    kinds = {str(part.dtype) for part in parts}
    if kinds == {"category"} and len({part.dtype for part in parts}) > 1:
        return pd.Series(union_categoricals(parts))
    return pd.concat(parts, ignore_index=True)


def _read_part(part: Any, encoding: Any, n_columns: int) -> Array:
    """The numbers of a partition, (n, d), checked as the local fit checks them."""
    if not len(part):
        return np.empty((0, n_columns))
    how = {"ensure_all_finite": "allow-nan", "input_name": "X"}
    if encoding is None:
        read: Array = check_array(part, dtype="numeric", **how)
        return read
    codes = encoding.columns.read_training(part)
    made: Array = encoding.made(check_array(codes, dtype=np.float64, **how))
    return made


def _read_held_part(part: Any, model: Miser, n_columns: int) -> Array:
    """The numbers of a partition of validation rows, checked as the local fit checks them."""
    if not len(part):
        return np.empty((0, n_columns))
    return read_validation_table(model, part, dtype="numeric")
