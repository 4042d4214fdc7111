"""Losses of numbers besides the squared error: quantiles, counts, amounts, and the user's own."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting.node_quantiles import node_quantiles
from worthwhile.core.boosting.rounding import round_weights
from worthwhile.core.dtypes import SUM
from worthwhile.core.quiet import quiet
from worthwhile.core.threads import Threads
from worthwhile.estimators.boosting.losses import Loss, steady

Floats = npt.NDArray[np.float64]

DAMPING = math.exp(0.7)
"""Factor of the curvature of counts: a step in the logarithm goes too far where the mean is small."""

LARGEST_LOG = 690.0
"""Scores beyond this have no exponential."""

START_STEPS = 100
"""Newton steps at most to the best constant of a loss of the user's own."""


@runtime_checkable
class OwnLoss(Protocol):
    """What a loss of the user's own has: three functions of targets and scores (n,), row by row."""

    def value(self, y: Floats, score: Floats) -> Any:
        """The loss of each row."""

    def gradient(self, y: Floats, score: Floats) -> Any:
        """Its first derivative by the score."""

    def curvature(self, y: Floats, score: Floats) -> Any:
        """Its second derivative, or a bound of it; at least 0."""


class _ByRow(Loss):
    """A loss of one score, row by row."""

    @abstractmethod
    def _parts(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        """Loss, negative gradient and curvature of each row at its score."""

    @quiet
    def gradients(self, total: Floats, base: Floats, out: Floats, threads: Threads) -> float:
        """Fill ``out`` (1, n); the curvatures are kept for the leaves."""
        loss, slope, self._curvature = self._parts(np.ascontiguousarray(base[0] + total[0]))
        if out.shape[1]:
            out[0] = slope
        return self._sum(loss) / self.total_weight

    def rows(self, scores: Floats) -> Floats:
        """Loss of each row at its score (1, n)."""
        return self._parts(np.ascontiguousarray(scores[0]))[0]

    def curvature(self, gradient: Floats, threads: Threads) -> Floats:
        """The curvatures that belong to the last gradients."""
        return self._curvature[None, :]

    def _log_mean(self) -> Floats:
        total = self._sum(self.y)
        if total <= 0:
            raise ValueError(_wrong("no target above 0", type(self).__name__.lower()))
        return np.array([steady(math.log(total / self.total_weight))])


class Quantile(_ByRow):
    """What is above a quantile costs ``share`` a unit, what is below ``1 - share``.

    Leaves hold the quantile of their rows' residuals. ``absolute``: the median, and the loss doubled,
    which makes it the absolute error.
    """

    def __init__(self, y: Floats, weight: Floats, share: float, *, absolute: bool = False) -> None:
        super().__init__(y, weight)
        self.leaf_quantile = share
        self._above, self._below = (1.0, 1.0) if absolute else (share, 1.0 - share)

    def base(self) -> Floats:
        """The quantile of the targets."""
        weight, everybody = np.empty(0, dtype=SUM), self._everybody
        if self._weighted:
            largest = everybody.max(self.weight.max(initial=0.0, keepdims=True))
            weight = round_weights(self.weight, self.n_total, largest[0])[0]
        root, alone = np.zeros(len(self.y), dtype=np.intp), np.full((1, 2), -1)
        found = node_quantiles(self.y, weight, root, alone, self.leaf_quantile, everybody)
        return np.array([steady(found[0])])

    def _parts(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        left = self.y - score
        slope = np.where(left > 0, self._above, np.where(left < 0, -self._below, 0.0))
        return left * slope, slope, np.ones_like(left)


class Poisson(_ByRow):
    """Counts: the score is the logarithm of their mean; the loss is half the deviance."""

    def __init__(self, y: Floats, weight: Floats) -> None:
        super().__init__(y, weight)
        _refuse_below_zero(self.y, "poisson")
        at_best = np.where(self.y > 0, self.y * np.log(np.where(self.y > 0, self.y, 1.0)), 0.0)
        self._best: Floats = self.y - at_best

    def base(self) -> Floats:
        """The logarithm of the mean."""
        return self._log_mean()

    def _parts(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        mean = np.exp(np.minimum(score, LARGEST_LOG))
        return mean - self.y * score - self._best, self.y - mean, mean * DAMPING


class Tweedie(_ByRow):
    """Amounts with many zeros: the score is the logarithm of their mean, the variance a power of it."""

    def __init__(self, y: Floats, weight: Floats, power: float) -> None:
        super().__init__(y, weight)
        _refuse_below_zero(self.y, "tweedie")
        self._power = power

    def base(self) -> Floats:
        """The logarithm of the mean."""
        return self._log_mean()

    def _parts(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        up, down = 2.0 - self._power, 1.0 - self._power
        score = np.clip(score, -LARGEST_LOG, LARGEST_LOG)
        mean, told = np.exp(up * score), self.y * np.exp(down * score)
        return mean / up - told / down, told - mean, up * mean - down * told


class Own(_ByRow):
    """The user's own loss; scores are what is predicted."""

    def __init__(self, y: Floats, weight: Floats, own: OwnLoss) -> None:
        super().__init__(y, weight)
        self._own = own

    def base(self) -> Floats:
        """The best constant, by Newton's method from 0 on."""
        best = 0.0
        for _ in range(START_STEPS):
            _, slope, curvature = self._parts(np.full(len(self.y), best))
            below = self._sum(curvature)
            step = self._sum(slope) / below if below > 0 else 0.0
            best += step
            if abs(step) <= 1e-9 * max(1.0, abs(best)):
                break
        return np.array([steady(best)])

    def _parts(self, score: Floats) -> tuple[Floats, Floats, Floats]:
        own = self._own
        if not len(self.y):  # a rank without rows: functions need not know what to do with none
            return (score, score, score)
        loss = self._read("value", own.value(self.y, score))
        slope = -self._read("gradient", own.gradient(self.y, score))
        curvature = self._read("curvature", own.curvature(self.y, score))
        if (curvature < 0).any():
            raise ValueError(
                f"loss.curvature gave {curvature.min():g}: it is at least 0; where the loss is not "
                "convex, give an upper bound of it, such as 1."
            )
        return loss, slope, curvature

    def _read(self, name: str, given: Any) -> Floats:
        array: Floats = np.array(given, dtype=np.float64)
        if array.shape != self.y.shape or not np.isfinite(array).all():
            what = "not finite" if array.shape == self.y.shape else f"of shape {array.shape}"
            raise ValueError(
                f"loss.{name} gave something {what}: it takes targets and scores (n,) and gives a "
                "finite number for each row."
            )
        return array


def _refuse_below_zero(y: Floats, name: str) -> None:
    if (y < 0).any():
        raise ValueError(_wrong("targets below 0", name))


def _wrong(what: str, name: str) -> str:
    return f"y has {what}: loss={name!r} takes counts or amounts of at least 0, some of them above."
