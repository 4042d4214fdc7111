"""What the gated classifiers share: reading data, judging models, choosing under a budget, reports."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from worthwhile.columns import Columns, Expansion
from worthwhile.columns.table import dense
from worthwhile.costs import Costs, as_floats
from worthwhile.estimators._shared.validation import hold_out, read_validation
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.gates._existing import (
    Existing,
    default_existing,
    read_existing,
    read_proba,
)
from worthwhile.estimators.gates._judge import Judge, Sweep, choose
from worthwhile.estimators.priced.priced_model import PricedModel
from worthwhile.policy.base import Policy
from worthwhile.policy.encoded import EncodedPolicy
from worthwhile.policy.gate import GatePolicy, shared_output
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

SHARES = (0.2, 0.4, 0.6)
"""Mean shares of a sweep, between nobody and everybody; moved thresholds reach those in between."""

ADAPT_CONSTRAINTS: dict[str, list[Any]] = {
    "p_full": [Interval(Real, 0, 1, closed="both")],
    "gamma": [Interval(Real, 0, None, closed="left")],
    "constraint": [StrOptions({"at_most", "equal"})],
}
"""What both ADAPTs may be given for their trade-off."""


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a fit starts from; weights are None where all rows count the same.

    Gate and cheap model are trained on ``X`` under ``costs``. Where these are made from the columns of
    the user's table, by ``expansion``, the existing model reads those: ``source`` are their numbers.
    """

    X: Floats
    codes: Ints
    costs: Costs
    classes: npt.NDArray[Any]
    existing: Existing
    validation: tuple[Floats, Ints] | None
    validation_proba: Floats | None = None
    weight: Floats | None = None
    validation_weight: Floats | None = None
    source: Floats | None = None
    expansion: Expansion | None = None

    @property
    def cheap_output(self) -> Output:
        """How a cheap model of ours answers."""
        return Output("log-odds" if len(self.classes) == 2 else "logits", self.classes)

    def judge(self) -> Judge:
        """A judge on the validation rows."""
        assert self.validation is not None
        X, codes = self.validation
        made = None if self.expansion is None else (self.expansion, self.expansion.apply(X))
        proba, weight = self.validation_proba, self.validation_weight
        return Judge(X, codes, self.existing.policy, proba, weight, made)

    def training_judge(self, most: int = 4096) -> Judge:
        """A judge on at most ``most`` evenly spaced training rows."""
        rows = np.arange(0, len(self.X), -(-len(self.X) // most))
        weight = _some(self.weight, rows)
        X = self.X if self.source is None else self.source
        made = None if self.expansion is None else (self.expansion, self.X[rows])
        return Judge(X[rows], self.codes[rows], self.existing.policy, None, weight, made)

    def compose(self, gate: Policy, cheap: Policy) -> GatePolicy:
        """The composite."""
        existing = self.existing.policy
        output = shared_output(cheap.output, existing.output)
        costs = existing.costs
        if self.expansion is not None:
            gate, cheap = (
                EncodedPolicy(costs, part.output, self.expansion, part) for part in (gate, cheap)
            )
        return GatePolicy(costs, output, gate, cheap, existing)


class GatedClassifier(CostAwareClassifier, ABC):
    """Base of the classifiers with a gate, a cheap model and an existing one."""

    policy_: GatePolicy
    _style = "columns"
    trace_: pd.DataFrame
    point_: dict[str, Any]
    class_weight: Any
    trade_off_parameters: ClassVar[tuple[str, ...]] = ("p_full", "gamma")

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [None, Interval(Real, 0, None, closed="left")],
        "max_drop": [None, Interval(Real, 0, 1, closed="both")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        existing: Any,
        *,
        costs: Any,
        budget: float | None,
        max_drop: float | None,
        validation_fraction: float,
        random_state: Any,
        n_jobs: int | None,
    ) -> None:
        self.existing = existing
        self.costs = costs
        self.budget = budget
        self.max_drop = max_drop
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.n_jobs = n_jobs

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
            What the existing model says about rows it was not trained on; otherwise it is asked.
        validation : (X, y), optional
            Rows to choose on, best such that the existing model was not trained on. Where rows are
            set aside instead, ``existing_proba`` tells how well it does on them.
        """
        self._check()
        data = X, y, sample_weight, existing_proba
        swept = self.budget is not None or self.max_drop is not None
        task = self._read_task(data, validation, hold=swept)
        if swept:
            self._take(self._sweep(task), task)
        else:
            self._fit_one(task)
        return self

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
        task = self._read_task((X, y, sample_weight, existing_proba), validation, hold=True)
        sweep, fitted = self._sweep(task), []
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
    def _sweep(self, task: Task) -> Sweep:
        """Fit over all trade-offs, for a budget to choose from."""

    def _take(self, sweep: Sweep, task: Task) -> None:
        """Keep the best model of a sweep within a budget, or the cheapest that loses little."""
        if self.max_drop is None:
            best = choose(sweep.verdicts, self.budget)
            self.point_ = sweep.points[best]
        else:
            best, drop = sweep.cheapest(float(self.max_drop))
            self.point_ = {**sweep.points[best], "drop": drop}
        self.policy_ = task.compose(*sweep.makers[best]())
        self.trace_ = sweep.trace(best)

    def _read_task(self, data: tuple[Any, Any, Any, Any], validation: Any, *, hold: bool) -> Task:
        """Check the data, set rows aside if models will be compared, make or read the existing model."""
        X, source, codes, weight, proba = self._read_rows(*data)
        costs, encoding = self._costs_for(data[0]), self._encoding
        expansion = None if encoding is None else encoding.expansion
        made_costs = costs if encoding is None else encoding.made_costs
        if encoding is not None:
            # The composite buys the user's columns; what its parts make of them is theirs.
            self._encoding = encoding = replace(encoding, expansion=None)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        held: tuple[Floats, Ints] | None = None
        held_proba = held_weight = None
        if validation is not None:
            held = read_validation(self, validation, dtype=np.float64)
        elif hold:
            rng = np.random.default_rng([seed, 0])
            kept, rows = hold_out(len(X), self.validation_fraction, rng, codes)
            held, held_proba, held_weight = (
                (source[rows], codes[rows]),
                _some(proba, rows),
                _some(weight, rows),
            )
            X, source, codes = X[kept], source[kept], codes[kept]
            proba, weight = _some(proba, kept), _some(weight, kept)
        if self.existing is None:
            existing = default_existing(
                X, codes, self.classes_, made_costs, seed, self.n_jobs, weight
            )
            if expansion is not None:
                forest = existing.policy
                encoded = EncodedPolicy(costs, forest.output, expansion, forest)
                existing = Existing(encoded, existing.proba)
            if proba is not None:
                existing = Existing(existing.policy, proba)
        else:
            columns = None if encoding is None else encoding.columns
            existing = read_existing(self.existing, costs, self.classes_, source, proba, columns)
        return Task(
            X, codes, made_costs, self.classes_, existing, held, held_proba, weight, held_weight,
            source, expansion,
        )  # fmt: skip

    def _given_costs(self) -> Any:
        """Without prices of their own, composites take those that the existing model carries."""
        existing = self.existing
        if self.costs is None and isinstance(existing, CostAware) and hasattr(existing, "policy_"):
            return existing.policy_.costs
        return self.costs

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any, existing_proba: Any
    ) -> tuple[Floats, Floats, Ints, Floats | None, Floats | None]:
        """Rows, as made and as they came, codes, weights, and out-of-fold probabilities.

        A row without weight is not there.
        """
        given = X
        X, y, _ = self._read_training(X, y, weight=sample_weight)
        source = X if self._encoding is None else self._encoding.columns.read(dense(given))
        codes, proba = self._read_labels(y), None
        weight = read_weight(sample_weight, X, self.class_weight, y)
        if existing_proba is not None:
            proba = read_proba(existing_proba, len(X), len(self.classes_), "existing_proba")
        weight, X, source, codes, proba = drop_weightless(weight, X, source, codes, proba)
        lost = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(lost):
            raise ValueError(
                f"sample_weight is 0 for every row of class {self.classes_[lost[0]]!r}: give one of "
                "them a weight, or leave these rows out."
            )
        return X, source, codes, weight, proba

    def _learn_columns(self, X: Any) -> Columns | None:
        """As the existing model reads them, where it knows."""
        known = getattr(getattr(self.existing, "policy_", None), "columns", None)
        return known if known is not None else super()._learn_columns(X)

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
        bill = as_floats(policy.bills(policy.batch(X)))
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


def _mean(values: npt.NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def _some(values: Floats | None, rows: Ints) -> Floats | None:
    return None if values is None else values[rows]
