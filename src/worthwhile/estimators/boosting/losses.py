"""Losses of the boosters: what to start from, and which way to go.

A booster needs from a loss only what :class:`Loss` states. Another loss, for instance one over the
documents of a query, needs no change to the booster: :meth:`Loss.gradients` sees all scores at once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting import gradients as kernels
from worthwhile.core.boosting import rounded_gradients as rounding
from worthwhile.core.boosting.leaves import Step
from worthwhile.core.boosting.rounding import Rounded, Rounder
from worthwhile.core.collective import ALONE, Collective
from worthwhile.core.threads import Threads

Floats = npt.NDArray[np.float64]

RoundedGradients = Callable[[Floats, Floats, Step | None], tuple[float, list[Rounded]]]
"""From scores ``(total, base)`` to the mean loss and the rounded gradients of every tree to grow.

The third argument, where given, is a tree that is added to ``total`` first.
"""

_NOTHING: Floats = np.empty(0)


def steady(number: float) -> float:
    """Round to 40 significant bits: what remains does not depend on how rows are repeated."""
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(fraction, 40)), exponent - 40)


class Loss(ABC):
    """A loss over the scores of all rows.

    Parameters
    ----------
    y : float64 (n,)
        Targets, or class numbers.
    weight : float64 (n,), or empty
        Sample weights; empty for unit weights.
    """

    n_outputs = 1
    """Scores per row."""

    newton_factor: float | None = 1.0
    """Factor of the one-step leaf value; None where the mean gradient is that step already."""

    by_curvature = False
    """Where leaves take Newton steps, splits are those that gain most by such steps."""

    leaf_quantile: float | None = None
    """Leaves hold this quantile of what scores lack of the targets, where a loss asks for it."""

    def __init__(self, y: Floats, weight: Floats = _NOTHING) -> None:
        # Kernels are compiled for arrays that may be written to; a frame lends others.
        self.y = np.require(y, np.float64, ("C", "W"))
        self.weight = np.require(weight, np.float64, ("C", "W"))
        self.join(ALONE)

    def join(self, collective: Collective) -> None:
        """Let the rows of other ranks count too: in the base, in means, in the total weight."""
        self._everybody = collective
        self.n_total = int(collective.sum(np.array([len(self.y)]))[0])
        # A rank without rows has no weights either.
        self._weighted = bool(collective.max(np.array([len(self.weight)]))[0])
        whole = collective.fsum(self.weight) if self._weighted else float(self.n_total)
        self.total_weight = whole

    def _sum(self, values: Floats) -> float:
        """Weighted sum over all rows, exact and rounded once."""
        return self._everybody.fsum(values * self.weight if len(self.weight) else values)

    @abstractmethod
    def base(self) -> Floats:
        """The best constant scores, (n_outputs,)."""

    @abstractmethod
    def gradients(self, total: Floats, base: Floats, out: Floats, threads: Threads) -> float:
        """Fill ``out`` (n_outputs, n) with negative gradients at ``base + total``; return the mean loss."""

    def mean(self, total: Floats, base: Floats, threads: Threads) -> float:
        """Mean loss at ``base + total`` (n_outputs, n)."""
        return self.gradients(total, base, np.empty((self.n_outputs, 0)), threads)

    def rows(self, scores: Floats) -> Floats:
        """Loss of each row at its scores (outputs, n): the halved squared error unless it says otherwise."""
        halved: Floats = 0.5 * (self.y - scores[0]) ** 2
        return halved

    def curvature(self, gradient: Floats, threads: Threads) -> Floats:
        """Second derivatives where the negative gradients (outputs, n) are these."""
        out = np.empty_like(gradient)
        n, step = gradient.shape[1], kernels.ROWS

        def work(part: int) -> None:
            kernels.friedman(gradient, out, part * step, min((part + 1) * step, n))

        threads.run(-(-n // step), work)
        return out

    def rounded_gradients(
        self, *, together: bool, newton: bool, threads: Threads
    ) -> RoundedGradients:
        """Gradients as trees take them, round after round.

        ``together``: one tree for all outputs instead of one for each; ``newton``: with curvature.
        """
        n = len(self.y)
        gradients = np.empty((self.n_outputs, n))
        parts = [gradients] if together else [row[None, :] for row in gradients]
        rounders = [Rounder(len(part), n, threads) for part in parts]

        def at(total: Floats, base: Floats, step: Step | None) -> tuple[float, list[Rounded]]:
            if step is not None:
                step.add(total, threads)
            loss = self.gradients(total, base, gradients, threads)
            curvatures = [self.curvature(part, threads) if newton else None for part in parts]
            pairs = zip(rounders, parts, curvatures, strict=True)
            return loss, [rounder(part, curvature) for rounder, part, curvature in pairs]

        return at

    def _share(self, k: int) -> float:
        """Share of a class in the weight; half a row for a class that no row is left of."""
        own = self.y == k
        counted = self._everybody.sum(own.sum(keepdims=True))[0]
        count = self._sum(own.astype(np.float64)) if self._weighted else counted
        return float(count / self.total_weight) if count > 0 else 0.5 / self.n_total


class _Compiled(Loss):
    """A loss whose gradients come from one kernel, row by row."""

    kernel: Callable[..., Any]
    rounded: Callable[..., Any]

    def gradients(self, total: Floats, base: Floats, out: Floats, threads: Threads) -> float:
        """Run the kernel."""
        loss = kernels.in_parts(type(self).kernel, total, base, self.y, self.weight, out, threads)
        return float(loss) / self.total_weight

    def rounded_gradients(
        self, *, together: bool, newton: bool, threads: Threads
    ) -> RoundedGradients:
        """Gradients and rounding in one pass."""
        compiled = rounding.RoundedGradients(
            type(self).rounded, self.y, self.weight, self.n_outputs, together=together, curved=newton,
            threads=threads,
        )  # fmt: skip

        def at(total: Floats, base: Floats, step: Step | None) -> tuple[float, list[Rounded]]:
            loss, rounded = compiled(total, base, step)
            return loss / self.total_weight, rounded

        return at


class Squared(_Compiled):
    """Half the squared error."""

    newton_factor = None
    kernel = staticmethod(kernels.squared)
    rounded = staticmethod(rounding.round_squared)

    def base(self) -> Floats:
        """The mean."""
        return np.array([steady(self._sum(self.y) / self.total_weight)])


class Logistic(_Compiled):
    """Log-loss of two classes; the score is the log-odds of the second."""

    by_curvature = True
    kernel = staticmethod(kernels.logistic)
    rounded = staticmethod(rounding.round_logistic)

    def base(self) -> Floats:
        """The log-odds of the class frequencies."""
        positive = self._share(1)
        return np.array([steady(math.log(positive / self._share(0)))])


class Multinomial(_Compiled):
    """Log-loss of K classes; the scores are logits."""

    by_curvature = True
    kernel = staticmethod(kernels.multinomial)
    rounded = staticmethod(rounding.round_multinomial)

    def __init__(self, y: Floats, n_classes: int, weight: Floats = _NOTHING) -> None:
        super().__init__(y, weight)
        self.n_outputs = n_classes
        self.newton_factor = (n_classes - 1) / n_classes

    def base(self) -> Floats:
        """The logarithms of the class frequencies."""
        return np.array([steady(math.log(self._share(k))) for k in range(self.n_outputs)])
