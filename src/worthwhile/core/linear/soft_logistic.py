"""Rows on their soft way through a tree of linear classifiers: CSTC with the log loss, and its exact gradient."""

from __future__ import annotations

import math

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.linear.soft_tree import walk_down, walk_up

LOG_2 = math.log(2.0)
"""Losses are in bits: two classes that nothing is known of lose 1, as they do by the squared loss."""


@kernel()
def log_loss(f, y, slope):
    """Log loss of outputs f (m,), and its derivatives: of y = +-1 for one, of 0/1 targets for several."""
    if len(f) == 1:
        margin = y[0] * f[0]
        decay = math.exp(-abs(margin))
        wrong = (decay if margin >= 0 else 1.0) / (1.0 + decay)
        slope[0] = -y[0] * wrong / LOG_2
        return (max(-margin, 0.0) + math.log1p(decay)) / LOG_2
    most, total, right = f.max(), 0.0, 0.0
    for c in range(len(f)):
        slope[c] = math.exp(f[c] - most)
        total += slope[c]
        right += y[c] * f[c]
    for c in range(len(f)):
        slope[c] = (slope[c] / total - y[c]) / LOG_2
    return (most + math.log(total) - right) / LOG_2


@kernel(
    "void(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], int32[::1], int32[::1], "
    "float64[::1], float64[:,:,::1], float64[:,::1])"
)
def soft_logistic(F, Y, weight, theta, direction, upper, lower, cost, gradient, sums):
    """Loss, exit masses and derivatives of a block of rows; parameters as for ``soft_tree.soft_pass``."""
    n, K, m = F.shape
    sums[:] = 0.0
    p, s, loss, value, steep = np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    slope = np.empty((K, m))
    for i in range(n):
        walk_down(F, i, weight[i], theta, direction, upper, lower, p, s, sums)
        for k in range(K):
            loss[k] = log_loss(F[i, k], Y[i], slope[k])
        walk_up(loss, upper, lower, cost, p, s, value, steep, sums)
        for k in range(K):
            for c in range(m):
                gradient[i, k, c] = p[k] * (slope[k, c] + steep[k] * direction[c])
        sums[0, 0] += weight[i] * value[0]
