"""From what a sweep measured to the points of a frontier: means, errors and bounds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.frontier._hull import pareto_indices
from worthwhile.frontier._margin import critical_value, influences, margins, standard_errors
from worthwhile.frontier._one_point import Point
from worthwhile.frontier._sweep import Measured, Sweep


class Drawn(NamedTuple):
    """The points, and what their bounds come from."""

    points: list[Point]
    margins: npt.NDArray[np.float64]
    critical_value: float


def draw(sweep: Sweep, measured: list[Measured], confidence: float, horizon: float | None) -> Drawn:
    """The points of all that was measured, with bounds on the mean bill of ``horizon`` new rows.

    ``horizon=None``: as many rows as the search was given.
    """
    held = np.concatenate([rows for _, rows in sweep.folds])
    counts = np.bincount(sweep.blocks[held], minlength=int(sweep.blocks.max()) + 1).astype(float)
    sums = np.array([m.sums for m in measured]) / QUANTA_PER_UNIT
    cost = sums.sum(axis=1) / counts.sum()
    score = np.array([m.scores.mean() for m in measured])
    if not np.isfinite(score).all():
        bad = measured[int(np.flatnonzero(~np.isfinite(score))[0])]
        raise ValueError(
            f"scoring gave {bad.scores.tolist()} for {sweep.candidates[bad.candidate].params}: a score is a finite "
            "number in every fold."
        )
    pulls = influences(sums, counts)
    errors = standard_errors(pulls)
    critical = critical_value(pulls[pareto_indices(cost, score)], confidence)
    new = len(sweep.rows) if horizon is None else horizon
    width = margins(errors, critical, confidence, int(counts.sum()), new)
    folds = len(sweep.folds)
    spread = [
        float(m.scores.std(ddof=1) / math.sqrt(folds)) if folds > 1 else math.nan for m in measured
    ]
    points = [
        Point(
            float(cost[i]), float(score[i]), float(errors[i]), spread[i], float(cost[i] + width[i]),
            dict(sweep.candidates[m.candidate].params), m.stage, m.case_budget,
        )
        for i, m in enumerate(measured)
    ]  # fmt: skip
    return Drawn(points, width, critical)
