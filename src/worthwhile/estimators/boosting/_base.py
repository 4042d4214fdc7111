"""What both Greedy Misers share: reading the data, one fit, its trace, and the fitted model at a stage."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state

from worthwhile.columns.parquet import ParquetTable
from worthwhile.core.boosting.leaves import add_values
from worthwhile.core.boosting.team_grower import TeamGrower
from worthwhile.core.collective import Collective
from worthwhile.core.compile import say_if_cold
from worthwhile.core.threads import Threads, count_threads
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.estimators._shared.deprecation import once
from worthwhile.estimators._shared.queries import read_qid
from worthwhile.estimators._shared.validation import (
    hold_out,
    hold_out_queries,
    read_query_validation,
    read_validation,
)
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.estimators.boosting._parameters import MiserParameters
from worthwhile.estimators.boosting._rounds import Earlier, Plan, Rounds, Score
from worthwhile.estimators.boosting._training import Training
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import assemble
from worthwhile.estimators.boosting.losses import Loss
from worthwhile.estimators.boosting.stored_rows import read_stored
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]


class Miser(MiserParameters, ABC):
    """Fit of both Greedy Misers with one ``lam``, and what can be done with a fitted model."""

    policy_: TreePolicy
    loss: Any
    _style = "native"
    trace_: pd.DataFrame
    purchase_order_: list[int]
    feature_importances_: Floats
    n_rounds_: int
    seed_: int
    lam_: float
    learning_rate_: float

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

    def _score_among(self, training: Training, loss: Loss, everybody: Collective) -> Score:
        """The score of the rows that all ranks hold out, where it is no mean over rows."""
        y, qid = training.y_held, training.qid_held
        assert y is not None
        if everybody.size == 1 or not (callable(self.scoring) or self.scoring == "ndcg"):
            return self._score_of(y, loss, qid)
        y = np.concatenate(everybody.gather(y))
        qid = None if qid is None else np.concatenate(everybody.gather(qid))
        score = self._score_of(y, loss, qid)

        def together(raw: Floats) -> float:
            whole = np.concatenate(everybody.gather(raw))
            # A function of the user's own is asked once: it may not be the same everywhere.
            found = [score(whole) if everybody.rank == 0 else 0.0]
            return float(everybody.gather(np.array(found))[0][0])

        return together

    # Fitting --------------------------------------------------------------------------------------

    def _read_all(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, qid: Any = None
    ) -> Training:
        """Check parameters, data and prices, and hold rows out where that was asked for."""
        self._validate_params()
        going_on = self.warm_start and hasattr(self, "policy_")
        if isinstance(X, ParquetTable):
            if going_on:
                raise NotImplementedError(
                    "warm_start=True is not there for training from a ParquetTable: leave it out, or give a table in "
                    "memory."
                )
            X, y, costs, (sample_weight, qid) = read_stored(self, X, y, (sample_weight, qid))
            return self._training_of(X, y, costs, sample_weight, validation, qid)
        X, y, costs = self._read_training(
            X, y, dtype="numeric", like=self if going_on else None, weight=sample_weight
        )
        return self._training_of(X, y, costs, sample_weight, validation, qid)

    def _training_of(
        self,
        X: Any,
        y: Any,
        costs: Costs,
        sample_weight: Any,
        validation: Any = None,
        qid: Any = None,
    ) -> Training:
        """Targets, weights and rows held out, of rows that were read; of ``X`` only rows are taken."""
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
            drawn = self.subsample < 1 or self.max_features < 1
            drawn = drawn or isinstance(self.validation_fraction, Real)
            # Where nothing is drawn, the model and its file do not depend on a seed; rows held out
            # unasked, and noise, are the same ones in every fit, unless a seed is given.
            given = self.random_state is not None
            may = isinstance(self.validation_fraction, str) or self._noise() > 0
            seeded = drawn or (given and may)
            self.seed_ = (
                int(check_random_state(self.random_state).randint(2**31 - 1)) if seeded else 0
            )
        say_if_cold(add_values)

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
            subsample=float(self.subsample), max_features=float(self.max_features),
            split_noise=self._noise(), allowed=allowed, seed=self.seed_, verbose=int(self.verbose),
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
            loss.join(threads.collective)
            base = self._base_of(loss)
            held = None
            if training.y_held is not None:
                held_loss = self._loss_of(training.y_held, training.weight_held, training.qid_held)
                held_loss.join(threads.collective)
                score = self._score_among(training, held_loss, threads.collective)
                held = (held_loss, score)
            before = None
            if earlier is not None:
                base = earlier.trees.base
                before = self._what_was(earlier, training, loss.n_outputs)
            self.learning_rate_ = self._rate(training, threads.collective)
            rounds = Rounds(
                data, loss, base, training.costs.flat, self._settings(self.learning_rate_),
                self._plan(training.allowed), threads, held, before,
            )  # fmt: skip
            rounds.replay(training.records)
            rounds.run(training.on_round)
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
        self._note_gains(rounds, costs.n_features)
        self.policy_ = TreePolicy(costs, self._output(), kept)

    def _note_gains(self, rounds: Rounds, n_features: int) -> None:
        """What features gained in the rounds that were kept, added to what they gained before."""
        count = (self.n_rounds_ - rounds.first_round) * (
            1 if self._vector() else rounds.loss.n_outputs
        )
        gains = np.zeros(n_features)
        for tree in rounds.trees[:count]:
            gains += tree.gains(n_features)
        before = vars(self).pop("feature_importances_", None) if rounds.first_round else 0.0
        if before is not None:  # a model that was cut, or an old file, does not know
            self.feature_importances_ = before + self._by_source(gains)

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
        if stage < self.n_rounds_:
            vars(model).pop("feature_importances_", None)  # known for all rounds only
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
