"""The one to use for classes: a budget, and nothing else to set."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import budget_quanta
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.estimators.budget._base import BudgetModel
from worthwhile.estimators.budget._fit import fit_library
from worthwhile.estimators.budget._forests import Table
from worthwhile.estimators.budget._payoff import Payoff
from worthwhile.policy.library import LibraryPolicy
from worthwhile.policy.output import Output


class BudgetClassifier(BudgetModel, CostAwareClassifier):
    """Answers that are worth their price: the whole frontier from one training.

    A library of feature sets, each with a forest, and rules that lead every case from small sets
    to larger ones while that is worth the price. Sets are found by forward search over what can be
    bought (a feature, or all of a group with a fee); rules by backward induction on the answers of
    trees for rows that they were not grown on, for many worths of money. ``frontier_`` has what each
    costs and how often it is right; :meth:`at` goes from one to another.

    Parameters
    ----------
    budget : number, optional
        Mean bill per case. None: the cheapest point within one standard error of the best.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    n_trees : int, default=48
        Trees of a forest.
    n_jobs : int, optional
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None
        Seed of everything random.

    Attributes
    ----------
    frontier_ : DataFrame
        One line per point, cheapest first: mean bill of training rows and its standard error, share
        of right answers out of bag and its standard error, and what a unit of money is worth there.
    point_ : int
        Line of the point in use.
    n_stages_ : int
        Number of lines.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import BudgetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4))
    >>> y = X[:, 1] + 0.5 * X[:, 3] > 0
    >>> model = BudgetClassifier(budget=2, costs=[1, 1, 1, 5], random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() <= 2), bool(model.score(X, y) > 0.8)
    (True, True)
    >>> richer = model.at(budget=6)
    >>> bool(richer.score(X, y) > model.score(X, y))
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        budget: Any = None,
        *,
        costs: Any = None,
        n_trees: int = 48,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.budget = budget
        self.costs = costs
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BudgetClassifier:
        """Learn the whole frontier.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows; NaN is an empty value.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._validate_params()
        budget_quanta(self.budget)
        X, y, costs = self._read_training(X, y)
        weight, X, y = drop_weightless(read_weight(sample_weight, X), X, y)
        codes = self._read_labels(y)
        weight = np.ones(len(X)) if weight is None else weight / weight.mean()
        seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        n_classes = len(self.classes_)
        with Threads(count_threads(self.n_jobs)) as threads:
            table = Table(X, codes, None, weight, n_classes, threads)
            payoff = Payoff(codes, n_classes, weight)
            fitted = fit_library(table, payoff, costs, self.n_trees, threads, seed)
        best = float(fitted.points.score.max())
        self._take(fitted, float(np.sqrt(max(best * (1 - best), 0.0) / len(X))))
        output = Output("probabilities", self.classes_)
        self.policy_ = LibraryPolicy(costs, output, fitted.library, 0)
        return self._use(self._choose(self.budget))
