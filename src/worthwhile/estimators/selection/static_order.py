"""Fixed orders of factors: the same purchases for every case."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from worthwhile.costs import as_float
from worthwhile.estimators._shared.weights import copies_by_weight, read_weight
from worthwhile.estimators.selection._data_classifier import (
    DataSettings,
    Masks,
    Scorer,
    World,
    fit_folds,
    output_of,
)
from worthwhile.estimators.selection._explain import explain_rows
from worthwhile.estimators.selection._factors import make_layout
from worthwhile.estimators.selection._given_classifier import TakesClassifier
from worthwhile.policy.selection.rows import FactorPrices, Linear, Model
from worthwhile.policy.selection.static_order import StaticOrderPolicy

MOST_SUMS = 2**22
"""Sums of the data classifier that are held at a time while factors are tried."""


@dataclass(eq=False, repr=False)
class StaticOrderClassifier(TakesClassifier):
    """Buys the first factors of one fixed list for every case.

    The baselines of dynamic selection, and a good choice where all cases are alike.

    Parameters
    ----------
    order : {"forward", "weight"}, default="forward"
        "forward": each next factor is the one that brings the highest accuracy on training rows
        together with those before it, whatever it costs. "weight": by largest absolute weight in
        the (linear) data classifier per price.
    n_factors : int, optional
        How many factors of the list to buy; None is all.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each. What costs nothing is known from the start.
    factors : None, "groups", "single", list of lists or mapping, default=None
        What is bought together, as in :class:`DynamicSelectionClassifier`.
    classifier : scikit-learn classifier, optional
        The data classifier; None is multinomial logistic regression on standardised features. One
        that is fitted already, on the columns of ``X`` as they are, is never trained again:
        ``masked``, ``adapt`` and ``n_folds`` do not apply.
    masked : bool, default=True
        Whether it is also trained on rows with random factors left out, with marks of those known.
    adapt : bool, default=True
        Whether a masked data classifier is trained again, on full rows and on rows with the first
        factors of the order, once that is known.
    n_folds : int or None, default=10
        Accuracies of the forward order are of classifiers that have not seen the rows. None: of
        the one classifier, on its own training rows.
    random_state : int or RandomState, optional
        Seed of folds and left-out factors.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    order_ : list
        Names of all factors, best first.
    factor_names_ : list
        Names of the factors in column order.
    trace_ : DataFrame
        Cost and training accuracy (of the folds' classifiers) after each number of factors.

    Notes
    -----
    Paper: He He, Hal Daumé III, Jason Eisner, "Cost-sensitive Dynamic Feature Selection", ICML
    workshop on Inferning, 2012, section 5 (baselines).

    Differs from the paper: the data classifier is trained for missing factors too (``masked``, ``adapt``).
    Prices of the "weight" order are those of a factor bought alone. Under a budget, a factor that
    does not fit is left out and the list goes on.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import StaticOrderClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 1] + 0.5 * X[:, 3] > 0
    >>> model = StaticOrderClassifier(n_factors=2, random_state=0).fit(X, y)
    >>> model.order_[:2], model.cost(X).tolist()[:2]
    ([1, 3], [2.0, 2.0])
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("n_factors",)
    policy_: StaticOrderPolicy = field(init=False)
    _style = "columns"
    trace_: pd.DataFrame = field(init=False)
    order_: list[Any] = field(init=False)
    factor_names_: list[Any] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "order": [StrOptions({"forward", "weight"})],
        "n_factors": [None, Interval(Integral, 0, None, closed="left")],
        "masked": ["boolean"],
        "adapt": ["boolean"],
        "n_folds": [None, Interval(Integral, 2, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    order: str = "forward"
    _: KW_ONLY
    n_factors: int | None = None
    adapt: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StaticOrderClassifier:
        """Train the data classifier and put the factors in order.

        Parameters
        ----------
        X, y : array or frame (n, d), array (n,)
            Rows, in which NaN is read as the training mean, and their labels.
        sample_weight : array (n,), optional
            Weights of the rows, which count as copies: whole numbers equal repetition, where the
            copies of a row are in the same fold.
        """
        self._validate_params()
        X, y, costs = self._read_training(X, y, weight=sample_weight)
        origin = copies_by_weight(read_weight(sample_weight, X, self.class_weight, y), len(X), y)
        X, y = X[origin], y[origin]
        codes = self._read_labels(y)
        seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        layout, self.factor_names_ = make_layout(X, costs, self.factors, self._encoding)
        prices = FactorPrices(costs, layout)
        Z = layout.standardise(X[:, layout.features], slice(None))
        settings = DataSettings.of(self, self._given(X, layout), origin)
        n_classes = len(self.classes_)
        given = Z, codes, n_classes, layout, settings, seed
        scorer, parts = fit_folds(*given)
        world = World(Z, codes, n_classes, layout, prices, parts)
        order = forward_order(world) if self.order == "forward" else weight_order(scorer, world)
        if settings.masked and self.adapt and order:
            scorer, parts = fit_folds(*given, prefix_masks(order, len(Z), seed))
            world = World(Z, codes, n_classes, layout, prices, parts)
        self.order_ = [self.factor_names_[f] for f in order]
        self.trace_ = _trace(world, order, self.order_)
        output = output_of(scorer, self.classes_)
        bought = order if self.n_factors is None else order[: self.n_factors]
        self.policy_ = StaticOrderPolicy(costs, output, Model.of(costs, layout, scorer), bought)
        return self

    def explain(self, X: Any, budget: Any = None) -> pd.DataFrame:
        """What is bought for each row, step by step; columns as in dynamic selection."""
        return explain_rows(self._inner_policy, self.factor_names_, self._read_inner(X), budget)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """From no factor to all of them."""
        probe = copy.copy(self)
        read, _, costs = probe._read_training(X, np.zeros(len(X)) if y is None else y)
        layout, _ = make_layout(read, costs, self.factors, probe._encoding)
        return [{"n_factors": count} for count in range(layout.n_factors + 1)]


def forward_order(world: World) -> list[int]:
    """Greedy by accuracy of the data classifier with the other factors at 0; ties to the first."""
    n = len(world.Z)
    rows, bought = np.arange(n), np.zeros((n, world.layout.n_factors), dtype=bool)
    order, left = list[int](), list(range(world.layout.n_factors))
    # Sums of a linear classifier are cheap next to a call: many factors at a time.
    at_once = 1 if world.adds is None else max(1, MOST_SUMS // (n * world.n_classes))
    while left:
        raw, hits = world.raw(rows, bought), list[int]()
        for start in range(0, len(left), at_once):
            factors = np.tile(left[start : start + at_once], (n, 1))
            after = world.raw_after(rows, bought, factors, raw)
            hits += (np.argmax(after, axis=2) == world.codes[:, None]).sum(axis=0).tolist()
        order.append(left.pop(int(np.argmax(hits))))
        bought[:, order[-1]] = True
    return order


def weight_order(scorer: Scorer, world: World) -> list[int]:
    """Largest absolute weight of a factor's features, over all classes, per price."""
    if not isinstance(scorer, Linear):
        raise ValueError(
            "order is 'weight', but the classifier has no weights: use classifier=None, a LogisticRegression, or "
            "order='forward'."
        )
    layout, prices = world.layout, world.prices
    alone = prices.of(np.eye(layout.n_factors, dtype=bool))
    merit = [
        np.abs(scorer.weight[layout.entries(f)]).max() / alone[f] for f in range(layout.n_factors)
    ]
    return [int(f) for f in np.argsort(-np.array(merit), kind="stable")]


def prefix_masks(order: list[int], n: int, seed: int) -> Masks:
    """Full rows, and twice rows with the first factors of the order: any number but all."""
    rng, rank = np.random.default_rng(seed), np.argsort(order)
    counts = (rng.integers(0, len(order), (n, 1)) for _ in range(2))
    return [np.ones((n, len(order)), dtype=bool), *(rank < count for count in counts)]


def _trace(world: World, order: list[int], names: list[Any]) -> pd.DataFrame:
    rows = np.arange(len(world.Z))
    bought = np.zeros((len(rows), world.layout.n_factors), dtype=bool)
    lines = []
    for count in range(len(order) + 1):
        if count:
            bought[:, order[count - 1]] = True
        hit = np.argmax(world.raw(rows, bought), axis=1) == world.codes
        cost = as_float(int(world.prices.of(bought[:1])[0]))
        name = "" if count == 0 else str(names[count - 1])
        lines.append(
            {"n_factors": count, "factor": name, "cost": cost, "accuracy": float(hit.mean())}
        )
    return pd.DataFrame(lines)
