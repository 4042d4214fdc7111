"""What the gated classifiers share: reading data, judging models, choosing under a budget, reports."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from costwise.costs import Costs, as_floats, budget_quanta
from costwise.estimators._adapt_existing import (
    Existing,
    default_existing,
    prices_of,
    read_existing,
    read_proba,
)
from costwise.estimators._held_out import hold_out, read_validation
from costwise.estimators.base import CostAwareClassifier
from costwise.estimators.priced_model import PricedModel
from costwise.exceptions import CostwiseWarning
from costwise.policy.base import Policy
from costwise.policy.gate import GatePolicy, shared_output
from costwise.policy.output import Output

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

Maker = Callable[[], tuple[Policy, Policy]]

P_GRID = (0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.85, 1.0)
"""Shares of rows sent on that a sweep tries."""


@dataclass(frozen=True)
class Verdict:
    """How a gate and a cheap model do on some rows."""

    score: float
    cost: float
    sent: float
    features: int

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
    """

    def __init__(
        self, X: Floats, codes: Ints, existing: Policy, proba: Floats | None = None
    ) -> None:
        self.X, self.codes, self.costs = X, codes, existing.costs
        outcome = existing.batch(X)
        said = existing.output.winner(outcome.raw) if proba is None else np.argmax(proba, axis=1)
        self._right = said == codes
        self._acquired, self._evaluated = outcome.acquired, outcome.evaluated

    def __call__(self, gate: Policy, cheap: Policy) -> Verdict:
        """Accuracy, mean bill, share sent on, and number of features that gate and cheap model read."""
        asked, guess = gate.batch(self.X), cheap.batch(self.X)
        sent = asked.raw[:, 0] > 0
        right = np.where(sent, self._right, cheap.output.winner(guess.raw) == self.codes)
        acquired = asked.acquired | np.where(sent[:, None], self._acquired, guess.acquired)
        evaluated = asked.evaluated + np.where(sent, self._evaluated, guess.evaluated)
        quanta = self.costs.quanta(acquired) + evaluated * self.costs.flat.evaluation
        reads = np.union1d(gate.reads, cheap.reads)
        return Verdict(
            float(np.mean(right)),
            float(np.mean(as_floats(quanta))),
            float(np.mean(sent)),
            len(reads),
        )


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
            CostwiseWarning,
            stacklevel=3,
        )
        return cheapest
    return min(fits, key=lambda k: (-verdicts[k].score, verdicts[k].cost, k))


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a fit starts from."""

    X: Floats
    codes: Ints
    costs: Costs
    classes: npt.NDArray[Any]
    existing: Existing
    validation: tuple[Floats, Ints] | None
    validation_proba: Floats | None = None

    @property
    def cheap_output(self) -> Output:
        """How a cheap model of ours answers."""
        return Output("log-odds" if len(self.classes) == 2 else "logits", self.classes)

    def judge(self) -> Judge:
        """A judge on the validation rows."""
        assert self.validation is not None
        return Judge(*self.validation, self.existing.policy, self.validation_proba)

    def training_judge(self, most: int = 4096) -> Judge:
        """A judge on at most ``most`` evenly spaced training rows."""
        rows = np.arange(0, len(self.X), -(-len(self.X) // most))
        return Judge(self.X[rows], self.codes[rows], self.existing.policy)

    def compose(self, gate: Policy, cheap: Policy) -> GatePolicy:
        """The composite."""
        existing = self.existing.policy
        output = shared_output(cheap.output, existing.output)
        return GatePolicy(self.costs, output, gate, cheap, existing)


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
        """Judge a model."""
        self.verdicts.append(self.judge(*maker()))
        self.points.append(point)
        self.makers.append(maker)

    def trace(self, best: int) -> pd.DataFrame:
        """One row per model."""
        lines = [
            {**p, **v.row(), "chosen": k == best}
            for k, (p, v) in enumerate(zip(self.points, self.verdicts, strict=True))
        ]
        return pd.DataFrame(lines)


class GatedClassifier(CostAwareClassifier):
    """Base of the classifiers with a gate, a cheap model and an existing one."""

    policy_: GatePolicy
    trace_: pd.DataFrame
    point_: dict[str, Any]
    trade_off_parameters: ClassVar[tuple[str, ...]] = ("p_full", "gamma")

    existing: Any
    costs: Any
    budget: Any
    validation_fraction: float
    random_state: Any

    def fit(self, X: Any, y: Any, *, existing_proba: Any = None, validation: Any = None) -> Self:
        """Train gate and cheap model around the existing one.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is a value that came back empty.
        y : array (n,)
            Labels.
        existing_proba : array (n, n_classes), optional
            What the existing model says about rows it was not trained on; otherwise it is asked.
        validation : (X, y), optional
            Rows to choose on, best such that the existing model was not trained on. Where rows are
            set aside instead, ``existing_proba`` tells how well it does on them.
        """
        self._check()
        task = self._read_task(X, y, existing_proba, validation, hold=self.budget is not None)
        if self.budget is None:
            self._fit_one(task)
        else:
            self._take(self._sweep(task), task, self.budget)
        return self

    def fit_path(
        self,
        X: Any,
        y: Any,
        budgets: Sequence[float],
        *,
        existing_proba: Any = None,
        validation: Any = None,
    ) -> list[Self]:
        """Fit one model per budget; they all come from one sweep.

        Parameters
        ----------
        X, y, existing_proba, validation
            As for :meth:`fit`.
        budgets : sequence of float
            Mean bills per row, on validation rows.

        Returns
        -------
        list of fitted estimators, in the order of ``budgets``
        """
        self._check()
        task = self._read_task(X, y, existing_proba, validation, hold=True)
        sweep, fitted = self._sweep(task), []
        for budget in budgets:
            model = copy.copy(self).set_params(budget=budget)
            model._check()
            model._take(sweep, task, budget)
            fitted.append(model)
        return fitted

    def _check(self) -> None:
        """Refuse parameters that do not go together."""
        self._validate_params()

    def _fit_one(self, task: Task) -> None:
        raise NotImplementedError

    def _sweep(self, task: Task) -> Sweep:
        raise NotImplementedError

    def _take(self, sweep: Sweep, task: Task, budget: Any) -> None:
        """Keep the best model of a sweep within a budget."""
        best = choose(sweep.verdicts, budget)
        self.policy_ = task.compose(*sweep.makers[best]())
        self.trace_ = sweep.trace(best)
        self.point_ = sweep.points[best]

    def _read_task(
        self, X: Any, y: Any, existing_proba: Any, validation: Any, *, hold: bool
    ) -> Task:
        """Check the data, set rows aside if models will be compared, make or read the existing model."""
        X, y, _ = self._read_training(X, y)
        codes = self._read_labels(y)
        names = getattr(self, "feature_names_in_", None)
        costs = Costs.of(
            prices_of(self.existing, self.costs), X.shape[1], None if names is None else list(names)
        )
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        held: tuple[Floats, Ints] | None = None
        held_proba = None
        if validation is not None:
            held = self._read_validation(validation)
        elif hold:
            rows = hold_out(
                len(X), codes, self.validation_fraction, np.random.default_rng([seed, 0])
            )
            kept = np.setdiff1d(np.arange(len(X)), rows)
            if existing_proba is not None:
                proba = read_proba(existing_proba, len(X), len(self.classes_), "existing_proba")
                existing_proba, held_proba = proba[kept], proba[rows]
            held = X[rows], codes[rows]
            X, codes = X[kept], codes[kept]
        if self.existing is None:
            jobs = getattr(self, "n_jobs", None)
            existing = default_existing(X, codes, self.classes_, costs, seed, jobs)
            if existing_proba is not None:
                proba = read_proba(existing_proba, len(X), len(self.classes_), "existing_proba")
                existing = Existing(existing.policy, proba)
        else:
            existing = read_existing(self.existing, costs, self.classes_, X, existing_proba)
        return Task(X, codes, costs, self.classes_, existing, held, held_proba)

    def _read_validation(self, validation: Any) -> tuple[Floats, Ints]:
        X, y = read_validation(self, validation)
        known = np.isin(y, self.classes_)
        if not known.all():
            strange = np.asarray(y)[~known].tolist()[0]
            raise ValueError(
                f"validation has the label {strange!r}, which y has not: give rows of known classes."
            )
        return np.asarray(X, dtype=np.float64), np.searchsorted(self.classes_, y)

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
        policy, X, y = self.policy_, self._read(X), np.asarray(y)
        if len(y) != len(X):
            raise ValueError(f"y has {len(y)} labels for {len(X)} rows: give one per row.")
        sent = policy.sent(X)
        cheap = policy.cheap.output.predict(policy.cheap.batch(X, billed=False).raw)
        existing = policy.existing.output.predict(policy.existing.batch(X, billed=False).raw)
        composite = np.where(sent, existing, cheap)
        outcome = policy.batch(X)
        evaluations = outcome.evaluated * policy.costs.flat.evaluation
        bill = as_floats(policy.costs.quanta(outcome.acquired) + evaluations)
        report = {}
        for side, rows in (
            ("cheap", ~sent),
            ("existing", sent),
            ("all", np.ones(len(X), dtype=bool)),
        ):
            report[side] = {
                "rows": int(rows.sum()),
                "share": float(rows.mean()) if len(rows) else np.nan,
                "accuracy": _mean(composite[rows] == y[rows]),
                "cheap_accuracy": _mean(cheap[rows] == y[rows]),
                "existing_accuracy": _mean(existing[rows] == y[rows]),
                "disagree": _mean(cheap[rows] != existing[rows]),
                "cost": _mean(bill[rows]),
            }
        return pd.DataFrame.from_dict(report, orient="index").astype({"rows": int})

    # Copies and files ----------------------------------------------------------------------------

    def __sklearn_clone__(self) -> Any:
        # The existing model is data, not a recipe: it stays as it is.
        params = self.get_params(deep=False)
        kept = {
            name: clone(value, safe=False) for name, value in params.items() if name != "existing"
        }
        twin = type(self)(existing=self.existing, **kept)
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
            self.existing._restore(policy.existing)


def _mean(values: npt.NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
