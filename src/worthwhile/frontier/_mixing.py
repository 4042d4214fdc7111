"""Two refits and a share: the mixture that just keeps a budget."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.estimators.priced.held_out_map import with_map
from worthwhile.estimators.priced.priced_model import PricedModel
from worthwhile.frontier._hull import hull_indices
from worthwhile.frontier._measure import LabelledRows, bills
from worthwhile.frontier._one_point import MixedPoint
from worthwhile.frontier._points import Frontier
from worthwhile.frontier._promise import Twins
from worthwhile.frontier._refits import Refits
from worthwhile.frontier._tune import Refit

STEPS = 32
"""Halvings until a share is known to the precision of a coin."""


@dataclass(frozen=True)
class MixedRefit:
    """Two refits, neighbours on the hull, and the share of the second."""

    lines: tuple[int, int]
    """Points of the frontier."""
    refits: tuple[Refit, Refit]
    share: float
    bound: float
    """What the mean bill of new rows stays below."""

    def between(self, values: Any) -> float:
        """A mean over cases, of two."""
        return float((1 - self.share) * values[0] + self.share * values[1])

    def point(self, frontier: Frontier) -> MixedPoint:
        """What was validated."""
        first, second = (frontier[line] for line in self.lines)
        return MixedPoint(first, second, self.share)

    def model(self) -> PricedModel:
        """Both models and a coin whose seed is of the dearer one, so that the same search gives the same."""
        first, second = (refit.model for refit in self.refits)
        return mixed_model(first, second, self.share)


def mixed_model(first: Any, second: Any, share: float) -> PricedModel:
    """Two models of a search as one."""
    seed = int(second.policy_.fingerprint()[:12], 16)
    return PricedModel.mixed(first, second, share, seed=seed)


def mix_refits(
    frontier: Frontier,
    refits: Refits,
    limit: float,
    promised: tuple[float, float],
    rows: LabelledRows,
) -> MixedRefit | None:
    """The mixture of a search that just keeps a budget.

    Parameters
    ----------
    frontier : Frontier
        With bounds.
    refits : Refits
    limit : float
        The budget in quanta.
    promised : tuple of float
        Confidence, and the number of new rows whose mean bill is meant.
    rows : LabelledRows
        All rows.

    Returns
    -------
    MixedRefit or None
        None where nothing is to be mixed: even the cheapest is over the budget, or the best is not.
    """
    budget = limit / QUANTA_PER_UNIT
    lines = straddle(frontier, budget, refits)
    if lines is None:
        return None
    found = (refits.of(lines[0]), refits.of(lines[1]))
    share, bound = share_within(found, rows, budget, *promised)
    return MixedRefit(lines, found, share, bound)


def straddle(frontier: Frontier, budget: float, refits: Refits) -> tuple[int, int] | None:
    """The neighbours on the hull of bounds and scores between whose refits a budget lies.

    Refits that are not what was validated are left out.
    """
    kept = hull_indices(frontier.bound, frontier.score).tolist()
    low = max(int(np.searchsorted(frontier.bound[kept], budget, side="right")) - 1, 0)
    while low >= 0 and not (
        refits.is_validated(kept[low]) and refits.of(kept[low]).bound <= budget
    ):
        low -= 1
    if low < 0:
        return None
    for place in range(low + 1, len(kept)):
        if not refits.is_validated(kept[place]):
            continue
        if refits.of(kept[place]).bound > budget:
            return kept[low], kept[place]
        low = place
    return None


def share_within(
    refits: tuple[Refit, Refit], rows: LabelledRows, budget: float, confidence: float, n_new: float
) -> tuple[float, float]:
    """The largest share of the second refit that keeps a budget, and the bound of the mixture.

    The margin of a mean of two is at most the mean of their margins. The coin adds its own noise to the
    mean over ``n_new`` new rows, as large as the bills of a row under the two differ.
    """
    first, second = refits
    apart = (bills(second.model, rows) - bills(first.model, rows)) / QUANTA_PER_UNIT
    noise = NormalDist().inv_cdf(confidence) ** 2 * float((apart**2).mean()) / n_new
    margin = [refit.bound - refit.expected for refit in refits]

    def bound(share: float) -> float:
        expected = (1 - share) * first.expected + share * second.expected
        wide = (1 - share) * margin[0] + share * margin[1]
        return expected + math.sqrt(wide**2 + share * (1 - share) * noise)

    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if bound(middle) <= budget else (low, middle)
    return low, bound(low)


def with_one_map(
    model: PricedModel, rows: LabelledRows, twins: Twins, kind: str | None = None
) -> PricedModel:
    """A mixture of classifiers whose probabilities hold, as far as one map for both makes them.

    Parameters
    ----------
    model : PricedModel
        Made of models without maps.
    rows : LabelledRows
        All rows.
    twins : Twins
        Mixtures made alike, which answer for the rows that they have not seen; rows are known to the
        coin by their numbers.
    kind : str, optional
        The map that was asked for; otherwise the usual one, if it helps.
    """
    parts = list(twins)
    raw = np.concatenate([twin._run(rows.take(held).X, key=held).raw for twin, held in parts])
    held = np.concatenate([held for _, held in parts])
    fold = np.repeat(np.arange(len(parts)), [len(held) for _, held in parts])
    unseen = rows.take(held)
    return with_map(model, raw, unseen.y, unseen.weight, fold, kind)


def check_mixable(estimator: Any, rows: LabelledRows, errors: Any) -> None:
    """Refuse what cannot be mixed, before anything is trained."""
    if rows.qid is not None:
        raise ValueError("mix is True and there are queries: a coin falls for each row; leave mix.")
    given = {
        name.split("__")[-1] for name, value in estimator.get_params().items() if value is not None
    }
    if errors is not None and getattr(estimator, "calibrates_itself", False):
        given.add("errors")
    if found := given & {"errors", "worth"}:
        raise ValueError(
            f"mix is True, and {min(found)} is given: the model is calibrated by itself, and two maps cannot be "
            "mixed; leave one of the two, give errors to the search instead, or use BudgetClassifier(mix=True)."
        )


def maps_of(estimator: Any) -> dict[str, str]:
    """The map of probabilities that is asked for, by the name of its parameter; of a pipeline its last step's."""
    before = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    kind = estimator.get_params().get(f"{before}calibrate")
    return {f"{before}calibrate": kind} if kind else {}
