"""Models at several points of the trade-off, and the way to one of them: paths, grids, a lam chosen."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from worthwhile._messages import warn_once
from worthwhile.columns.parquet import ParquetTable
from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import Errors, as_floats
from worthwhile.estimators._shared.choosing import one_standard_error
from worthwhile.estimators._shared.covering import covering, mean_bill, sample
from worthwhile.estimators.boosting._base import Miser
from worthwhile.estimators.boosting._training import Training
from worthwhile.estimators.boosting.booster import Booster

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

GRID_ROUNDS = 100
"""Rounds of the models whose bills make a grid, at most."""
NOTHING_SAVED = (
    "lam is 0: every feature that helps is bought, whatever its price, and nothing is saved. Set lam='auto' for "
    "the cheapest model that is as good on held-out rows, a larger lam (see lam_max), or search with BudgetSearchCV"
)

NOTHING_BOUGHT = 1e3
"""Times the largest ``lam`` of a grid, where errors have prices: to buy nothing may cost least."""

LEAST = 1e-9
"""Share of the largest ``lam`` that ends a grid where errors have prices: there 0 asks for a choice."""

SHARE_TO_CHOOSE = 0.2
"""Of the rows, held out where ``lam`` is to be chosen."""


class TradeOff(Miser):
    """What both Greedy Misers do with more than one ``lam``."""

    @abstractmethod
    def _row_scores(self, X: Array, y: Floats, qid: Array | None) -> Floats:
        """How good the fitted model is on each of some rows (queries, with ``qid``)."""

    def _row_totals(self, X: Array, y: Floats, errors: Errors) -> Floats:
        """Bill and price of the error of each of some rows, with probabilities as they are."""
        policy = self._inner_policy.deciding(errors)
        outcome, classes = policy.batch(X), policy.output.classes
        truth = y if classes is None else classes[y.astype(np.intp)]
        answers = policy.output.predict(outcome.raw)
        return as_floats(policy.bills(outcome)) + errors.prices(truth, answers)

    def _fit_chosen(
        self, X: Any, y: Any, sample_weight: Any, validation: Any, qid: Any = None
    ) -> Self:
        """Fit with the ``lam`` of the user, or choose one."""
        # Where errors have prices nothing is left to trade off: money is weighed against money.
        priced = self.lam == 0 and self._read_errors() is not None and qid is None
        if isinstance(self.lam, str) or priced:
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
            warn_once(NOTHING_SAVED, 5)
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
        errors = self._read_errors()
        if errors is not None:  # and one that buys nothing whatever rows are held out
            lams = [lams[0] * NOTHING_BOUGHT, *lams]
        models, training = probe._path(X, y, lams, sample_weight, validation, qid)
        held, targets = training.X_held, training.y_held
        assert held is not None
        assert targets is not None
        bills = [mean_bill(model._inner_policy, held) for model in models]
        weight = training.weight_held if training.qid_held is None else None
        if errors is not None:
            totals = [model._row_totals(held, targets, errors) for model in models]
            best = int(np.argmin(np.average(totals, axis=1, weights=weight)))
        else:
            scores = [model._row_scores(held, targets, training.qid_held) for model in models]
            best = one_standard_error(bills, np.array(scores), weight)
        return [(lam, bills[best] / 2) for lam in lams[best:-1]] + [(lams[-1], 0.0)]

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
        if isinstance(X, ParquetTable):
            raise TypeError(
                "X is a ParquetTable: values of lam are tried on a table in memory. Give a sample, such as "
                "next(table.batches(200_000)), and fit with the lam that was found."
            )
        return [{"lam": lam} for lam in self._lams(X, y, qid)]

    def _lams(
        self, X: Any, y: Any, qid: Any = None, cover: Callable[..., list[float]] = covering
    ) -> list[float]:
        """Values of ``lam`` that cover the bills of some rows."""
        top = 1.001 * self.lam_max(X, y, qid=qid)
        if top == 0:
            return [0.0]
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

            last = 0.0 if self._read_errors() is None else top * LEAST
            return cover(bill, [*(top * np.logspace(0, -4, 5)).tolist(), last])
