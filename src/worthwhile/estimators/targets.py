"""Targets as people have them, before a fit begins: none is empty, labels are of one kind, types are those of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.columns.cells import cells, is_empty
from worthwhile.policy.base import LARGEST


def plain_target(y: Any) -> Any:
    """Targets of nullable types as numpy has them; others as they are.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_target(pd.Series([True, False], dtype="boolean"))
    array([ True, False])
    >>> plain_target(["ill", None])
    Traceback (most recent call last):
        ...
    ValueError: y is empty in row 1 (None): leave out the rows whose truth is not known.
    """
    if y is None or getattr(y, "ndim", 1) != 1 or not hasattr(y, "__len__"):
        return y  # for those who know what they may be
    dtype = getattr(y, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        if dtype.kind in "fMm" and (empty := np.asarray(pd.isna(y))).any():
            _refuse_empty(int(np.argmax(empty)), np.asarray(y)[np.argmax(empty)])
        return y
    values = cells(y)
    if any(
        isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes))
        for value in values
    ):
        return y  # a table
    if (
        row := next((row for row, value in enumerate(values) if is_empty(value)), None)
    ) is not None:
        _refuse_empty(row, values[row])
    _refuse_several_kinds(values)
    own = getattr(dtype, "numpy_dtype", None)  # of what pandas calls nullable
    return y if own is None or own.kind not in "biuf" else np.array(values, dtype=own)


def refuse_large(targets: npt.NDArray[np.float64], what: str = "y") -> None:
    """Refuse numbers whose squares could not be added up."""
    if len(targets) and (largest := float(np.abs(targets).max())) > LARGEST:
        raise ValueError(
            f"{what} has a target of size {largest:.3g}, whose square is too large to add up: "
            f"divide the targets by a constant, to at most {LARGEST:g}."
        )


def _refuse_empty(row: int, value: Any) -> NoReturn:
    raise ValueError(
        f"y is empty in row {row} ({value}): leave out the rows whose truth is not known."
    )


def _refuse_several_kinds(values: list[Any]) -> None:
    text = next((value for value in values if isinstance(value, str)), None)
    other = next((value for value in values if not isinstance(value, str)), None)
    if text is not None and other is not None:
        raise ValueError(
            f"y has text and other labels, {text!r} and {other!r} among them: give all of them as text, or none."
        )
