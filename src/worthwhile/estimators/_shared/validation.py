"""Validation rows: given by the caller, or held out of the training rows.

Every estimator with a validation set reads it, or draws it, here: one rule and one wording for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from worthwhile.columns.table import dense
from worthwhile.core.queries import Queries
from worthwhile.estimators._shared.queries import read_qid

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]
Random = np.random.Generator | np.random.RandomState

FLOATS = (np.float64, np.float32)
"""Types that X may have as it comes; anything else becomes the first."""

# Given --------------------------------------------------------------------------------------------


class ReadElsewhere:
    """Validation rows that other processes have read and checked: here there is only their number."""

    def __init__(self, n_rows: int) -> None:
        self._n_rows = n_rows

    def __len__(self) -> int:
        return self._n_rows


def read_validation(
    estimator: Any, validation: Any, *, dtype: Any = FLOATS, outputs: tuple[int, ...] = ()
) -> tuple[Array, Array]:
    """Check ``validation=(X, y)`` against what the estimator trains on.

    Parameters
    ----------
    estimator : estimator
        Knows the features already, and its ``classes_`` where it has classes.
    validation : pair (X, y)
        What the caller gave.
    dtype : as for scikit-learn's ``validate_data``
        Types that X may have.
    outputs : tuple
        Shape of the target of one row: () or (m,).

    Returns
    -------
    X, and y as class codes where there are classes, else as float64
    """
    _check_parts(validation, 2, "a pair (X, y) of further rows and their labels or targets")
    X, y = validation
    return _read(estimator, X, y, dtype, outputs)


def read_query_validation(
    estimator: Any, validation: Any, *, dtype: Any = FLOATS
) -> tuple[Array, Array, Array]:
    """Check ``validation=(X, y, qid)``, where training rows have queries."""
    _check_parts(validation, 3, "(X, y, qid) of further documents, since qid was given")
    X, y, qid = validation
    X, y = _read(estimator, X, y, dtype, ())
    with _named():
        return X, y, read_qid(np.asarray(qid), len(X))


def code_labels(y: Any, classes: Array, what: str, trained: str) -> Indices:
    """Labels as their places in ``classes``; ``what`` has them, ``trained`` has the classes."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    labels = np.asarray(y).tolist()
    codes = np.array([place.get(label, -1) for label in labels], dtype=np.intp)
    if (codes < 0).any():
        raise ValueError(
            f"{what} has the label {labels[int(np.argmin(codes))]!r}, which {trained} does not have: "
            "leave such rows out, or train on some of them."
        )
    return codes


def _check_parts(validation: Any, count: int, wanted: str) -> None:
    parts = isinstance(validation, (tuple, list))
    if not parts or len(validation) != count:
        size = f" of {len(validation)}" if parts else ""
        raise ValueError(f"validation is a {type(validation).__name__}{size}: give {wanted}.")


def _read(
    estimator: Any, X: Any, y: Any, dtype: Any, outputs: tuple[int, ...]
) -> tuple[Array, Array]:
    if not isinstance(X, ReadElsewhere):
        X = read_validation_table(estimator, X, dtype=dtype)
    y = np.asarray(y)
    if y.shape != (len(X), *outputs):
        raise ValueError(
            f"validation has {len(X)} rows, but labels or targets of shape {y.shape}: give the shape "
            f"{(len(X), *outputs)}."
        )
    if hasattr(estimator, "classes_"):
        return X, code_labels(y, estimator.classes_, "validation", "y")
    y = y.astype(np.float64)
    if not np.isfinite(y).all():
        raise ValueError("validation has a target that is not finite: leave such rows out.")
    return X, y


def read_validation_table(estimator: Any, X: Any, *, dtype: Any = FLOATS) -> Array:
    """Check the columns of validation rows; they become numbers."""
    with _named():
        if estimator._encoding is not None:
            coded: Array = estimator._encoding.read(X)
            return coded
        checked: Array = validate_data(
            estimator, dense(X), reset=False, ensure_all_finite="allow-nan",
            dtype=list(dtype) if isinstance(dtype, tuple) else dtype,
        )  # fmt: skip
        return checked


