"""Between two lines of a frontier: which two, and the share of the cases for the dearer one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

Floats = npt.NDArray[np.float64]


class Mix(NamedTuple):
    """Two lines of a frontier, and the share of the second; one line twice, with no share."""

    first: int
    second: int
    share: float

    def of(self, values: Any) -> Any:
        """What a column of the frontier is for the mixture, if it is a mean over cases.

        Of standard errors it is a bound: those of two lines are not independent.
        """
        return (1 - self.share) * values[self.first] + self.share * values[self.second]


LEAST_FREEDOM = 2
"""Degrees of freedom of errors that come from two models; with one less they would forbid all."""


def bounds_of_pairs(cost: Any, error: Any, confidence: float, judges: int = 1) -> Floats:
    """What the mean bills of lines stay below, to mix two of them that were chosen by their figures.

    The hull picks lines that look cheap by chance. So both bounds have to hold at once, and no line
    counts as cheaper than what a cheaper one may cost. Errors by which a few models differ (``judges``,
    those of the folds) are themselves uncertain: then the bounds are Student's.
    """
    both = (1 + confidence) / 2
    sure = stdtrit(max(judges - 1, LEAST_FREEDOM), both) if judges > 1 else ndtri(both)
    bounds: Floats = np.maximum.accumulate(np.asarray(cost) + sure * np.asarray(error))
    return bounds


def hull(bound: Floats, score: Floats) -> list[int]:
    """Lines between which no other has more score for its money, from the cheapest on.

    Scores do not fall. Lines of one score were pooled, and the one in their middle stands for them:
    the cheapest would be flattered.
    """
    starts = np.flatnonzero(np.append(True, np.diff(score) > 0))
    ends = np.append(starts[1:], len(score)) - 1
    kept: list[int] = []
    for i in (0, *((starts + ends + 1) // 2).tolist()):
        if kept and score[i] <= score[kept[-1]]:
            continue
        while kept and (
            bound[i] <= bound[kept[-1]]
            or (len(kept) > 1 and _below(bound, score, kept[-2], kept[-1], i))
        ):
            kept.pop()
        kept.append(i)
    return kept


def _below(x: Floats, y: Floats, first: int, middle: int, last: int) -> bool:
    rise = (y[middle] - y[first]) * (x[last] - x[first])
    return bool(rise <= (y[last] - y[first]) * (x[middle] - x[first]))


def mix_lines(bound: Floats, score: Floats, limit: float) -> Mix | None:
    """The two lines whose mixture just keeps a budget; None where one line alone is as good.

    A mean of bills stays below the same mean of their bounds with at least the same confidence.
    """
    kept = hull(bound, score)
    after = int(np.searchsorted(bound[kept], limit, side="right"))
    if after == 0 or after == len(kept):
        return None
    low, high = kept[after - 1], kept[after]
    share = (limit - bound[low]) / (bound[high] - bound[low])
    return Mix(low, high, float(share)) if share > 0 else None
