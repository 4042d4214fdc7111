"""Cost-weighted l1: one sparse linear model whose penalties are the prices."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import Interval
from threadpoolctl import threadpool_limits

from worthwhile.core.linear import moments as mo
from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators._shared.covering import bill_of, covering, sample
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.linear import _l1_path as l1
from worthwhile.estimators.linear._base import LinearRegressor
from worthwhile.estimators.linear._cstc_objective import BLOCK_ROWS
from worthwhile.estimators.linear._cstc_refit import standardise
from worthwhile.estimators.linear._targets import (
    Floats,
    class_targets,
    refuse_sizes,
    sample_rows,
    trace_row,
    value_targets,
)
from worthwhile.policy.linear_tree import LinearTree, LinearTreePolicy
from worthwhile.policy.output import Output


@dataclass(eq=False, repr=False)
class _CostWeightedL1(TrainingParameters, CostAware):
    """Parameters of both kinds."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    policy_: LinearTreePolicy = field(init=False)
    _style = "columns"
    trace_: pd.DataFrame = field(init=False)
    n_iter_: int = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "n_path": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
    }

    lam: float = 0.01
    _: KW_ONLY
    n_path: int = 10
    tol: float = 1e-10
    max_iter: int = 5000

    def _along(self, X: Any, y: Any, models: list[tuple[float, LinearTreePolicy]]) -> None:
        """Keep the last model, and what each on the way costs and scores."""
        refuse_sizes(models[-1][1], X)
        rows = sample_rows(len(X))
        self.trace_ = pd.DataFrame(
            [{"lam": lam} | trace_row(policy, X[rows], y[rows]) for lam, policy in models]
        )
        self.policy_ = models[-1][1]

    def _grid(self, X: Any, y: Any, Y: Floats, slope: float = 1.0) -> list[dict[str, Any]]:
        """From where the first feature enters down to where all have, by bisection on the bill."""
        values, costs = self._look_at(X, y, multi_output=True)
        share = np.full(len(values), 1.0 / len(values))
        with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
            columns = standardise(values, mo.column_means(values)[0], share, BLOCK_ROWS)
            top = 2.0 * l1.silencing(columns.blocks, share, Y, PricePenalty.of(costs), threads.map)
        if top <= 0:
            return [{"lam": 0.0}]
        top *= 1.001 * slope
        bill = bill_of(clone(self).set_params(n_path=2), *sample(X, y), "lam")
        found = covering(bill, (top * np.logspace(0, -8, 9)).tolist())
        return [{"lam": float(f"{lam:.6g}")} for lam in found]


