"""ADAPT-GBRT: a boosted gate and a boosted cheap model that share what they buy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators._shared.deprecation import with_old_names
from worthwhile.estimators._shared.importances import spread_by_feature
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import BoosterSettings
from worthwhile.estimators.gates._base import (
    ADAPT_CONSTRAINTS,
    FEW_SHARES,
    WITHIN,
    GatedClassifier,
)
from worthwhile.estimators.gates._boosted import Chain, Duo, Iterate
from worthwhile.estimators.gates._drop import FEWER, Gain, further
from worthwhile.estimators.gates._judge import (
    MODELS_PER_GATE,
    Judge,
    Model,
    Sweep,
    Verdict,
    choose,
)
from worthwhile.estimators.gates._shares import average
from worthwhile.estimators.gates._task import Task
from worthwhile.policy.encoded import EncodedPolicy

SWEEP_BILLS = (0.03, 0.08, 0.15, 0.25, 0.37, 0.5, 0.7)
"""Bills of the cheap models of a sweep, as shares of the dearest, which comes after them."""

COARSE_STEPS = (0.2, 0.05, 0.015, 0.003)
"""Gammas of a coarse sweep, as shares of the one that buys nothing."""

PROBED_STEPS: tuple[float, ...] = tuple(np.geomspace(0.5, 0.0003, 12).tolist())
"""Gammas, likewise, at which a sweep that is not coarse looks for these bills."""

USUAL_STEP = 0.003
"""Gamma with which depths are compared."""

DEPTHS, COARSE_DEPTHS = (3, 5, 8), (3, 5)
"""Levels of splits that validation rows choose from."""

SWEEP_ITERATIONS = 1
"""Outer iterations per point of a sweep, each of which starts from the point before."""

WORTH_GROWING = 0.002
"""Accuracy that a model of a sweep must add, within its bill, to what as many rounds gave before it: with less
it is not grown on."""

ROUNDS, SWEEP_ROUNDS = 100, 300
"""Rounds of one trade-off, and of a sweep that is not coarse, which looks at fewer as well."""

LENGTHS, COARSE_LENGTHS = (1 / 12, 1 / 6, 1 / 3, 2 / 3, 1.0), (0.25, 0.5)
"""Shares of the rounds after which a sweep looks at a model; few rows need fewer."""


@with_old_names
@dataclass(eq=False, repr=False, kw_only=True)
class AdaptiveBoostingClassifier(GatedClassifier):
    """ADAPT-GBRT: keep the accurate model you have, and stop paying for it on the easy rows.

    A boosted gate decides row by row whether a boosted cheap model answers or the existing model
    is asked. Both ensembles pay for a feature once, together, as in Greedy Miser, so that they end
    up with the same few features.

    Parameters
    ----------
    existing : fitted classifier or (function, features), optional
        As for :class:`~worthwhile.AdaptiveLinearClassifier`; None trains a random forest.
    p_full : float or "auto", default="auto"
        Largest mean probability of sending a row on; 0 is Greedy Miser. The share of rows whose
        score is above 0, which are those sent, can differ: see ``trace_`` and :meth:`gate_report`.
        "auto", where ``gamma`` is so too: a sweep of both, of which the cheapest is kept that is
        expected to lose one point of accuracy at most, and one and a half with a standard error;
        else 0.5.
    gamma : float or "auto", default="auto"
        What one unit of money is worth in units of the gain: Greedy Miser's ``lam``. "auto" beside
        a number for ``p_full`` is 0.
    n_rounds : int or "auto", default="auto"
        Rounds of both ensembles; in a sweep at most, as validation rows choose. "auto": 300 in a
        sweep, 100 without one or where fewer than 2000 rows are swept.
    learning_rate : float, default=0.2
        Factor of every tree.
    max_depth : int or "auto", default="auto"
        Levels of splits. "auto": 3, 5 or (from 2000 rows on) 8, whichever makes the better cheap
        model on validation rows; 5 where there are none.
    min_samples_leaf : int, default=10
        Least number of rows (weight, with ``sample_weight``) in a leaf.
    leaves : {"vector", "scalar"}, default="vector"
        With more than two classes: one cheap tree a round for all of them, or one each.
    newton : bool, default=True
        Leaf values by one Newton step, which needs fewer rounds than the mean of the paper.
    constraint : {"at_most", "equal"}, default="at_most"
        Whether the mean probability may stay below ``p_full``.
    max_iter : int, default=10
        Outer iterations at most: shares, then both ensembles anew.
    budget, max_drop, validation_fraction, out_of_fold, verbose
    costs, categorical, dates, random_state, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.AdaptiveLinearClassifier`, where they are described.

    Attributes
    ----------
    trace_ : DataFrame
        One row per outer iteration: objective, mean share, share sent, and cost, score and features
        on training rows (validation rows where they were given). With ``budget`` or ``max_drop``: one
        row per model of the sweep, on validation rows.
    point_ : dict
        ``p_full`` and ``gamma`` of the model in use; after a sweep also its ``rounds``, ``depth`` and
        the ``threshold`` of the gate's score; with ``max_drop`` the ``drop`` to be expected.
    saved_ : float or None
        As in :class:`~worthwhile.AdaptiveLinearClassifier`.
    depth_ : int
        Levels of splits of the trees of a sweep.
    feature_importances_ : float64 array (d,)
        How much of the spread of the cheap model's scores each feature makes, on rows of ``fit``; they add up to 1.
    n_iter_ : int
        Outer iterations (after a sweep: at most, for each of its models).

    Notes
    -----
    Paper: Nan and Saligrama, "Adaptive Classification for Prediction Under a Budget", NIPS 2017,
    Algorithm 2, impurities (1) and (2). An existing model knows the rows it was trained on too
    well: give ``existing_proba`` (out of fold) to :meth:`fit` if you have it. A model that gives
    only scores is read as if they were log-odds: if they are on another scale, the gate trusts it
    too little or too much, and calibrated ``existing_proba`` help. A sweep takes ``p_full`` as an
    equality, as the authors' code does, and also looks at every gate with its threshold moved,
    which costs no training.

    Differs from the paper: every outer iteration grows both ensembles from nothing (the algorithm
    box would go on adding); splits must be worth more than their price, so that with ``p_full=0``
    the gate buys nothing and the cheap model is Greedy Miser's, tree for tree; the objective may
    rise between iterations, so the iteration with the best objective (or validation score) is
    kept; several classes; the bill of a row that is sent on contains what the gate read.

    Examples
    --------
    >>> from worthwhile import AdaptiveBoostingClassifier, datasets
    >>> from sklearn.svm import SVC
    >>> X, y, costs = datasets.make_synthetic_2(1000, separation=2)
    >>> accurate = SVC(gamma=1).fit(X, y)
    >>> model = AdaptiveBoostingClassifier(accurate, p_full=0.6, gamma=0.01, costs=costs).fit(X, y)
    >>> bool(model.score(X, y) > 0.99), bool(model.cost(X).mean() < 1.8)
    (True, True)
    """

    _renamed: ClassVar[dict[str, str]] = {"n_iterations": "max_iter"}
    depth_: int = field(init=False)
    feature_importances_: npt.NDArray[np.float64] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GatedClassifier._parameter_constraints,
        **ADAPT_CONSTRAINTS,
        "n_rounds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_depth": [Interval(Integral, 0, 16, closed="both"), StrOptions({"auto"})],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "leaves": [StrOptions({"vector", "scalar"})],
        "newton": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    p_full: float | str = "auto"
    gamma: float | str = "auto"
    n_rounds: int | str = "auto"
    learning_rate: float = 0.2
    max_depth: int | str = "auto"
    min_samples_leaf: int = 10
    leaves: str = "vector"
    newton: bool = True
    constraint: str = "at_most"
    max_iter: int = 10

    _style = "order"
    _wants_rows = True

    @contextmanager
    def _duo(self, task: Task) -> Iterator[Duo]:
        """The binned rows, and threads for as long as they are worked on."""
        with Threads(count_threads(self.n_jobs)) as threads, threadpool_limits(1):
            yield Duo(
                BinnedData.prepare(task.X, threads, task.weight), task.codes, len(task.classes),
                task.existing.losses(task.codes), task.costs, vector=self.leaves == "vector",
                threads=threads, newton=bool(self.newton), weight=task.weight,
            )  # fmt: skip

    def _settings(self, gamma: float, depth: int | None = None) -> BoosterSettings:
        if depth is None:
            depth = DEPTHS[1] if isinstance(self.max_depth, str) else int(self.max_depth)
        return BoosterSettings(
            lam=gamma, learning_rate=float(self.learning_rate), max_depth=depth,
            min_samples_leaf=int(self.min_samples_leaf), by_curvature=bool(self.newton),
        )  # fmt: skip

    def _prepare(self, parts: list[Task]) -> None:
        """Depth and gammas."""
        self._ends: dict[float, dict[int, int]] = {}  # rounds of each gamma and share, once known
        self.depth_ = self._best_depth(parts)
        self._steps = COARSE_STEPS if parts[0].coarse else self._steps_by_bill(parts[0])

    def _best_depth(self, parts: list[Task]) -> int:
        """The depth of the cheap model that is most often right on validation rows; ties: shallower."""
        if not isinstance(self.max_depth, str):
            return int(self.max_depth)
        depths = COARSE_DEPTHS if parts[0].coarse else DEPTHS
        scores = np.zeros(len(depths))
        n_rounds = self._lengths(coarse=True)[-1]
        for part in parts:
            judge = part.judge()
            with self._duo(part) as duo:
                nobody, gamma = np.zeros(len(duo.codes)), duo.gamma_max() * USUAL_STEP
                for k, depth in enumerate(depths):
                    settings = self._settings(gamma, depth)
                    pair = duo.grow(nobody, settings, n_rounds, gated=False)
                    verdict = judge(*duo.policies(pair, part.cheap_output))
                    scores[k] += np.sum(verdict.right)
        return depths[int(np.argmax(scores))]

    def _steps_by_bill(self, part: Task) -> tuple[float, ...]:
        """Gammas, as shares of the largest, whose cheap models have bills all over the range."""
        judge, n_rounds = part.judge(), self._lengths(coarse=False)[0]
        with self._duo(part) as duo:
            top, nobody = duo.gamma_max(), np.zeros(len(duo.codes))
            bills = []
            for step in PROBED_STEPS:
                settings = self._settings(top * step, self.depth_)
                pair = duo.grow(nobody, settings, n_rounds, gated=False)
                bills.append(judge(*duo.policies(pair, part.cheap_output)).cost)
        rising = np.maximum.accumulate(bills)
        logs = np.interp(rising[-1] * np.array(SWEEP_BILLS), rising, np.log(PROBED_STEPS))
        return (*dict.fromkeys(np.exp(logs).round(6).tolist()), PROBED_STEPS[-1])

    def _fit_one(self, task: Task) -> None:
        p_full, gamma, n_rounds = self._number("p_full"), self._number("gamma"), self._most(ROUNDS)
        judge = task.training_judge() if task.validation is None else task.judge()
        settings, lines, iterates = self._settings(gamma), [], list[Iterate]()
        verdicts: list[Verdict] = []
        with self._duo(task) as duo:
            start = duo.grow(np.zeros(len(task.X)), settings, n_rounds, gated=False)
            for it in duo.alternate(
                p_full, settings, n_rounds, int(self.max_iter), start,
                equal=self.constraint == "equal",
            ):  # fmt: skip
                iterates.append(it)
                verdicts.append(judge(*duo.policies(it.pair, task.cheap_output)))
                share = average(it.q, task.weight)
                line = {"iteration": len(iterates), "objective": it.objective, "mean_share": share}
                lines.append({**line, **verdicts[-1].row()})
        if task.validation is None:
            best = int(np.argmin([iterate.objective for iterate in iterates]))
        else:
            best = choose(verdicts, None)
        self.policy_ = task.compose(*duo.policies(iterates[best].pair, task.cheap_output))
        self.point_ = {"p_full": p_full, "gamma": gamma}
        self.trace_ = pd.DataFrame(lines).assign(chosen=np.arange(len(lines)) == best)

    def _note_importances(self, task: Task) -> None:
        cheap = self.policy_.cheap
        trees = (cheap.inner if isinstance(cheap, EncodedPolicy) else cheap).trees  # type: ignore[attr-defined]
        gains = spread_by_feature(trees, task.X)
        if task.expansion is not None:
            made = np.bincount(task.expansion.sources, gains, self.n_features_in_)
            gains = made.astype(np.float64)
        self.feature_importances_ = gains

    def _models(self, task: Task, so_far: Sweep | None = None) -> Iterator[Model]:
        """For all gammas and shares, after all their rounds and after fewer."""
        with self._duo(task) as duo:
            top = duo.gamma_max()
            # With everybody sent nothing is left to learn: neither ensemble buys anything.
            yield from self._chain(task, duo, (top, 1.0), (1.0,), so_far)
            for step in self._steps:
                yield from self._chain(task, duo, (top, step), (0.0, *FEW_SHARES), so_far)

    def _chain(
        self, task: Task, duo: Duo, gammas: tuple[float, float], shares: tuple[float, ...],
        so_far: Sweep | None,
    ) -> Iterator[Model]:  # fmt: skip
        """Models of one gamma: a share of the largest.

        The first judge says after how many rounds they have no more to add; all others follow.
        """
        counts, depth, gamma = self._lengths(coarse=task.coarse), self.depth_, gammas[0] * gammas[1]
        ends = self._ends.setdefault(gammas[1], {})
        chain = Chain(duo, shares, self._settings(gamma, depth), lambda k: ends.get(k, counts[-1]))
        for k, p_full in enumerate(shares):
            undecided = so_far is not None and k not in ends
            for n_rounds in counts:
                if n_rounds <= ends.get(k, counts[-1]):
                    point = {"p_full": p_full, "gamma": gamma, "rounds": n_rounds, "depth": depth}
                    maker = partial(chain.policies, k, task.cheap_output, n_rounds)
                yield point, maker
                if undecided and k not in ends and n_rounds > counts[0] and not _adds(so_far):
                    ends[k] = n_rounds
            if undecided:
                ends.setdefault(k, counts[-1])

    def _count(self, task: Task) -> int:
        chains = len(self._steps) * (1 + len(FEW_SHARES))
        return (1 + chains) * len(self._lengths(coarse=task.coarse))

    def _gain_of_rows(
        self, task: Task, parts: list[Task], sweeps: list[Sweep], whole: Sweep
    ) -> Gain:
        """By the cheap model of the gamma that would be taken, after fewer rows than in the sweep."""
        share = float(np.mean([len(part.X) for part in parts])) / len(task.X)
        factor, counts = further(FEWER * share, share), self._lengths(coarse=parts[0].coarse)
        if factor == 0.0:
            return Gain()
        per_gamma = (1 + len(FEW_SHARES)) * len(counts) * MODELS_PER_GATE
        best = whole.cheapest(WITHIN).model - len(counts) * MODELS_PER_GATE
        number = best // per_gamma if best >= 0 else len(self._steps) // 2
        step = self._steps[number]
        n_rounds = self._ends[step][0]
        place = len(counts) * MODELS_PER_GATE + number * per_gamma
        place += counts.index(n_rounds) * MODELS_PER_GATE
        fewer = []
        for part, sweep in zip(parts, sweeps, strict=True):
            assert isinstance(sweep.judge, Judge)
            with self._duo(part.thinned(FEWER)) as duo:
                settings = self._settings(duo.gamma_max() * step, self.depth_)
                pair = duo.grow(np.zeros(len(duo.codes)), settings, n_rounds, gated=False)
                fewer.append(sweep.judge(*duo.policies(pair, part.cheap_output)).right)
        more = whole.verdicts[place].right
        return Gain.between(np.concatenate(fewer), more, whole.judge.counts, factor)

    def _most(self, usual: int) -> int:
        """Rounds, where those that are usual stand for "auto"."""
        return usual if isinstance(self.n_rounds, str) else int(self.n_rounds)

    def _lengths(self, *, coarse: bool) -> list[int]:
        """Rounds after which a sweep looks at a model."""
        shares, usual = (COARSE_LENGTHS, ROUNDS) if coarse else (LENGTHS, SWEEP_ROUNDS)
        return sorted({max(1, int(share * self._most(usual))) for share in shares})

    @property
    def n_iter_(self) -> int:
        """Outer iterations: a line of the trace each, but after a sweep."""
        self._check_fitted()
        return len(self.trace_) if "iteration" in self.trace_ else SWEEP_ITERATIONS


def _adds(so_far: Sweep | None) -> bool:
    """Whether the model judged last adds to those before it of no more rounds."""
    assert so_far is not None
    rounds = so_far.points[-1]["rounds"]
    return so_far.gain_of_last(lambda point: point["rounds"] <= rounds) >= WORTH_GROWING
