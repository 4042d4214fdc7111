"""Partitions as their collection says they are.

Dask believes what it is told of a partition: names, their order and types are those of a sample. Files of one folder
may have their columns in different orders, which one frame of all rows would put right by name.
"""

from __future__ import annotations

from typing import Any

import dask.array
import numpy as np
import pandas as pd


def said_of(X: Any) -> list[Any] | int:
    """What each partition should have: names of columns, or their number where it is an array."""
    return X.shape[1] if isinstance(X, dask.array.Array) else list(X.columns)


def as_said(part: Any, said: list[Any] | int) -> Any:
    """A partition with its columns in the order of the collection; refuses one that has others.

    Examples
    --------
    >>> as_said(pd.DataFrame({"b": [1], "a": [2]}), ["a", "b"]).columns.tolist()
    ['a', 'b']
    """
    if isinstance(said, int):
        if isinstance(part, np.ndarray) and part.shape[1:] == (said,):
            return part
        wanted = f"numpy with {said} columns"
    else:
        found = list(part.columns) if isinstance(part, pd.DataFrame) else []
        if found == said:
            return part
        if len(found) == len(said) and set(found) == set(said):
            return part[said]
        wanted = f"pandas with the columns {said}"
    shape = f" of shape {part.shape}" if hasattr(part, "shape") else ""
    names = f" with the columns {list(part.columns)}" if hasattr(part, "columns") else ""
    raise ValueError(
        f"a partition of X is a {type(part).__name__}{names or shape}: by its collection it should be one of {wanted}."
    )
