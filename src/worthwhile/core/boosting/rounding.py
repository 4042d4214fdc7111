"""Gradients as integers: rounded to nearest on a power-of-two scale.

The scale follows from the largest gradient alone, never from the number of rows: duplicated rows
give the same rounded gradients, and an integer weight equals repetition, to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import GRADIENT, GRADIENT_BITS, SHIFT, SHIFT_BITS, SUM, WEIGHT_BITS

ROWS = 65536
"""Rows in one piece of work."""

CURVATURE_BITS = 30
"""Curvatures are rounded to multiples of 2**-30; from 2 on, to as many bits of the largest."""


COARSE_BITS = 21
"""Curvatures in gains are rounded to multiples of 2**-21: weighted sums of them cannot overflow."""

_FINE = CURVATURE_BITS - COARSE_BITS


@kernel(inline=True)
def coarse(curvature):
    """A rounded curvature as gains take it; never 0, so that every row counts for something."""
    return max(np.int64(1), (np.int64(curvature) + (1 << (_FINE - 1))) >> _FINE)


@kernel("int64(int32[::1])", lean=True)
def coarse_sum(curvature):
    """Sum of :func:`coarse` over all rows."""
    total = np.int64(0)
    for i in range(curvature.shape[0]):
        total += coarse(curvature[i])
    return total


def coarse_curvature(curvature):
    """Rounded curvatures as gains take them, int64."""
    rounded: np.ndarray = (curvature.astype(SUM) + (1 << (_FINE - 1))) >> _FINE
    return np.maximum(rounded, 1)


@kernel(inline=True)
def nearest(number):
    """The nearest whole number (int64) of a number below 2**51 in size."""
    return np.float64(number + SHIFT).view(np.int64) - SHIFT_BITS


@kernel(lean=True)
def round_some(gradients, scale, rounded, found):
    """Round some gradients; return the largest size, add to ``found`` the sum and the sum of squares."""
    # Sizes are compared by their bits, and squares taken of 32 bits: both can be vectorised.
    largest = np.int64(0)
    total, squares = np.int64(0), np.int64(0)
    for i in range(gradients.shape[0]):
        size = np.float64(abs(gradients[i])).view(np.int64)
        largest = size if size > largest else largest
        value = np.int32(nearest(gradients[i] * scale))
        rounded[i] = value
        total += np.int64(value)
        squares += np.int64(value) * np.int64(value)
    found[0] += total
    found[1] += squares
    return np.int64(largest).view(np.float64)


@kernel("float64(float64[::1], float64, int32[::1], int64, int64, int64[::1])", lean=True)
def round_part(gradients, scale, rounded, start, stop, found):
    """Round part of the gradients; return the largest size, note their sum and sum of squares."""
    found[:] = 0
    return round_some(gradients[start:stop], scale, rounded[start:stop], found)


def exponent(largest):
    """Power of two by which gradients up to ``largest`` are multiplied before rounding."""
    # The limit keeps the scale itself a number where gradients have all but vanished.
    return min(GRADIENT_BITS - math.frexp(largest)[1], 500) if largest > 0 else 0


@dataclass
class Rounded:
    """Gradients of one tree as integers.

    Attributes
    ----------
    values : int32 (width, n)
        Gradients times ``2**exponent``, rounded.
    exponent : int
        The scale.
    total : list of int
        Their sum, per output.
    squares : int
        Sum of their squares over all outputs.
    curvature : int32 or int64 (width, n), or None
        Second derivatives times ``2**curvature_bits``, rounded, where leaves take a Newton step.
    curvature_bits : int
        Their scale.
    """

    values: np.ndarray
    exponent: int
    total: list[int]
    squares: int
    curvature: np.ndarray | None = None
    curvature_bits: int = CURVATURE_BITS

    @property
    def small_curvature(self):
        """The curvature (n,) of a single output, where it fits 32 bits."""
        if self.curvature is None or self.curvature.dtype != GRADIENT or len(self.curvature) > 1:
            return None
        return self.curvature[0]


class Rounder:
    """Rounds one matrix of gradients (width, n) after the other, into one and the same place.

    The scale of the last call is tried first: it is right almost always, and the largest gradient,
    found in the same pass, tells when it was not.
    """

    def __init__(self, width, n_rows, threads):
        self._threads = threads
        self._guess = 0
        self._values = np.empty((width, n_rows), dtype=GRADIENT)
        parts = max(1, -(-n_rows // ROWS))
        self._largest = np.empty((width, parts))
        self._found = np.empty((width, parts, 2), dtype=SUM)

    def __call__(self, gradients, curvature=None):
        """Return the :class:`Rounded` gradients, with the curvature (width, n) where it is given."""
        width, n = gradients.shape
        parts, shared = self._largest.shape[1], self._threads.collective

        def work(task):
            k, part = divmod(task, parts)
            start, stop = part * ROWS, min((part + 1) * ROWS, n)
            self._largest[k, part] = round_part(
                gradients[k], scale, self._values[k], start, stop, self._found[k, part]
            )

        while True:
            scale = math.ldexp(1.0, self._guess)
            self._threads.run(width * parts, work)
            right = exponent(float(shared.max(self._largest.max(initial=0.0, keepdims=True)).max()))
            if right == self._guess:
                break
            self._guess = right
        # A part sums at most 2**16 squares of 2**42; whole numbers of Python do the rest.
        sums = [sum(part) for part in self._found[:, :, 0].tolist()]
        *total, squares = shared.sum_whole([*sums, sum(self._found[:, :, 1].ravel().tolist())])
        bits = CURVATURE_BITS
        if curvature is not None:
            largest = float(shared.max(curvature.max(initial=0.0, keepdims=True)).max())
            bits -= max(0, math.frexp(largest)[1] - 1)
            # Those of log-losses are at most a quarter; others may be anything.
            small = max(largest, -float(curvature.min(initial=0.0))) <= 1
            kind = GRADIENT if small else SUM
            curvature = np.rint(np.ldexp(curvature, bits)).astype(kind)
        return Rounded(self._values, right, total, squares, curvature, bits)


def round_weights(weights, n_rows, largest=None):
    """Return sample weights as integers and the power of two they were multiplied by.

    ``n_rows`` and ``largest`` (None: found here) are of all rows, of which these may be a part.

    Integer weights stay exact up to 2**20 (less where more than four million rows would overflow).
    """
    bits = min(WEIGHT_BITS, 62 - GRADIENT_BITS - max(int(n_rows).bit_length(), 1))
    largest = weights.max() if largest is None else largest
    power = bits - math.frexp(float(largest))[1]
    return np.rint(np.ldexp(weights, power)).astype(SUM), power
