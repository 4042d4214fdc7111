"""What the gated classifiers share: judging models, choosing under a budget, reports, files."""

from __future__ import annotations

import copy
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from worthwhile._messages import is_on_purpose
from worthwhile._progress import progress
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators.gates._drop import Gain
from worthwhile.estimators.gates._judge import Model, Sweep, choose, joined
from worthwhile.estimators.gates._reading import TaskReader
from worthwhile.estimators.gates._report import report
from worthwhile.estimators.gates._saving import LEAST_SAVING, reason
from worthwhile.estimators.gates._task import COARSE_ROWS, Task
from worthwhile.estimators.priced.priced_model import PricedModel
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Policy
from worthwhile.policy.gate import GatePolicy

WITHIN, AT_MOST = 0.01, 0.015
"""Accuracy that a gate may be expected to lose where nothing says how much, and with a standard error."""

STAGES = 24
"""Budgets, as shares of the existing model's bill, that a sweep has a stage for."""

SHARES, FEW_SHARES = (0.2, 0.4, 0.6), (0.25, 0.55)
"""Mean shares of a sweep, between nobody and everybody; moved thresholds reach those in between."""

USUAL = {"p_full": 0.5, "gamma": 0.0, "C": 1.0, "correct_weight": 1.0}
"""What a parameter of the trade-off is where only another was given."""

ADAPT_CONSTRAINTS: dict[str, list[Any]] = {
    "p_full": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
    "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    "constraint": [StrOptions({"at_most", "equal"})],
}
"""What both ADAPTs may be given for their trade-off."""


