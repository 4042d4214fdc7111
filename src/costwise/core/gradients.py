"""Negative gradients and losses of the built-in loss functions, part by part.

Scores are ``base[k] + total[k, i]``, with the base added last as in every walk. Each kernel fills
``out`` (outputs, n) where it has rows and returns the weighted sum of the losses of its part. Parts
are fixed, so that sums do not depend on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from costwise.core.compile import kernel

ROWS = 16384
"""Rows in one part."""

LOGS = 512
"""Rows whose logarithms are taken at once."""

_SIGNATURE = "float64(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], int64, int64)"


@kernel(inline=True)
def _weight(weights, i):
    return weights[i] if weights.shape[0] > 0 else 1.0


@kernel(inline=True)
def decay_of(a):
    """Exponential of -a for a >= 0, to the last bit or two, in steps that the compiler vectorises.

    Below exp(-708) it stays there: the smallest weights do not matter, and no infinity comes up.
    """
    a = min(a, 708.0)
    k = np.floor(a * 1.4426950408889634 + 0.5)
    r = (k * 0.69314718036912382 - a) + k * 1.9082149292705877e-10  # ln 2 in two parts
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    return p * np.int64((np.int64(1023) - np.int64(k)) << np.int64(52)).view(np.float64)


@kernel(_SIGNATURE)
def squared(total, base, y, weights, out, start, stop):
    """Half the squared error; the negative gradient is the residual."""
    loss = 0.0
    for i in range(start, stop):
        residual = y[i] - (base[0] + total[0, i])
        if out.shape[1] > 0:
            out[0, i] = residual
        loss += _weight(weights, i) * (residual * residual)
    return 0.5 * loss


@kernel(_SIGNATURE)
def logistic(total, base, y, weights, out, start, stop):
    """Log-loss of two classes, y 0 or 1, scores are log-odds; the negative gradient is y - p."""
    scores, first = total[0], base[0]
    filled = out.shape[1] > 0
    slope = out[0]
    factor = np.empty(LOGS)
    loss = 0.0
    for low in range(start, stop, LOGS):
        count = min(LOGS, stop - low)
        for j in range(count):
            factor[j] = 1.0 + decay_of(abs(first + scores[low + j]))
        if filled:
            for j in range(count):
                large = 1.0 / factor[j]
                p = large if first + scores[low + j] >= 0 else 1.0 - large
                slope[low + j] = y[low + j] - p
        # The logarithm of a product of up to LOGS factors, each at most 2, stands for their sum.
        product = 1.0
        for j in range(count):
            i = low + j
            wrong = max(0.0, (1.0 - 2.0 * y[i]) * (first + scores[i]))
            if weights.shape[0] > 0:
                loss += weights[i] * (math.log(factor[j]) + wrong)
            else:
                product *= factor[j]
                loss += wrong
        loss += math.log(product)
    return loss


@kernel(_SIGNATURE)
def multinomial(total, base, y, weights, out, start, stop):
    """Log-loss of K classes, y is the class number; the negative gradient is onehot - softmax."""
    outputs = total.shape[0]
    power = np.empty(outputs)
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
                out[k, i] = -power[k] / mass
            out[int(y[i]), i] += 1.0
        loss += _weight(weights, i) * (math.log(mass) + largest - own)
    return loss


@kernel("void(float64[:,::1], float64[:,::1], int64, int64)")
def friedman(gradient, out, start, stop):
    """Curvature of a log-loss where its negative gradient is r: |r| (1 - |r|)."""
    for k in range(gradient.shape[0]):
        for i in range(start, stop):
            size = abs(gradient[k, i])
            out[k, i] = size * (1.0 - size)


def in_parts(loss, total, base, y, weights, out, threads):
    """Run a loss kernel over all rows; return the sum of the losses, parts added in order."""
    n_rows = total.shape[1]
    found = np.zeros(max(1, -(-n_rows // ROWS)))

    def work(part):
        stop = min((part + 1) * ROWS, n_rows)
        found[part] = loss(total, base, y, weights, out, part * ROWS, stop)

    threads.run(len(found), work)
    return math.fsum(found)
