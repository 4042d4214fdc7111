"""Partitions on the workers: in memory while there is room, beyond that in files.

Dask writes results to its disk too, but only when memory has run short, and a table that is many times larger than
that runs it short faster than it is written. What is written here leaves memory before the next partition is read.
"""

from __future__ import annotations

import math
import pickle
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dask.sizeof import sizeof

from distributed import get_worker

_lock = threading.Lock()
_in_memory = [0]
"""Bytes of partitions that this process holds in memory."""


class Kept:
    """Pieces of a partition: its columns, or all its numbers as one piece.

    On the worker that made it, they are in memory or in a file, which vanishes with this object. To another worker
    they are sent as they are.

    Parameters
    ----------
    pieces : sequence of arrays or frames
        What is kept.
    room : float
        Bytes that this process may hold in memory; what is beyond goes to files.

    Examples
    --------
    >>> kept = Kept(["a piece", "another"])
    >>> len(kept), kept[1]
    (2, 'another')
    """

    def __init__(self, pieces: Sequence[Any], room: float = math.inf) -> None:
        size = sum(map(sizeof, pieces))
        self._size, self._starts, self._path = 0, [0] * len(pieces), ""
        self._pieces: list[Any] = []
        with _lock:
            in_memory = _in_memory[0] + size <= room
            _in_memory[0] += size if in_memory else 0
        if in_memory:
            self._size, self._pieces = size, list(pieces)
            weakref.finalize(self, _give_back, size)
            return
        handle, self._path = tempfile.mkstemp(".part", dir=get_worker().local_directory)
        # Where the worker has ended in this process, its folder is gone already.
        weakref.finalize(self, Path(self._path).unlink, missing_ok=True)
        with open(handle, "wb") as file:
            for number, piece in enumerate(pieces):
                self._starts[number] = file.tell()
                pickle.dump(piece, file, protocol=5)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> Any:
        if self._pieces:
            return self._pieces[number]
        with open(self._path, "rb") as file:
            file.seek(self._starts[number])
            return pickle.load(file)

    def __sizeof__(self) -> int:
        return self._size

    def __reduce__(self) -> Any:
        return Kept, ([self[number] for number in range(len(self))],)


def _give_back(size: int) -> None:
    with _lock:
        _in_memory[0] -= size
