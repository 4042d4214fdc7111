"""All columns of a table, learned from training data and kept in the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._messages import some
from worthwhile.columns.cells import Floats, cells
from worthwhile.columns.column import Column
from worthwhile.columns.table import column_at, is_frame, labels_of, numbers_at


class Columns:
    """What the columns of a model are, in its order.

    Values of every column become one float64 each: numbers stay themselves, booleans become 0 and 1,
    categories the number of their level, dates days since 1970-01-01, times of day and spans days.
    NaN is what came back empty.

    Parameters
    ----------
    columns : sequence of Column
        One per column.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"job": ["cook", "smith", None], "age": [31, 27, 44]})
    >>> columns = Columns.learn(X)
    >>> columns[0].levels, columns[1].kind
    (('cook', 'smith'), 'number')
    >>> columns.read(X).tolist()
    [[0.0, 31.0], [1.0, 27.0], [nan, 44.0]]
    >>> Columns.learn(X[["age"]]) is None  # numbers alone need no reading
    True
    """

    def __init__(self, columns: Iterable[Column]) -> None:
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, place: int) -> Column:
        return self._columns[place]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self._columns == other._columns

    def __hash__(self) -> int:
        return hash(self._columns)

    @property
    def categorical(self) -> npt.NDArray[np.bool_]:
        """Which columns hold codes of categories without an order, (d,)."""
        return np.array([column.is_category for column in self._columns], dtype=bool)

    @classmethod
    def numbers(cls, n_columns: int) -> Columns:
        """Columns of plain numbers."""
        return cls([Column()] * n_columns)

    @classmethod
    def learn(cls, X: Any, categorical: Any = None, dates: Any = None) -> Columns | None:
        """What the columns of training data are; None if all of them are plain numbers.

        Parameters
        ----------
        X : frame or array (n, d)
            Training data.
        categorical, dates : sequences of column names or indices, optional
            What columns are, where their types do not say so.
        """
        said = _said(X, categorical, "categorical", "category")
        said_dates = _said(X, dates, "dates", "date")
        if both := sorted(set(said) & set(said_dates)):
            raise ValueError(
                f"column {labels_of(X)[both[0]]!r} is in categorical and in dates: it is one of them."
            )
        said |= said_dates
        if (
            not said
            and not is_frame(X)
            and getattr(X, "dtype", np.dtype(float)).kind not in "OUSMm"
        ):
            return None  # an array of numbers
        found = []
        for place, label in enumerate(labels_of(X)):
            series = column_at(X, place)
            column = Column.learn(series, said.get(place))
            if isinstance(column, str):
                raise TypeError(
                    f"column {label!r} of X holds a {column}: columns hold numbers, booleans, text, categories, "
                    "dates, times or spans of time (argument must be a string or a real number)."
                )
            found.append(column)
        if all(column.kind == "number" for column in found):
            return None
        return cls(found)

    def read(
        self,
        X: Any,
        wanted: Iterable[int] | None = None,
        places: Sequence[int | None] | None = None,
    ) -> Floats:
        """The numbers of a table, float64 (n, d).

        Parameters
        ----------
        X : frame or array
            The data.
        wanted : iterable of int, optional
            Columns to read; the others are left NaN and may hold anything.
        places : sequence of int or None, optional
            Where each column stands in X; None if it is not there.
        """
        numbers = np.full((len(X), len(self)), np.nan)
        there = {
            column: place
            for column in (range(len(self)) if wanted is None else wanted)
            if (place := column if places is None else places[column]) is not None
        }
        plain = [column for column in there if self[column].kind == "number"]
        block = numbers_at(X, [there[column] for column in plain])
        if block is not None:
            numbers[:, plain] = block
            there = {column: place for column, place in there.items() if column not in set(plain)}
        for column, place in there.items():
            numbers[:, column] = self[column].read(column_at(X, place))
        return numbers

    def read_training(self, X: Any, places: Sequence[int | None] | None = None) -> Floats:
        """The numbers of training data, where everything must be readable."""
        numbers = self.read(X, places=places)
        if np.isinf(numbers).any():
            row, column = (int(i) for i in np.argwhere(np.isinf(numbers))[0])
            place = column if places is None else places[column] or 0
            value = cells(column_at(X, place))[row]
            raise ValueError(
                f"X has {value!r} in row {row}, column {labels_of(X)[place]!r}, which cannot be read as a "
                f"{self[column].kind}: correct it, use None or NaN for a value that is missing, or say what the column "
                "is with categorical= or dates=."
            )
        return numbers

    def frame(self, numbers: Floats, names: Sequence[str] | None = None) -> Any:
        """A frame of pandas in the words of the user's table, from its numbers."""
        import pandas as pd

        labels = range(len(self)) if names is None else names
        return pd.DataFrame(
            {label: self[c].values(numbers[:, c]) for c, label in enumerate(labels)}
        )

    def to_dict(self) -> list[dict[str, Any]]:
        """JSON values, one object per column."""
        return [column.to_dict() for column in self._columns]

    @classmethod
    def from_dict(cls, data: Any) -> Columns:
        """Read what :meth:`to_dict` wrote; ValueError for anything it would not write."""
        if not isinstance(data, list):
            raise ValueError("columns are not a list")
        return cls(Column.from_dict(item) for item in data)


def _said(X: Any, given: Any, name: str, kind: str) -> dict[int, str]:
    """Columns that the caller named, by place."""
    if given is None:
        return {}
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise ValueError(
            f"{name} is {given!r}: give a list of column names, or of column indices for an array."
        )
    labels = labels_of(X)
    place = {label: number for number, label in enumerate(labels)}
    said = {}
    for label in given:
        label = label.item() if isinstance(label, np.generic) else label
        if isinstance(label, bool) or label not in place:
            raise ValueError(
                f"{name} names {label!r}, which X does not have: its columns are {some(labels)}."
            )
        said[place[label]] = kind
    return said
