"""How gated models are compared: accuracy and bill on some rows, and the best within a budget."""

from __future__ import annotations

import itertools
import statistics
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
from worthwhile.estimators.gates._drop import Gain, Kept, Trial, deal
from worthwhile.estimators.gates._shares import average
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Outcome, Policy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

Made = tuple[Expansion, Floats]
"""How columns are made, and rows made so."""

Maker = Callable[..., tuple[Policy, Policy]]
"""A function that gives a gate and a cheap model; ``threshold`` is where the gate's score sends."""

Model = tuple[dict[str, Any], Maker]
"""What a model was trained with, and how it is made."""

SENT_GRID = tuple(np.linspace(0.05, 0.95, 19).round(2).tolist())
"""Shares of the validation rows that a sweep sends on by moving the threshold of a trained gate."""

MODELS_PER_GATE = 1 + len(SENT_GRID)
"""Models of a sweep that are one gate: as it is, and with its threshold moved."""


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
        paid = as_floats(self.costs.quanta(outcome.acquired, outcome.evaluated))
        self.existing_cost = average(paid, weight)
        """Mean bill of the existing model."""

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
        level, known = asked.raw[:, 0], dict[float, Verdict]()
        thresholds = [0.0, *_thresholds(level, shares, self.weight)]
        for threshold in dict.fromkeys(thresholds):
            sent = level > threshold
            columns = np.where(sent, *right), as_floats(np.where(sent, *bill))
            score, cost, share = (average(column, self.weight) for column in (*columns, sent))
            right_sums, bill_sums = (self._sums(column) for column in columns)
            known[threshold] = Verdict(score, cost, share, features, right_sums, bill_sums)
        return [(threshold, known[threshold]) for threshold in thresholds]

    def _run(self, policy: Policy) -> Outcome:
        """Run a gate or a cheap model; purchases are of the columns of the existing model."""
        outcome = policy.batch(self.X)
        if self._expansion is None:
            return outcome
        return outcome._replace(acquired=self._expansion.folded(outcome.acquired))

    def _sources(self, policy: Policy) -> npt.NDArray[Any]:
        reads = policy.reads
        return reads if self._expansion is None else np.unique(self._expansion.sources[reads])


def _thresholds(
    score: Floats, shares: Sequence[float], weight: Floats | None = None
) -> list[float]:
    """For each share a threshold half-way between two scores, such that about that share lies above.

    0 where scores do not differ.
    """
    levels, level = np.unique(score, return_inverse=True)
    counts = np.bincount(level, weight)
    gaps = np.diff(levels)
    # A policy adds its threshold to sums of leaves: scores nearer than rounding are not told apart.
    clear = gaps > 1e-9 * np.max(np.abs(levels), initial=1.0)
    if not clear.any():
        return [0.0] * len(shares)
    middle = (levels[:-1] + gaps / 2)[clear]
    above = 1 - np.cumsum(counts)[:-1][clear] / counts.sum()
    return [float(middle[np.argmin(np.abs(above - share))]) for share in shares]


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


def _silently(models: int) -> None:
    """Nobody is told how far a sweep is."""


