"""Gradients as integers: rounded to nearest on a power-of-two scale.

The scale follows from the largest gradient alone, never from the number of rows: duplicated rows
give the same rounded gradients, and an integer weight equals repetition, to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from costwise.core.compile import kernel
from costwise.core.dtypes import GRADIENT_BITS, SUM, WEIGHT_BITS

ROWS = 65536
"""Rows in one piece of work."""


@kernel("float64(float64[::1], float64, int32[::1], int64, int64, int64[::1])")
def round_part(gradients, scale, rounded, start, stop, squared):
    """Round part of the gradients; return the largest size, note the sum of the rounded squares."""
    largest = 0.0
    squares = np.int64(0)
    for i in range(start, stop):
        size = abs(gradients[i])
        largest = max(largest, size)
        value = np.int64(np.rint(gradients[i] * scale))
        rounded[i] = np.int32(value)
        squares += value * value
    squared[0] = squares
    return largest


def exponent(largest):
    """Power of two by which gradients up to ``largest`` are multiplied before rounding."""
    # The limit keeps the scale itself a number where gradients have all but vanished.
    return min(GRADIENT_BITS - math.frexp(largest)[1], 500) if largest > 0 else 0


class Rounder:
    """Rounds one vector of gradients after the other.

    The scale of the last call is tried first: it is right almost always, and the largest gradient,
    found in the same pass, tells when it was not.
    """

    def __init__(self, n_rows, threads):
        self._threads = threads
        self._guess = 0
        parts = max(1, -(-n_rows // ROWS))
        self._largest = np.empty(parts)
        self._squares = np.empty((parts, 1), dtype=SUM)

    def __call__(self, gradients, out):
        """Round into ``out`` (int32); return (exponent, exact sum of squares of the rounded gradients)."""

        def work(part):
            start, stop = part * ROWS, min((part + 1) * ROWS, len(gradients))
            self._largest[part] = round_part(
                gradients, scale, out, start, stop, self._squares[part]
            )

        while True:
            scale = math.ldexp(1.0, self._guess)
            self._threads.run(len(self._largest), work)
            right = exponent(float(self._largest.max()))
            if right == self._guess:
                # A part sums at most 2**16 squares of 2**42; whole numbers of Python do the rest.
                return right, sum(self._squares[:, 0].tolist())
            self._guess = right


def round_weights(weights, n_rows):
    """Return sample weights as integers and the power of two they were multiplied by.

    Integer weights stay exact up to 2**20 (less where more than four million rows would overflow).
    """
    bits = min(WEIGHT_BITS, 62 - GRADIENT_BITS - max(int(n_rows).bit_length(), 1))
    power = bits - math.frexp(float(weights.max()))[1]
    return np.rint(np.ldexp(weights, power)).astype(SUM), power
