"""How gated models are compared: accuracy and bill on some rows, and the best within a budget."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.columns import Expansion
from worthwhile.costs import as_floats, budget_quanta
from worthwhile.estimators.gates._drop import Kept, Trial, deal
from worthwhile.estimators.gates._shares import average
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Outcome, Policy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

Made = tuple[Expansion, Floats]
"""How columns are made, and rows made so."""

Maker = Callable[..., tuple[Policy, Policy]]
"""A function that gives a gate and a cheap model; ``threshold`` is where the gate's score sends."""

SENT_GRID = tuple(np.linspace(0.05, 0.95, 19).round(2).tolist())
"""Shares of the validation rows that a sweep sends on by moving the threshold of a trained gate."""


@dataclass(frozen=True, eq=False)
class Verdict:
    """How a gate and a cheap model do on some rows; ``right`` and ``bill`` are sums over blocks."""

    score: float
    cost: float
    sent: float
    features: int
    right: Floats
    bill: Floats

    def row(self) -> dict[str, Any]:
        """As a row of a trace."""
        return {
            "cost": self.cost, "score": self.score, "features": self.features, "sent": self.sent,
        }  # fmt: skip


class Judge:
    """Scores and bills of many gates in front of one existing model, which runs only once.

    Parameters
    ----------
    X, codes
        Rows and classes.
    existing : Policy
        The existing model.
    proba : array (n, K), optional
        What it says about rows that it was not trained on, where these are such rows.
    weight : array (n,), optional
        What each row counts.
    made : pair (Expansion, array (n, e)), optional
        How columns of gates and cheap models are made from those of the existing model, and these
        rows made so; None where all work with the same columns.
    """

    def __init__(
        self, X: Floats, codes: Ints, existing: Policy, proba: Floats | None = None,
        weight: Floats | None = None, made: Made | None = None,
    ) -> None:  # fmt: skip
        self.codes, self.costs, self.weight = codes, existing.costs, weight
        self._expansion = None if made is None else made[0]
        self.X = X if made is None else made[1]
        outcome = existing.batch(X)
        said = existing.output.winner(outcome.raw) if proba is None else np.argmax(proba, axis=1)
        self._right = said == codes
        self._acquired, self._evaluated = outcome.acquired, outcome.evaluated
        self._block = deal(len(codes))
        self.counts, self.existing = self._sums(np.ones(len(codes))), self._sums(self._right)

    def _sums(self, values: npt.NDArray[Any]) -> Floats:
        """Sums over the blocks of rows."""
        counted = values * (1.0 if self.weight is None else self.weight)
        total: Floats = np.bincount(self._block, weights=counted).astype(np.float64)
        return total

    def __call__(self, gate: Policy, cheap: Policy) -> Verdict:
        """Accuracy, mean bill, share sent on, and number of features that gate and cheap model read."""
        return self.curve(gate, cheap, ())[0][1]

    def curve(
        self, gate: Policy, cheap: Policy, shares: Sequence[float]
    ) -> list[tuple[float, Verdict]]:
        """Verdicts of a gate as it is (threshold 0), then at thresholds that send about these shares.

        Moving the threshold trains nothing and reads nothing else, so one look at the rows is
        enough for all of them.
        """
        asked, guess = self._run(gate), self._run(cheap)
        features = len(np.union1d(self._sources(gate), self._sources(cheap)))
        right = self._right, cheap.output.winner(guess.raw) == self.codes
        bill = tuple(
            self.costs.quanta(asked.acquired | acquired, asked.evaluated + evaluated)
            for acquired, evaluated in (
                (self._acquired, self._evaluated), (guess.acquired, guess.evaluated),
            )
        )  # fmt: skip
        level, found = asked.raw[:, 0], []
        for threshold in (0.0, *_thresholds(level, shares)):
            sent = level > threshold
            columns = np.where(sent, *right), as_floats(np.where(sent, *bill))
            score, cost, share = (average(column, self.weight) for column in (*columns, sent))
            right_sums, bill_sums = (self._sums(column) for column in columns)
            verdict = Verdict(score, cost, share, features, right_sums, bill_sums)
            found.append((threshold, verdict))
        return found

    def _run(self, policy: Policy) -> Outcome:
        """Run a gate or a cheap model; purchases are of the columns of the existing model."""
        outcome = policy.batch(self.X)
        if self._expansion is None:
            return outcome
        return outcome._replace(acquired=self._expansion.folded(outcome.acquired))

    def _sources(self, policy: Policy) -> npt.NDArray[Any]:
        reads = policy.reads
        return reads if self._expansion is None else np.unique(self._expansion.sources[reads])


def _thresholds(score: Floats, shares: Sequence[float]) -> list[float]:
    """Thresholds half-way between two scores, such that about these shares lie above."""
    levels, counts = np.unique(score, return_counts=True)
    gaps = np.diff(levels)
    # A policy adds its threshold to sums of leaves: scores nearer than rounding are not told apart.
    clear = gaps > 1e-9 * np.max(np.abs(levels), initial=1.0)
    if not clear.any():
        return []
    middle = (levels[:-1] + gaps / 2)[clear]
    above = 1 - np.cumsum(counts)[:-1][clear] / len(score)
    nearest = [int(np.argmin(np.abs(above - share))) for share in shares]
    return [float(middle[k]) for k in dict.fromkeys(nearest)]


def choose(verdicts: Iterable[Verdict], budget: Any) -> int:
    """The best score within a mean bill; ties go to the cheaper, then to the earlier one."""
    verdicts = list(verdicts)
    limit = budget_quanta(budget)
    fits = [k for k, v in enumerate(verdicts) if limit is None or round(v.cost * 1e9) <= limit]
    if not fits:
        cheapest = min(range(len(verdicts)), key=lambda k: (verdicts[k].cost, -verdicts[k].score))
        warnings.warn(
            f"no model of the sweep has a mean bill within budget={budget}: the cheapest, at "
            f"{verdicts[cheapest].cost:g}, is kept.",
            WorthwhileWarning,
            stacklevel=3,
        )
        return cheapest
    return min(fits, key=lambda k: (-verdicts[k].score, verdicts[k].cost, k))


@dataclass
class Sweep:
    """Many gates in front of one existing model, judged on validation rows.

    Attributes
    ----------
    verdicts : list of Verdict
    points : list of dict, what each model was trained with
    makers : list of functions that give its gate and cheap model
    """

    judge: Judge
    verdicts: list[Verdict] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    makers: list[Maker] = field(default_factory=list)

    def add(self, point: dict[str, Any], maker: Maker) -> None:
        """Judge a model, as it is and at other thresholds of its gate."""
        for threshold, verdict in self.judge.curve(*maker(), SENT_GRID):
            self.verdicts.append(verdict)
            self.points.append({**point, "threshold": threshold})
            self.makers.append(partial(maker, threshold=threshold))

    def cheapest(self, most: float) -> Kept:
        """The cheapest model that loses at most so much; the one that sends everybody loses nothing."""
        trial = Trial(
            np.array([v.right for v in self.verdicts]),
            np.array([v.bill for v in self.verdicts]),
            self.judge.counts,
            self.judge.existing,
        )
        everybody = max(range(len(self.verdicts)), key=lambda k: (self.verdicts[k].sent, -k))
        return trial.cheapest(most) or Kept(everybody, 0.0)

    def trace(self, best: int) -> pd.DataFrame:
        """One row per model."""
        lines = [
            {**p, **v.row(), "chosen": k == best}
            for k, (p, v) in enumerate(zip(self.points, self.verdicts, strict=True))
        ]
        return pd.DataFrame(lines)
