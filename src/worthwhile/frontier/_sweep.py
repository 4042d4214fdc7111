"""All units of a sweep: candidates times folds, in parallel, kept in the journal."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from worthwhile._progress import progress
from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.frontier._duration import ends_first
from worthwhile.frontier._identity import digest
from worthwhile.frontier._journal import Journal, is_number
from worthwhile.frontier._measure import Indices, Ints, Judge, LabelledRows, grid_of, run_unit

Floats = npt.NDArray[np.float64]

GAP, LEAST_GAP = 0.1, 0.01
"""Neighbours are far apart if their bills differ by a tenth, and by a hundredth of the largest bill."""


@dataclass(frozen=True)
class Candidate:
    """Parameters to try: one step of the trade-off within a family of further parameters."""

    params: dict[str, Any]
    family: int


@dataclass(frozen=True)
class Measured:
    """One candidate at one stage, over all folds."""

    candidate: int
    stage: int | None
    case_budget: float | None
    scores: Floats
    """By fold."""
    sums: Ints
    """Bills of the validation rows in quanta, by block."""
    gap: float
    """How much more a validation row pays than a training row, on average."""
    least: float
    """What a model fitted on all rows must pay for its training rows to count as the one that was
    validated: as much as the cheapest model of a fold, and half of what they pay on average."""


def make_candidates(
    estimator: Any, rows: LabelledRows, param_grid: Any, trade_off: Any
) -> list[Candidate]:
    """The trade-off of the estimator, or the given one, for every combination of further parameters."""
    families = [{}] if param_grid is None else list(ParameterGrid(param_grid))
    candidates = []
    for family, further in enumerate(families):
        steps = trade_off
        if steps is None:
            model = clone(estimator).set_params(**further)
            steps = grid_of(model, rows)
        candidates += [Candidate({**further, **step}, family) for step in steps]
    if not candidates:
        raise ValueError("the trade-off has no points: give trade_off=[{...}, ...].")
    return candidates


class Sweep:
    """Runs units and puts their results together.

    Parameters
    ----------
    estimator : estimator
        What is fitted with the parameters of each candidate.
    rows, folds, blocks, judge
        Data, pairs of training and validation rows, block of each row, scoring.
    journal : Journal, optional
        Where finished units are kept.
    n_jobs : int, optional
        Of joblib; None is 1 unless a parallel backend says otherwise.
    shown : bool
        Whether to show progress.
    seconds : float, optional
        Time after which no further candidate begins, counted from here.
    """

    def __init__(
        self, estimator: Any, rows: LabelledRows, folds: Sequence[tuple[Indices, Indices]], blocks: Ints, judge: Judge,
        *, journal: Journal | None, n_jobs: int | None, shown: bool, seconds: float | None = None,
    ) -> None:  # fmt: skip
        # With several units at once, each keeps to one core.
        if effective_n_jobs(n_jobs) > 1 and estimator.get_params().get("n_jobs", 1) is None:
            estimator = clone(estimator).set_params(n_jobs=1)
        self.estimator, self.rows, self.folds, self.blocks = estimator, rows, folds, blocks
        self.judge, self.journal, self.n_jobs, self.shown = judge, journal, n_jobs, shown
        self.candidates: list[Candidate] = []
        self.results: dict[str, Any] = {}
        self._seconds, self._begun = seconds, time.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether no further candidate is begun."""
        return self._seconds is not None and time.monotonic() - self._begun > self._seconds

    def run(self, candidates: Sequence[Candidate]) -> None:
        """Train and measure what has not been measured yet."""
        if self._seconds is not None:  # what is left out is spread, not all that is dear
            candidates = ends_first(candidates)
        keys = [(c, f, _key(c, f)) for c in candidates for f in range(len(self.folds))]
        if self.journal is not None:
            self.results.update(
                {k: self.journal.units[k] for *_, k in keys if k in self.journal.units}
            )
        left = [unit for unit in keys if unit[2] not in self.results]
        with progress("searching", len(keys), len(keys) - len(left), shown=self.shown) as advance:
            for key, result in self._results(left):
                self.results[key] = result
                if self.journal is not None:
                    self.journal.add(key, result)
                advance(1)
        self.candidates += [c for c in candidates if self._is_done(c)]

    def _is_done(self, candidate: Candidate) -> bool:
        return all(_key(candidate, fold) in self.results for fold in range(len(self.folds)))

    def _in_time(
        self, units: list[tuple[Candidate, int, str]]
    ) -> Iterator[tuple[Candidate, int, str]]:
        """Units, all folds of a candidate or none; the first candidate always."""
        for number, unit in enumerate(units):
            same = number > 0 and unit[0] is units[number - 1][0]
            if number and not same and self.is_over:
                return
            yield unit

    def _results(self, units: list[tuple[Candidate, int, str]]) -> Iterator[tuple[str, Any]]:
        tasks = (
            delayed(_keyed)(
                key, self.estimator, candidate.params, self.rows, self.folds[fold], self.blocks, self.judge
            )
            for candidate, fold, key in self._in_time(units)
        )  # fmt: skip
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")
        except ValueError:  # some backends return all at once: then a few units are at risk
            batch = 2 * effective_n_jobs(self.n_jobs)
            while some := list(itertools.islice(tasks, batch)):
                yield from Parallel(n_jobs=self.n_jobs)(some)
            return
        yield from parallel(tasks)

    def refine(self) -> list[Candidate]:
        """Candidates between neighbours on the trade-off whose bills lie far apart.

        Models with stages are looked at whole. What is far does not depend on any budget, so a
        sweep is the same for all of them.
        """
        bill = {m.candidate: float(m.sums.sum()) for m in self.measured()}  # the last stage stays
        least = LEAST_GAP * max(bill.values())
        found = []
        for family in sorted({candidate.family for candidate in self.candidates}):
            members = [i for i in bill if self.candidates[i].family == family]
            members.sort(key=lambda i: (bill[i], i))
            for i, j in itertools.pairwise(members):
                if bill[j] - bill[i] > max(least, GAP * bill[j]):
                    middle = between(self.candidates[i].params, self.candidates[j].params)
                    if middle is not None:
                        found.append(Candidate(middle, family))
        known = {digest(c.params) for c in self.candidates}
        return [c for c in found if digest(c.params) not in known]

    def measured(self) -> list[Measured]:
        """Every candidate at every stage."""
        points = []
        for number, candidate in enumerate(self.candidates):
            by_fold = [self.results[_key(candidate, f)]["stages"] for f in range(len(self.folds))]
            limits = {s["case_budget"] for fold in by_fold for s in fold if "case_budget" in s}
            points += [self._at(number, None, limit, by_fold) for limit in sorted(limits)]
            stages = sorted(
                {s["stage"] for fold in by_fold for s in fold if "case_budget" not in s},
                key=_whole_last,
            )
            points += [self._at(number, stage, None, by_fold) for stage in stages]
        return points

    def _at(
        self, number: int, stage: int | None, limit: float | None, by_fold: list[list[Any]]
    ) -> Measured:
        found = [_last_until(stage, limit, fold) for fold in by_fold]
        sums = np.add.reduce(np.array([s["bills"] for s in found], dtype=np.int64), axis=0)
        sizes = np.array([len(held) for _, held in self.folds], dtype=np.float64)
        training = np.array([s["training_bill"] for s in found])
        mean = float(sums.sum()) / QUANTA_PER_UNIT / sizes.sum()
        gap = mean - float((training * sizes).sum() / sizes.sum())
        scores = np.array([s["score"] for s in found])
        least = float(max(training.min(), training.mean() / 2))
        return Measured(number, stage, limit, scores, sums, gap, least)

    def seconds(self, number: int) -> float:
        """Mean time of fitting a candidate."""
        keys = [_key(self.candidates[number], f) for f in range(len(self.folds))]
        return float(np.mean([self.results[key]["seconds"] for key in keys]))


