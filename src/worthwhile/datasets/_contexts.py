"""One value says which of the others matter: the problem on which greedy buying fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.datasets._checks import whole

CONTEXTS, WIDTH, CLASSES, BITS = 5, 10, 8, 3
NOISE = 0.3


def make_contexts(n: int = 1000, seed: int = 0) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Costs]:
    """Five contexts, each with a block of ten columns; in any other block there is only noise.

    Column 0 is the context. In the block of the row's context the columns k, k + 1 and k + 2 of
    class k hold the three bits of k, with noise of 0.3; all other columns are noise around 0.5. No
    column says anything alone, and the context least: it says where to look. Every column costs 1.

    Parameters
    ----------
    n : int, default=1000
        Rows.
    seed : int, default=0
        Of the generator.

    Returns
    -------
    X : float64 (n, 51)
    y : int64 (n,)
        Eight classes.
    costs : Costs
        1 per column.

    Examples
    --------
    >>> X, y, costs = make_contexts(100)
    >>> X.shape, len(set(X[:, 0])), costs.total
    ((100, 51), 5, 51.0)
    """
    n = whole(n, "n", 1)
    rng = np.random.default_rng(whole(seed, "seed", 0))
    y = rng.integers(0, CLASSES, n)
    context = rng.integers(0, CONTEXTS, n)
    X = np.column_stack([context, 0.5 + NOISE * rng.normal(size=(n, CONTEXTS * WIDTH))])
    rows = np.arange(n)
    for bit in range(BITS):
        column = 1 + context * WIDTH + y + bit
        X[rows, column] += ((y >> bit) & 1) - 0.5
    return X, y.astype(np.int64), Costs(np.ones(X.shape[1]))
