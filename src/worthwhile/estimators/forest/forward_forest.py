"""Forests on ever longer lists of features, in the order of what they add per price."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import as_float
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators._shared.deprecation import once
from worthwhile.estimators._shared.importances import impurity_by_feature
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.weights import (
    drop_weightless,
    read_weight,
    relative_weight,
)
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.estimators.forest._forward_exits import exit_levels, joint_votes, spaced, with_exits
from worthwhile.estimators.forest._forward_search import (
    MOST_STEPS,
    Kinds,
    Length,
    Search,
)
from worthwhile.policy.exits.policy import ExitPolicy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

WORTHS = np.geomspace(0.2, 16, 7)
"""Exits are tried for right answers worth so many times the price of one more of them on average."""

LEAVING = (0.75, 0.5, 0.25)
"""Shares of rows that stop one length before the others: where every feature adds more than the one
before it, nothing between all and none of them is best for any worth, but budgets lie there."""


@dataclass(eq=False, repr=False)
class ForwardForestClassifier(ClassParameters, TrainingParameters, CostAwareClassifier):
    """A random forest on the first features of one list; the list puts first what adds most per price.

    Features are chosen one after the other: the next is the one whose rise in out-of-bag
    probability of the true class, in a small forest on it and those before it, is largest for its
    price. A forest is then trained for every length of the list, and :meth:`at` goes from one
    to another. Where accuracy rises faster than in proportion to the money (many classes, little
    money), methods that weigh gains against prices split by split buy either nothing or much; the
    list has a model for every sum. With ``worth``, a row goes down the list only while a right answer
    becomes likelier by more than the price.

    Parameters
    ----------
    n_features : int, optional
        How many priced features of the list to use; None is all.
    worth : float, optional
        What a right answer is worth, in the unit of the prices: a row leaves the list when what is
        left of it costs more than it is expected to gain. None is never.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each. What costs nothing is used from the start.
    price_power : float, default=1.0
        Gains are divided by the price to this power: 0 looks at the gain alone.
    n_trees : int, default=64
        Trees of a forest.
    n_search_trees : int, default=20
        Trees of the forests that say what a feature adds.
    random_state : int, RandomState or None
        Seed of the forests.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    feature_importances_ : float64 array (d,)
        What splits on each feature take off the Gini impurity of rows of ``fit``; they add up to 1. Only of the
        model that ``fit`` took.
    order_ : list
        All priced features, best first.
    stages_ : DataFrame
        What :meth:`at` can go to, one line each: n_features, worth (NaN is none), and share
        of training rows that leave one length earlier (NaN is as worth says).
    n_stages_ : int
        Line of the model in use.
    trace_ : DataFrame
        Per step of the search: feature, what the list costs so far, mean out-of-bag probability of
        the true class.

    Notes
    -----
    Selection looks at 2000 rows, searches 12 steps, and after the first step
    at the 16 most promising features only; the rest of the list keeps the order of its last gains.
    Lists longer than 12 have a forest for every length that is a quarter longer than the one before:
    of forests with the best cuts and with random ones, and with leaves of several sizes, the kind
    with the most right answers by trees that did not see a row. Every tree sees three quarters of the
    rows (half of more than 4,000), as codes of up to 255 values a feature; on few features it sees fewer.
    A row pays for what its paths read, which may be less than the list.

    With exits, at most ten lengths have a stage, with half of their trees; all stages so far vote,
    each with four times the weight of the one before it. From which certainty on rows leave a stage
    is found from the last stage backwards, by the votes of trees that did not see a row.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import ForwardForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 1] + 0.5 * X[:, 3] > 0
    >>> model = ForwardForestClassifier(costs=[1, 1, 1, 5], n_trees=20, random_state=0).fit(X, y)
    >>> model.order_[0], float(model.cost(X).max())
    (1, 8.0)
    >>> bool(model.set_params(worth=20).fit(X, y).cost(X).mean() < 4)
    True
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("n_features", "worth", "price_power")
    every_stage_differs: ClassVar[bool] = True
    order_: list[Any] = field(init=False)
    stages_: pd.DataFrame = field(init=False)
    n_stages_: int = field(init=False)
    trace_: pd.DataFrame = field(init=False)
    feature_importances_: npt.NDArray[np.float64] = field(init=False)
    _forests: dict[int, TreePolicy] = field(init=False)
    _plans: list[_Plan] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [None, Interval(Integral, 0, None, closed="left")],
        "worth": [None, Interval(Real, 0, None, closed="left")],
        "price_power": [Interval(Real, 0, None, closed="left")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "n_search_trees": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    n_features: int | None = None
    _: KW_ONLY
    worth: float | None = None
    price_power: float = 1.0
    n_trees: int = 64
    n_search_trees: int = 20
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ForwardForestClassifier:
        """Put the features in order, and train a forest for each length of the list.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows; NaN is an empty value.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows. Trees draw rows by chance, so whole numbers do not equal repetition.
        """
        self._validate_params()
        X, y, costs = self._read_training(X, y, weight=sample_weight)
        weight = read_weight(sample_weight, X, self.class_weight, y)
        weight, X, y = drop_weightless(weight, X, y)
        codes = self._read_labels(y)
        seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        even = relative_weight(weight, len(X))
        with Threads(count_threads(self.n_jobs)) as threads:
            table = Table(X, codes, None, even, len(self.classes_), threads)
            search = Search(table, costs, self.n_search_trees, seed, threads)
            order = search.run(float(self.price_power), self.n_features)
            longest = len(order) if self.n_features is None else min(self.n_features, len(order))
            kinds = Kinds(table, self.n_trees, seed)

            def grown(length: int) -> Length:
                known = [*search.free, *order[:length]]
                return kinds.grow(known, as_float(search.price(known)))

            every = _lengths(longest)
            lengths = dict(zip(every, threads.map(grown, every), strict=True))
        self.order_ = [costs.name(feature) for feature in order]
        self.trace_ = pd.DataFrame(search.lines)
        output = Output("probabilities", self.classes_)
        self._forests = {n: TreePolicy(costs, output, own.trees) for n, own in lengths.items()}
        self._place_exits(lengths, codes, even, bool(search.free))
        self._use(len(self.stages_) - 1)
        policy = self._inner_policy
        trees = (policy.model if isinstance(policy, ExitPolicy) else policy).trees
        gains = impurity_by_feature(trees, X, codes, len(self.classes_), weight)
        self.feature_importances_ = self._by_source(gains)
        return self

    def _place_exits(
        self, lengths: dict[int, Length], codes: Codes, weight: Floats, some_free: bool
    ) -> None:
        """All lists, with exits and without; last what was asked for."""
        every = list(lengths)
        staged = every if some_free else every[1:]
        # Short lists with exits fill the gap to the next feature, long ones save on easy rows.
        ends = {*staged[1:9], *staged[round(0.7 * (len(staged) - 1)) :][:1], *staged[-1:]}
        plans: list[_Plan] = []
        asked: list[_Plan] = []
        for end in sorted(ends):
            chosen = spaced([length for length in staged if length <= end])
            if len(chosen) < 2:
                continue
            exits = _Exits([lengths[length] for length in chosen], codes, weight)
            plans += [_Plan(chosen, exits.levels(worth), worth) for worth in exits.worths()]
            if self.worth is not None:
                asked = [_Plan(chosen, exits.levels(float(self.worth)), float(self.worth))]
        for pair in itertools.pairwise(staged[:9]):
            exits = _Exits([lengths[length] for length in pair], codes, weight)
            plans += [_Plan(list(pair), exits.leave(share), leaving=share) for share in LEAVING]
        plans += [_Plan([length]) for length in every]
        self._plans = plans + asked
        lines = [(plan.chosen[-1], plan.worth, plan.leaving) for plan in self._plans]
        names = ["n_features", "worth", "leaving"]
        self.stages_ = pd.DataFrame(lines, columns=names).astype(np.float64)

    def _use(self, stage: int) -> ForwardForestClassifier:
        """Take up one of the models that were trained."""
        self.n_stages_ = stage
        vars(self).pop("feature_importances_", None)  # those of other trees
        plan = self._plans[stage]
        forests = [self._forests[length] for length in plan.chosen]
        self.policy_ = forests[0] if plan.levels is None else with_exits(forests, plan.levels)
        return self

    def at(self, *, stage: int) -> ForwardForestClassifier:
        """Return a copy that is another of the models trained: a line of ``stages_``.

        Parameters
        ----------
        stage : int
            Number of the line: first lists with exits, then lists without, then what was asked for.
        """
        self._check_fitted()
        if not hasattr(self, "_forests"):
            raise ValueError(
                "the model was read from a file, which holds one stage: call at before save."
            )
        if not 0 <= stage < len(self.stages_):
            raise ValueError(
                f"stage is {stage}: the model has stages 0 to {len(self.stages_) - 1}."
            )
        return copy.copy(self)._use(stage)

    truncate = once("truncate", stage="stage")

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Lists by gain per price, and by gain per root of the price; one where all prices are one."""
        flat = self._costs_for(X).flat
        same = len(np.unique(flat.price[flat.price > 0])) <= 1 and len(flat.fee) == 0
        return [{"price_power": power} for power in ((1.0,) if same else (1.0, 0.5))]


@dataclass(frozen=True)
class _Plan:
    """A model that needs no further training: lengths of the list, and where rows leave."""

    chosen: list[int]
    levels: Floats | None = None
    worth: float = math.nan
    leaving: float = math.nan


class _Exits:
    """Stages of a list, as training rows see them that the forests were not grown on."""

    def __init__(self, stages: Sequence[Length], codes: Codes, weight: Floats) -> None:
        self.weight = weight
        votes = joint_votes([stage.votes for stage in stages])
        self.certainty = np.array([vote.max(axis=1) for vote in votes])
        self.right = np.array([vote.argmax(axis=1) == codes for vote in votes], dtype=np.float64)
        self.price = np.array([stage.price for stage in stages])

    def worths(self) -> list[float]:
        """What right answers may be worth, around the price of one more of them on average."""
        shares = np.average(self.right, axis=1, weights=self.weight)
        gain = max(float(shares[-1] - shares[0]), 0.01)
        usual = float(self.price[-1] - self.price[0]) / gain
        return [float(worth) for worth in WORTHS * usual]

    def levels(self, worth: float) -> Floats:
        """Where rows leave."""
        return exit_levels(self.certainty, self.right, self.price, worth, self.weight)

    def leave(self, share: float) -> Floats:
        """The level at which this share of the rows leaves the first of two stages."""
        return np.quantile(self.certainty[:1], [1 - share])


def _lengths(longest: int) -> list[int]:
    """Lengths of the list that get a forest: all small ones, then ever fewer, and the last."""
    found, length = [], 0
    while length < longest:
        found.append(length)
        length = max(length + 1, round(length * 1.25) if length >= MOST_STEPS else 0)
    return [*found, longest]
