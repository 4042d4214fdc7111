"""Dask arrays and frames as partitions of rows, and what their columns are."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import union_categoricals
from sklearn.utils.validation import _check_feature_names, _num_features, check_array

import dask
from distributed import Client, Future
from worthwhile.columns import Column, Columns
from worthwhile.columns.table import labels_of
from worthwhile.costs import Costs
from worthwhile.dask._asking import asked
from worthwhile.dask._kept import Kept
from worthwhile.dask._said import as_said, said_of
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
    if np.isnan(X.shape[1]):
        raise ValueError(
            "X has an unknown number of columns: call X.compute_chunk_sizes(), or give the shape of each block."
        )
    if X.shape[1] == 0:
        raise ValueError("X has no columns: give at least one feature.")


def partitions(X: Any) -> list[Any]:
    """Partitions of a table, with all columns, as what Dask computes later."""
    if is_array(X):
        return list(X.rechunk({1: -1}).to_delayed().ravel())
    return list(X.to_delayed())


def sample_of(X: Any) -> Any:
    """A table in memory without rows: its columns, names and types."""
    return np.empty((0, X.shape[1]), dtype=X.dtype) if is_array(X) else X._meta


def values_of(client: Client, y: Any, what: str) -> Any:
    """Targets or weights, one number or label per row, brought here: an array, or a series as it is.

    The types of pandas that know of missing values are for the local fit to read.
    """
    if y is None:
        return None
    if hasattr(y, "dask"):
        y = asked(client, client.compute(y).result)
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    if isinstance(y, pd.Series):
        return y
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{what} has the shape {values.shape}: give one value per row.")
    return values


class Partitions:
    """Partitions on the cluster, kept by its workers.

    Parameters
    ----------
    client : Client
        The cluster.
    X : Dask array or frame
        What is read.
    pieces : callable
        On a worker: from a partition to what is kept of it, and what the client is told of it.
    room : float
        Bytes of partitions that a worker may hold in memory.
    columns : list of Future, optional
        The same partitions, whose columns are kept by workers already.

    Attributes
    ----------
    told : list
        What the client was told of each.
    """

    def __init__(
        self,
        client: Client,
        X: Any,
        pieces: Callable[[Any], list[Any]],
        room: float,
        columns: list[Future] | None = None,
    ) -> None:
        self._client, self._pieces, self._room = client, pieces, room
        self._raw, self._said = partitions(X), said_of(X)
        self._futures = self._kept(self._raw if columns is None else columns)
        self.told = asked(
            client, client.gather, client.map(_piece, self.parts, number=1, pure=False)
        )

    @property
    def parts(self) -> list[Future]:
        """What is kept of each partition; they are read again once they were released."""
        if not self._futures:
            self._futures = self._kept(self._raw)
        return self._futures

    def _kept(self, raw: list[Any]) -> list[Future]:
        return _kept(self._client, raw, self._said, self._pieces, self._room)

    def release(self) -> None:
        """Let the workers forget them."""
        self._futures = []


class Parts(Partitions):
    """Partitions of which numbers are kept.

    Parameters
    ----------
    client, X, room, columns
        As for :class:`Partitions`.
    read : callable
        On a worker: from a partition to its numbers (n, d).

    Attributes
    ----------
    lengths : list of int
        Rows of each.
    kind : dtype
        What holds the numbers of all.
    """

    def __init__(
        self,
        client: Client,
        X: Any,
        read: Callable[[Any], Array],
        room: float,
        columns: list[Future] | None = None,
    ) -> None:
        super().__init__(client, X, partial(_numbers, read=read), room, columns)
        self.lengths: list[int] = [length for length, _ in self.told]
        kinds = sorted({kind for length, kind in self.told if length})
        self.kind = np.result_type(*kinds) if kinds else np.dtype(np.float64)

    def __len__(self) -> int:
        return sum(self.lengths)

    def pieces(self, rows: npt.NDArray[np.int64]) -> list[tuple[int, Any]]:
        """Which rows (ascending) of all to take from which partition: (partition, places in it)."""
        ends = np.cumsum([0, *self.lengths])
        cuts = np.searchsorted(rows, ends)
        return [
            (part, _short(rows[low:high] - ends[part], self.lengths[part]))
            for part, (low, high) in enumerate(itertools.pairwise(cuts.tolist()))
            if high > low
        ]


def _short(places: npt.NDArray[np.int64], length: int) -> Any:
    """Ascending places as a slice, or as a mask, which is small: they are sent to a worker."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return slice(first, last + 1)
    mask = np.zeros(length, dtype=bool)
    mask[places] = True
    return mask


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
    room : float
        See :class:`Parts`.
    """

    def __init__(self, client: Client, X: Any, model: Miser, n_columns: int, room: float) -> None:
        if not (is_frame(X) or (is_array(X) and X.ndim == 2)):
            raise TypeError(
                f"in validation, X is a {type(X).__name__}: give a table of rows and columns."
            )
        read = partial(_read_held_part, model=model, n_columns=n_columns)
        super().__init__(client, X, read, room)
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
    room : float
        See :class:`Parts`.

    Attributes
    ----------
    costs : Costs
        Prices of the columns that are trained on.
    """

    costs: Costs

    def __init__(self, client: Client, X: Any, model: Miser, room: float) -> None:
        self._client = client
        sample = sample_of(X)
        Columns.learn(sample, model.categorical, model.dates)  # refuses columns that are not there
        columns, timed, kept = None, [False], None
        if unsure := _unsure(sample, model):
            kept = _kept(client, partitions(X), said_of(X), _columns_of, room)
            columns, timed = self._learn(kept, len(labels_of(sample)), unsure)
        if columns is None:
            _check_feature_names(model, sample, reset=True)
            model.n_features_in_ = _num_features(sample)
            self.costs = model._costs_for(sample)
        else:
            # Of the values, trees only need to know whether dates have a time of day.
            codes = np.where(timed, 0.5, 0.0)[None, :]
            _, self.costs = model._take_columns(sample, columns, codes, np.zeros(1))
        read = partial(_read_part, encoding=model._encoding, n_columns=len(self.costs.own))
        super().__init__(client, X, read, room, kept)

    def _learn(
        self, kept: list[Future], d: int, unsure: dict[int, tuple[Any, str | None]]
    ) -> tuple[Columns | None, list[bool]]:
        """What the columns are, as if one machine had seen them whole; and which dates have times."""
        whole = {
            place: self._client.submit(
                _learn_column,
                self._client.map(_piece, kept, number=place, pure=False),
                *about,
                pure=False,
            )
            for place, about in unsure.items()
        }
        found = asked(self._client, self._client.gather, whole)
        columns = [found[c][0] if c in found else Column() for c in range(d)]
        timed = [c in found and found[c][1] for c in range(d)]
        if all(column.kind == "number" for column in columns):
            return None, timed
        return Columns(columns), timed