@contextmanager
def _named() -> Iterator[None]:
    """Refusals by others speak of X or qid: they say of which."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"in validation, {error}") from None


# Held out -----------------------------------------------------------------------------------------


def split_rows(
    n: int, fraction: float, rng: Random, codes: Array | None = None
) -> tuple[Indices, Indices]:
    """Draw rows to hold out, in proportion from every class where there are classes.

    The share of a class is rounded to the nearest whole number (a half to the even one), but one row
    at least stays to train on. So it may happen that none is held out.

    Parameters
    ----------
    n : int
        Rows.
    fraction : number between 0 and 1
        Share to hold out.
    rng : generator
        Where chance comes from; one permutation is drawn per class, in the order of the codes.
    codes : array (n,), optional
        Class of each row.

    Returns
    -------
    rows to train on and rows held out, both in ascending order

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2])
    >>> kept, held = split_rows(9, 0.5, np.random.default_rng(0), codes)
    >>> codes[kept].tolist(), codes[held].tolist()
    ([0, 0, 0, 1, 2], [0, 0, 0, 1])
    """
    strata = [np.arange(n)]
    if codes is not None:
        strata = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    held = np.zeros(n, dtype=bool)
    for rows in strata:
        size = min(round(float(fraction) * len(rows)), len(rows) - 1)
        held[rng.permutation(rows)[:size]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def hold_out(
    n: int, fraction: float, rng: Random, codes: Array | None = None
) -> tuple[Indices, Indices]:
    """As :func:`split_rows`, for methods that cannot do without: holding out no row is refused."""
    kept, held = split_rows(n, fraction, rng, codes)
    if not len(held):
        each = "" if codes is None else ", class by class,"
        raise ValueError(_nothing_held(fraction, f"{n} rows{each}", "(X, y)"))
    return kept, held


def fold_rows(codes: Array, n_folds: int, rng: Random) -> list[tuple[Indices, Indices]]:
    """Deal the rows of every class to folds; pairs of rows to train on and rows held out.

    Every class keeps a row to train on, so that the only row of a class is never held out. Empty
    folds are left out: there may be fewer than asked for, or none.

    Parameters
    ----------
    codes : array (n,)
        Class of each row.
    n_folds : int
        Folds.
    rng : generator
        Where chance comes from; one permutation is drawn per class.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 2])
    >>> [held.size for _, held in fold_rows(codes, 3, np.random.default_rng(0))]
    [2, 2, 2]
    """
    fold = np.full(len(codes), -1)
    dealt = 0
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        if len(rows) > 1:
            fold[rng.permutation(rows)] = np.arange(dealt, dealt + len(rows)) % n_folds
            dealt += len(rows)
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]
    return [(train, held) for train, held in folds if len(held)]


def hold_out_queries(qid: Array, fraction: float, rng: Random) -> tuple[Indices, Indices]:
    """Rows to train on and rows held out: whole queries, with at most ``fraction`` of the documents."""
    queries = Queries.of(qid, len(qid))
    order = rng.permutation(len(queries))
    sizes = np.diff(queries.bounds)[order]
    chosen = np.zeros(len(queries), dtype=bool)
    chosen[order[np.cumsum(sizes) <= fraction * len(qid)]] = True
    if not chosen.any():
        raise ValueError(_nothing_held(fraction, f"{len(queries)} queries", "(X, y, qid)"))
    held = queries.restored(chosen[queries.numbers])
    return np.flatnonzero(~held), np.flatnonzero(held)


def development_rows(
    n: int, fraction: float, rng: Random, codes: Array | None = None
) -> tuple[Indices, Indices]:
    """As :func:`split_rows`, for methods that always have to choose: all rows train and choose at need."""
    kept, held = split_rows(n, fraction, rng, codes)
    if not len(held):
        kept = held = np.arange(n)
    return kept, held


def _nothing_held(fraction: float, of: str, given: str) -> str:
    return (
        f"validation_fraction={fraction} of {of} holds out none: raise it, or give "
        f"validation={given}."
    )
