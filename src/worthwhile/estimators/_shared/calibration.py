"""Scores to probabilities: the one slope that fits the labels best.

Platt scaling without its intercept, so that which class wins does not change.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worthwhile.core import links

Floats = npt.NDArray[np.float64]

STEEPEST = 50.0
"""Largest slope: separable data would ask for an infinite one."""

FLATTEST = 1e-3
"""Smallest slope: scores that speak against the labels would ask for one below zero."""

MOST_STEPS = 50


def best_slope(score: Floats, codes: npt.NDArray[np.intp], weight: Floats | None = None) -> float:
    """Slope that makes scores the best log-odds or logits (least log-loss), by Newton's method.

    Parameters
    ----------
    score : float64 (n, 1) or (n, n_classes)
        One column speaks for the second of two classes.
    codes : int (n,)
        Class of each row.
    weight : float64 (n,), optional
        Weights of the rows.
    """
    if score.shape[1] == 1:
        # A sigmoid is a softmax over (0, score): the same derivatives serve both.
        score = np.column_stack([np.zeros(len(score)), score])
    w = np.ones(len(score)) if weight is None else weight
    chosen = score[np.arange(len(score)), codes]
    slope = 1.0
    for _ in range(MOST_STEPS):
        p = links.softmax(slope * score)
        mean = np.add.reduce(p * score, axis=1)
        gradient = np.add.reduce(w * (mean - chosen))
        curvature = np.add.reduce(w * (np.add.reduce(p * score**2, axis=1) - mean**2))
        if curvature <= 1e-12 * np.add.reduce(w):
            break
        # Steps at most double or halve the slope: with many classes, Newton alone jumps to where all
        # is certain and nothing curves.
        new = float(np.clip(slope - gradient / curvature, slope / 2, slope * 2))
        new = min(max(new, FLATTEST), STEEPEST)
        if abs(new - slope) <= 1e-9 * slope:
            return new
        slope = new
    return slope
