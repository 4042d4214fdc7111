"""Frames of any library, and arrays, seen alike: names, and one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from worthwhile._messages import some


def is_frame(X: Any) -> bool:
    """Whether X is a frame of pandas, polars or Arrow (or of whoever looks like one of them).

    Examples
    --------
    >>> import numpy as np
    >>> is_frame(np.zeros((2, 2)))
    False
    """
    return hasattr(X, "column_names") or (hasattr(X, "columns") and hasattr(X, "__getitem__"))


def labels_of(X: Any) -> list[Any]:
    """How the columns of a frame are called, in order; the numbers of the columns of an array."""
    if hasattr(X, "column_names"):  # Arrow: its ``columns`` are the data
        return list(X.column_names)
    if hasattr(X, "columns"):
        return list(X.columns)
    return list(range(X.shape[1]))


def column_at(X: Any, place: int) -> Any:
    """One column, by its place: names of a frame may stand twice."""
    if hasattr(X, "column_names"):
        return X.column(place)
    if hasattr(X, "iloc"):
        return X.iloc[:, place]
    if hasattr(X, "columns"):
        return X[X.columns[place]]
    return X[:, place]


def numbers_at(X: Any, places: Sequence[int]) -> Any:
    """Columns of a pandas frame, float64, all at once; None where one of them is no plain number of numpy.

    One by one they take many times as long, which single rows and sweeps would pay for.
    """
    if not places or not hasattr(X, "iloc") or not hasattr(X, "dtypes"):
        return None
    types = list(X.dtypes)
    if not all(isinstance(types[p], np.dtype) and types[p].kind in "biuf" for p in places):
        return None
    return X.iloc[:, list(places)].to_numpy(dtype=np.float64)


def places_of(
    X: Any, names: Sequence[str], needed: Sequence[int], absent: Sequence[int] = ()
) -> list[int | None]:
    """Where a frame has the columns of a model; None for those that it has not and need not have.

    Columns are found by name, in any order, and others may stand beside them.

    Parameters
    ----------
    X : frame
        The data.
    names : sequence of str
        The columns of the model, in its order.
    needed : sequence of int
        Those that the model may read.
    absent : sequence of int
        Those of them that cannot be had: a frame may lack them.
    """
    labels = labels_of(X)
    place = {label: number for number, label in reversed(list(enumerate(labels)))}
    missing = [names[c] for c in needed if names[c] not in place and c not in set(map(int, absent))]
    if missing:
        raise ValueError(
            f"X has no column {some(missing)}, which the model may read: its columns are {some(labels)}. Add "
            f"{'it' if len(missing) == 1 else 'them'}, or say that {'it' if len(missing) == 1 else 'they'} cannot be "
            f"had: unavailable={missing[:5]!r}."
        )
    if len(place) < len(labels):
        wanted = {names[c] for c in needed}
        twice = sorted({str(n) for n in labels if n in wanted and labels.count(n) > 1})
        if twice:
            raise ValueError(
                f"X has the column {some(twice)} twice: nobody can tell which to read."
            )
    return [place.get(name) for name in names]


def n_rows(X: Any) -> int:
    """Number of rows of a frame or array."""
    return len(X)


def dense(X: Any, most_bytes: int = 2**30) -> Any:
    """A sparse matrix as an array, where that fits; anything else as it is."""
    if not (hasattr(X, "toarray") and hasattr(X, "nnz")):
        return X
    size = int(X.shape[0]) * int(X.shape[1]) * max(8, np.dtype(X.dtype).itemsize)
    if size > most_bytes:
        raise ValueError(
            f"X is sparse, and as a dense array of {X.shape[0]} x {X.shape[1]} it would take {size / 2**30:.1f} GiB: "
            f"up to {most_bytes / 2**30:.1f} GiB are made dense. Give fewer columns, or fewer rows at a time."
        )
    return X.toarray()


def dense_columns(X: Any) -> Any:
    """A frame of pandas whose sparse columns are as others; anything else as it is."""
    if not (hasattr(X, "iloc") and hasattr(X, "dtypes") and hasattr(X, "columns")):
        return X
    sparse = [
        place for place, dtype in enumerate(X.dtypes) if type(dtype).__name__ == "SparseDtype"
    ]
    if not sparse:
        return X
    found = X.copy(deep=False)
    for place in sparse:
        found.isetitem(place, X.iloc[:, place].sparse.to_dense())
    return found


def refuse_twice(X: Any) -> None:
    """Refuse a frame two of whose columns have one name."""
    if is_frame(X) and len(set(labels := labels_of(X))) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"X has two columns named {twice!r}: rename one of them, or leave it out.")
