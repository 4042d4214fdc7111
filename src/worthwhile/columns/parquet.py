"""Parquet files that need not fit in memory: one column, or some rows, at a time."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from worthwhile._messages import missing_package, some
from worthwhile.columns.cells import Floats, cells
from worthwhile.columns.column import Column
from worthwhile.columns.columns import Columns

BATCH = 1 << 18
"""Rows that are decoded at a time."""


class ParquetTable:
    """A Parquet file, or a folder of them, as training data that is never in memory as a whole.

    :class:`~worthwhile.GreedyMiserClassifier` and :class:`~worthwhile.GreedyMiserRegressor` take it as ``X``;
    targets, weights and queries are then arrays, or names of its columns. The model is that of the
    same table in memory, byte for byte. Other methods take tables in memory: :meth:`batches` gives
    such parts.

    Parameters
    ----------
    source : path, list of paths, or pyarrow.dataset.Dataset
        Where the rows are. Files of a folder come in the order of their names.
    columns : list of str, optional
        The features; None takes all columns but those that ``fit`` is told to be something else.
    folder : path, optional
        Where the codes of the rows, a byte for each value, are kept during training, twice; None is
        the system's folder for temporary files.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np, pandas as pd
    >>> from worthwhile import GreedyMiserRegressor, ParquetTable
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "cases.parquet")
    ...     frame.to_parquet(path)
    ...     table = ParquetTable(path)
    ...     model = GreedyMiserRegressor(n_rounds=5).fit(table, "c")
    >>> table.names, model.feature_names_in_.tolist()
    (['a', 'b', 'c'], ['a', 'b'])
    """

    def __init__(
        self,
        source: Any,
        columns: Sequence[str] | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._dataset = _open(source)
        known = _columns_of(self._dataset.schema)
        if columns is not None and (
            strange := [name for name in columns if name not in self._dataset.schema.names]
        ):
            raise ValueError(f"columns names {some(strange)}, and there are {some(known)}.")
        self.names = known if columns is None else list(columns)
        self.folder = folder
        self._n_rows: int = self._dataset.count_rows()

    def __len__(self) -> int:
        return self._n_rows

    def __repr__(self) -> str:
        return f"ParquetTable({len(self):,} rows, {len(self.names)} columns)"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.names)

    def without(self, names: Sequence[str]) -> Self:
        """The same rows without some columns."""
        other = copy.copy(self)
        other.names = [name for name in self.names if name not in names]
        return other

    def column(self, name: str) -> Any:
        """One column of all rows, as pandas has it; it need not be among the features."""
        if name not in self._dataset.schema.names:
            raise ValueError(
                f"the table has no column {name!r}: its columns are {some(self._dataset.schema.names)}."
            )
        return _frame(self._dataset.to_table(columns=[name])).iloc[:, 0]

    def head(self) -> Any:
        """A frame of pandas without rows: names and types."""
        return _frame(self._dataset.schema.empty_table().select(self.names))

    def batches(self, rows: int = BATCH) -> Iterator[Any]:
        """Frames of pandas of at most so many rows, one after the other."""
        for batch in self._dataset.to_batches(columns=self.names, batch_size=rows):
            if batch.num_rows:
                yield _frame(batch)

    def learn(self, categorical: Any = None, dates: Any = None) -> Columns | None:
        """As :meth:`Columns.learn`, one column at a time."""
        Columns.learn(self.head(), categorical, dates)  # refuses columns that are not there
        said = dict.fromkeys(categorical or (), "categorical") | dict.fromkeys(dates or (), "dates")
        found = []
        for name in self.names:
            plain = name not in said and _is_plain(self._dataset.schema.field(name).type)
            how = {said[name]: [name]} if name in said else {}
            learned = None if plain else Columns.learn(self.column(name).to_frame(), **how)
            found.append(Column() if learned is None else learned[0])
        return None if all(column.kind == "number" for column in found) else Columns(found)

    def numbers(self, place: int, column: Column) -> Floats:
        """One column as numbers, float64 (n,); refuses what cannot be read."""
        name, start = self.names[place], 0
        found = np.empty(len(self))
        for batch in self._dataset.to_batches(columns=[name], batch_size=BATCH):
            if not batch.num_rows:
                continue
            values = _frame(batch).iloc[:, 0]
            part = column.read(values)
            if np.isinf(part).any():
                row = int(np.flatnonzero(np.isinf(part))[0])
                raise ValueError(
                    f"X has {cells(values)[row]!r} in row {start + row}, column {name!r}, which cannot be read as a "
                    f"{column.kind}: correct it, use NaN or None for a value that is missing, or say what the column "
                    "is with categorical= or dates=."
                )
            found[start : start + len(part)] = part
            start += len(part)
        return found


def _open(source: Any) -> Any:
    try:
        from pyarrow import ArrowException, dataset
    except ImportError:
        raise missing_package("Parquet files need", "pyarrow", "files") from None
    if isinstance(source, dataset.Dataset):
        return source
    try:
        return dataset.dataset(source, format="parquet")
    except FileNotFoundError:
        raise FileNotFoundError(f"no file {str(source)!r}: check the path.") from None
    except (ArrowException, OSError) as error:
        raise ValueError(
            f"{source} is no Parquet file or folder of them ({str(error).strip(' .')})."
        ) from None


def _columns_of(schema: Any) -> list[str]:
    """Names of the columns, without those that pandas wrote as an index."""
    index = {
        name
        for name in (schema.pandas_metadata or {}).get("index_columns", [])
        if isinstance(name, str)
    }
    names = [name for name in schema.names if name not in index]
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the table has the column {some(doubles)} twice: rename one of them.")
    return names


def _is_plain(kind: Any) -> bool:
    """Whether a column is of numbers by its type."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind))


def _frame(table: Any) -> Any:
    """A table or batch of Arrow as pandas has it: without an index, days as dates."""
    return table.replace_schema_metadata(None).to_pandas(date_as_object=False)
