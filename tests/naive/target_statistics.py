"""Mean targets of the levels of a category, row by row."""

from __future__ import annotations

import numpy as np


def training_means(codes, targets, common, smoothing, shuffle):
    """Smoothed means: of all rows of a common level, of the earlier rows of a rare one."""
    overall = targets.mean(axis=0)
    found = np.empty_like(targets)
    for row, code in enumerate(codes):
        of_level = [other for other in range(len(codes)) if codes[other] == code]
        if len(of_level) < common:
            of_level = [other for other in of_level if shuffle[other] < shuffle[row]]
        total = sum((targets[other] for other in of_level), np.zeros(targets.shape[1]))
        found[row] = (total + smoothing * overall) / (len(of_level) + smoothing)
    return found
