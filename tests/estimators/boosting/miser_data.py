"""Small data and short fits for the tests of Greedy Miser."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from worthwhile import GreedyMiserRegressor

seeds = st.integers(0, 2**16)


def numbers(seed, n=300, d=6, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def classes(seed, n=400, d=6, k=3):
    X, y = numbers(seed, n, d)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, k + 1)[1:-1]))


def same_trees(a, b):
    left, right = a.policy_.trees.arrays(), b.policy_.trees.arrays()
    return all(np.array_equal(left[name], right[name], equal_nan=True) for name in left)


def regressor(**parameters):
    return GreedyMiserRegressor(
        **{"n_rounds": 8, "max_depth": 3, "min_samples_leaf": 5, "learning_rate": 0.3, **parameters}
    )
