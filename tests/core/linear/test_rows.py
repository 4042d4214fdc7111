from __future__ import annotations

import numpy as np
import pytest

from worthwhile.core.linear.rows import linear_outputs
from worthwhile.policy.linear_tree import weighted_sum


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "j", "m"), [(0, 3, 1), (1, 0, 2), (3, 4, 1), (4, 1, 1), (11, 5, 3), (64, 9, 1)]
)
def test_outputs_are_those_of_prediction_to_the_last_bit(dtype, n, j, m):
    rng = np.random.default_rng(10 * n + j + m)
    X = rng.normal(size=(n + 5, 12)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = np.nan
    rows = np.sort(rng.choice(n + 5, n, replace=False))
    features = rng.choice(12, j, replace=False)
    mean, intercept, coefficient = (rng.normal(size=s) for s in ((j,), (m,), (j, m)))
    out = np.full((n, m), np.nan)
    linear_outputs(X, rows, features, mean, intercept, coefficient, out)
    expected = weighted_sum(X[rows][:, features], mean, intercept, coefficient)
    np.testing.assert_array_equal(out, expected)
