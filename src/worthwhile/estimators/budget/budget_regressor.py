"""The one to use for numbers: a budget or the price of an error, and nothing else to set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import StrOptions

from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import budget_quanta
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators._shared.weights import (
    drop_weightless,
    read_weight,
    relative_weight,
)
from worthwhile.estimators.base import CostAwareRegressor
from worthwhile.estimators.budget._base import CONSTRAINTS, BudgetModel
from worthwhile.estimators.budget._payoff import Numbers
from worthwhile.estimators.targets import refuse_large
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetRegressor(BudgetModel, CostAwareRegressor):
    """Numbers that are worth their price: the whole frontier from one training.

    As :class:`BudgetClassifier`, for numbers: forests answer with means, and a case is bought for
    while its error is expected to fall by more than the price.

    Parameters
    ----------
    budget : number, optional
        Mean bill per case. Without it, and without a price of errors: the cheapest point within one
        standard error of the best.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    errors : number or Errors, optional
        Price of one unit of the loss, in the unit of the prices of features: the point in use has the
        least total, or is a cheaper one within half a standard error of it. ``Errors(absolute=...)`` and
        ``Errors(squared=...)`` say which loss themselves.
    loss : {"squared", "absolute"}, default="squared"
        What an error counts for.
    mix, categorical, dates, n_trees, cross_validated, confidence, max_stages, time_limit
    n_jobs, random_state, verbose
        As in :class:`BudgetClassifier`, where they are described.

    Attributes
    ----------
    frontier_ : DataFrame
        As for classes; the score is the share of the mean's loss that is gone (for squares: R2), or
        minus the price of the loss.
    point_, n_stages_, training_stages_, seed_ : int
        As for classes, as are ``mixture_`` and ``feature_importances_``.

    Notes
    -----
    Trees are grown for squares, and leaves are means, whatever the loss; it decides what is bought.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import BudgetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4))
    >>> y = 3 * X[:, 1] + X[:, 3]
    >>> model = BudgetRegressor(budget=1, costs=[1, 1, 1, 5], random_state=0).fit(X, y)
    >>> model.acquired(X).any(axis=0).tolist(), bool(model.score(X, y) > 0.8)
    ([False, True, False, False], True)
    >>> bool(model.at(errors=50).cost(X).mean() > 2)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CONSTRAINTS,
        "loss": [StrOptions({"squared", "absolute"})],
    }

    loss: str = "squared"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BudgetRegressor:
        """Learn the whole frontier.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows; NaN is an empty value.
        y : array (n,)
            Targets.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._validate_params()
        budget_quanta(self.budget)
        given = X
        X, y, costs = self._read_training(X, y, weight=sample_weight)
        weight, X, y = drop_weightless(read_weight(sample_weight, X), X, y)
        y = np.asarray(y, dtype=np.float64)
        refuse_large(y)
        weight = relative_weight(weight, len(X))
        with Threads(count_threads(self.n_jobs)) as threads:
            table = Table(X, np.zeros(len(X), dtype=np.int32), y, weight, 1, threads)
            return self._learn(table, y, costs, threads)._remember(given)

    def _payoff(self, truth: Any, weight: Floats) -> Numbers:
        errors = self._read_errors()
        if errors is None:
            return Numbers(truth, weight, self.loss)
        return Numbers(truth, weight, errors.loss or self.loss, errors.squared or errors.absolute)

    def _output(self) -> Output:
        return Output("value")

    def at(
        self,
        *,
        budget: Any = None,
        stage: int | None = None,
        errors: Any = None,
        mix: bool | None = None,
    ) -> Self:
        """Return a copy at another point of the frontier; nothing is trained again.

        Parameters
        ----------
        budget : number, optional
            Mean bill that the copy keeps to.
        stage : int, optional
            Or the line of ``frontier_`` itself.
        errors : number, optional
            Or another price of errors, with a frontier of its own.
        mix : bool, optional
            Whether two lines may be mixed to meet the budget; by default as the model itself.
        """
        if errors is None:
            return self._at(budget, stage, mix)
        if stage is not None:
            raise ValueError(
                "at takes a price of errors or a stage: another price has other lines."
            )
        return self._at_errors(mix, budget=budget, errors=errors)
