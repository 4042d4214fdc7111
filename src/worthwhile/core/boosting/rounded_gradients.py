"""From scores to rounded gradients in one pass: a few rows at a time, while they are in cache.

What the last tree says is added to the scores in the same pass; the gradients themselves are never
written to memory.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.gradients import (
    FEW,
    ROWS,
    logistic,
    multinomial,
    room_for,
    second_derivative,
    squared,
)
from worthwhile.core.boosting.leaves import LEAF, Step, add_values
from worthwhile.core.boosting.rounding import CURVATURE_BITS, Rounded, exponent, nearest, round_some
from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import GRADIENT, SUM

HELD = 2048
"""Rows whose gradients are held at once."""

_CURVATURE = float(2**CURVATURE_BITS)

_NO_STEP = Step(np.empty(0, dtype=LEAF), np.empty((0, 0)))

_SIGNATURE = (
    "void(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[::1], int32[:,::1],"
    " int32[:,::1], float64[::1], float64[:,::1], int64[:,:,::1], uint16[::1], float64[:,::1],"
    " float64[:,::1], float64[:,::1], int64, int64)"
)


@kernel(lean=True)
def _round_held(held, start, stop, scale, rounded, curvature, largest, found):
    """Round the gradients ``held`` of rows ``start..stop``, and their curvature where there is room."""
    for k in range(held.shape[0]):
        own = held[k, : stop - start]
        size = round_some(own, scale[k], rounded[k, start:stop], found[k])
        largest[k] = max(largest[k], size)
        if curvature.shape[0] > 0:
            second = curvature[k, start:stop]
            for j in range(stop - start):
                second[j] = np.int32(nearest(second_derivative(own[j]) * _CURVATURE))


@kernel(inline=True)
def _advance(leaf, step, total, start, stop):
    """Add to the scores what the leaves of rows say, where there are any."""
    if leaf.shape[0] > 0:
        add_values(leaf, step, total, start, stop)


@kernel(inline=True)
def _begin(part, n_rows, losses, largest, found):
    """Empty the sums of a part; return its first and last row."""
    losses[part] = 0.0
    for k in range(largest.shape[1]):
        largest[part, k] = 0.0
        found[part, k, 0] = found[part, k, 1] = 0
    return part * ROWS, min((part + 1) * ROWS, n_rows)


# One kernel per loss, so that a fit compiles only the one it needs. Each adds the step (outputs,
# nodes) of their leaves to the scores of parts low..high and rounds the gradients, and notes per
# part the loss, the largest gradient of every output (parts, outputs) and the sum and sum of squares
# of the rounded ones (parts, outputs, 2). ``held`` (outputs, HELD) and ``room`` are to work in.


@kernel(_SIGNATURE, lean=True)
def round_squared(
    total, base, y, weights, scale, rounded, curvature, losses, largest, found, leaf, step, held,
    room, low, high,
):  # fmt: skip
    """Rounded gradients of :func:`worthwhile.core.boosting.gradients.squared`."""
    for part in range(low, high):
        first, last = _begin(part, total.shape[1], losses, largest, found)
        for start in range(first, last, HELD):
            stop = min(start + HELD, last)
            _advance(leaf, step, total, start, stop)
            losses[part] += squared(total, base, y, weights, held, room, start, start, stop)
            _round_held(held, start, stop, scale, rounded, curvature, largest[part], found[part])


@kernel(_SIGNATURE, lean=True)
def round_logistic(
    total, base, y, weights, scale, rounded, curvature, losses, largest, found, leaf, step, held,
    room, low, high,
):  # fmt: skip
    """Rounded gradients of :func:`worthwhile.core.boosting.gradients.logistic`."""
    for part in range(low, high):
        first, last = _begin(part, total.shape[1], losses, largest, found)
        for start in range(first, last, HELD):
            stop = min(start + HELD, last)
            _advance(leaf, step, total, start, stop)
            losses[part] += logistic(total, base, y, weights, held, room, start, start, stop)
            _round_held(held, start, stop, scale, rounded, curvature, largest[part], found[part])


@kernel(_SIGNATURE, lean=True)
def round_multinomial(
    total, base, y, weights, scale, rounded, curvature, losses, largest, found, leaf, step, held,
    room, low, high,
):  # fmt: skip
    """Rounded gradients of :func:`worthwhile.core.boosting.gradients.multinomial`."""
    for part in range(low, high):
        first, last = _begin(part, total.shape[1], losses, largest, found)
        for start in range(first, last, HELD):
            stop = min(start + HELD, last)
            _advance(leaf, step, total, start, stop)
            losses[part] += multinomial(total, base, y, weights, held, room, start, start, stop)
            _round_held(held, start, stop, scale, rounded, curvature, largest[part], found[part])


class RoundedGradients:
    """Rounded negative gradients of a built-in loss, round after round, into one and the same place.

    Parameters
    ----------
    loss : kernel
        One of those of this module.
    y, weights : float64 (n,)
        Targets, and sample weights (empty for unit weights).
    n_outputs : int
        Scores per row.
    together : bool
        One tree for all outputs, so that they share a scale.
    curved : bool
        Round the curvature too.
    threads : Threads
        Who does the work.
    """

    def __init__(self, loss, y, weights, n_outputs, *, together, curved, threads):
        self._loss, self._y, self._weights, self._threads = loss, y, weights, threads
        self._together = together
        shape = (n_outputs, len(y))
        self._values = np.empty(shape, dtype=GRADIENT)
        self._curvature = np.empty(shape if curved else (0, 0), dtype=GRADIENT)
        self._guess = [0] * n_outputs
        parts = max(1, -(-len(y) // ROWS))
        self._losses = np.empty(parts)
        self._largest = np.empty((parts, n_outputs))
        self._found = np.empty((parts, n_outputs, 2), dtype=SUM)

    def __call__(self, total, base, step=None):
        """Return the sum of the losses at ``base + total``, and one :class:`Rounded` per tree to grow.

        A ``step`` is added to ``total`` first.
        """
        step = step or _NO_STEP
        parts = len(self._losses)
        tasks = 1 if total.shape[1] < FEW else min(parts, 2 * self._threads.count)

        def work(task):
            held, room = np.empty((len(total), HELD)), room_for(len(total))
            self._loss(
                total, base, self._y, self._weights, scale, self._values, self._curvature,
                self._losses, self._largest, self._found, step.leaf, step.values,
                held, room, task * parts // tasks, (task + 1) * parts // tasks,
            )  # fmt: skip

        while True:
            scale = np.ldexp(1.0, self._guess)
            self._threads.run(tasks, work)
            # The scale of the last round is right almost always; the largest gradient tells.
            largest = self._threads.collective.max(self._largest.max(axis=0)).tolist()
            if self._together:
                largest = [max(largest)] * len(largest)
            right = [exponent(size) for size in largest]
            if right == self._guess:
                return self._threads.collective.fsum(self._losses.tolist()), self._rounded()
            self._guess, step = right, _NO_STEP

    def _rounded(self):
        # Whole numbers of Python do not overflow.
        found = self._found.transpose(1, 2, 0).tolist()
        own = [sum(numbers) for pair in found for numbers in pair]
        whole = self._threads.collective.sum_whole(own)
        sums = list(zip(whole[::2], whole[1::2], strict=True))
        outputs = range(len(sums))
        groups = [slice(None)] if self._together else [slice(k, k + 1) for k in outputs]
        return [
            Rounded(
                self._values[group], self._guess[group][0], [total for total, _ in sums[group]],
                sum(squares for _, squares in sums[group]),
                self._curvature[group] if len(self._curvature) else None,
            )
            for group in groups
        ]  # fmt: skip
