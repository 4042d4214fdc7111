"""What the classifier and the regressor share: the frontier, and the way to a point of it."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from statistics import NormalDist
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from worthwhile._progress import progress
from worthwhile.columns.table import dense
from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import QUANTA_PER_UNIT, Costs, as_float, as_floats, budget_quanta
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators._shared.importances import change_of
from worthwhile.estimators._shared.parameters import TrainingParameters
from worthwhile.estimators._shared.promises import bought_values
from worthwhile.estimators.base import CostAware
from worthwhile.estimators.budget._fit import MOST_STAGES, Training
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._mixing import Mix, bounds_of_pairs, mix_lines
from worthwhile.estimators.budget._payoff import Classes, Payoff
from worthwhile.estimators.budget._stages import Stages
from worthwhile.policy.base import Policy
from worthwhile.policy.keys import WHOLE, Coin
from worthwhile.policy.library import LibraryPolicy
from worthwhile.policy.mixture import MixturePolicy
from worthwhile.policy.output import Output
from worthwhile.promise import Evidence, Figure, Promise

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

DOUBT = 0.5
"""Standard errors by which a dearer line must have the lesser total: the least of many is so partly by chance."""

REMEMBERED = 2000
"""Training rows that are kept, to say how the values are spread that a point buys."""

CONSTRAINTS: dict[str, list[Any]] = {
    "n_trees": [Interval(Integral, 1, None, closed="left")],
    "mix": ["boolean"],
    "cross_validated": ["boolean"],
    "confidence": [Interval(Real, 0.5, 1, closed="left")],
    "max_stages": [None, Interval(Integral, 0, None, closed="left")],
    "time_limit": [None, Interval(Real, 0, None, closed="left")],
    "verbose": ["verbose"],
    "n_jobs": [None, Integral],
    "random_state": ["random_state"],
}
"""Of the parameters that both have."""


def _budgets_for(bounds: Floats) -> Floats:
    """The least budgets that bills keep to which stay below these amounts: whole quanta, rounded up.

    Budgets are rounded down: one of an amount with more digits would not allow it.
    """
    quanta = np.rint(bounds * QUANTA_PER_UNIT)  # a product may be off by its last bit
    return as_floats(quanta + (as_floats(quanta) < bounds))


def _check_mix(mix: Any) -> None:
    if mix is not None and not isinstance(mix, (bool, np.bool_)):
        raise ValueError(f"mix is {mix!r}: give True, False, or None for what the model has.")


@dataclass(eq=False, repr=False)
class BudgetModel(TrainingParameters, CostAware):
    """A whole frontier from one training, and one of its points in use."""

    knows_errors: ClassVar[bool] = True
    calibrates_itself: ClassVar[bool] = True
    trade_off_parameters: ClassVar[tuple[str, ...]] = ("budget",)
    every_stage_differs: ClassVar[bool] = True
    frontier_: pd.DataFrame = field(init=False)
    n_stages_: int = field(init=False)
    training_stages_: int = field(init=False)
    point_: int = field(init=False)
    seed_: int = field(init=False)
    _training: Training = field(init=False)
    _truth: tuple[Array, Floats] = field(init=False)
    _sample: Floats = field(init=False)

    budget: Any = None
    _: KW_ONLY
    errors: Any = None
    mix: bool = False
    n_trees: int = 48
    cross_validated: bool = True
    confidence: float = 0.95
    max_stages: int | None = None
    time_limit: float | None = None
    random_state: Any = None
    verbose: int = 0

    @abstractmethod
    def _payoff(self, truth: Array, weight: Floats) -> Payoff:
        """What answers are worth, by the parameters."""

    @abstractmethod
    def _output(self) -> Output:
        """How answers become predictions, whatever errors cost."""

    def _learn(self, table: Table, truth: Array, costs: Costs, threads: Threads) -> Self:
        """Grow everything, and take up the point that the parameters ask for."""
        seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        self.seed_, self._truth = seed, (truth, table.weight)
        payoff = self._payoff(*self._truth)
        shape, most = Shape(self.n_trees, seed), MOST_STAGES
        with progress("stages", most, shown=self.verbose > 0) as advance:
            stages = Stages(self.max_stages, self.time_limit, advance)
            self._training = Training(
                table, payoff, costs, shape, stages, threads, cross_validated=self.cross_validated
            )
            advance(most - stages.asked)
        self.training_stages_ = stages.done
        return self._decide(costs, threads, payoff)

    def _decide(self, costs: Costs, threads: Threads, payoff: Payoff | None = None) -> Self:
        """Make the policies, with what has been grown; without a payoff for that of the parameters."""
        payoff = payoff or self._payoff(*self._truth)
        self._decides, self._calibration = self._read_errors(), None
        if (
            payoff.in_money
            and isinstance(payoff, Classes)
            and getattr(self, "calibrate", 0) is None
        ):
            self._calibration, self.calibration_ = self._training.calibration()
        fitted = self._training.solve(payoff, threads, self._calibration is not None)
        said, sure = fitted.promise, NormalDist().inv_cdf(self.confidence)
        self.frontier_ = pd.DataFrame(
            {
                "cost": said.bill,
                "cost_error": said.bill_error,
                "bound": _budgets_for(said.bill + sure * said.bill_error),
                "mixed_bound": bounds_of_pairs(
                    said.bill, said.bill_error, self.confidence, fitted.judges
                ),
                "score": said.score,
                "score_error": said.score_error,
                "rate": fitted.library.rate,
            }
        )
        if payoff.in_money:
            self.frontier_["total"] = said.bill - said.score
        self.n_stages_ = len(self.frontier_)
        self.policy_ = LibraryPolicy(costs, self._output(), fitted.library, 0)
        return self._use(self._choose(self.budget, self.mix))

    def _choose(self, budget: Any, mix: bool) -> Mix:
        """The lines to use for a budget; one alone where no two are better."""
        point, limit = self._choose_one(budget), budget_quanta(budget)
        alone, lines = Mix(point, point, 0.0), self.frontier_
        if not mix or limit is None:
            return alone
        # Where errors have prices, what is dearer than the line for any budget is not worth it.
        count = self._choose_one(None) + 1 if "total" in lines else len(lines)
        bound = lines["mixed_bound"].to_numpy()[:count]
        score = lines["score"].to_numpy()[:count]
        found = mix_lines(bound, score, as_float(limit))
        return alone if found is None or found.of(score) <= score[point] else found

    def _choose_one(self, budget: Any) -> int:
        """The best point that keeps to a budget; without one, the cheapest that is about the best.

        Where errors have prices, the best is that of the least total, and the cheapest about as good is taken.
        """
        lines = self.frontier_
        limit = budget_quanta(budget)
        safe = np.ones(len(lines), dtype=bool)
        if limit is not None:
            # From the cheapest on up to the first that may not keep it: so the confidence is that of
            # one line, though one of many is chosen.
            safe = np.logical_and.accumulate(lines["bound"].to_numpy() <= as_float(limit))
            safe[0] = True
        if "total" in lines:
            total, at = (
                lines["total"].to_numpy()[safe],
                int(np.argmin(lines["total"].to_numpy()[safe])),
            )
            error = float(np.hypot(lines["score_error"].iloc[at], lines["cost_error"].iloc[at]))
            return int(np.argmax(total <= total[at] + DOUBT * error))
        score = lines["score"].to_numpy()[safe]
        if limit is None:
            return int(np.argmax(score >= score[-1] - lines["score_error"].iloc[-1]))
        # Scores do not fall: of equal ones the dearest, unless nothing is better than the cheapest.
        return len(score) - 1 if score[-1] > score[0] else 0

    def _at(self, budget: Any, stage: int | None, mix: bool | None) -> Self:
        """A copy at another point of the same frontier."""
        self._check_fitted()
        _check_mix(mix)
        if (budget is None) == (stage is None):
            raise ValueError("at takes one of budget and stage: give the mean bill, or a line.")
        if stage is None:
            return copy.copy(self)._use(self._choose(budget, self.mix if mix is None else mix))
        if mix:
            raise ValueError("at takes mix with a budget: a line is one policy.")
        whole = isinstance(stage, Integral) and not isinstance(stage, bool)
        if not whole or not 0 <= int(stage) < len(self.frontier_):
            raise ValueError(
                f"stage is {stage!r}: the frontier has lines 0 to {len(self.frontier_) - 1}."
            )
        return copy.copy(self)._use(Mix(int(stage), int(stage), 0.0))

    def _at_errors(self, mix: bool | None, **prices: Any) -> Self:
        """A copy that decides by other prices of errors; nothing is grown again."""
        self._check_fitted()
        _check_mix(mix)
        if not hasattr(self, "_training"):
            raise ValueError(
                "the model was read from a file, which holds the rules for its own prices of errors: call "
                "at(errors=...) before save."
            )
        twin = copy.copy(self).set_params(mix=self.mix if mix is None else mix, **prices)
        with Threads(count_threads(self.n_jobs)) as threads:
            return twin._decide(self._inner_policy.costs, threads)

    def _use(self, mix: Mix) -> Self:
        """Take up a point, or two."""
        inner = self._inner_policy
        policy: Any = inner.first if isinstance(inner, MixturePolicy) else inner
        self.point_ = mix.first
        self.policy_ = policy.at(mix.first)
        if mix.share > 0:
            # Rounded down, so that the budget is kept.
            coin = Coin(self.seed_, int(mix.share * WHOLE))
            self.policy_ = MixturePolicy(policy.at(mix.first), policy.at(mix.second), coin)
        return self

    @property
    def feature_importances_(self) -> Floats:
        """How far each feature moves the answers to training rows (d,), as shares of all moves.

        Of the point in use, at the splits of the forests that answer; 0 throughout where nothing is bought.
        """
        self._check_fitted()
        if not hasattr(self, "_sample"):
            raise AttributeError(
                "the model was read from a file, which holds no rows to tell it by: importances(X) takes yours."
            )
        change = change_of(self.policy_, self._sample)
        assert change is not None  # a library has trees
        return change / (change.sum() or 1.0)

    @property
    def mixture_(self) -> tuple[int, int, float] | None:
        """The two lines of ``frontier_`` that are mixed, and the share of the second; None for one line."""
        self._check_fitted()
        first, second, share = self._mix()
        return None if share == 0 else (first, second, share)

    def _mix(self) -> Mix:
        """What is in use."""
        inner = self._inner_policy
        if isinstance(inner, MixturePolicy):
            return Mix(inner.first.point, inner.second.point, inner.coin.share / WHOLE)  # type: ignore[attr-defined]
        return Mix(self.point_, self.point_, 0.0)

    def _remember(self, X: Any) -> Self:
        """Keep some training rows, as numbers."""
        rows = self._read(dense(X))
        chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:REMEMBERED])
        self._sample = rows[chosen]
        return self

    def _promised(self) -> Promise | None:
        """By the frontier, for whichever point is in use; what was measured on other rows goes first."""
        measured = super()._promised()
        if measured is not None or not hasattr(self, "_sample"):
            return measured
        mix, policy = self._mix(), self.policy_
        line = {name: mix.of(column.to_numpy()) for name, column in self.frontier_.items()}
        figures = {"bill": Figure(float(line["cost"]), float(line["cost_error"]))}
        score = Figure(float(line["score"]), float(line["score_error"]))
        if "total" in line:
            error = float(np.hypot(score.error, figures["bill"].error))
            figures["total"] = Figure(float(line["total"]), error)
        elif policy.output.classes is not None:
            figures["accuracy"] = score
        outcome = policy.serve(self._sample, keys=[str(row) for row in range(len(self._sample))])
        seen = Evidence(
            {"bill": as_floats(policy.bills(outcome))}, bought_values(self._sample, outcome)
        )
        spreads = Promise.of(seen).spreads
        return Promise(
            len(self._sample), figures, spreads, errors=self._error_prices()[0],
            fingerprint=policy.fingerprint(),
        )  # fmt: skip

    def _restore(self, policy: Policy) -> None:
        super()._restore(policy)
        inner = self._inner_policy
        policy = inner.first if isinstance(inner, MixturePolicy) else inner
        if not isinstance(policy, LibraryPolicy) or len(self.frontier_) != len(policy.library.rate):
            raise ValueError("the frontier does not fit the policy")
        if policy is not inner and "point" not in inner.state()[0]:
            raise ValueError("what is mixed are not points of one frontier")

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """One training has the whole frontier."""
        return [{"budget": None}]
