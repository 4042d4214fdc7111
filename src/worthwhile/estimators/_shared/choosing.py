"""Which point of a trade-off to take where nobody said: the rule that all methods share."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def one_standard_error(
    bills: npt.ArrayLike, scores: npt.ArrayLike, weight: Floats | None = None
) -> int:
    """Place of the cheapest point whose score is within one standard error of the best.

    The error is that of the best point's mean over the rows. At the same bill the better score
    wins, then the earlier point.

    Parameters
    ----------
    bills : array (points,)
        Mean bill of each point on held-out rows.
    scores : array (points, n)
        Score of each held-out row at each point, larger is better: whether it is right, or minus its
        loss.
    weight : float64 (n,), optional
        What each row counts.

    Examples
    --------
    >>> right = [[1, 0, 0, 0, 1, 0], [1, 1, 1, 1, 0, 1], [1, 1, 1, 1, 1, 0]]
    >>> one_standard_error([0.0, 2.0, 9.0], right)
    1
    """
    bills, scores = np.asarray(bills, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    w = np.ones(scores.shape[1]) if weight is None else np.asarray(weight, dtype=np.float64)
    means = [math.fsum(row) / math.fsum(w) for row in scores * w]
    best = int(np.argmax(means))
    spread = math.fsum(w * (scores[best] - means[best]) ** 2) / math.fsum(w)
    rows = math.fsum(w) ** 2 / math.fsum(w**2)  # as many rows of equal weight would tell as much
    least = means[best] - math.sqrt(spread / max(rows - 1, 1))
    within = [k for k, mean in enumerate(means) if mean >= least]
    return min(within, key=lambda k: (bills[k], -means[k], k))
