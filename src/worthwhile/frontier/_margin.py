"""How far the mean bill of new rows may lie above the mean that was seen."""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_BLOCKS = 256
DRAWS = 4000


def make_blocks(clusters: Any, n: int) -> Ints:
    """Deal rows out to at most 256 blocks; rows of a cluster (a query, a group) stay together.

    Bills are kept as sums over blocks: enough for standard errors of means and of the largest of
    many means, whatever the number of rows. The deal is fixed, so that a search can be resumed.
    """
    codes = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    count = int(codes.max()) + 1
    dealt = np.random.default_rng(0).permutation(count) % min(MOST_BLOCKS, count)
    return np.asarray(dealt[codes], dtype=np.int64)


def influences(sums: Floats, counts: Floats) -> Floats:
    """What each block adds to the error of each mean: (points, blocks).

    The mean of a point is the sum of its bills over the number of rows; a block pulls it by its
    surplus over that mean. Blocks without rows pull nothing.
    """
    mean = sums.sum(axis=1, keepdims=True) / counts.sum()
    used = int((counts > 0).sum())
    correction = np.sqrt(used / (used - 1)) if used > 1 else 1.0
    surplus: Floats = (sums - mean * counts) / counts.sum() * correction
    return surplus


def standard_errors(pulls: Floats) -> Floats:
    """Standard error of each mean from the influences of the blocks."""
    errors: Floats = np.sqrt((pulls**2).sum(axis=1))
    return errors


def critical_value(pulls: Floats, confidence: float) -> float:
    """How many standard errors all means together stay within, with this confidence.

    A Gaussian multiplier bootstrap of the largest standardised error: points of one sweep are
    billed on the same rows and err together, so choosing among hundreds of them costs far less
    than a correction that takes them for independent. Never below the value for a single mean.
    """
    single = NormalDist().inv_cdf(confidence)
    errors = standard_errors(pulls)
    pulls = pulls[errors > 0] / errors[errors > 0, None]
    if len(pulls) == 0:
        return single
    draws = _draws(pulls.shape[1])
    largest = np.full(DRAWS, -np.inf)
    for pull in pulls:  # one point at a time: memory stays small, and the order of sums fixed
        np.maximum(largest, np.add.reduce(draws * pull, axis=1), out=largest)
    return max(single, float(np.quantile(largest, confidence)))


@lru_cache(maxsize=2)
def _draws(blocks: int) -> Floats:
    """The same draws each time: bounds are reproducible."""
    return np.random.default_rng(0).standard_normal((DRAWS, blocks))


def margins(
    errors: Floats, critical: float, confidence: float, n_seen: int, n_new: float
) -> Floats:
    """Width between a mean bill and the bound that the mean over ``n_new`` new rows keeps.

    Two errors add: of the mean that was seen, among many of which one was chosen, and of the new
    mean, which is as noisy as any mean over so many rows.
    """
    seen = (critical * errors) ** 2
    new = (NormalDist().inv_cdf(confidence) * errors) ** 2 * (n_seen / n_new)
    width: Floats = np.sqrt(seen + new)
    return width
