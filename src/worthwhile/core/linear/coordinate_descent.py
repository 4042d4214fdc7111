"""Coordinate descent for least squares with a weighted l1 (or row-wise l2) penalty."""

from __future__ import annotations

import math

from worthwhile.core.compile import kernel


@kernel(
    "int64(float64[:,::1], float64[:,::1], float64[::1], float64[:,::1], float64[:,::1], float64, int64)"
)
def descend(gram, cross, penalty, B, residual, tol, max_rounds):
    """Minimise ``tr(B'AB) - 2 tr(B'R) + sum_a penalty_a |B_a|`` in place; the rounds it took.

    Parameters
    ----------
    gram : float64 (d, d), A; a column with 0 on the diagonal stays out
    cross : float64 (d, m), R
    penalty : float64 (d,), on the length of each row of B; 0 = none
    B : float64 (d, m), start and result
    residual : float64 (d, m), R - A B, kept up to date
    tol : float, stop when a round lowers the objective by less than this
    """
    d, m = cross.shape
    for rounds in range(max_rounds):
        gained = 0.0
        for a in range(d):
            square = gram[a, a]
            if square <= 0.0:
                continue
            length = 0.0
            for c in range(m):
                length += (residual[a, c] + square * B[a, c]) ** 2
            length = math.sqrt(length)
            shrink = 0.0
            if length > penalty[a] / 2.0:
                shrink = (1.0 - penalty[a] / (2.0 * length)) / square
            for c in range(m):
                change = shrink * (residual[a, c] + square * B[a, c]) - B[a, c]
                if change != 0.0:
                    gained += square * change * change
                    B[a, c] += change
                    for b in range(d):
                        residual[b, c] -= gram[a, b] * change
        if gained <= tol:
            return rounds + 1
    return max_rounds
