"""Mean targets of the levels of a category, row by row."""

from __future__ import annotations

import numpy as np


def training_means(codes, targets, weight, common, smoothing, shuffle):
    """Smoothed means: of all rows of a common level, of the earlier rows of a rare one."""
    overall = (weight[:, None] * targets).sum(axis=0) / weight.sum()
    found = np.empty_like(targets)
    for row, code in enumerate(codes):
        of_level = [other for other in range(len(codes)) if codes[other] == code]
        if len(of_level) < common:
            of_level = [other for other in of_level if shuffle[other] < shuffle[row]]
        total = sum((weight[k] * targets[k] for k in of_level), np.zeros(targets.shape[1]))
        held = sum(weight[k] for k in of_level)
        found[row] = (total + smoothing * overall) / (held + smoothing)
    return found
