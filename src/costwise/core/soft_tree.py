"""Rows on their soft way through a tree of linear models: CSTC's loss and its exact gradient."""

from __future__ import annotations

import math

import numpy as np

from costwise.core.compile import kernel


@kernel(
    "void(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], int32[::1], int32[::1], "
    "float64[::1], float64[:,:,::1], float64[:,::1])"
)
def soft_pass(F, Y, weight, theta, direction, upper, lower, cost, slope, sums):
    """Loss, exit masses and derivatives of a block of rows.

    Parameters
    ----------
    F : float64 (n, K, m), outputs of the nodes
    Y : float64 (n, m)
    weight : float64 (n,), weights of the rows; they sum to 1 over all blocks
    theta : float64 (K,), thresholds
    direction : float64 (m,), the score is the output weighed with it
    upper, lower : int32 (K,), children, always after their parent; -1: rows end here
    cost : float64 (K,), price of the path of a row that ends at a node
    slope : float64 (n, K, m), overwritten with the derivatives of the loss by F
    sums : float64 (3, K), overwritten: [0, 0] the loss with the prices, [1] derivatives by theta,
        [2] the weight of the rows that end at each node
    """
    n, K, m = F.shape
    for i in range(3):
        for k in range(K):
            sums[i, k] = 0.0
    # One scratch row per node: probability of getting here, of going up, and the value below.
    p = np.empty(K)
    s = np.empty(K)
    value = np.empty(K)
    for i in range(n):
        p[0] = weight[i]
        for k in range(K):
            if upper[k] < 0 and lower[k] < 0:
                sums[2, k] += p[k]
                continue
            z = -theta[k]
            for c in range(m):
                z += F[i, k, c] * direction[c]
            decay = math.exp(-abs(z))
            s[k] = (1.0 if z >= 0 else decay) / (1.0 + decay)
            if upper[k] >= 0:
                p[upper[k]] = p[k] * s[k]
            else:
                sums[2, k] += p[k] * s[k]
            if lower[k] >= 0:
                p[lower[k]] = p[k] * (1.0 - s[k])
            else:
                sums[2, k] += p[k] * (1.0 - s[k])
        for k in range(K - 1, -1, -1):
            loss = 0.0
            for c in range(m):
                loss += (F[i, k, c] - Y[i, c]) ** 2
            steep = 0.0
            if upper[k] < 0 and lower[k] < 0:
                value[k] = loss + cost[k]
            else:
                up = value[upper[k]] if upper[k] >= 0 else cost[k]
                low = value[lower[k]] if lower[k] >= 0 else cost[k]
                value[k] = loss + s[k] * up + (1.0 - s[k]) * low
                steep = s[k] * (1.0 - s[k]) * (up - low)
                sums[1, k] -= p[k] * steep
            for c in range(m):
                slope[i, k, c] = p[k] * (2.0 * (F[i, k, c] - Y[i, c]) + steep * direction[c])
        sums[0, 0] += weight[i] * value[0]
