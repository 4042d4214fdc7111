"""How much accuracy a choice loses, judged by rows that did not choose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

MOST_BLOCKS = 256
"""Blocks that rows are dealt to: sums over them are all that is kept of a model."""

FEWER = 2 / 3
"""Of the rows that train: what fewer of them cost tells what more are worth."""

HALVINGS = 20
"""Divisions of the blocks into two halves, each of which chooses for the other."""


class Kept(NamedTuple):
    """The model that a rule takes, and what it is expected to lose."""

    model: int
    drop: float


class Gain(NamedTuple):
    """Accuracy that a model gains when all rows train it, and its standard error."""

    mean: float = 0.0
    error: float = 0.0

    @classmethod
    def between(cls, fewer: Floats, more: Floats, weight: Floats, factor: float) -> Gain:
        """From how often it is right (blocks,) after fewer and after more rows: ``factor`` times that."""
        total = weight.sum()
        mean = float((more - fewer).sum() / total)
        error = float(np.sqrt(((more - fewer - mean * weight) ** 2).sum()) / total)
        return cls(factor * max(mean, 0.0), factor * error)

    def less(self, other: Gain) -> Gain:
        """What is gained on another model, which gains, too."""
        return Gain(self.mean - other.mean, float(np.hypot(self.error, other.error)))


def further(fewer: float, more: float, most: float = 1.0) -> float:
    """Of what a model gains from one share of the rows to a larger one, what all rows add to that.

    Errors are taken to fall with the root of the number of rows; at most ``most``, as far off nothing is known.

    Examples
    --------
    >>> round(further(0.57, 0.85), 2), round(further(0.44, 0.67), 2)
    (0.35, 0.78)
    """
    if not fewer < more < 1:
        return 0.0
    return float(min(most, (more**-0.5 - 1) / (fewer**-0.5 - more**-0.5)))


def deal(n: int) -> Ints:
    """The block of each of n rows; always the same."""
    dealt = np.random.default_rng(0).permutation(n) % min(MOST_BLOCKS, n)
    return np.asarray(dealt, dtype=np.intp)


def best_within(score: Floats, cost: Floats, budgets: Floats) -> Ints:
    """The model with the best score within each budget, of equal ones the cheapest.

    Where a budget allows none, the cheapest.
    """
    order = np.lexsort((-score, cost))
    ranked = score[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(ranked)[:-1]])
    best = np.maximum.accumulate(np.where(ranked > before, np.arange(len(order)), 0))
    last = np.searchsorted(cost[order], budgets, side="right") - 1
    found: Ints = order[best[np.maximum(last, 0)]]
    return found


@dataclass(frozen=True, eq=False)
class Trial:
    """Many models and one that they are measured by, on the same blocks of rows.

    Attributes
    ----------
    right, bill : float64 (models, blocks)
        Weight of the rows that are right, and sum of the bills.
    weight, existing : float64 (blocks,)
        Weight of all rows, and of those that the existing model gets right.
    doubt : float64 (models,), optional
        Standard errors of what was added to ``right``, as shares of all rows.
    """

    right: Floats
    bill: Floats
    weight: Floats
    existing: Floats
    doubt: Floats | None = None

    def drops(self, budgets: Floats) -> Floats:
        """What is lost against the existing model when the best within each budget is taken.

        One half of the blocks chooses, the other tells what the choice is worth. The best of many
        models looks better than it is on the rows that chose it; on others it does not. More money
        does no harm, so that the curve is made to fall.
        """
        generator, total = np.random.default_rng(0), np.zeros(len(budgets))
        blocks = len(self.weight)
        for _ in range(HALVINGS):
            half = generator.permutation(blocks) < blocks // 2
            for chooses in (half, ~half):
                seen, new = self.weight[chooses].sum(), self.weight[~chooses].sum()
                score = self.right[:, chooses].sum(axis=1) / seen
                models = best_within(score, self.bill[:, chooses].sum(axis=1) / seen, budgets)
                judged = self.right[:, ~chooses].sum(axis=1)[models]
                total += (self.existing[~chooses].sum() - judged) / new
        mean = total / (2 * HALVINGS)
        falling: Floats = IsotonicRegression(increasing=False).fit_transform(budgets, mean)
        return falling

    def errors(self, models: Ints) -> Floats:
        """Standard errors of what models lose against the existing one."""
        lost = self.existing - self.right[models]
        total = self.weight.sum()
        mean = lost.sum(axis=1, keepdims=True) / total
        own = np.sqrt(((lost - mean * self.weight) ** 2).sum(axis=1)) / total
        return np.asarray(own if self.doubt is None else np.hypot(own, self.doubt[models]))

    def cheapest(self, most: float, with_error: float = np.inf) -> Kept | None:
        """The best model of the smallest budget that loses at most so much; None where none does.

        A standard error more may be at most ``with_error``: on few rows, what looks like no loss may be one.
        """
        if len(self.weight) < 2:
            return None
        score = self.right.sum(axis=1) / self.weight.sum()
        cost = self.bill.sum(axis=1) / self.weight.sum()
        models = np.unique(best_within(score, cost, cost))
        models = models[np.argsort(cost[models], kind="stable")]
        drops = self.drops(cost[models])
        good = np.flatnonzero((drops <= most) & (drops + self.errors(models) <= with_error))
        return Kept(int(models[good[0]]), float(drops[good[0]])) if len(good) else None