@dataclass(eq=False, repr=False)
class CostWeightedL1Classifier(ClassParameters, CostAwareClassifier, _CostWeightedL1):
    """Logistic regression in which every coefficient is penalised by its feature's price.

    Minimises the mean log-loss plus ``lam`` times the sum of price times |coefficient| on
    standardised columns; every row pays for the whole support. With several classes a feature's
    penalty is on the length of its coefficients, so classes share supports; the fee of a group is a
    penalty on the length of all its coefficients.

    Parameters
    ----------
    lam : number, default=0.01
        Log-loss that one unit of price times |coefficient| is worth. 0 fits without penalty.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    n_path : int, default=10
        Penalties on the way from an empty model to ``lam``, each started from the last.
    tol : number, default=1e-10
        Stop a solver when a step changes the coefficients by less than this (squared).
    max_iter : int, default=5000
        Most steps per penalty.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    trace_ : frame
        Mean cost, training score, features and lam of every model on the path.
    n_iter_ : int
        Steps of the solver on the whole path.

    Notes
    -----
    The comparator of Kusner et al., AAAI 2014 (Fig. 3). Solved by FISTA with restarts on the columns
    that can enter. Under a budget, features are bought by effect per price and training means stand
    for the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import CostWeightedL1Classifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 1] > 0
    >>> model = CostWeightedL1Classifier(lam=0.04, costs=[1, 9, 1]).fit(X, y)
    >>> model.acquired(X[:1]).tolist()
    [[True, False, False]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CostWeightedL1Classifier:
        """Follow the path of penalties down to ``lam``.

        Parameters
        ----------
        X, y : array or frame (n, d), array (n,)
            Rows, in which NaN is read as the training mean, and their labels.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._validate_params()
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], weight=sample_weight
        )
        codes = self._read_labels(y)
        weight = read_weight(sample_weight, X, self.class_weight, y)
        share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / np.add.reduce(weight)
        penalty = PricePenalty.of(costs)
        m = 1 if len(self.classes_) == 2 else len(self.classes_)
        output = Output("log-odds" if m == 1 else "logits", self.classes_)
        with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
            mean, _ = mo.column_means(X, weight, threads.map)
            columns = standardise(X, mean, share, BLOCK_ROWS)
            loss = l1.Logistic(columns.blocks, codes, share, m, threads.map)
            lams = l1.falling(loss.silencing(penalty), float(self.lam), self.n_path)
            found, self.n_iter_ = l1.loss_path(loss, penalty, lams, self.tol, self.max_iter)
        models = []
        for lam, B in zip(lams, found, strict=True):
            coefficients = B[:-1] / columns.scale[:, None]
            order = l1.buying_order(B[:-1], costs)
            tree = LinearTree.single(order, coefficients, B[-1] - mean @ coefficients, mean)
            models.append((lam, LinearTreePolicy(costs, output, tree)))
        self._along(X, y, models)
        return self

    def trade_off_grid(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """Values of ``lam`` from where the first feature enters down to where all have."""
        classes, codes = np.unique(y, return_inverse=True)
        Y = class_targets(codes, classes).Y
        # The slope of the log-loss at 0 is that of squares over 4 (+-1 labels) or 2.
        return self._grid(X, y, Y, 0.25 if Y.shape[1] == 1 else 0.5)


@dataclass(eq=False, repr=False)
class CostWeightedL1Regressor(LinearRegressor, _CostWeightedL1):
    """Least squares in which every coefficient is penalised by its feature's price.

    Minimises the mean squared error of the standardised target plus ``lam`` times the sum of price
    times |coefficient| on standardised columns: coordinate descent on the Gram, or FISTA where
    groups have fees.

    Parameters, their defaults and attributes are those of :class:`CostWeightedL1Classifier`; three
    parameters mean something else.

    Parameters
    ----------
    lam : number, default=0.01
        Squared error (in units of the variance of y) that one unit of price times |coefficient| is
        worth. 0 fits without penalty.
    tol : number, default=1e-10
        Stop a solver when a round gains less than this.
    max_iter : int, default=5000
        Most rounds per penalty.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import CostWeightedL1Regressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 1]
    >>> model = CostWeightedL1Regressor(lam=0.3, costs=[1, 9, 1]).fit(X, y)
    >>> model.acquired(X[:1]).tolist()
    [[True, False, False]]
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CostWeightedL1Regressor:
        """Follow the path of penalties down to ``lam``.

        Parameters
        ----------
        X, sample_weight
            As for the classifier.
        y : array (n,) or (n, m)
            Targets.
        """
        self._validate_params()
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], multi_output=True, weight=sample_weight
        )
        X = np.ascontiguousarray(X)
        weight = read_weight(sample_weight, X)
        share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / np.add.reduce(weight)
        targets, models = value_targets(y, weight), []
        stop = l1.Stop(float(self.lam), self.n_path, self.tol, self.max_iter)
        with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
            mean, holes = mo.column_means(X, weight, threads.map)
            rows = mo.WeightedRows(X, targets.Y, mean, holes, weight=weight)
            lams, found, self.n_iter_ = l1.squares_path(
                rows, share, PricePenalty.of(costs), stop, threads.map
            )
        for lam, one in zip(lams, found, strict=True):
            coefficients = one.B / one.scale[:, None] * targets.scale
            base = one.base * targets.scale + targets.mean
            order = l1.buying_order(one.B, costs)
            tree = LinearTree.single(order, coefficients, base - one.mean @ coefficients, mean)
            models.append((lam, LinearTreePolicy(costs, targets.output, tree)))
        self._along(X, y, models)
        return self

    def trade_off_grid(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """Values of ``lam`` from where the first feature enters down to where all have."""
        return self._grid(X, y, value_targets(np.asarray(y, dtype=np.float64), None).Y)
