"""Rows on their soft way through a chain of linear models: Cronus' loss and its exact gradient."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.linear.soft_tree import share_up, squared_error

NEGATIVE = -1.0
"""Target of the class that leaves."""

SIDE = 0.01
"""Share of a mean over the stages with which the outputs of those before the last count."""


@kernel(
    "void(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], int32[::1], int32[::1], "
    "float64[::1], float64[:,:,::1], float64[:,::1])"
)
def soft_chain(F, Y, weight, theta, direction, upper, lower, cost, gradient, sums):
    """Loss, exit masses and derivatives of a block of rows.

    Parameters as for ``soft_tree.soft_pass``; ``upper`` and ``lower`` are those of a chain and not
    looked at. A row that leaves is judged as if its outputs were ``NEGATIVE``; the last stage by
    its outputs. The outputs of the other stages count ``SIDE`` / K each for the rows that get there.
    """
    n, K, m = F.shape
    sums[:] = 0.0
    p = np.empty(K)
    s = np.zeros(K)
    for i in range(n):
        p[0] = weight[i]
        for k in range(K - 1):
            s[k] = share_up(F, i, k, direction, theta[k])
            p[k + 1] = p[k] * s[k]
            sums[2, k] += p[k] * (1.0 - s[k])
        sums[2, K - 1] += p[K - 1]
        missed = 0.0
        for c in range(m):
            missed += (NEGATIVE - Y[i, c]) ** 2
        value = 0.0  # of getting to a stage
        for k in range(K - 1, -1, -1):
            own = squared_error(F, Y, i, k)
            part, steep = 1.0, 0.0
            if k < K - 1:
                part = SIDE / K
                leave = missed + cost[k]
                steep = s[k] * (1.0 - s[k]) * (value - leave)
                sums[1, k] -= p[k] * steep
                value = part * own + s[k] * value + (1.0 - s[k]) * leave
            else:
                value = own + cost[k]
            for c in range(m):
                gradient[i, k, c] = p[k] * (
                    2.0 * part * (F[i, k, c] - Y[i, c]) + steep * direction[c]
                )
        sums[0, 0] += weight[i] * value
