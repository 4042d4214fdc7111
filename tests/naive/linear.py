"""Obviously correct twins of moments, greedy selection, CSTC's objective and the L1 problems."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def moments(X, Y, shift, weight):
    """Second moments of [x - shift, 1, y], row by row; NaN stands for the shift."""
    total = 0.0
    for x, y, w in zip(X, Y, weight, strict=True):
        z = np.concatenate([np.where(np.isnan(x), 0.0, x - shift), [1.0], y])
        total = total + w * np.outer(z, z)
    return total


def fit_of(X, Y, weight, features):
    """Weighted R^2 (eq. 8) of least squares with intercept on the named features, by lstsq."""
    root = np.sqrt(weight)[:, None]
    mean_x = (weight @ X) / weight.sum()
    mean_y = (weight @ Y) / weight.sum()
    A, b = root * (X - mean_x)[:, list(features)], root * (Y - mean_y)
    total = (b**2).sum()
    if not len(features) or total == 0:
        return 0.0
    beta = np.linalg.lstsq(A, b, rcond=1e-9)[0]
    return 1.0 - ((b - A @ beta) ** 2).sum() / total


def greedy(X, Y, weight, price, budget):
    """Eq. 7 by refitting every candidate set; stops at the first best feature that does not fit."""
    chosen, spent = [], 0
    while True:
        here = fit_of(X, Y, weight, chosen)
        ratio = [
            (fit_of(X, Y, weight, [*chosen, a]) - here) / price[a] if a not in chosen else -1.0
            for a in range(X.shape[1])
        ]
        a = int(np.argmax(ratio))
        if ratio[a] <= 1e-11 or spent + price[a] > budget:
            return chosen
        chosen.append(a)
        spent += price[a]


def best_fit(X, Y, weight, price, budget):
    """Largest weighted R^2 of any set within the budget: brute force."""
    d = X.shape[1]
    best = 0.0
    for size in range(1, d + 1):
        for features in combinations(range(d), size):
            if sum(price[a] for a in features) <= budget:
                best = max(best, fit_of(X, Y, weight, features))
    return best


def squared(y, f):
    """Squared error of one row."""
    return ((y - f) ** 2).sum()


def bits(y, f):
    """Log loss of one row in bits: of +-1, or of one 0/1 target per class."""
    if len(f) == 1:
        return np.log2(1 + np.exp(-y[0] * f[0]))
    return -np.log2(np.exp(f[np.argmax(y)]) / np.exp(f).sum())


def algorithm_1(X, y, price, budget, depth):
    """ASTC as the paper writes it: (features, coefficients) of every node in level order, None without rows.

    Columns and labels have mean 0 over all rows, there are no intercepts, a node buys while it has spent no
    more than its budget, and line 11 is read as a test of the prediction against its median.
    """
    X, y = X - X.mean(axis=0), y - y.mean()
    found: dict[int, tuple] = {}
    waiting = [(0, np.arange(len(X)), [])]
    while waiting:
        k, rows, free = waiting.pop(0)
        chosen, spent = list(free), 0

        def lost(features, rows=rows):
            A = X[np.ix_(rows, features)]
            beta = np.linalg.lstsq(A, y[rows], rcond=None)[0]
            return ((y[rows] - A @ beta) ** 2).sum(), beta

        while spent <= budget and len(chosen) < X.shape[1]:
            here = lost(chosen)[0]
            ratio = {
                a: (here - lost([*chosen, a])[0]) / price[a]
                for a in range(X.shape[1])
                if a not in chosen
            }
            best = max(ratio, key=ratio.get)
            chosen.append(best)
            spent += price[best]
        beta = lost(chosen)[1]
        found[k] = (chosen, beta)
        if 2 * k + 2 < 2**depth - 1:
            score = X[np.ix_(rows, chosen)] @ beta
            cut = np.sort(score)[(len(rows) - 1) // 2]
            waiting.append((2 * k + 1, rows[score > cut], chosen))
            waiting.append((2 * k + 2, rows[score <= cut], chosen))
    return found


def soft_objective(
    X, Y, weight, B, theta, direction, upper, lower, price, member, lam, rho, epsilon, lost=squared
):
    """CSTC's relaxed objective, row by row and path by path (eqs. 2-3 with the mixed norm)."""

    def norm(square):
        return np.sqrt(square + epsilon**2) - epsilon

    def path_price(path):
        total = 0.0
        for t in range(len(price)):
            square = sum((B[a, k] ** 2).sum() for k in path for a in np.flatnonzero(member[:, t]))
            total += price[t] * norm(square)
        return lam * total

    def below(x, y, k, path):
        path = [*path, k]
        f = x @ B[:-1, k] + B[-1, k]
        loss = lost(y, f)
        if upper[k] < 0 and lower[k] < 0:
            return loss + path_price(path)
        s = 1 / (1 + np.exp(-(f @ direction - theta[k])))
        up = below(x, y, upper[k], path) if upper[k] >= 0 else path_price(path)
        low = below(x, y, lower[k], path) if lower[k] >= 0 else path_price(path)
        return loss + s * up + (1 - s) * low

    total = sum(w * below(x, y, 0, []) for x, y, w in zip(X, Y, weight, strict=True))
    d, K = B.shape[0] - 1, B.shape[1]
    return total + rho * sum(norm((B[a, k] ** 2).sum()) for a in range(d) for k in range(K))


def l1_slack(gram, cross, B, penalty):
    """Largest violation of the optimality conditions of B'AB - 2B'R + penalty |B| (m = 1)."""
    slope = 2 * (gram @ B - cross)[:, 0]
    worst = 0.0
    for a in range(len(penalty)):
        if B[a, 0] != 0:
            worst = max(worst, abs(slope[a] + penalty[a] * np.sign(B[a, 0])))
        else:
            worst = max(worst, abs(slope[a]) - penalty[a])
    return worst


def walk(tree, x):
    """Leaf, bought features and outputs of one complete row in a tree of linear models."""
    node, bought, visited = 0, set(), 0
    while True:
        own = tree.features[tree.start[node] : tree.start[node + 1]]
        bought |= set(own.tolist())
        visited += 1
        f = tree.intercept[node].copy()
        for i, a in enumerate(own):
            f += (tree.mean[a] if np.isnan(x[a]) else x[a]) * tree.coefficient[tree.start[node] + i]
        child = (tree.upper if f @ tree.direction[node] > tree.threshold[node] else tree.lower)[
            node
        ]
        if child < 0:
            return node, bought, visited, f
        node = child
