"""Outputs of a linear model for rows of a matrix, by the arithmetic of prediction.

The policy adds column by column over many rows at once, which is right for a few rows and few
columns. While a tree grows, all rows pass a node that may read hundreds of columns, and gathering
these columns first takes longer than the sums themselves; here rows are read where they are.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel


@kernel()
def _term(value, mean, coefficient):
    if value != value:
        value = mean
    return value * coefficient


@kernel(
    "void(float32[:,::1], int64[::1], int64[::1], float64[::1], float64[::1], float64[:,::1], float64[:,::1])",
    "void(float64[:,::1], int64[::1], int64[::1], float64[::1], float64[::1], float64[:,::1], float64[:,::1])",
)
def linear_outputs(X, rows, features, mean, intercept, coefficient, out):
    """Intercept plus values times coefficients, added in the order of the features.

    Parameters
    ----------
    X : float32 or float64 (any, d)
    rows : int64 (n,), which rows
    features : int64 (j,), which columns
    mean : float64 (j,), what stands for NaN
    intercept : float64 (m,)
    coefficient : float64 (j, m)
    out : float64 (n, m), overwritten
    """
    n, j = rows.shape[0], features.shape[0]
    for c in range(intercept.shape[0]):
        i = 0
        # Each sum waits for its last addition; four rows side by side fill the wait.
        while i + 4 <= n:
            x0, x1, x2, x3 = X[rows[i]], X[rows[i + 1]], X[rows[i + 2]], X[rows[i + 3]]
            s0 = s1 = s2 = s3 = intercept[c]
            for k in range(j):
                a, fill, weight = features[k], mean[k], coefficient[k, c]
                s0 += _term(np.float64(x0[a]), fill, weight)
                s1 += _term(np.float64(x1[a]), fill, weight)
                s2 += _term(np.float64(x2[a]), fill, weight)
                s3 += _term(np.float64(x3[a]), fill, weight)
            out[i, c], out[i + 1, c], out[i + 2, c], out[i + 3, c] = s0, s1, s2, s3
            i += 4
        while i < n:
            row, total = rows[i], intercept[c]
            for k in range(j):
                total += _term(np.float64(X[row, features[k]]), mean[k], coefficient[k, c])
            out[i, c] = total
            i += 1
