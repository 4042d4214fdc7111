"""Rows on their soft way through a tree of linear models: CSTC's loss and its exact gradient."""

from __future__ import annotations

import math

import numpy as np

from worthwhile.core.compile import kernel


@kernel(inline=True)
def share_up(F, i, k, direction, threshold):
    """Probability that row i goes up at node k: a sigmoid of its score."""
    z = -threshold
    for c in range(F.shape[2]):
        z += F[i, k, c] * direction[c]
    decay = math.exp(-abs(z))
    return (1.0 if z >= 0 else decay) / (1.0 + decay)


@kernel(inline=True)
def squared_error(F, Y, i, k):
    """What the outputs of node k are off for row i, squared and added."""
    error = 0.0
    for c in range(F.shape[2]):
        error += (F[i, k, c] - Y[i, c]) ** 2
    return error


@kernel(inline=True)
def walk_down(F, i, weight, theta, direction, upper, lower, p, s, sums):
    """Weights p with which row i gets to the nodes, its shares s going up; where it ends adds to sums[2]."""
    p[0] = weight
    for k in range(F.shape[1]):
        if upper[k] < 0 and lower[k] < 0:
            sums[2, k] += p[k]
            continue
        s[k] = share_up(F, i, k, direction, theta[k])
        if upper[k] >= 0:
            p[upper[k]] = p[k] * s[k]
        else:
            sums[2, k] += p[k] * s[k]
        if lower[k] >= 0:
            p[lower[k]] = p[k] * (1.0 - s[k])
        else:
            sums[2, k] += p[k] * (1.0 - s[k])


@kernel(inline=True)
def walk_up(loss, upper, lower, cost, p, s, value, steep, sums):
    """What a row is worth at each node and below, and its derivative by the score there; by theta in sums[1]."""
    for k in range(loss.shape[0] - 1, -1, -1):
        steep[k] = 0.0
        if upper[k] < 0 and lower[k] < 0:
            value[k] = loss[k] + cost[k]
            continue
        up = value[upper[k]] if upper[k] >= 0 else cost[k]
        low = value[lower[k]] if lower[k] >= 0 else cost[k]
        value[k] = loss[k] + s[k] * up + (1.0 - s[k]) * low
        steep[k] = s[k] * (1.0 - s[k]) * (up - low)
        sums[1, k] -= p[k] * steep[k]