def _unsure(sample: Any, model: Miser) -> dict[int, tuple[Any, str | None]]:
    """Columns whose values tell what they are, by place: labels, and what the model says of them."""
    said = dict.fromkeys(model.categorical or (), "categorical")
    said |= dict.fromkeys(model.dates or (), "dates")
    return {
        place: (label, said.get(label))
        for place, label in enumerate(labels_of(sample))
        if label in said or not _is_plain(sample, place)
    }


def _is_plain(sample: Any, place: int) -> bool:
    """Whether a column is of numbers by its type."""
    kind = sample.dtype if isinstance(sample, np.ndarray) else sample.dtypes.iloc[place]
    return isinstance(kind, np.dtype) and kind.kind in "iuf"


# On the workers -----------------------------------------------------------------------------------


def _kept(
    client: Client,
    parts: list[Any],
    said: list[Any] | int,
    pieces: Callable[[Any], list[Any]],
    room: float,
) -> list[Future]:
    """Pieces of partitions, kept by the workers; what is computed on the way is forgotten at once."""
    keep = dask.delayed(_keep, pure=False)
    found: list[Future] = client.compute([keep(part, said, pieces, room) for part in parts])
    return found


def _keep(
    part: Any, said: list[Any] | int, pieces: Callable[[Any], list[Any]], room: float
) -> Kept:
    return Kept(pieces(part if isinstance(part, Kept) else as_said(part, said)), room)


def _columns_of(part: Any) -> list[Any]:
    """The columns of a partition, each as a table."""
    frame = not isinstance(part, np.ndarray)
    return [
        part.iloc[:, [place]] if frame else part[:, place : place + 1]
        for place in range(part.shape[1])
    ]


def _side_by_side(columns: Kept) -> Any:
    """The partition that the columns are of."""
    pieces = [columns[place] for place in range(len(columns))]
    return (
        np.concatenate(pieces, axis=1) if isinstance(pieces[0], np.ndarray)
        else pd.concat(pieces, axis=1)
    )  # fmt: skip


def _numbers(part: Any, read: Callable[[Any], Array]) -> list[Any]:
    """The numbers of a partition, whose columns may be kept already; and how many rows of what they are."""
    found = read(_side_by_side(part) if isinstance(part, Kept) else part)
    return [found, (len(found), found.dtype.str)]


def _piece(kept: Kept, number: int) -> Any:
    return kept[number]


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
    kinds = {part.dtype for part in parts}
    if len(kinds) > 1 and {str(kind) for kind in kinds} == {"category"}:
        if any(kind.ordered for kind in kinds):
            raise ValueError(
                f"column {parts[0].name!r} of X is an ordered category whose levels differ between partitions: give "
                "all of them the same ones, with cat.set_categories."
            )
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
