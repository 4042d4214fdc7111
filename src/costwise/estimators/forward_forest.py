"""Forests on ever longer lists of features, in the order of what they add per price."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from costwise.core.trees import Trees
from costwise.costs import Costs, as_float
from costwise.estimators.base import CostAwareClassifier
from costwise.estimators.priced_model import from_sklearn_trees
from costwise.policy.exit import ExitPolicy
from costwise.policy.output import Output
from costwise.policy.tree import TreePolicy

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

SEARCH_ROWS = 2000
"""Rows that say what a feature adds."""

MOST_STEPS, MOST_CANDIDATES = 12, 16
"""After so many steps the rest keeps its place; a step looks again at so many features only."""

LEAF_SIZES = (1, 5, 20)
"""Few features want larger leaves; every length of the list takes what its out-of-bag rows prefer."""

LEAST_GAIN = 1e-3
"""What a feature counts for that adds nothing: of such features the cheaper comes first."""

EXIT_TREES, EXIT_STAGES, EXIT_WEIGHT = 24, 10, 3.0
"""Trees of a stage, stages at most, and how much more a stage counts than the one before it."""

CERTAINTIES = (0.95, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.12, 0.06)
"""Where exits are tried: from 0, any answer will do, to 1, certainty."""


class ForwardForestClassifier(CostAwareClassifier):
    """A random forest on the first features of one list; the list puts first what adds most per price.

    Features are chosen one after the other: the next is the one whose rise in out-of-bag
    probability of the true class, in a small forest on it and those before it, is largest for its
    price. A forest is then trained for every length of the list, and :meth:`truncate` goes from one
    to another. Where accuracy rises faster than in proportion to the money (many classes, little
    money), methods that weigh gains against prices split by split buy either nothing or much; the
    list has a model for every sum. With ``certainty``, a row goes down the list only until the
    answer is certain enough.

    Parameters
    ----------
    n_features : int, optional
        How many priced features of the list to use; None is all.
    certainty : float, optional
        From 0 to 1: a row leaves the list when the probability of its most likely class has risen by
        this share of the way from even odds to 1. None is never.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each. What costs nothing is used from the start.
    price_power : float, default=1.0
        Gains are divided by the price to this power: 0 looks at the gain alone.
    n_trees : int, default=100
        Trees of a forest.
    n_search_trees : int, default=20
        Trees of the forests that say what a feature adds.
    n_jobs : int, optional
        Of scikit-learn's forests; None is 1. The model does not depend on it.
    random_state : int, RandomState or None
        Seed of the forests.

    Attributes
    ----------
    order_ : list
        All priced features, best first.
    stages_ : DataFrame
        What :meth:`truncate` can go to, one line each: n_features, certainty (NaN is none).
    n_stages_ : int
        Line of the model in use.
    trace_ : DataFrame
        Per step of the search: feature, what the list costs so far, mean out-of-bag probability of
        the true class.

    Notes
    -----
    Selection looks at 2000 rows, searches 12 steps, and after the first step
    at the 16 most promising features only; the rest of the list keeps the order of its last gains.
    Lists longer than 12 have a forest for every length that is a quarter longer than the one before.
    A row pays for what its paths read, which may be less than the list. With exits, at most ten
    lengths have a stage of 24 trees each; all stages so far vote, each with three times the weight of
    the one before it.

    Examples
    --------
    >>> import numpy as np
    >>> from costwise import ForwardForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 1] + 0.5 * X[:, 3] > 0
    >>> model = ForwardForestClassifier(costs=[1, 1, 1, 5], n_trees=20, random_state=0).fit(X, y)
    >>> model.order_[0], float(model.cost(X).max())
    (1, 8.0)
    >>> bool(model.set_params(certainty=0.5).fit(X, y).cost(X).mean() < 4)
    True
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("n_features", "certainty", "price_power")
    every_stage_differs: ClassVar[bool] = True
    order_: list[Any]
    stages_: pd.DataFrame
    n_stages_: int
    trace_: pd.DataFrame
    _forests: dict[int, TreePolicy]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features": [None, Interval(Integral, 0, None, closed="left")],
        "certainty": [None, Interval(Real, 0, 1, closed="both")],
        "price_power": [Interval(Real, 0, None, closed="left")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "n_search_trees": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_features: int | None = None,
        *,
        certainty: float | None = None,
        costs: Any = None,
        price_power: float = 1.0,
        n_trees: int = 100,
        n_search_trees: int = 20,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features = n_features
        self.certainty = certainty
        self.costs = costs
        self.price_power = price_power
        self.n_trees = n_trees
        self.n_search_trees = n_search_trees
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> ForwardForestClassifier:
        """Put the features in order, and train a forest for each length of the list.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows; NaN is an empty value.
        y : array (n,)
            Labels.
        """
        self._validate_params()
        X, y, costs = self._read_training(X, y)
        codes = self._read_labels(y)
        seed = int(check_random_state(self.random_state).randint(0, 2**31 - 1))
        small = _forest(self.n_search_trees, LEAF_SIZES[1], seed, self.n_jobs)
        search = _Search(X, codes, costs, small)
        order = search.run(float(self.price_power), self.n_features)
        self.order_ = [costs.name(feature) for feature in order]
        self.trace_ = pd.DataFrame(search.lines)
        longest = len(order) if self.n_features is None else min(self.n_features, len(order))
        self._forests = {}
        for length in _lengths(longest):
            known = [*search.free, *order[:length]]
            forest = _forest(self.n_trees, search.best_leaf(known), seed, self.n_jobs)
            forest.fit(_only(X, known), self.classes_[codes])
            policy = from_sklearn_trees(forest, costs)
            assert isinstance(policy, TreePolicy)
            self._forests[length] = policy
        self.stages_ = _stages(list(self._forests), self.certainty)
        return self._use(len(self.stages_) - 1)

    def _use(self, stage: int) -> ForwardForestClassifier:
        """Take up one of the models that were trained."""
        self.n_stages_ = stage
        length, certainty = self.stages_.iloc[stage]
        forests = {k: forest for k, forest in self._forests.items() if k <= length}
        if math.isnan(certainty):
            self.policy_ = forests[int(length)]
        else:
            self.policy_ = _with_exits(forests, float(certainty))
        return self

    def truncate(self, stage: int) -> ForwardForestClassifier:
        """Return a copy that is another of the models trained: a line of ``stages_``.

        Parameters
        ----------
        stage : int
            Number of the line. Lists without exits come last, in the order of their length.
        """
        self._check_fitted()
        if not hasattr(self, "_forests"):
            raise ValueError(
                "the model was read from a file, which holds one stage: call truncate before save."
            )
        if not 0 <= stage < len(self.stages_):
            raise ValueError(
                f"stage is {stage}: the model has stages 0 to {len(self.stages_) - 1}."
            )
        return copy.copy(self)._use(stage)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Lists by gain per price, by gain, and between; the same where all prices are."""
        names = list(X.columns) if hasattr(X, "columns") else None
        flat = Costs.of(self.costs, np.shape(X)[1], names).flat
        same = len(np.unique(flat.price[flat.price > 0])) <= 1 and len(flat.fee) == 0
        return [{"price_power": power} for power in ((1.0,) if same else (1.0, 0.5, 0.0))]


class _Search:
    """Which feature comes next."""

    def __init__(self, X: Floats, codes: Codes, costs: Costs, forest: Any) -> None:
        rows = np.random.default_rng(forest.random_state).permutation(len(X))[:SEARCH_ROWS]
        self.X, self.codes, self.costs = X[rows], codes[rows], costs
        self.forest = forest.set_params(oob_score=_nothing)
        self.d = X.shape[1]
        alone = np.array([self._price([f]) for f in range(self.d)])
        self.free = np.flatnonzero(alone == 0).tolist()
        self.lines: list[dict[str, Any]] = []

    def _price(self, features: Sequence[int]) -> int:
        mask = np.zeros(self.d, dtype=bool)
        mask[list(features)] = True
        return int(self.costs.quanta(mask[None, :])[0])

    def score(self, features: Sequence[int], leaf: int = LEAF_SIZES[1]) -> float:
        """Mean out-of-bag probability of the true class."""
        forest = clone(self.forest).set_params(min_samples_leaf=leaf)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows that every tree has seen
            forest.fit(self.X[:, list(features)], self.codes)
        own = np.searchsorted(forest.classes_, self.codes)
        found = forest.oob_decision_function_[np.arange(len(own)), own]
        return float(np.nanmean(found))

    def best_leaf(self, features: Sequence[int]) -> int:
        """The leaf size that out-of-bag rows prefer."""
        if not features:
            return LEAF_SIZES[0]
        return max(LEAF_SIZES, key=lambda leaf: self.score(features, leaf))

    def run(self, power: float, longest: int | None) -> list[int]:
        """All priced features in order; the search ends where no more are wanted."""
        steps = MOST_STEPS if longest is None else min(longest, MOST_STEPS)
        order: list[int] = []
        left = [f for f in range(self.d) if f not in self.free]
        shares = np.bincount(self.codes) / len(self.codes)
        level = self.score(self.free) if self.free else float((shares**2).sum())
        merit = dict.fromkeys(left, np.inf)
        while left and len(order) < steps:
            have = [*self.free, *order]
            paid = self._price(have)
            left.sort(key=lambda f: (-merit[f], f))
            looked = left if not order else left[:MOST_CANDIDATES]
            found = {}
            for f in looked:
                found[f] = self.score([*have, f])
                price = max(as_float(self._price([*have, f]) - paid), 1e-9)
                merit[f] = max(found[f] - level, LEAST_GAIN) / price**power
            best = max(looked, key=lambda f: (merit[f], -f))
            level = max(level, found[best])
            order.append(best)
            left.remove(best)
            self._note(order, found[best])
        return [*order, *sorted(left, key=lambda f: (-merit[f], f))]

    def _note(self, order: list[int], score: float) -> None:
        cost = as_float(self._price([*self.free, *order]))
        name = str(self.costs.name(order[-1]))
        line = {"n_features": len(order), "feature": name, "cost": cost, "probability": score}
        self.lines.append(line)


def _nothing(y: Any, predicted: Any) -> float:
    """Stands for scikit-learn's score of the out-of-bag rows, of which only the votes are wanted."""
    return 0.0


def _forest(n_trees: int, leaf: int, seed: int, n_jobs: int | None) -> Any:
    return RandomForestClassifier(n_trees, min_samples_leaf=leaf, random_state=seed, n_jobs=n_jobs)


def _only(X: Floats, features: Sequence[int]) -> Floats:
    """X with all other columns constant, so that no tree splits on them."""
    kept = np.zeros_like(X)
    kept[:, list(features)] = X[:, list(features)]
    return kept


def _stages(lengths: list[int], certainty: float | None) -> pd.DataFrame:
    """Every list, with exits and without; last what was asked for."""
    longest = lengths[-1]
    # Short lists with exits fill the gap to the next feature, long ones save on easy rows.
    ends = dict.fromkeys([*lengths[2:9], lengths[round(0.7 * (len(lengths) - 1))], longest])
    lines = [(end, level) for end in ends if end > 1 for level in CERTAINTIES]
    lines += [(length, math.nan) for length in lengths[:-1]]
    lines.append((longest, math.nan if certainty is None or longest < 2 else certainty))
    return pd.DataFrame(lines, columns=["n_features", "certainty"]).astype(np.float64)


def _with_exits(forests: dict[int, TreePolicy], certainty: float) -> ExitPolicy:
    """Forests one after the other; rows leave when the votes so far are certain enough."""
    lengths = [length for length in forests if length > 0]
    if len(lengths) > EXIT_STAGES:
        chosen = np.unique(np.geomspace(1, len(lengths), EXIT_STAGES).round().astype(int)) - 1
        lengths = [lengths[i] for i in chosen]
    some = forests[lengths[0]]
    n_classes = some.trees.n_outputs
    parts = [forests[length].trees.first(EXIT_TREES) for length in lengths]
    nodes = np.cumsum([0] + [len(part.feature) for part in parts])
    weights = EXIT_WEIGHT ** np.arange(len(parts))

    def joined(name: str, offset: bool = False) -> npt.NDArray[Any]:
        return np.concatenate(
            [
                np.where(getattr(part, name) < 0, -1, getattr(part, name) + start) if offset
                else getattr(part, name)
                for part, start in zip(parts, nodes, strict=False)
            ]
        )  # fmt: skip

    value = np.concatenate(
        [part.value * weight for part, weight in zip(parts, weights, strict=True)]
    )
    trees = Trees.build(
        feature=joined("feature"), threshold=joined("threshold"), left=joined("left", offset=True),
        right=joined("right", offset=True), missing_left=joined("missing_left"), value=np.hstack([value, value]),
        root=joined("root", offset=True), base=np.tile(some.trees.base, 2) * 1e-9, single=True,
    )  # fmt: skip
    ends = np.cumsum([part.n_trees for part in parts]).astype(np.int64)
    level = 1 / n_classes + certainty * (1 - 1 / n_classes)
    model = TreePolicy(some.costs, Output("votes", some.output.classes), trees)
    return ExitPolicy(model, ends, "probability", np.full(len(ends) - 1, level), 1)


def _lengths(longest: int) -> list[int]:
    """Lengths of the list that get a forest: all small ones, then ever fewer, and the last."""
    found, length = [], 0
    while length < longest:
        found.append(length)
        length = max(length + 1, round(length * 1.25) if length >= MOST_STEPS else 0)
    return [*found, longest]
