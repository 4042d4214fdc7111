"""Ranking data as text: svmlight lines with a query id."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

from worthwhile._writing import open_whole

__all__ = ["read_svmlight", "write_svmlight"]

Floats = NDArray[np.float64]
Path = str | os.PathLike[str]


def read_svmlight(
    path: Path, n_features: int | None = None, *, first: int = 1, dtype: Any = np.float64
) -> tuple[Any, Floats, NDArray[np.int64]]:
    """Read documents of queries, as LETOR, MSLR and Yahoo publish them.

    A line is ``grade qid:number feature:value feature:value ... # comment``. Features that a line
    leaves out are 0.

    Parameters
    ----------
    path : path
        A text file; ``.gz`` and ``.bz2`` are unpacked.
    n_features : int, optional
        Number of columns; None: as many as the file mentions. Give it where files of one data set
        are read one by one, so that all have the same columns.
    first : {0, 1}, default=1
        Number of the first feature; ranking data sets count from 1.
    dtype : numpy dtype, default=float64
        Of X.

    Returns
    -------
    X : array (n, d)
    y : float64 array (n,)
        Grades.
    qid : int64 array (n,)

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open(f"{folder}/train.txt", "w") as file:
    ...         _ = file.write("2 qid:10 1:0.5 3:1 # doc 7" + chr(10) + "0 qid:10 2:4" + chr(10))
    ...     X, y, qid = read_svmlight(f"{folder}/train.txt")
    >>> X.tolist(), y.tolist(), qid.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]], [2.0, 0.0], [10, 10])
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(f"no svmlight file at {os.fspath(path)!r}.")
    if first not in (0, 1):
        raise ValueError(f"first is {first!r}: features are numbered from 0 or from 1.")
    try:
        X, y, qid = load_svmlight_file(
            os.fspath(path),
            n_features=n_features,
            dtype=dtype,
            query_id=True,
            zero_based=first == 0,
        )
    except ValueError as error:
        raise ValueError(
            f"{os.fspath(path)}: not svmlight lines with features from {first} on"
            f"{'' if n_features is None else f' to {n_features - 1 + first}'} ({error}). A line is "
            "'grade qid:1 1:0.5 ...'."
        ) from None
    if len(qid) != len(y):
        raise ValueError(
            f"{os.fspath(path)}: {len(qid)} of {len(y)} lines have a qid: give every line one, 'grade qid:1 1:0.5'."
        )
    return X.toarray(), np.asarray(y, dtype=np.float64), np.asarray(qid, dtype=np.int64)


def write_svmlight(path: Path, X: Any, y: Any, qid: Any, *, first: int = 1) -> None:
    """Write documents of queries so that :func:`read_svmlight` gets the same numbers back.

    Parameters
    ----------
    path : path
        Where to write; ``.gz`` is packed.
    X : array or frame (n, d)
        Values; zeros are left out. NaN cannot be written: the format has no word for it.
    y : array (n,)
        Grades.
    qid : int array (n,)
        Queries. The format wants the documents of a query together.
    first : {0, 1}, default=1
        Number of the first feature.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_svmlight(f"{folder}/some.txt", [[0.1, 0.0], [0.0, 3.0]], [1, 0], [5, 5])
    ...     with open(f"{folder}/some.txt") as file:
    ...         print(file.read().strip())
    1 qid:5 1:0.1
    0 qid:5 2:3.0
    """
    if first not in (0, 1):
        raise ValueError(f"first is {first!r}: features are numbered from 0 or from 1.")
    values, y, qid = np.asarray(X, dtype=np.float64), np.asarray(y), np.asarray(qid)
    if values.ndim != 2 or y.shape != (len(values),) or qid.shape != (len(values),):
        raise ValueError(
            f"X has shape {values.shape}, y {y.shape} and qid {qid.shape}: give (n, d), (n,) and (n,)."
        )
    if not np.isfinite(values).all() or not np.isfinite(y.astype(np.float64)).all():
        raise ValueError("X or y has NaN or infinity: svmlight files hold finite numbers only.")
    if qid.dtype.kind not in "iu":
        raise ValueError(f"qid has dtype {qid.dtype}: svmlight files hold whole query numbers.")
    with _open_lines(path) as file:
        for row, grade, query in zip(values, y.tolist(), qid.tolist(), strict=True):
            columns = np.flatnonzero(row)
            parts = [
                f"{c + first}:{v!r}"
                for c, v in zip(columns.tolist(), row[columns].tolist(), strict=True)
            ]
            label = int(grade) if float(grade).is_integer() else repr(float(grade))
            file.write(" ".join([str(label), f"qid:{query}", *parts]) + "\n")


@contextmanager
def _open_lines(path: Path) -> Iterator[IO[Any]]:
    """A text file, packed if its name says so; it appears whole or not at all."""
    if not os.fspath(path).endswith(".gz"):
        with open_whole(path, text=True) as file:
            yield file
        return
    # Without name and date, which the format would keep, the same lines give the same bytes.
    with (
        open_whole(path) as packed,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as unpacked,
        io.TextIOWrapper(unpacked, encoding="utf-8", newline="") as file,
    ):
        yield file