@dataclass(eq=False, repr=False)
class GatedClassifier(ClassParameters, TrainingParameters, TaskReader, ABC):
    """Base of the classifiers with a gate, a cheap model and an existing one."""

    policy_: GatePolicy = field(init=False)
    _style = "columns"
    trace_: pd.DataFrame = field(init=False)
    point_: dict[str, Any] = field(init=False)
    trade_off_parameters: ClassVar[tuple[str, ...]] = ("p_full", "gamma")
    every_stage_differs: ClassVar[bool] = True
    _wants_rows: ClassVar[bool] = False
    saved_: float | None = field(init=False)
    n_stages_: int = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [None, Interval(Real, 0, None, closed="left")],
        "max_drop": [None, Interval(Real, 0, 1, closed="both")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "out_of_fold": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    existing: Any = None
    _: KW_ONLY
    budget: float | None = None
    max_drop: float | None = None
    validation_fraction: float = 0.3
    out_of_fold: bool = True
    random_state: Any = None
    verbose: int = 0

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        existing_proba: Any = None,
        validation: Any = None,
    ) -> Self:
        """Train gate and cheap model around the existing one.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is a value that came back empty.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            What each row counts, in the losses, in the mean of ``p_full``, and where rows are set
            aside; a weight of 2 is the row given twice. ``validation`` rows count 1 each.
        existing_proba : array (n, n_classes), optional
            What the existing model says about rows it was not trained on; otherwise it is asked,
            or, where it knows the rows already, copies of it that do not (``out_of_fold``).
        validation : (X, y), optional
            Rows to choose on, best such that the existing model was not trained on. Where rows are
            set aside instead, ``existing_proba`` tells how well it does on them.
        """
        self._check()
        data, swept = (X, y, sample_weight, existing_proba), self._is_swept()
        task, rng = self._read_task(data, validation, swept=swept)
        if not swept:
            for name in ("_swept", "n_stages_"):
                vars(self).pop(name, None)
            self._fit_one(task)
            self._note_importances(task)
            self.saved_ = None
            return self
        self._take(self._sweep(task, rng, crossed=self.budget is None), task)
        self._note_importances(task)
        self._tell(task)
        return self

    def _note_importances(self, task: Task) -> None:
        """Keep what features gain, where the cheap model knows."""

    def _is_swept(self) -> bool:
        """Whether fit chooses among many: it does where no trade-off is named."""
        unset = all(getattr(self, name) == "auto" for name in self.trade_off_parameters)
        return unset or self.budget is not None or self.max_drop is not None

    def _number(self, name: str) -> float:
        """A parameter of the trade-off, or what stands for it where only others were given."""
        value = getattr(self, name)
        return USUAL[name] if value == "auto" else float(value)

    def fit_path(
        self,
        X: Any,
        y: Any,
        budgets: Sequence[float] = (),
        sample_weight: Any = None,
        *,
        drops: Sequence[float] = (),
        existing_proba: Any = None,
        validation: Any = None,
    ) -> list[Self]:
        """Fit one model per budget, and one per drop; they all come from one sweep.

        Parameters
        ----------
        X, y, sample_weight, existing_proba, validation
            As for :meth:`fit`.
        budgets : sequence of float
            Mean bills per row, on validation rows.
        drops : sequence of float
            Values of ``max_drop``.

        Returns
        -------
        list of fitted estimators, in the order of ``budgets``, then of ``drops``
        """
        self._check()
        data = X, y, sample_weight, existing_proba
        task, rng = self._read_task(data, validation, swept=True)
        sweep, fitted = self._sweep(task, rng, crossed=not len(budgets)), []
        rules: list[dict[str, Any]] = [{"budget": budget, "max_drop": None} for budget in budgets]
        for rule in [*rules, *({"budget": None, "max_drop": drop} for drop in drops)]:
            model = copy.copy(self).set_params(**rule)
            model._check()
            model._take(sweep, task)
            fitted.append(model)
        return fitted

    def _check(self) -> None:
        """Refuse parameters that do not go together."""
        self._validate_params()
        if self.budget is not None and self.max_drop is not None:
            raise ValueError(
                f"budget={self.budget} and max_drop={self.max_drop} are both given: one of them "
                "chooses, leave the other at None."
            )

    @abstractmethod
    def _fit_one(self, task: Task) -> None:
        """Fit at the trade-off that the parameters name."""

    @abstractmethod
    def _models(self, task: Task, so_far: Sweep | None = None) -> Iterator[Model]:
        """Fit over all trade-offs: always as many models, in the same order, whatever the rows.

        ``so_far`` tells how those before do, where they are judged.
        """

    def _count(self, task: Task) -> int | None:
        """How many models there are; None where that is not known before."""
        return None

    def _prepare(self, parts: list[Task]) -> None:
        """Settle what is the same for all models, on the validation rows of the parts."""

    def _sweep(self, task: Task, rng: np.random.Generator, *, crossed: bool) -> Sweep:
        """All models, judged on rows that did not train them.

        Few rows are not set aside: each judges the models of the folds that it is not in, and the
        models of all rows are judged by those. So are trees of all rows by trees of some: they want
        rows, and those of a gate are to be as good as the existing model's.
        """
        parts, again = [task], False
        if task.validation is None:
            task = replace(task, coarse=crossed and len(task.X) < COARSE_ROWS)
            parts = task.parts(
                self.validation_fraction, rng, crossed=crossed, halves=self._wants_rows
            )
            again = len(parts) > 1 or (crossed and self._wants_rows)
        self._prepare(parts)
        count = self._count(parts[0])
        total = None if count is None else count * len(parts)
        with progress(type(self).__name__, total, shown=self.verbose > 0) as advance:
            sweeps = [
                Sweep.of(part.judge(), partial(self._models, part), advance) for part in parts
            ]
        sweep = sweeps[0]
        if again:
            # Trees know the rows that trained them: how many of those are sent says little.
            known = (None, None) if self._wants_rows else task.some_rows()
            sweep = joined(sweeps, list(self._models(task)), *known)
        # Given rows judge the existing model itself, others copies of it that had fewer rows.
        behind = Gain() if task.validation is not None else task.unseen.gain
        sweep.gain = Gain().less(behind)
        if again:
            sweep.gain = self._gain_of_rows(task, parts, sweeps, sweep).less(behind)
        return sweep

    def _gain_of_rows(
        self, task: Task, parts: list[Task], sweeps: list[Sweep], whole: Sweep
    ) -> Gain:
        """What models of all rows are better by than their counterparts, which some rows trained."""
        return Gain()

    def _take(self, sweep: Sweep, task: Task) -> None:
        """Keep the best model of a sweep: within a budget, of the least total, or that loses little."""
        if self.budget is not None:
            best = choose(sweep.verdicts, self.budget)
            self.point_ = sweep.points[best]
        elif self._decides is not None and self.max_drop is None:
            # A sweep knows how many are wrong, not how: errors count what they cost on average.
            price = self._decides.usual(task.classes, np.bincount(task.codes))
            totals = [verdict.cost + price * (1 - verdict.score) for verdict in sweep.verdicts]
            best = int(np.argmin(totals))
            self.point_ = sweep.points[best]
        else:
            rule = (WITHIN, AT_MOST) if self.max_drop is None else (float(self.max_drop), np.inf)
            best, drop = sweep.cheapest(*rule)
            self.point_ = {**sweep.points[best], "drop": drop}
        self._keep(sweep, task, best)
        self.n_stages_ = STAGES + 1  # after the budgets comes what was chosen

    def _keep(self, sweep: Sweep, task: Task, best: int) -> None:
        """Make a model of a sweep the one in use."""
        self._swept = sweep, task
        vars(self).pop("feature_importances_", None)  # those of another model
        self.policy_ = task.compose(*sweep.makers[best]())
        self.trace_ = sweep.trace(best)
        dear = sweep.judge.existing_cost
        self.saved_ = 1 - sweep.verdicts[best].cost / dear if dear > 0 else 0.0

    def _tell(self, task: Task) -> None:
        """Say what is saved; where that is nothing, warn and say why."""
        sweep, drop = self._swept[0], self.point_.get("drop")
        assert self.saved_ is not None
        if self.verbose:
            lost = "" if drop is None else f", {100 * drop:.1f} points of accuracy lost"
            how = f" (existing model asked {task.unseen.how})" if task.unseen.how else ""
            print(
                f"{type(self).__name__}: {self.saved_:.0%} of the bill saved{lost}{how}",
                file=sys.stderr,
            )
        if self.saved_ < LEAST_SAVING and self.budget is None and not is_on_purpose():
            warnings.warn(
                f"the gate saves {max(self.saved_, 0.0):.0%} of the existing model's bill: "
                f"{reason(sweep, task.unseen, WITHIN if self.max_drop is None else self.max_drop)}",
                WorthwhileWarning,
                stacklevel=5,
            )

    def at(self, *, budget: float | None = None, stage: int | None = None) -> Self:
        """Another model of the sweep that ``fit`` made: the best on validation rows within a budget.

        Parameters
        ----------
        budget : number, optional
            Mean bill per row.
        stage : int, optional
            Instead: the budget as a share of the existing model's bill, in 24ths.
        """
        check_is_fitted(self, "policy_")
        if not hasattr(self, "_swept"):
            raise ValueError(
                "there is no sweep to choose from: fit without p_full and gamma (or C), and before "
                "the model is saved."
            )
        if (budget is None) == (stage is None):
            raise ValueError(f"budget={budget} and stage={stage} were given: give one of the two.")
        sweep, task = self._swept
        if stage is not None:
            if not 0 <= stage <= STAGES:
                raise ValueError(f"stage is {stage}: it is a whole number from 0 to {STAGES}.")
            budget = sweep.judge.existing_cost * stage / STAGES
        other = copy.copy(self)
        with warnings.catch_warnings():
            if stage is not None:  # the first stages stand for "as cheap as it gets"
                warnings.simplefilter("ignore", WorthwhileWarning)
            best = choose(sweep.verdicts, budget)
        other.point_ = sweep.points[best]
        other._keep(sweep, task, best)
        return other

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """One point: its fit sweeps, and every budget is a stage of it (``at(stage=...)``)."""
        return [dict.fromkeys(self.trade_off_parameters, "auto")]

    def __getstate__(self) -> dict[str, Any]:
        # Copies in files hold the model; the sweep, with its rows, stays here.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_swept"}

    # What the gate does --------------------------------------------------------------------------

    def sent(self, X: Any) -> npt.NDArray[np.bool_]:
        """Rows that the gate sends on to the existing model, bool (n,)."""
        return self.policy_.sent(self._read(X))

    def gate_report(self, X: Any, y: Any) -> pd.DataFrame:
        """Who answers what, how well, and for how much.

        Parameters
        ----------
        X, y
            Rows and labels.

        Returns
        -------
        DataFrame
            Rows "cheap" (answered by the cheap model), "existing" (sent on) and "all"; columns
            ``rows``, ``share``, ``accuracy`` of the composite, ``cheap_accuracy`` and
            ``existing_accuracy`` that either model has there, ``disagree`` (share of these rows on
            which the two models differ) and ``cost`` (mean bill). Only the report runs both models
            on all rows.
        """
        check_is_fitted(self, "policy_")
        return report(self.policy_, self._read(X), np.asarray(y))

    # Copies and files ----------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Any:
        # The existing model is data, not a recipe: it stays as it is.
        params = self.get_params(deep=False)
        kept = {
            name: clone(value, safe=False) for name, value in params.items() if name != "existing"
        }
        kind: Any = type(self)
        twin = kind(existing=self.existing, **kept)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if hasattr(self, name):
                setattr(twin, name, copy.deepcopy(getattr(self, name)))
        return twin

    def _stored_params(self) -> dict[str, Any]:
        # The policy holds the existing model; a file need not hold it twice.
        params = super()._stored_params()
        return params | {"existing": None if self.existing is None else "in the policy"}

    def _restore(self, policy: Policy) -> None:
        if not isinstance(policy, GatePolicy):
            raise ValueError("the policy has no gate")
        super()._restore(policy)
        if self.existing is not None:
            self.existing = PricedModel(None)
            self.existing._restore(policy.existing.with_columns(policy.columns))