@dataclass
class Sweep:
    """Many gates in front of one existing model, judged on validation rows.

    Attributes
    ----------
    verdicts : list of Verdict
    points : list of dict, what each model was trained with
    makers : list of functions that give its gate and cheap model
    gain : Gain
        What cheap models of all rows are expected to be better by than those that were judged, less what the
        existing model is better by than the copies of it that were.
    """

    judge: Judge | Pooled
    verdicts: list[Verdict] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)
    makers: list[Maker] = field(default_factory=list)
    gain: Gain = field(default_factory=Gain)

    @classmethod
    def of(
        cls, judge: Judge, models: Callable[[Sweep], Iterable[Model]],
        advance: Callable[[int], None] = _silently,
    ) -> Sweep:  # fmt: skip
        """Judge models, as they are and at other thresholds of their gates; ``advance`` is told of each.

        ``models`` are made one by one, and may look at the sweep so far.
        """
        sweep, known = cls(judge), dict[Maker, list[tuple[float, Verdict]]]()
        for point, maker in models(sweep):
            if maker not in known:  # one maker is one model, by whatever name
                known[maker] = judge.curve(*maker(), SENT_GRID)
            for threshold, verdict in known[maker]:
                sweep.add(point, maker, threshold, verdict)
            advance(1)
        return sweep

    def add(self, point: dict[str, Any], maker: Maker, threshold: float, verdict: Verdict) -> None:
        """One more model."""
        self.verdicts.append(verdict)
        self.points.append({**point, "threshold": threshold})
        self.makers.append(partial(maker, threshold=threshold))

    def gain_of_last(self, alike: Callable[[dict[str, Any]], bool]) -> float:
        """Accuracy that the model judged last, with its threshold moved or not, adds within its bill.

        It is compared with the models before it whose point is ``alike``.
        """
        first = len(self.verdicts) - MODELS_PER_GATE
        before = [self.verdicts[k] for k in range(first) if alike(self.points[k])]
        score, cost = (
            np.array([getattr(one, name) for one in before]) for name in ("score", "cost")
        )
        return max(
            one.score - float(np.max(score[cost <= one.cost], initial=-np.inf))
            for one in self.verdicts[first:]
        )

    def cheapest(self, most: float, with_error: float = np.inf) -> Kept:
        """The cheapest model that loses at most so much; the one that sends everybody loses nothing."""
        everybody = max(range(len(self.verdicts)), key=lambda k: (self.verdicts[k].sent, -k))
        models = self._different()
        kept = self._trial(models).cheapest(most, with_error)
        return Kept(everybody, 0.0) if kept is None else Kept(models[kept.model], kept.drop)

    def loss_within(self, budget: float) -> float:
        """What is to be expected of the best model within a mean bill: its loss on rows that did not choose it."""
        return float(self._trial(self._different()).drops(np.array([budget]))[0])

    def _different(self) -> list[int]:
        """Models that differ: what is the same on all rows counts once."""
        first = dict[tuple[bytes, bytes], int]()
        for k, verdict in enumerate(self.verdicts):
            first.setdefault((verdict.right.tobytes(), verdict.bill.tobytes()), k)
        return list(first.values())

    def error(self, model: int) -> float:
        """Standard error of what a model loses against the existing one."""
        return float(self._trial([model]).errors(np.array([0]))[0])

    def _trial(self, models: Sequence[int]) -> Trial:
        right = np.array([self.verdicts[k].right for k in models])
        bill = np.array([self.verdicts[k].bill for k in models])
        kept = np.array([1 - self.verdicts[k].sent for k in models])
        right = right + self.gain.mean * kept[:, None] * self.judge.counts
        return Trial(
            right, bill, self.judge.counts, self.judge.existing, doubt=self.gain.error * kept
        )

    def trace(self, best: int) -> pd.DataFrame:
        """One row per model; thresholds that are one are one."""
        lines, seen = [], set()
        for k, (point, verdict) in enumerate(zip(self.points, self.verdicts, strict=True)):
            line = {**point, **verdict.row()}
            if tuple(line.values()) not in seen or k == best:
                lines.append({**line, "chosen": k == best})
            seen.add(tuple(line.values()))
        return pd.DataFrame(lines)


@dataclass(frozen=True, eq=False)
class Pooled:
    """What several judges, each with rows of its own, know of the existing model."""

    codes: Ints
    counts: Floats
    existing: Floats
    existing_cost: float

    @classmethod
    def of(cls, judges: Sequence[Judge | Pooled]) -> Pooled:
        """All rows together."""
        paid = sum(judge.existing_cost * float(np.sum(judge.counts)) for judge in judges)
        counts = np.concatenate([judge.counts for judge in judges])
        return cls(
            np.concatenate([judge.codes for judge in judges]), counts,
            np.concatenate([judge.existing for judge in judges]), paid / float(np.sum(counts)),
        )  # fmt: skip


def joined(
    sweeps: Sequence[Sweep], models: Sequence[Model], rows: Floats | None = None, weight: Floats | None = None
) -> Sweep:  # fmt: skip
    """Models of all rows, each judged by its counterparts in sweeps over parts of them.

    Thresholds are the medians of theirs: they come from rows that the gates did not see. With ``rows``, they
    are where the gate sends the share of these that its counterparts sent: scores of a linear gate that tells
    little lie so close together that the same number sends many others.
    """
    sweep = Sweep(Pooled.of([one.judge for one in sweeps]))
    weights = np.array([np.sum(one.judge.counts) for one in sweeps])
    weights /= np.sum(weights)
    for first, (point, maker) in zip(itertools.count(0, MODELS_PER_GATE), models, strict=False):
        own = range(first, first + MODELS_PER_GATE)
        verdicts = [_join([one.verdicts[k] for one in sweeps], weights) for k in own]
        if rows is None:
            places = [statistics.median(one.points[k]["threshold"] for one in sweeps) for k in own]
        else:  # the first is the gate as it was trained
            score = maker()[0].batch(rows, billed=False).raw[:, 0]
            places = [0.0, *_thresholds(score, [one.sent for one in verdicts[1:]], weight)]
        for threshold, verdict in zip(places, verdicts, strict=True):
            sweep.add(point, maker, threshold, verdict)
    return sweep


def _join(parts: Sequence[Verdict], weights: Floats) -> Verdict:
    """One model's verdicts on several sets of rows, which have these shares of the weight."""
    figures = np.array([(part.score, part.cost, part.sent) for part in parts])
    score, cost, sent = np.sum(figures * weights[:, None], axis=0).tolist()
    right, bill = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("right", "bill")
    )
    return Verdict(score, cost, sent, max(part.features for part in parts), right, bill)
