"""The loop of Greedy Miser: one round after the other, with a trace, until done or interrupted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._progress import progress
from worthwhile.core.boosting.grower import Grown
from worthwhile.core.boosting.leaves import Step
from worthwhile.core.boosting.purchases import Meetings
from worthwhile.core.boosting.rounding import Rounded
from worthwhile.core.boosting.split_noise import noise_of
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts, as_float
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings, Sample, Tree
from worthwhile.estimators.boosting.losses import Loss
from worthwhile.exceptions import WorthwhileWarning

Floats = npt.NDArray[np.float64]
Masks = npt.NDArray[np.bool_]
Score = Callable[[Floats], float]
"""From raw scores (n, outputs) to a number that is better when larger."""


@dataclass(frozen=True)
class Plan:
    """What to do in each round.

    Attributes
    ----------
    n_rounds : int
        Rounds in all, those of an earlier fit included.
    vector : bool
        One tree a round for all outputs, instead of one tree per output.
    newton : bool
        Leaf values by one Newton step.
    patience : int, or None
        Rounds without a better validation score after which no more are run.
    subsample, max_features : float
        Share of rows per round and of features per tree.
    split_noise : float
        Standard deviation of the noise in the logarithm of what splits are worth.
    allowed : bool (d,)
        Features that may be used at all.
    seed : int
        Round r draws from a generator of (seed, r): going on equals not having stopped.
    """

    n_rounds: int
    vector: bool
    newton: bool
    patience: int | None
    subsample: float
    max_features: float
    split_noise: float
    allowed: Masks
    seed: int
    verbose: int = 0

    @property
    def draws(self) -> bool:
        """Whether anything is left to chance."""
        return self.subsample < 1.0 or self.max_features < 1.0


@dataclass
class Earlier:
    """What an earlier fit left: scores and purchases of the rows at hand."""

    rounds: int
    order: list[int]
    total: Floats
    acquired: Masks
    validation_total: Floats | None = None
    validation_acquired: Masks | None = None


@dataclass(frozen=True)
class RoundRecord:
    """What a round left: all that is needed to have run it.

    Attributes
    ----------
    trees : list of (Grown, float64 (nodes, width), int, int)
        Structure, values, output and exponent of its trees.
    order : list of int
        Features bought so far, in order.
    row : dict
        Its line of the trace.
    """

    trees: list[tuple[Grown, Floats, int, int]]
    order: list[int]
    row: dict[str, Any]


@dataclass
class Held:
    """Validation rows: their codes, their loss, how they are scored, and what they have paid."""

    loss: Loss
    score: Score
    words: npt.NDArray[np.uint64]
    total: Floats
    meetings: Meetings


class Rounds:
    """Runs rounds and keeps their trees and trace.

    Parameters
    ----------
    data : BinnedData
        Training rows, and validation rows as its first further matrix where there are any.
    loss : Loss
        Over the training rows.
    base : float64 (outputs,)
        Scores before any tree.
    costs, settings, plan, threads
        Prices, how trees grow, what happens in a round, who does the work.
    """

    def __init__(
        self, data: BinnedData, loss: Loss, base: Floats, costs: FlatCosts, settings: BoosterSettings, plan: Plan,
        threads: Threads, held: tuple[Loss, Score] | None = None, earlier: Earlier | None = None,
    ) -> None:  # fmt: skip
        self.loss, self.base, self.plan, self.threads, self.costs = loss, base, plan, threads, costs
        by_curvature = settings.by_curvature and plan.newton and loss.by_curvature
        settings = replace(settings, by_curvature=by_curvature)
        self.booster = Booster(data, costs, settings, threads, track=held is None)
        n = self.booster.n_rows
        self.total = np.zeros((loss.n_outputs, n))
        self.first_round = 0
        self.trees: list[Tree] = []
        self.trace: list[dict[str, Any]] = []
        self.held: Held | None = None
        if held is not None:
            words = data.others[0]
            meetings = Meetings(words.shape[1], costs, threads)
            total = np.zeros((loss.n_outputs, words.shape[1]))
            self.held = Held(*held, words, total, meetings)
        if earlier is not None:
            self._resume(earlier)

    def _resume(self, earlier: Earlier) -> None:
        """Go on from an earlier fit: nothing that was bought is forgotten."""
        self.first_round = earlier.rounds
        self.total[:] = earlier.total
        for feature in earlier.order:
            self.booster.purchases.taken(feature)
        self.booster.purchases.settle()
        if self.booster.meetings is not None:
            self.booster.meetings.restore(earlier.acquired)
        if self.held is not None and earlier.validation_total is not None:
            self.held.total[:] = earlier.validation_total
            self.held.meetings.restore(earlier.validation_acquired)

    def replay(self, records: Sequence[RoundRecord]) -> None:
        """Go through rounds that were run before on the same data: what comes after is the same."""
        for record in records:
            for told in record.trees:
                tree = self.booster.replay(told, self.total)
                self._follow(tree)
                self.trees.append(tree)
            for feature in record.order:
                self.booster.purchases.taken(feature)
            self.booster.purchases.settle()
            self.trace.append(record.row)

    def run(self, on_round: Callable[[RoundRecord], object] | None = None) -> None:
        """Run all rounds that are left; an interrupt keeps those that were completed.

        ``on_round``, where given, is told of each round when it is complete.
        """
        newton = self.plan.newton and self.loss.newton_factor is not None
        rounded_gradients = self.loss.rounded_gradients(
            together=self.plan.vector, newton=newton, threads=self.threads
        )
        _, gradients = rounded_gradients(self.total, self.base, None)
        try:
            first, shown = self.first_round + len(self.trace), bool(self.plan.verbose)
            with progress("rounds", self.plan.n_rounds, first, shown=shown) as advance:
                for number in range(first, self.plan.n_rounds):
                    if self._has_waited():
                        break
                    grown, step = self._round(number, gradients)
                    loss, gradients = rounded_gradients(self.total, self.base, step)
                    row = self._trace_row(number, loss)
                    self.trees += grown
                    self.trace.append(row)
                    advance(1, _note(row))
                    if on_round is not None:
                        parts = [(t.grown, t.value, t.output, t.exponent) for t in grown]
                        on_round(RoundRecord(parts, list(self.booster.purchases.order), row))
        except KeyboardInterrupt:
            warnings.warn(
                f"interrupted: the model keeps the {len(self.trace) + self.first_round} rounds that were complete.",
                WorthwhileWarning,
                stacklevel=5,
            )

    def _has_waited(self) -> bool:
        """Whether the best validation score lies as many rounds back as patience lasts."""
        if self.held is None or self.plan.patience is None:
            return False
        return self.first_round + len(self.trace) - self.best() >= self.plan.patience

    def _round(self, number: int, gradients: list[Rounded]) -> tuple[list[Tree], Step | None]:
        """Grow the trees of one round on gradients that were computed once, before its first tree.

        Returns them, and what is still to be added to the scores: where a round has one tree, that
        is done where the next gradients are computed.
        """
        step = None
        rng = np.random.default_rng([self.plan.seed, number]) if self.plan.draws else None
        rows = self._some_rows(rng)
        factor = self.loss.newton_factor or 1.0
        grown = []
        for output, part in enumerate(gradients):
            noise = noise_of(self.plan.split_noise, self.plan.seed, number, output)
            sample = Sample(rows, self._some_features(rng), noise)
            tree = self.booster.grow(part, sample, output, factor=factor)
            if self.loss.leaf_quantile is not None:
                lacking = self.loss.y - (self.base[0] + self.total[0])
                self.booster.refit(tree, sample, lacking, self.loss.leaf_quantile)
            if len(gradients) == 1:
                step = self.booster.place(tree)
            else:
                self.booster.add(tree, self.total)
            self._follow(tree)
            grown.append(tree)
        self.booster.purchases.settle()
        return grown, step

    def _follow(self, tree: Tree) -> None:
        """Take the rows that were held out through a tree."""
        if self.held is not None:
            held = self.held
            self.booster.follow(tree, held.words, held.total, held.meetings)

    def _some_rows(self, rng: np.random.Generator | None) -> npt.NDArray[np.int32] | None:
        if rng is None or self.plan.subsample >= 1.0:
            return None
        n, first = self.booster.n_total, self.booster.first_row
        size = max(1, round(self.plan.subsample * n))
        drawn = np.sort(rng.choice(n, size, replace=False, shuffle=False))
        low, high = np.searchsorted(drawn, [first, first + self.booster.n_rows])
        return (drawn[low:high] - first).astype(np.int32)

    def _some_features(self, rng: np.random.Generator | None) -> Masks:
        allowed = self.plan.allowed
        if rng is None or self.plan.max_features >= 1.0:
            return allowed
        candidates = np.flatnonzero(allowed)
        size = max(1, round(self.plan.max_features * len(candidates)))
        chosen = np.zeros_like(allowed)
        chosen[rng.choice(candidates, size, replace=False, shuffle=False)] = True
        return chosen

    def _trace_row(self, number: int, loss: float) -> dict[str, Any]:
        """One line of the trace: what the model is and costs after this round."""
        purchases = self.booster.purchases
        per_round = 1 if self.plan.vector else self.loss.n_outputs
        trees = per_round * (number + 1)
        evaluation = self.costs.evaluation * trees
        meetings = self.booster.meetings if self.held is None else self.held.meetings
        assert meetings is not None
        row = {
            "round": number + 1,
            "trees": trees,
            "features": len(purchases.order),
            "cost_model": as_float(purchases.total + evaluation),
            "cost_row": as_float(meetings.quanta()) / meetings.n_rows + as_float(evaluation),
            "train_loss": loss,
            "validation_loss": np.nan,
            "validation_score": np.nan,
        }
        if self.held is not None:
            held = self.held
            row["validation_loss"] = held.loss.mean(held.total, self.base, self.threads)
            row["validation_score"] = held.score((self.base[:, None] + held.total).T)
        return row

    def best(self) -> int:
        """Rounds to keep: best validation score, then lower cost, then earlier; all without validation."""
        if self.held is None or not self.trace:
            return self.first_round + len(self.trace)
        row = min(self.trace, key=lambda r: (-r["validation_score"], r["cost_model"], r["round"]))
        return int(row["round"])


def _note(row: dict[str, Any]) -> str:
    """What is shown beside the progress bar."""
    return f"loss {row['train_loss']:.5g}  features {row['features']}  cost {row['cost_row']:.6g}"
