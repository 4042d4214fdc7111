"""What a split is worth. Prices play no part here: gain and price meet only in ``splitting``.

A criterion is a small integer code, tested inside one compiled scorer: one compilation serves all.
"""

from __future__ import annotations

import numpy as np

from costwise.core.compile import kernel

SQUARED = 0
"""Decrease of the sum of squares, times two; statistics are (weight, gradient sums...)."""


@kernel(inline=True)
def squared_gain(left, left_weight, total, weight):
    """Return ``S_L^2/m_L + S_R^2/m_R - S^2/m`` for one output, as one quotient.

    The difference of products is exact below 65,536 rows, and swapping sides changes nothing.
    """
    difference = left * weight - total * left_weight
    return difference * difference / (weight * (left_weight * (weight - left_weight)))


@kernel(lean=True)
def wide_gain(criterion, left, total):
    """Gain of a split from the statistics of its left side and of the node, float64 (S,) each."""
    gain = 0.0
    if criterion == SQUARED:
        for k in range(1, left.shape[0]):
            gain += squared_gain(left[k], left[0], total[k], total[0])
        return gain
    return -np.inf
