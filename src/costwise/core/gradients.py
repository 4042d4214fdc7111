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

_SIGNATURE = "float64(float64[:,::1], float64[::1], float64[::1], float64[::1], float64[:,::1], int64, int64)"


@kernel(inline=True)
def _weight(weights, i):
    return weights[i] if weights.shape[0] > 0 else 1.0


@kernel(inline=True)
def _log1p(t):
    """Logarithm of 1 + t for t in [0, 1], by the series of the inverse hyperbolic tangent."""
    s = t / (2.0 + t)
    z = s * s
    tail = 0.0
    for k in range(16, 0, -1):
        tail = z * (tail + 1.0 / (2 * k + 1))
    return 2.0 * s * (1.0 + tail)


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
    loss = 0.0
    for i in range(start, stop):
        score = base[0] + total[0, i]
        decay = math.exp(-abs(score))
        p = (1.0 if score >= 0 else decay) / (1.0 + decay)
        if out.shape[1] > 0:
            out[0, i] = y[i] - p
        wrong = score < 0 if y[i] > 0.5 else score > 0
        loss += _weight(weights, i) * (_log1p(decay) + (abs(score) if wrong else 0.0))
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
            power[k] = math.exp(power[k] - largest)
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
