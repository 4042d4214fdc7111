"""Cronus: a cascade of linear models over boosted trees, trained all at once."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import type_of_target

from costwise.core import moments as mo
from costwise.core.soft_chain import soft_chain
from costwise.core.trees import Trees
from costwise.costs import QUANTA_PER_UNIT, Costs, as_floats
from costwise.estimators._cstc_finish import refit, standardise, to_tree
from costwise.estimators._cstc_fit import dense_start
from costwise.estimators._cstc_objective import BLOCK_ROWS, Objective, Topology
from costwise.estimators._cstc_solver import State, solve_block, start
from costwise.estimators._linear_common import Targets, class_targets, lam_grid, read_weight
from costwise.estimators._linear_grow import weighted_cut
from costwise.estimators._linear_threads import workers
from costwise.estimators.base import CostAwareClassifier
from costwise.estimators.greedy_miser import GreedyMiserClassifier
from costwise.policy.cascade import CascadePolicy, Stages
from costwise.policy.linear_tree import LinearTree
from costwise.policy.tree import TreePolicy

Floats = npt.NDArray[np.float64]

STEEPEST = 50.0
"""Largest slope of the calibration."""

STEP = 3.0
"""Factor of the prices from a stage to the one before it, where the solver starts."""

LEAVING = 0.3
"""Share of its rows that leave at each stage, where the solver starts."""

ROUNDS = 10
"""Rounds spent on each stage alone."""


class CascadeClassifier(CostAwareClassifier):
    """Cronus: a chain of stages, each a sparse linear model over boosted trees.

    Trees are grown first, without regard to prices. Then all stages choose among them together:
    a row passes a stage with a probability that grows with its score, otherwise it leaves as
    negative, and the expected price of trees and of the features they read is part of the
    objective. Early stages get cheap trees, and dear features are read for the few rows that get
    far. In use thresholds are hard.

    Parameters
    ----------
    n_stages : int, default=4
        Stages of the cascade; 1 re-weighs the trees and drops those not worth their price.
    lam : number, default=0.001
        Loss (in units of the variance of the +-1 labels) that one unit of price is worth.
    rho : number, default=0.0001
        Weight of the l1 term.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    n_trees : int, default=100
        Trees to choose from. Training holds what each says about each row in memory.
    max_depth : int, default=3
        Levels of splits of a tree.
    learning_rate : number, default=0.1
        Of the booster that grows the trees.
    min_samples_leaf : int, default=20
        Least number of rows in a leaf.
    tau : number, default=0.2
        Width of the soft step at a stage, in label units.
    class_weight : {"balanced"}, dict or None, default=None
        Weights by class; "balanced" gives both classes the same total weight.
    tol : number, default=1e-5
        Stop when a round over the stages lowers the objective by less than this share.
    max_iter : int, default=50
        Most rounds.
    n_jobs : int, optional
        Threads; None means all cores. The model does not depend on it.
    random_state : int, optional
        Accepted for uniformity: nothing is random.

    Attributes
    ----------
    objective_ : list of float
        The objective at the start and after every block.
    n_iter_ : int
        Rounds over the stages.
    trace_ : frame
        One line per stage: trees and features used up to it, share of the training rows that reach
        it, their mean bill up to it.

    Notes
    -----
    The order of ``decision_function`` is a ranking: rows that left are below those that stayed,
    earlier ones below later ones. Their probabilities are accordingly small.

    Papers: Chen et al., "Classifier Cascade for Minimizing Feature Evaluation Cost", AISTATS 2012,
    with which section 6 of "The Greedy Miser" (ICML 2012) compares. Solved as CSTC on a chain, see
    :class:`~costwise.CostSensitiveTreeClassifier`: the same objective, solver and refit.

    Differs from the papers: two classes (relevant or not) instead of graded relevance; after the
    solver each stage is refitted on its trees, without penalties, on the rows that reach it; prices
    are those of the whole tree in the objective, and of the row's own path in the bill; a stage that
    ends up without trees lets everybody pass.

    Examples
    --------
    >>> import numpy as np
    >>> from costwise import CascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] > 0.5) & (X[:, 1] > 0)
    >>> costs = [1, 10, 10]
    >>> model = CascadeClassifier(2, lam=0.001, costs=costs, n_trees=20).fit(X, y)
    >>> bool(model.cost(X).mean() < 11), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    policy_: CascadePolicy
    objective_: list[float]
    n_iter_: int
    trace_: pd.DataFrame

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_stages": [Interval(Integral, 1, 50, closed="both")],
        "lam": [Interval(Real, 0, None, closed="left")],
        "rho": [Interval(Real, 0, None, closed="left")],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, 16, closed="both")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_stages: int = 4,
        lam: float = 0.001,
        rho: float = 0.0001,
        *,
        costs: Any = None,
        n_trees: int = 100,
        max_depth: int = 3,
        learning_rate: float = 0.1,
        min_samples_leaf: int = 20,
        tau: float = 0.2,
        class_weight: Any = None,
        tol: float = 1e-5,
        max_iter: int = 50,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_stages = n_stages
        self.lam = lam
        self.rho = rho
        self.costs = costs
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.min_samples_leaf = min_samples_leaf
        self.tau = tau
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CascadeClassifier:
        """Grow the trees and train all stages.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is a missing value.
        y : array (n,)
            Two labels; the second in order is the one that stays.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._validate_params()
        X, y, costs = self._read_training(X, y, dtype=[np.float64, np.float32])
        codes = self._read_labels(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: a cascade "
                f"tells one class from the rest, y has {len(self.classes_)}."
            )
        weight = self._weights(read_weight(sample_weight, X), y)
        booster = GreedyMiserClassifier(
            n_rounds=self.n_trees, max_depth=self.max_depth, n_jobs=self.n_jobs,
            learning_rate=self.learning_rate, min_samples_leaf=self.min_samples_leaf,
        ).fit(X, codes, sample_weight=weight)  # fmt: skip
        trees = apart(booster.policy_.trees)
        said = TreePolicy(costs, booster.policy_.output, trees).batch(X, billed=False).raw
        targets = class_targets(codes, self.classes_)
        chain = self._solve(said, targets, trees, costs, weight)
        policy = to_policy(chain, trees, costs, targets)
        self.policy_ = _calibrated(policy, X, codes, weight)
        self.trace_ = self._trace(X)
        return self

    def _weights(self, weight: Floats | None, y: Any) -> Floats | None:
        if self.class_weight is None:
            return weight
        by_class: Floats = compute_sample_weight(self.class_weight, y)
        return by_class if weight is None else weight * by_class

    def _solve(
        self, said: Floats, targets: Targets, trees: Trees, costs: Costs, weight: Floats | None
    ) -> LinearTree:
        """Minimise the chain's objective over what the trees say (n, trees)."""
        share = (
            np.full(len(said), 1.0 / len(said))
            if weight is None
            else weight / np.add.reduce(weight)
        )
        price, member = price_terms(trees, costs)
        with workers(self.n_jobs) as run:
            mean, _ = mo.column_means(said, weight, run)
            columns = standardise(said, mean, share, BLOCK_ROWS)
            objective = ChainObjective(
                columns.blocks, targets.Y, share, np.ones(1) / float(self.tau), Topology.chain(self.n_stages),
                price, member, float(self.lam), float(self.rho), run,
            )  # fmt: skip
            state = self._start(objective)
            state = solve_block(objective, state, float(self.tol), self.max_iter)
            self.objective_ = state.history
            self.n_iter_ = max((len(state.history) - 1) // self.n_stages, 1)
            support = refit(objective, state)
            return to_tree(state, support, objective, columns, targets)

    def _start(self, objective: ChainObjective) -> State:
        """Stages alone, early ones under higher prices; each lets a share of its rows leave."""
        dense = dense_start(objective)
        stages = []
        for stage in range(self.n_stages):
            dearer = STEP ** (self.n_stages - 1 - stage)
            alone = replace(objective, topology=Topology.chain(1), lam=objective.lam * dearer)
            found = solve_block(alone, start(alone, dense), float(self.tol), ROUNDS)
            stages.append(found.B)
        state = State(np.concatenate(stages, axis=1), np.zeros(self.n_stages))
        scores = objective.outputs(state.B)[:, :, 0] * objective.direction[0]
        here = np.ones(len(scores), dtype=bool)
        for stage in range(self.n_stages - 1):
            score, weight = scores[here, stage], objective.weight[here]
            cut = weighted_cut(score, weight, LEAVING)
            state.theta[stage] = score.min() - 1.0 if cut is None else cut
            here &= scores[:, stage] > state.theta[stage]
        return state

    def _trace(self, X: Any) -> pd.DataFrame:
        """What each stage uses, and what it is worth to get there."""
        policy, rows = self.policy_, []
        evaluated = policy.batch(X, billed=False).evaluated
        costs = policy.costs
        for number, end in enumerate(policy.ends.tolist()):
            first = policy.model.trees.first(end)
            mask = np.zeros((1, costs.n_features), dtype=bool)
            mask[0, first.features] = True
            full = costs.quanta(mask)[0] + end * costs.flat.evaluation
            rows.append(
                {
                    "stage": number + 1,
                    "trees": end,
                    "features": int(mask.sum()),
                    "cost_model": float(as_floats(np.array([full]))[0]),
                    "share": float((evaluated >= end).mean()),
                }
            )
        return pd.DataFrame(rows)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Values of ``lam`` from one that buys next to nothing to one that hardly counts prices."""
        names = list(X.columns) if hasattr(X, "columns") else None
        costs = Costs.of(self.costs, np.shape(X)[1], names)
        return [{"lam": lam} for lam in lam_grid(costs)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class ChainObjective(Objective):
    """CSTC's objective, with rows that leave judged as negative."""

    soft_pass = staticmethod(soft_chain)


def apart(trees: Trees) -> Trees:
    """The same trees, each with an output of its own."""
    n = trees.n_trees
    return replace(trees, output=np.arange(n, dtype=np.int32), base=np.zeros(max(n, 1)))


def price_terms(trees: Trees, costs: Costs) -> tuple[Floats, Floats]:
    """Prices in units, and membership (trees, T) of the terms.

    A feature and a group with a fee are terms of all trees that read them, and each tree is one of
    its own where evaluation has a price.
    """
    flat, n = costs.flat, trees.n_trees
    reads = np.zeros((n, costs.n_features))
    inner = np.flatnonzero(trees.feature >= 0)
    tree_of = np.searchsorted(trees.root, inner, side="right") - 1
    reads[tree_of, trees.feature[inner]] = 1.0
    fees = np.flatnonzero(flat.fee > 0)
    in_group = (flat.group[:, None] == fees).astype(np.float64)
    opens = (np.add.reduce(reads[:, :, None] * in_group[None], axis=1) > 0).astype(np.float64)
    price = np.concatenate([flat.price, flat.fee[fees], np.full(n, flat.evaluation)])
    member = np.hstack([reads, opens, np.eye(n)])
    paid = price > 0
    return price[paid] / QUANTA_PER_UNIT, np.ascontiguousarray(member[:, paid])


def to_policy(chain: LinearTree, trees: Trees, costs: Costs, targets: Targets) -> CascadePolicy:
    """Keep the trees that some stage uses, in the order of their first use."""
    n_stages = chain.n_nodes
    order: list[int] = []
    ends = []
    for stage in range(n_stages):
        order += [t for t in chain.own(stage).tolist() if t not in order]
        ends.append(len(order))
    place = {tree: i for i, tree in enumerate(order)}
    coefficient = np.zeros((n_stages, len(order)))
    for stage in range(n_stages):
        own = slice(chain.start[stage], chain.start[stage + 1])
        for tree, slope in zip(
            chain.features[own].tolist(), chain.coefficient[own, 0], strict=True
        ):
            coefficient[stage, place[tree]] = slope
    prior = chain.intercept[0, 0]
    for tree in chain.own(0).tolist():
        prior += coefficient[0, place[tree]] * chain.mean[tree]
    # Scores were weighed with the steepness of the soft step; the sign of a difference is the same.
    threshold = chain.threshold / chain.direction[:, 0]
    # A stage without trees cannot tell rows apart: it lets all of them pass.
    blind = np.diff(chain.start) == 0
    threshold = np.where(blind, chain.intercept[:, 0] - 1.0, threshold)
    stages = Stages(
        np.array(ends, dtype=np.int64), coefficient, chain.intercept[:, 0].copy(), threshold, np.array([prior]),
    )  # fmt: skip
    return CascadePolicy(costs, targets.output, pick(trees, order), stages)


def pick(trees: Trees, order: list[int]) -> Trees:
    """Some trees in another order, each with an output of its own."""
    bounds = np.append(trees.root, len(trees.feature))
    pieces = [np.arange(bounds[t], bounds[t + 1]) for t in order]
    sizes = [len(piece) for piece in pieces]
    root = np.cumsum([0, *sizes])[:-1]
    nodes = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    shift = np.repeat(root - trees.root[order] if order else np.empty(0), sizes).astype(np.int32)
    left, right = trees.left[nodes], trees.right[nodes]
    return Trees.build(
        feature=trees.feature[nodes], threshold=trees.threshold[nodes],
        left=np.where(left >= 0, left + shift, -1), right=np.where(right >= 0, right + shift, -1),
        value=trees.value[nodes], root=root, base=np.zeros(max(1, len(order))),
        missing_left=trees.missing_left[nodes], output=np.arange(len(order)),
    )  # fmt: skip


def _calibrated(
    policy: CascadePolicy, X: Any, codes: npt.NDArray[np.intp], weight: Floats | None
) -> CascadePolicy:
    """The policy with the slope that makes its scores the best log-odds; which class wins stays."""
    from costwise.core import links

    score = policy.batch(X, billed=False).raw[:, 0]
    w = np.ones(len(score)) if weight is None else weight
    slope = 1.0
    for _ in range(50):
        p = links.sigmoid(slope * score)
        gradient = np.add.reduce(w * score * (p - codes))
        curvature = np.add.reduce(w * score**2 * p * (1.0 - p))
        if curvature <= 1e-12 * np.add.reduce(w):
            break
        new = float(np.clip(slope - gradient / curvature, slope / 2, slope * 2))
        new = min(max(new, 1e-3), STEEPEST)
        if abs(new - slope) <= 1e-9 * slope:
            break
        slope = new
    return CascadePolicy(policy.costs, policy.output, policy.model.trees, policy.stages, slope)
