"""From raw scores to probabilities: the only exp and log that predictions use.

A batch and a single row must agree to the last bit, so every function here works on contiguous
float64 (strided input may take another code path inside numpy) and adds in a fixed order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LARGEST_LOG = 709.0
"""Its exponential is still a number."""

SMALLEST_SHARE = 1e-15
"""Probability whose logarithm stands for that of 0."""


def sigmoid(raw: npt.ArrayLike) -> Floats:
    """Logistic function, element by element, without overflow.

    Examples
    --------
    >>> sigmoid([0.0, -800.0]).tolist()
    [0.5, 0.0]
    """
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    decay = np.exp(-np.abs(raw))
    share: Floats = np.where(raw >= 0, 1.0, decay) / (1.0 + decay)
    return share


def exponential(raw: npt.ArrayLike) -> Floats:
    """Exponential function, element by element; what would overflow is the largest number.

    Examples
    --------
    >>> exponential([0.0, -800.0]).tolist()
    [1.0, 0.0]
    """
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    power: Floats = np.exp(np.minimum(raw, LARGEST_LOG))
    return power


def softmax(raw: npt.ArrayLike) -> Floats:
    """Row-wise softmax of (n, k) scores.

    Examples
    --------
    >>> softmax([[1.0, 1.0]]).tolist()
    [[0.5, 0.5]]
    """
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    power: Floats = np.exp(np.ascontiguousarray(raw - raw.max(axis=1, keepdims=True)))
    return power / row_sums(power)[:, None]


def log_softmax(raw: npt.ArrayLike) -> Floats:
    """Row-wise logarithm of the softmax of (n, k) scores."""
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    shifted = np.ascontiguousarray(raw - raw.max(axis=1, keepdims=True))
    logs: Floats = shifted - np.log(row_sums(np.exp(shifted)))[:, None]
    return logs


def log_shares(shares: npt.ArrayLike) -> Floats:
    """Logarithms of probabilities, element by element; 0 counts as a very small one.

    Examples
    --------
    >>> log_shares([1.0, 0.0]).round(1).tolist()
    [0.0, -34.5]
    """
    shares = np.ascontiguousarray(shares, dtype=np.float64)
    logs: Floats = np.log(np.maximum(shares, SMALLEST_SHARE))
    return logs


def log_sigmoid(raw: npt.ArrayLike) -> Floats:
    """Logarithm of the logistic function, without overflow."""
    raw = np.ascontiguousarray(raw, dtype=np.float64)
    logs: Floats = np.minimum(raw, 0.0) - np.log1p(np.exp(-np.abs(raw)))
    return logs


def shares_of(votes: Floats) -> Floats:
    """Sums (n, k) of a row as probabilities, where trees that correct one another lead below 0.

    Rows without such are left as they are.

    Examples
    --------
    >>> shares_of(np.array([[0.75, 0.5, -0.25], [0.5, 0.5, 0.0]])).tolist()
    [[0.6, 0.4, 0.0], [0.5, 0.5, 0.0]]
    """
    below = np.flatnonzero((votes < 0).any(axis=1))
    if not len(below):
        return votes
    found, kept = votes.copy(), np.maximum(votes[below], 0.0)
    found[below] = kept / row_sums(kept)[:, None]
    return found


def row_sums(matrix: Floats) -> Floats:
    """Sum of each row, column after column, whatever the number of rows."""
    total = np.zeros(len(matrix))
    for column in range(matrix.shape[1]):
        total += matrix[:, column]
    return total
