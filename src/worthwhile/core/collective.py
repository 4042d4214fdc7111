"""What processes that train one model together exchange: numbers, and nothing else.

Every process (a *rank*) runs the same code on its own rows. Where a number depends on all rows, it is
asked of the :class:`Collective`; what it answers is the same on every rank, and the same as one process
with all rows would have found: sums are of whole numbers, or exact. :class:`Alone` is the usual case of
one process, which answers itself at no cost.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

HALF = 32
"""Bits of the lower half in which whole numbers travel: halves of many ranks add up without overflow."""


class Collective(ABC):
    """The ranks that train one model together.

    Attributes
    ----------
    rank, size : int
        Number of this rank, and of all.
    """

    rank: int = 0
    size: int = 1

    @abstractmethod
    def exchange(self, arrays: Sequence[Array]) -> list[Array]:
        """Send ``arrays[r]`` to each rank r; return what each rank sent here, by rank."""

    @abstractmethod
    def note(self, what: bytes) -> None:
        """Note a decision that all ranks must have taken alike; one that differs ends the next exchange."""

    def gather(self, array: Array) -> list[Array]:
        """What every rank has, by rank."""
        return self.exchange([array] * self.size)

    def sum(self, array: Array) -> Array:
        """Sum of whole numbers over all ranks, element by element."""
        return np.sum(self.gather(array), axis=0, dtype=array.dtype)

    def max(self, array: Array) -> Array:
        """Largest over all ranks, element by element."""
        largest: Array = np.max(self.gather(array), axis=0)
        return largest

    def reduce_scatter(self, array: Array, bounds: Sequence[int]) -> Array:
        """Sum over all ranks of the part ``bounds[rank]..bounds[rank + 1]`` of the first axis."""
        parts = self.exchange([array[bounds[r] : bounds[r + 1]] for r in range(self.size)])
        total = parts[0].copy()
        for part in parts[1:]:
            total += part
        return total

    def sum_whole(self, numbers: Sequence[int]) -> list[int]:
        """Sums over all ranks of whole numbers of any size up to 2**90."""
        halves = [(number >> HALF, number & ((1 << HALF) - 1)) for number in numbers]
        total = self.sum(np.array(halves, dtype=np.int64).reshape(-1, 2)).tolist()
        return [(high << HALF) + low for high, low in total]

    def fsum(self, values: Any) -> float:
        """Sum of the floats of all ranks, exact and rounded once, like :func:`math.fsum` over all of them."""
        terms = self.gather(np.array(expansion(values)))
        return math.fsum(np.concatenate(terms).tolist())


class Alone(Collective):
    """One process that holds all rows.

    Examples
    --------
    >>> import numpy as np
    >>> ALONE.sum(np.array([3, 4])).tolist(), ALONE.fsum([0.1] * 10)
    ([3, 4], 1.0)
    """

    def exchange(self, arrays: Sequence[Array]) -> list[Array]:
        """What was sent here."""
        return list(arrays)

    def note(self, what: bytes) -> None:
        """Nobody could differ."""

    def sum(self, array: Array) -> Array:
        """The array itself."""
        return array

    def max(self, array: Array) -> Array:
        """The array itself."""
        return array

    def sum_whole(self, numbers: Sequence[int]) -> list[int]:
        """The numbers themselves."""
        return list(numbers)

    def fsum(self, values: Any) -> float:
        """Sum, exact and rounded once."""
        return math.fsum(values)


ALONE = Alone()

_SHARING: ContextVar[Collective] = ContextVar("sharing", default=ALONE)

EACH = 8
"""Results that a rank finds before it tells them to the others."""


@contextmanager
def sharing_work(everybody: Collective) -> Iterator[None]:
    """Within it, ranks that hold the same rows and run the same code share its largest pieces of work."""
    before = _SHARING.set(everybody)
    try:
        yield
    finally:
        _SHARING.reset(before)


def sharing() -> Collective:
    """The ranks that share the work of this thread: those of :func:`sharing_work`, or nobody else.

    Threads of a pool know of nobody: only the thread that all ranks run alike may exchange anything.
    """
    return _SHARING.get()


def spread(
    run: Callable[[Callable[[Any], Array], Iterable[Any]], Iterable[Array]],
    function: Callable[[Any], Array],
    items: Iterable[Any],
) -> Iterator[Array]:
    """Results of a function in the order of the items, each found by one of the ranks.

    Results are arrays of one shape; ``run`` maps in order.

    Examples
    --------
    >>> [int(found) for found in spread(map, np.square, [1, 2, 3])]
    [1, 4, 9]
    """
    everybody = sharing()
    if everybody.size == 1:
        yield from run(function, items)
        return
    waiting = iter(items)
    while some := list(islice(waiting, EACH * everybody.size)):
        own = list(run(function, some[everybody.rank :: everybody.size]))
        told = everybody.gather(np.stack(own) if own else np.empty(0))
        for place in range(len(some)):
            yield told[place % everybody.size][place // everybody.size]


def spread_fields(
    run: Callable[[Callable[[Any], Sequence[Array]], Iterable[Any]], Iterable[Sequence[Array]]],
    function: Callable[[Any], Sequence[Array]],
    items: Iterable[Any],
) -> Iterator[Sequence[Array]]:
    """As :func:`spread`, for results of several arrays, each of any shape.

    Examples
    --------
    >>> found = spread_fields(map, lambda n: (np.arange(n), np.ones(1)), [1, 2])
    >>> [[part.tolist() for part in fields] for fields in found]
    [[[0], [1.0]], [[0, 1], [1.0]]]
    """
    everybody = sharing()
    if everybody.size == 1:
        yield from run(function, items)
        return
    waiting = iter(items)
    while some := list(islice(waiting, EACH * everybody.size)):
        own = list(run(function, some[everybody.rank :: everybody.size]))
        told = _tell_fields(everybody, own)
        for place in range(len(some)):
            yield told[place % everybody.size][place // everybody.size]


def _tell_fields(everybody: Collective, own: list[Sequence[Array]]) -> list[list[list[Array]]]:
    """Results of all ranks, by rank."""
    fields = int(everybody.max(np.array([len(own[0]) if own else 0]))[0])
    told: list[list[list[Array]]] = [[] for _ in range(everybody.size)]
    for field in range(fields):
        arrays = [np.asarray(result[field]) for result in own]
        shapes = everybody.gather(np.array([array.shape for array in arrays], dtype=np.int64))
        flat = [array.ravel() for array in arrays]
        values = everybody.gather(np.concatenate(flat) if flat else np.empty(0))
        for rank, (sizes, whole) in enumerate(zip(shapes, values, strict=True)):
            parts = np.split(whole, np.cumsum([int(np.prod(size)) for size in sizes])[:-1])
            for place, size in enumerate(sizes.tolist()):
                if field == 0:
                    told[rank].append([])
                # What comes by a socket may be read-only, for which kernels would be compiled anew.
                told[rank][place].append(parts[place].reshape(size).copy())
    return told


def expansion(values: Any) -> list[float]:
    """A few floats, largest first, whose exact sum is that of the values.

    Examples
    --------
    >>> expansion([1e16, 2.0, 1e-30])
    [1.0000000000000002e+16, 1e-30]
    """
    numbers = [float(value) for value in values]
    terms: list[float] = []
    while (rest := math.fsum(numbers)) != 0.0 and math.isfinite(rest):
        terms.append(rest)
        numbers.append(-rest)
    return terms if math.isfinite(rest) else [rest]
