"""What both Greedy Misers share: fit, traces, and the way from one trade-off to another."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state

from worthwhile._messages import warn_once
from worthwhile.core.boosting.leaves import add_values
from worthwhile.core.boosting.team_grower import TeamGrower
from worthwhile.core.compile import say_if_cold
from worthwhile.core.threads import Threads, count_threads
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs, as_floats
from worthwhile.estimators._shared.choosing import one_standard_error
from worthwhile.estimators._shared.covering import covering, mean_bill, sample
from worthwhile.estimators._shared.deprecation import once
from worthwhile.estimators._shared.queries import read_qid
from worthwhile.estimators._shared.validation import (
    hold_out,
    hold_out_queries,
    read_query_validation,
    read_validation,
)
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.boosting._parameters import MiserParameters
from worthwhile.estimators.boosting._rounds import Earlier, Plan, Rounds, Score
from worthwhile.estimators.boosting.booster import BinnedData, Booster, assemble
from worthwhile.estimators.boosting.losses import Loss
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]

GRID_ROUNDS = 100
"""Rounds of the models whose bills make a grid, at most."""
NOTHING_SAVED = (
    "lam is 0: every feature that helps is bought, whatever its price, and nothing is saved. Set lam='auto' for "
    "the cheapest model that is as good on held-out rows, a larger lam (see lam_max), or search with BudgetSearchCV"
)

SHARE_TO_CHOOSE = 0.2
"""Of the rows, held out where ``lam`` is to be chosen."""


class Training:
    """Everything read and checked, ready for the booster."""

    def __init__(
        self, X: Array, y: Floats, weight: Floats | None, costs: Costs, qid: Array | None = None
    ) -> None:
        weight, X, y, qid = drop_weightless(weight, X, y, qid)
        self.X, self.y, self.weight, self.costs, self.qid = X, y, weight, costs, qid
        self.qid_held: Array | None = None
        self.weight_held: Floats | None = None
        self.X_held: Array | None = None
        self.y_held: Floats | None = None
        self.allowed: npt.NDArray[np.bool_] = np.ones(X.shape[1], dtype=bool)
        self.categorical: npt.NDArray[np.bool_] | None = None

    def set_aside(self, kept: npt.NDArray[np.intp], held: npt.NDArray[np.intp]) -> None:
        """Hold rows out for validation."""
        self.X_held, self.y_held = self.X[held], self.y[held]
        self.X, self.y = self.X[kept], self.y[kept]
        if self.weight is not None:
            self.weight, self.weight_held = self.weight[kept], self.weight[held]
        if self.qid is not None:
            self.qid, self.qid_held = self.qid[kept], self.qid[held]

    def bin(self, threads: Threads) -> BinnedData:
        """Bin the rows and those held out."""
        others = [] if self.X_held is None else [self.X_held]
        return BinnedData.prepare(self.X, threads, self.weight, others, self.categorical)


class Miser(MiserParameters, ABC):
    """Fit, path and trade-off of both Greedy Misers."""

    policy_: TreePolicy
    _style = "native"
    trace_: pd.DataFrame
    purchase_order_: list[int]
    n_rounds_: int
    seed_: int
    lam_: float

    # What a subclass supplies ---------------------------------------------------------------------

    @abstractmethod
    def _read_targets(self, y: Any) -> Floats:
        """Training targets as numbers; sets what they are decoded with."""

    @abstractmethod
    def _loss(self, y: Floats, weight: Floats | None = None) -> Loss:
        """The loss over these rows."""

    def _loss_of(self, y: Floats, weight: Floats | None, qid: Array | None) -> Loss:
        """The loss, where queries may matter."""
        return self._loss(y, weight)

    @abstractmethod
    def _output(self) -> Output:
        """How scores become predictions."""

    def _vector(self) -> bool:
        """Whether one tree a round serves all outputs."""
        return False

    def _categorical(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of the training data hold codes of categories, (d,); None where none does."""
        return None if self._encoding is None else self._encoding.categorical

    def _sources(self, order: list[int]) -> list[int]:
        """Columns of the user's table behind columns that were bought, in that order."""
        expansion = None if self._encoding is None else self._encoding.expansion
        return order if expansion is None else [*dict.fromkeys(expansion.sources[order].tolist())]

    def _made(self, order: list[int]) -> list[int]:
        """All columns that are made of those of the user's table."""
        expansion = None if self._encoding is None else self._encoding.expansion
        if expansion is None:
            return order
        return [c for s in order for c in range(expansion.first[s], expansion.first[s + 1])]

    def _as_targets(self, y: Any, what: str) -> Floats:
        """Class codes or targets as what the loss takes."""
        return np.asarray(y, dtype=np.float64)

    def _score_of(self, y: Floats, loss: Loss, qid: Array | None = None) -> Score:
        """How validation rows are scored: by their loss, or by the caller's function."""
        if callable(self.scoring):
            scoring: Callable[..., float] = self.scoring
            return lambda raw: float(scoring(y, raw[:, 0] if raw.shape[1] == 1 else raw))
        base = np.zeros(loss.n_outputs)
        return lambda raw: -loss.mean(np.ascontiguousarray(raw.T), base, self._threads)

    # Fitting --------------------------------------------------------------------------------------

    def _read_all(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, qid: Any = None
    ) -> Training:
        """Check parameters, data and prices, and hold rows out where that was asked for."""
        self._validate_params()
        going_on = self.warm_start and hasattr(self, "policy_")
        X, y, costs = self._read_training(X, y, dtype="numeric", like=self if going_on else None)
        qid = None if qid is None else read_qid(qid, len(X))
        weight = read_weight(sample_weight, X, getattr(self, "class_weight", None), y)
        training = Training(X, self._read_targets(y), weight, costs, qid)
        training.categorical = self._categorical()
        share = self._share_to_hold_out(len(training.y))
        if validation is not None and isinstance(self.validation_fraction, Real):
            raise ValueError(
                "both validation and validation_fraction were given: give one of the two."
            )
        if validation is not None:
            if qid is None:
                training.X_held, y_held = read_validation(self, validation, dtype="numeric")
            else:
                training.X_held, y_held, training.qid_held = read_query_validation(
                    self, validation, dtype="numeric"
                )
            training.y_held = self._as_targets(y_held, "validation")
        elif share is not None:
            training.set_aside(*self._draw_held(training, share))
        return training

    def _draw_held(self, training: Training, share: float) -> tuple[Indices, Indices]:
        """Rows to train on and rows to hold out; queries stay whole."""
        rng = np.random.default_rng([self.seed_, 0])
        if training.qid is not None:
            return hold_out_queries(training.qid, share, rng)
        codes = training.y if hasattr(self, "classes_") else None
        return hold_out(len(training.y), share, rng, codes)

    def _begin(self) -> None:
        """Draw the seed, once for a fit and all that continue it."""
        if not (self.warm_start and hasattr(self, "policy_")):
            whole = self.subsample == 1 and self.max_features == 1
            # Where nothing is drawn, the model and its file do not depend on a seed; rows held out
            # unasked are the same ones in every fit, unless a seed is given.
            unasked = isinstance(self.validation_fraction, str) and self.random_state is None
            fixed = whole and (self.validation_fraction is None or unasked)
            self.seed_ = (
                0 if fixed else int(check_random_state(self.random_state).randint(2**31 - 1))
            )
        say_if_cold(add_values)

    @abstractmethod
    def _row_scores(self, X: Array, y: Floats, qid: Array | None) -> Floats:
        """How good the fitted model is on each of some rows (queries, with ``qid``)."""

    def _fit_chosen(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, qid: Any = None
    ) -> Self:
        """Fit with the ``lam`` of the user, or choose one."""
        if isinstance(self.lam, str):
            going_on = self.warm_start and hasattr(self, "policy_")
            choices = [(self.lam_, 0.0)] if going_on else self._choose_lam(
                X, y, sample_weight, validation, qid
            )  # fmt: skip
            for lam, least in choices:
                model = self._copy_with(lam)._fit(X, y, sample_weight, validation, qid=qid)
                if float(model.cost(X).mean()) >= least:
                    break
            self.__dict__.update({**vars(model), "lam": self.lam})
            return self
        self._fit(X, y, sample_weight, validation, qid=qid)
        flat = self.costs_.flat
        if self.lam == 0 and self.costs is not None and (flat.price.any() or flat.fee.any()):
            warn_once(NOTHING_SAVED, 4)
        return self

    def _copy_with(self, lam: float) -> Self:
        return copy.copy(self).set_params(lam=lam)

    def _choose_lam(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, qid: Any
    ) -> list[tuple[float, float]]:
        """Values of ``lam`` to take, best first, and the mean bill that tells that one came out as meant.

        The first is the cheapest of the grid within one standard error of the best on rows not
        seen. On all rows it may just miss a split that it took on fewer: then the next is taken.
        """
        probe = copy.copy(self).set_params(lam=0.0, warm_start=False, validation_fraction=None)
        if validation is None:
            seed = 0 if self.random_state is None else self.random_state
            probe.set_params(validation_fraction=SHARE_TO_CHOOSE, random_state=seed)
        queries = {} if qid is None else {"qid": qid}
        lams = [float(entry["lam"]) for entry in self.trade_off_grid(X, y, **queries)]
        models, training = probe._path(X, y, lams, sample_weight, validation, qid)
        held, targets = training.X_held, training.y_held
        assert held is not None
        assert targets is not None
        bills = [mean_bill(model._inner_policy, held) for model in models]
        scores = [model._row_scores(held, targets, training.qid_held) for model in models]
        weight = training.weight_held if training.qid_held is None else None
        best = one_standard_error(bills, np.array(scores), weight)
        return [(lam, bills[best] / 2) for lam in lams[best:-1]] + [(lams[-1], 0.0)]

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: Any,
        cap: int | None = None,
        qid: Any = None,
    ) -> Self:
        self._begin()
        earlier = self._inner_policy if self.warm_start and hasattr(self, "policy_") else None
        training = self._read_all(X, y, sample_weight, validation, qid)
        if cap is not None:
            training.allowed = training.costs.own <= cap
        if training.weight is None and self.penalty != "row" and not self._vector():
            n_rows, n_features = training.X.shape
            TeamGrower.expect(n_rows, n_features, self.max_depth)
        with Threads(count_threads(self.n_jobs)) as threads:
            return self._boost(training, training.bin(threads), threads, earlier)

    def _plan(self, allowed: npt.NDArray[np.bool_]) -> Plan:
        return Plan(
            n_rounds=int(self.n_rounds), vector=self._vector(),
            newton=bool(self._or_preset("newton")), patience=self._or_preset("patience"),
            subsample=float(self.subsample), max_features=float(self.max_features), allowed=allowed,
            seed=self.seed_, verbose=int(self.verbose),
        )  # fmt: skip

    def _boost(
        self,
        training: Training,
        data: BinnedData,
        threads: Threads,
        earlier: TreePolicy | None = None,
    ) -> Self:
        """Run the rounds on data already binned, and keep the best of them."""
        self._threads = threads
        try:
            loss = self._loss_of(training.y, training.weight, training.qid)
            base = self._base_of(loss)
            held = None
            if training.y_held is not None:
                held_loss = self._loss_of(training.y_held, training.weight_held, training.qid_held)
                score = self._score_of(training.y_held, held_loss, training.qid_held)
                held = (held_loss, score)
            before = None
            if earlier is not None:
                base = earlier.trees.base
                before = self._what_was(earlier, training, loss.n_outputs)
            rounds = Rounds(
                data, loss, base, training.costs.flat, self._settings(), self._plan(training.allowed), threads,
                held, before,
            )  # fmt: skip
            rounds.run()
        finally:
            del self._threads
        width = loss.n_outputs if self._vector() else 1
        grown = assemble(rounds.trees, data.bins, base, width)
        trees = grown if earlier is None else Trees.join([earlier.trees, grown])
        self._keep(trees, training.costs, rounds)
        return self

    def _keep(self, trees: Trees, costs: Costs, rounds: Rounds) -> None:
        """Set what was fitted, cut to the rounds worth keeping."""
        trace = pd.DataFrame(rounds.trace)
        if rounds.first_round:
            trace = pd.concat([self.trace_, trace], ignore_index=True)
        self.trace_ = trace
        self.lam_ = self._lam()
        self.n_rounds_ = rounds.best()
        kept = trees.first(self.n_rounds_ * trees.per_round)
        used = set(kept.features.tolist())
        bought = [f for f in rounds.booster.purchases.order if f in used]
        self.purchase_order_ = self._sources(bought)
        self.policy_ = TreePolicy(costs, self._output(), kept)

    def _what_was(self, earlier: TreePolicy, training: Training, n_outputs: int) -> Earlier:
        """Scores and purchases of the rows under the earlier model."""
        trees = earlier.trees
        if trees.n_outputs != n_outputs or (trees.width == n_outputs) != (
            self._vector() or n_outputs == 1
        ):
            raise ValueError(
                f"warm_start=True, but the fitted model has {trees.n_outputs} outputs and leaves of width "
                f"{trees.width}: keep the classes and leaves of the first fit, or set warm_start=False."
            )
        if self.n_rounds < self.n_rounds_:
            raise ValueError(
                f"n_rounds={self.n_rounds} is less than the {self.n_rounds_} rounds already fitted: with "
                "warm_start=True it counts all rounds; use at(stage=...) to shorten a model."
            )
        start = TreePolicy(earlier.costs, earlier.output, trees.without_base())

        def at(X: Array | None) -> tuple[Any, Any]:
            if X is None:
                return None, None
            outcome = start.batch(X if X.dtype.kind == "f" else X.astype(np.float64))
            return outcome.raw.T, outcome.acquired

        self.trace_ = self.trace_[: self.n_rounds_]
        total, acquired = at(training.X)
        order = self._made(self.purchase_order_)
        return Earlier(self.n_rounds_, order, total, acquired, *at(training.X_held))

    def fit_path(
        self,
        X: Any,
        y: Any,
        lams: Sequence[float],
        sample_weight: Any = None,
        *,
        validation: Any = None,
        qid: Any = None,
    ) -> list[Self]:
        """Fit one model for each ``lam``; they share the reading and binning of the data.

        Parameters
        ----------
        X, y, sample_weight, validation, qid
            As for ``fit``.
        lams : sequence of float
            Values of ``lam``.

        Returns
        -------
        list of fitted estimators, in the order of ``lams``
        """
        return self._path(X, y, lams, sample_weight, validation, qid)[0]

    def _path(
        self, X: Any, y: Any, lams: Sequence[float], sample_weight: Any, validation: Any, qid: Any
    ) -> tuple[list[Self], Training]:
        """One model for each ``lam``, and the rows they were trained on."""
        self._begin()
        training = self._read_all(X, y, sample_weight, validation, qid)
        fitted = []
        with Threads(count_threads(self.n_jobs)) as threads:
            data = training.bin(threads)
            for lam in lams:
                model = self._copy_with(lam)
                model._validate_params()
                fitted.append(model._boost(training, data, threads))
        return fitted, training

    # The trade-off --------------------------------------------------------------------------------

    def lam_max(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Return the ``lam`` from which on nothing that has a price is bought.

        It is the largest ratio of gain to price among the first splits. The paper does not print its
        grid; above this value no split pays for itself.
        """
        probe = copy.copy(self)
        probe.seed_ = 0
        probe.validation_fraction = None
        training = probe._read_all(X, y, sample_weight, None, qid)
        settings = probe._settings()
        with Threads(count_threads(self.n_jobs)) as threads:
            data = training.bin(threads)
            booster = Booster(data, training.costs.flat, settings, threads)
            loss = probe._loss_of(training.y, training.weight, training.qid)
            base = self._base_of(loss)
            gradients = np.empty((loss.n_outputs, len(training.y)))
            loss.gradients(np.zeros_like(gradients), base, gradients, threads)
            parts = (
                [gradients]
                if probe._vector()
                else [gradients[k : k + 1] for k in range(len(gradients))]
            )
            gains = np.max([booster.root_gains(part) for part in parts], axis=0)
        prices = as_floats(booster.purchases.marginal())
        priced = (prices > 0) & (gains > 0)
        if not priced.any():
            return 0.0
        scale = loss.total_weight if self.lam_scale == "mean" else 1.0
        return float((gains[priced] / prices[priced]).max() / scale)

    def trade_off_grid(self, X: Any, y: Any, qid: Any = None) -> list[dict[str, Any]]:
        """Values of ``lam`` from :meth:`lam_max`, which buys nothing, to 0: cheapest first.

        Found by bisection on the mean bill of at most 2000 rows, so that there is a model for every
        budget, whatever the prices.
        """
        top = 1.001 * self.lam_max(X, y, qid=qid)
        if top == 0:
            return [{"lam": 0.0}]
        rows = sample(X, y) if qid is None else [X, y]
        shrunk = len(rows[1]) / len(y) if self.lam_scale == "sum" else 1.0
        probe = clone(self).set_params(
            n_rounds=min(int(self.n_rounds), GRID_ROUNDS), warm_start=False
        )
        probe._begin()
        training = probe._read_all(*rows, None, None, qid)
        with Threads(1) as threads:  # so few rows are not worth dividing
            data = training.bin(threads)

            def bill(lam: float) -> float:
                model = copy.copy(probe).set_params(lam=lam * shrunk)
                policy = model._boost(training, data, threads)._inner_policy
                return mean_bill(policy, training.X)

            lams = covering(bill, [*(top * np.logspace(0, -4, 5)).tolist(), 0.0])
        return [{"lam": lam} for lam in lams]

    def _stored_params(self) -> dict[str, Any]:
        # A function cannot be stored; it only chose the round, which is done.
        params = super()._stored_params()
        return {**params, "scoring": "loss"} if callable(self.scoring) else params

    # After fitting --------------------------------------------------------------------------------

    def cost(
        self, X: Any, budget: Any = None, *, accounting: str = "row", **request: Any
    ) -> Floats:
        """The bill of each row, float64 (n,).

        Parameters
        ----------
        X : array or frame (n, d)
            The rows.
        budget : number, optional
            Never spend more than this on a row.
        accounting : {"row", "model"}
            "row": what lies on the row's own paths. "model": every feature in the ensemble
            (equation 3 of the paper); never less than "row", and at the prices of training.
        **request
            ``prices`` of today and what is ``unavailable``, as for :meth:`predict`.
        """
        if accounting == "row":
            return super().cost(X, budget, **request)
        if accounting != "model":
            raise ValueError(f"accounting is {accounting!r}: it is 'row' or 'model'.")
        if budget is not None:
            raise ValueError(
                "budget works with accounting='row' only: by model every row pays the same."
            )
        n = len(self._read(X))
        policy = self._inner_policy
        mask = np.zeros(policy.n_features, dtype=bool)
        mask[policy.trees.features] = True
        return np.full(n, policy.costs.price(mask, policy.trees.n_trees))

    def at(self, *, stage: int) -> Self:
        """Return a copy of the fitted model with its first ``stage`` rounds."""
        self._check_fitted()
        if not 0 <= stage <= self.n_rounds_:
            raise ValueError(
                f"stage is {stage}: the model has 0 to {self.n_rounds_} rounds to keep."
            )
        model = copy.copy(self)
        policy = self._inner_policy
        kept = policy.trees.first(stage * self._trees_per_round())
        used = set(self._sources(kept.features.tolist()))
        model.policy_ = TreePolicy(policy.costs, policy.output, kept)
        model.n_rounds_ = stage
        model.purchase_order_ = [f for f in self.purchase_order_ if f in used]
        return model

    truncate = once("truncate", rounds="stage")

    def _trees_per_round(self) -> int:
        return int(self._inner_policy.trees.per_round)

    def _staged_raw(self, X: Any) -> Iterator[Floats]:
        """Raw scores after each round, from the first on."""
        yield from self._inner_policy.staged(self._read_inner(X), self._trees_per_round())

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """Predictions after each round, from the first on."""
        for raw in self._staged_raw(X):
            yield self.policy_.output.predict(raw)