def is_unit(result: Any) -> bool:
    """Whether a value from a journal is what :func:`run_unit` returns."""
    return (
        isinstance(result, dict)
        and is_number(result.get("seconds"))
        and isinstance(stages := result.get("stages"), list)
        and len(stages) > 0
        and all(isinstance(stage, dict) and _is_stage(stage) for stage in stages)
    )


def _is_stage(stage: dict[str, Any]) -> bool:
    bills = stage.get("bills")
    return (
        (stage.get("stage", 0) is None or type(stage.get("stage")) is int)
        and is_number(stage.get("case_budget", 0.0))
        and is_number(stage.get("score"))
        and is_number(stage.get("training_bill"))
        and isinstance(bills, list)
        and all(type(bill) is int for bill in bills)
    )


def _keyed(key: str, *unit: Any) -> tuple[str, Any]:
    return key, run_unit(*unit)


def _key(candidate: Candidate, fold: int) -> str:
    return f"{digest(candidate.params)}-{fold}"


def _whole_last(stage: int | None) -> float:
    return float("inf") if stage is None else stage


def _last_until(stage: int | None, limit: float | None, stages: list[Any]) -> Any:
    """The stage or the limit asked for, or the last before it in a model that is shorter.

    A limit that binds for nobody was not written down: it is the whole model.
    """
    if limit is not None:
        found = [s for s in stages if s.get("case_budget") == limit]
        return found[0] if found else stages[-1]
    if stage is None:
        return stages[-1]
    return [s for s in stages if "case_budget" not in s and s["stage"] <= stage][-1]


def between(low: dict[str, Any], high: dict[str, Any]) -> dict[str, Any] | None:
    """Parameters between two that differ in one number; None where there are none."""
    differing = [name for name in low if low[name] != high.get(name)]
    if len(differing) != 1:
        return None
    name = differing[0]
    a: Any = low[name]
    b: Any = high[name]
    if not all(type(v) in (int, float) for v in (a, b)):
        return None
    middle = math.sqrt(a * b) if a > 0 and b > 0 else (a + b) / 2
    if not math.isfinite(middle):
        return None
    return {**low, name: round(middle) if type(a) is type(b) is int else middle}
