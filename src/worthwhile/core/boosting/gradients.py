"""Negative gradients and losses of the built-in loss functions, part by part.

Scores are ``base[k] + total[k, i]``, with the base added last as in every walk. Each kernel fills
``out`` (outputs, n), whose first row is row ``first``, where it has rows, and returns the weighted
sum of the losses of its part; ``room``, from :func:`room_for`, is what it works in. Parts are fixed,
so that sums do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.dtypes import SHIFT, SHIFT_BITS

ROWS = 16384
"""Rows in one part."""

FEW = 50_000
"""Rows below which one thread is faster than waking others."""

SOME = 512
"""Rows whose losses are held at once; a power of two."""

_SIGNATURE = (
    "float64(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], float64[:,::1], int64,"
    " int64, int64)"
)


@kernel(inline=True)
def _weight(weights, i):
    return weights[i] if weights.shape[0] > 0 else 1.0


@kernel(inline=True)
def decay_of(a):
    """Exponential of -a for a >= 0, to the last bit or two, in steps that the compiler vectorises.

    Below exp(-708) it stays there: the smallest weights do not matter, and no infinity comes up.
    """
    a = min(a, 708.0)
    shifted = a * 1.4426950408889634 + SHIFT  # the nearest whole number is in its low bits
    k = shifted - SHIFT
    r = (k * 0.69314718036912382 - a) + k * 1.9082149292705877e-10  # ln 2 in two parts
    # The series in pairs of pairs: no addition waits for more than four others.
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0))
    middle = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    high = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    last = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    p = low + r4 * (middle + r4 * (high + r4 * last))
    power = np.int64(1023) - (np.float64(shifted).view(np.int64) - SHIFT_BITS)
    return p * np.int64(power << np.int64(52)).view(np.float64)


@kernel(_SIGNATURE, lean=True)
def squared(total, base, y, weights, out, room, first, start, stop):
    """Half the squared error; the negative gradient is the residual."""
    zero = base[0]
    square = room[0]
    loss = 0.0
    for low in range(start, stop, SOME):
        high = min(low + SOME, stop)
        scores, targets = total[0, low:high], y[low:high]
        for j in range(high - low):
            residual = targets[j] - (zero + scores[j])
            square[j] = residual * residual
        if out.shape[1] > 0:
            slope = out[0, low - first : high - first]
            for j in range(high - low):
                slope[j] = targets[j] - (zero + scores[j])
        for j in range(high - low if weights.shape[0] > 0 else 0):
            square[j] *= weights[low + j]
        for j in range(high - low, SOME):
            square[j] = 0.0
        loss += _sum(square)
    return 0.5 * loss


@kernel(_SIGNATURE, lean=True)
def logistic(total, base, y, weights, out, room, first, start, stop):
    """Log-loss of two classes, y 0 or 1, scores are log-odds; the negative gradient is y - p."""
    zero = base[0]
    factor, wrong = room[0], room[1]
    loss = 0.0
    for low in range(start, stop, SOME):
        high = min(low + SOME, stop)
        scores, labels = total[0, low:high], y[low:high]
        for j in range(high - low):
            score = zero + scores[j]
            factor[j] = 1.0 + decay_of(abs(score))
            wrong[j] = max(0.0, score if labels[j] == 0.0 else -score)
        if out.shape[1] > 0:
            slope = out[0, low - first : high - first]
            for j in range(high - low):
                large = 1.0 / factor[j]
                slope[j] = labels[j] - (large if zero + scores[j] >= 0 else 1.0 - large)
        if weights.shape[0] > 0:
            for j in range(high - low):
                loss += weights[low + j] * (math.log(factor[j]) + wrong[j])
        else:
            for j in range(high - low, SOME):
                factor[j], wrong[j] = 1.0, 0.0
            # A product of so many numbers from 1 to 2 does not overflow, and needs one logarithm.
            loss += math.log(_product(factor)) + _sum(wrong)
    return loss


@kernel(lean=True)
def _product(factors):
    """Product of SOME numbers, which are overwritten: halves are multiplied, in a fixed order."""
    half = SOME // 2
    while half > 0:
        for j in range(half):
            factors[j] *= factors[half + j]
        half //= 2
    return factors[0]


@kernel(lean=True)
def _sum(values):
    """Sum of SOME numbers, which are overwritten: halves are added, in a fixed order."""
    half = SOME // 2
    while half > 0:
        for j in range(half):
            values[j] += values[half + j]
        half //= 2
    return values[0]


@kernel(_SIGNATURE, lean=True)
def multinomial(total, base, y, weights, out, room, first, start, stop):
    """Log-loss of K classes, y is the class number; the negative gradient is onehot - softmax."""
    outputs = total.shape[0]
    power = room[0]
    loss = 0.0
    for i in range(start, stop):
        largest = -np.inf
        for k in range(outputs):
            power[k] = base[k] + total[k, i]
            largest = max(largest, power[k])
        own = power[int(y[i])]
        mass = 0.0
        for k in range(outputs):
            power[k] = decay_of(largest - power[k])
            mass += power[k]
        if out.shape[1] > 0:
            for k in range(outputs):
                out[k, i - first] = -power[k] / mass
            out[int(y[i]), i - first] += 1.0
        loss += _weight(weights, i) * (math.log(mass) + largest - own)
    return loss


@kernel(inline=True)
def second_derivative(gradient):
    """Curvature of a log-loss where its negative gradient is r: |r| (1 - |r|)."""
    size = abs(gradient)
    return size * (1.0 - size)


@kernel("void(float64[:,::1], float64[:,::1], int64, int64)", lean=True)
def friedman(gradient, out, start, stop):
    """The curvature where the negative gradients are these."""
    for k in range(gradient.shape[0]):
        for i in range(start, stop):
            out[k, i] = second_derivative(gradient[k, i])


def room_for(outputs):
    """Numbers (2, some) for a loss kernel to work in."""
    return np.empty((2, max(SOME, outputs)))


def in_parts(loss, total, base, y, weights, out, threads):
    """Run a loss kernel over all rows; return the sum of the losses of the parts, those of all ranks."""
    n_rows = total.shape[1]
    found = np.zeros(max(1, -(-n_rows // ROWS)))

    def work(part):
        stop = min((part + 1) * ROWS, n_rows)
        room = room_for(len(total))
        found[part] = loss(total, base, y, weights, out, room, 0, part * ROWS, stop)

    if n_rows < FEW:
        for part in range(len(found)):
            work(part)
    else:
        threads.run(len(found), work)
    return threads.collective.fsum(found.tolist())