@kernel(
    "void(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], int32[::1], int32[::1], "
    "float64[::1], float64[:,:,::1], float64[:,::1])"
)
def soft_pass(F, Y, weight, theta, direction, upper, lower, cost, gradient, sums):
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
    gradient : float64 (n, K, m), overwritten with the derivatives of the loss by F
    sums : float64 (3, K), overwritten: [0, 0] the loss with the prices, [1] derivatives by theta,
        [2] the weight of the rows that end at each node
    """
    n, K, m = F.shape
    sums[:] = 0.0
    p, s, loss, value, steep = np.empty(K), np.empty(K), np.empty(K), np.empty(K), np.empty(K)
    for i in range(n):
        walk_down(F, i, weight[i], theta, direction, upper, lower, p, s, sums)
        for k in range(K):
            loss[k] = squared_error(F, Y, i, k)
        walk_up(loss, upper, lower, cost, p, s, value, steep, sums)
        for k in range(K):
            for c in range(m):
                gradient[i, k, c] = p[k] * (2.0 * (F[i, k, c] - Y[i, c]) + steep[k] * direction[c])
        sums[0, 0] += weight[i] * value[0]


@kernel(
    "void(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], float64[::1], int32[::1], int32[::1], "
    "int64[::1], int64[::1], int64[::1], float64[:,::1], float64[:,:,::1], float64[:,::1], float64[::1])"
)
def around_level(
    F, Y, weight, theta, direction, upper, lower, depth, nodes, exits, reach, below, leave, fixed
):
    """What the loss of a block of rows needs to know while only the nodes of one level change.

    Parameters as for :func:`soft_pass`, and

    depth : int64 (K,), level of each node
    nodes : int64 (N,), the nodes of the level
    exits : int64 (E,), the deeper nodes at which rows can end
    reach : float64 (n, N), overwritten: weight with which a row gets to each node of the level
    below : float64 (n, N, 2), overwritten: losses expected below, without prices, if it goes up, down
    leave : float64 (n, E), overwritten: probability of ending at each exit, once it is below the level
    fixed : float64 (K + 1,), overwritten: weight of rows that end above the level by node, and last
        the losses above it
    """
    n, K = F.shape[:2]
    level = depth[nodes[0]]
    fixed[:] = 0.0
    p, s, value, exit_share = np.empty(K), np.empty(K), np.empty(K), np.zeros(K)
    for i in range(n):
        p[0] = weight[i]
        for k in range(K):
            if depth[k] == level:
                # From here on p counts rows that are below the level for certain.
                if upper[k] >= 0:
                    p[upper[k]] = 1.0
                if lower[k] >= 0:
                    p[lower[k]] = 1.0
                continue
            up_ends, low_ends = upper[k] < 0, lower[k] < 0
            exit_share[k] = p[k] if up_ends and low_ends else 0.0
            s[k] = 0.5
            if not (up_ends and low_ends):
                s[k] = share_up(F, i, k, direction, theta[k])
                if up_ends:
                    exit_share[k] += p[k] * s[k]
                else:
                    p[upper[k]] = p[k] * s[k]
                if low_ends:
                    exit_share[k] += p[k] * (1.0 - s[k])
                else:
                    p[lower[k]] = p[k] * (1.0 - s[k])
            if depth[k] < level:
                fixed[k] += exit_share[k]
        for k in range(K - 1, -1, -1):
            if depth[k] == level:
                continue
            loss = squared_error(F, Y, i, k)
            if depth[k] < level:
                fixed[K] += p[k] * loss
                continue
            up = value[upper[k]] if upper[k] >= 0 else 0.0
            low = value[lower[k]] if lower[k] >= 0 else 0.0
            value[k] = loss + s[k] * up + (1.0 - s[k]) * low
        for t in range(nodes.shape[0]):
            k = nodes[t]
            reach[i, t] = p[k]
            below[i, t, 0] = value[upper[k]] if upper[k] >= 0 else 0.0
            below[i, t, 1] = value[lower[k]] if lower[k] >= 0 else 0.0
        for e in range(exits.shape[0]):
            leave[i, e] = exit_share[exits[e]]


@kernel(
    "float64(float64[:,:,::1], float64[:,::1], float64[::1], float64[::1], int32[::1], int32[::1], int64[::1], "
    "int64[::1], int64[::1], float64[:,::1], float64[:,:,::1], float64[:,::1], float64[::1], "
    "float64[:,:,::1], float64[:,::1])"
)
def level_pass(
    F,
    Y,
    theta,
    direction,
    upper,
    lower,
    nodes,
    exits,
    side,
    reach,
    below,
    leave,
    cost,
    gradient,
    sums,
):
    """:func:`soft_pass` while only one level changes: its part of the loss, and its derivatives.

    Parameters
    ----------
    F : float64 (n, N, m), outputs of the nodes of the level
    theta : float64 (N,), their thresholds
    exits : int64 (E,), the deeper nodes at which rows can end
    side : int64 (E,), twice the position in ``nodes`` of the node above each exit, plus 1 for down
    reach, below, leave : as :func:`around_level` made them
    gradient : float64 (n, N, m), overwritten with derivatives by F
    sums : float64 (2, K), overwritten: [0, :N] derivatives by theta, [1] weight that ends at each
        node at or below the level
    """
    n, N, m = F.shape
    sums[:] = 0.0
    ahead, went = np.empty(2 * N), np.empty(2 * N)
    total = 0.0
    for i in range(n):
        for t in range(N):
            ahead[2 * t], ahead[2 * t + 1] = below[i, t, 0], below[i, t, 1]
        for e in range(exits.shape[0]):
            ahead[side[e]] += leave[i, e] * cost[exits[e]]
        for t in range(N):
            k, p, steep = nodes[t], reach[i, t], 0.0
            value = squared_error(F, Y, i, t)
            if upper[k] < 0 and lower[k] < 0:
                value += cost[k]
                sums[1, k] += p
            else:
                s = share_up(F, i, t, direction, theta[t])
                up, low = ahead[2 * t], ahead[2 * t + 1]
                went[2 * t], went[2 * t + 1] = p * s, p * (1.0 - s)
                if upper[k] < 0:
                    up += cost[k]
                    sums[1, k] += went[2 * t]
                if lower[k] < 0:
                    low += cost[k]
                    sums[1, k] += went[2 * t + 1]
                value += s * up + (1.0 - s) * low
                steep = s * (1.0 - s) * (up - low)
                sums[0, t] -= p * steep
            total += p * value
            for c in range(m):
                gradient[i, t, c] = p * (2.0 * (F[i, t, c] - Y[i, c]) + steep * direction[c])
        for e in range(exits.shape[0]):
            sums[1, exits[e]] += leave[i, e] * went[side[e]]
    return total
