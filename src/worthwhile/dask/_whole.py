"""Tables that every worker holds as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from dask.sizeof import sizeof

from distributed import Client
from worthwhile.dask._collections import Partitions, is_array, joined


class WholeTable(Partitions):
    """Partitions as they are, for all workers to hold all of them.

    Parameters
    ----------
    client, X, room
        As for :class:`Partitions`.

    Attributes
    ----------
    size : int
        Bytes of all.
    shape : tuple of int
        Rows and columns.
    kind : str
        Type of all values, where they are numbers of one type; else empty.
    names : list, or None
        Columns, of a frame.
    """

    def __init__(self, client: Client, X: Any, room: float) -> None:
        super().__init__(client, X, _as_it_is, room)
        self.size = sum(size for _, size, _ in self.told)
        self.shape = (sum(length for length, _, _ in self.told), X.shape[1])
        kinds = {kind for length, _, kind in self.told if length}
        self.kind = kinds.pop() if len(kinds) == 1 else ""
        self.names = None if is_array(X) else list(X.columns)

    def __len__(self) -> int:
        return self.shape[0]


def whole_of(
    parts: Iterable[Any], shape: tuple[int, int], kind: str, names: list[Any] | None
) -> Any:
    """Partitions, of which no two need be in memory where they are numbers of one type, as one table.

    Parameters are as the attributes of :class:`WholeTable`.
    """
    if not kind:
        return _one_below_another(list(parts))
    values, start = np.empty(shape, dtype=kind), 0
    for part in parts:
        values[start : start + len(part)] = part
        start += len(part)
    return values if names is None else pd.DataFrame(values, columns=names, copy=False)


def _one_below_another(parts: list[Any]) -> Any:
    """Partitions of any types as one table."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    kept = [part for part in parts if len(part)] or parts[:1]
    columns = range(kept[0].shape[1])
    made = pd.concat([joined([part.iloc[:, c] for part in kept]) for c in columns], axis=1)
    made.columns = kept[0].columns
    return made


# On the workers -----------------------------------------------------------------------------------


def _as_it_is(part: Any) -> list[Any]:
    """A partition; its rows, bytes, and the type of its numbers where all are of one."""
    kinds = {part.dtype} if isinstance(part, np.ndarray) else set(part.dtypes)
    plain = len(kinds) == 1 and all(isinstance(k, np.dtype) and k.kind in "iuf" for k in kinds)
    return [part, (len(part), sizeof(part), kinds.pop().str if plain else "")]
