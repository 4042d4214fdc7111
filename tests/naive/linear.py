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
