"""Cronus: a cascade of linear models over boosted trees, trained all at once."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import type_of_target
from threadpoolctl import threadpool_limits

from worthwhile.core.linear import moments as mo
from worthwhile.core.threads import Threads, count_threads
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.estimators._shared.covering import sample
from worthwhile.estimators._shared.deprecation import once, with_old_names
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.estimators.boosting import GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.estimators.linear._astc_grow import weighted_cut
from worthwhile.estimators.linear._cascade_stages import (
    ChainObjective,
    Ground,
    apart,
    cheap_trees,
    graded_targets,
    price_terms,
    refit_stages,
    set_thresholds,
    to_policy,
)
from worthwhile.estimators.linear._cstc_fit import dense_start
from worthwhile.estimators.linear._cstc_objective import BLOCK_ROWS, Topology
from worthwhile.estimators.linear._cstc_refit import standardise, to_tree
from worthwhile.estimators.linear._cstc_solver import State, solve_block, start
from worthwhile.estimators.linear._lam_choice import choose_lam
from worthwhile.estimators.linear._targets import calibrate, class_targets, lam_points
from worthwhile.policy.cascade import CascadePolicy
from worthwhile.policy.linear_tree import LinearTree
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]

STEP = 10.0
"""Factor of the prices from a stage to the one before it, where the solver starts."""

LEAVING = 0.6
"""Share of its rows that leave at each stage, where the solver starts."""

ROUNDS = 10
"""Rounds spent on each stage alone."""


@with_old_names
@dataclass(eq=False, repr=False)
class CascadeClassifier(ClassParameters, TrainingParameters, CostAwareClassifier):
    """Cronus: a chain of stages, each a sparse linear model over boosted trees.

    Trees are grown first: most without regard to prices, some that stay cheap. Then all stages choose
    among them together: a row passes a stage with a probability that grows with its score, otherwise
    it leaves as negative, and the expected price of trees and of the features they read is part of the
    objective. Early stages get cheap trees, and dear features are read for the few rows that get
    far. In use thresholds are hard.

    Parameters
    ----------
    n_stages : int, default=4
        Stages of the cascade; 1 re-weighs the trees and drops those not worth their price.
    lam : number or "auto", default="auto"
        Loss (in units of the variance of the +-1 labels) that one unit of price is worth. "auto":
        the cheapest cascade within one standard error of the best, on rows held out, of some whose
        mean bills leave no holes.
    rho : number, default=0.0001
        Weight of the l1 term.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    n_rounds : int, default=100
        Trees to choose from, beside cheap ones. Training holds what each says about each row in memory.
    max_depth : int, default=3
        Levels of splits of a tree.
    learning_rate : number, default=0.1
        Of the booster that grows the trees.
    min_samples_leaf : int, default=20
        Least number of rows in a leaf.
    tau : number, default=0.2
        Width of the soft step at a stage, in label units.
    leaving : number, optional
        Share of the rows that get to a stage (the last one aside) that leave there: thresholds are
        put there after training. None: the thresholds of the solver. See :meth:`at`.
    anchor : number, default=10.0
        How strongly, at the end, the weights of the trees are pulled to those they had in the
        booster, in units of a tree's variance; 0 is plain least squares.
    tol : number, default=1e-5
        Stop when a round over the stages lowers the objective by less than this share.
    max_iter : int, default=50
        Most rounds.
    preset : {"default", "paper"}, default="default"
        "paper": stages choose among trees that were grown without regard to prices, and no others.
    random_state : int, optional
        Accepted for uniformity: nothing is random.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    lam_ : float
        The trade-off that was used.
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
    :class:`~worthwhile.CostSensitiveTreeClassifier`: the same objective, solver and refit.

    Differs from the papers: unless ``preset="paper"``, there are also trees of two boosters that mind
    prices, half as many each, which stay within 5 and 30 % of the price of everything. On tables of few
    columns every other tree reads something dear, and an early stage has nothing to be made of. After
    the solver each stage is fitted again on its trees, without prices, on the rows that reach it, but
    not far from the weights the booster gave them: these rows grew the trees, and plain least squares
    on them loses 3 to 4 % of NDCG@5. Scores of stages other than the last count a hundredth as much as
    in a mean over the stages, so that a stage need not be a good ranking by itself, only good at telling
    who may leave. Prices are those of the whole tree in the objective, and of the row's own path in the
    bill; a stage that ends up without trees lets everybody pass.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import CascadeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> y = (X[:, 0] > 0.5) & (X[:, 1] > 0)
    >>> costs = [1, 10, 10]
    >>> model = CascadeClassifier(2, lam=0.001, costs=costs, n_rounds=20).fit(X, y)
    >>> bool(model.cost(X).mean() < 11), bool(model.score(X, y) > 0.9)
    (True, True)
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    _renamed: ClassVar[dict[str, str]] = {"n_trees": "n_rounds"}
    policy_: CascadePolicy = field(init=False)
    objective_: list[float] = field(init=False)
    n_iter_: int = field(init=False)
    lam_: float = field(init=False)
    trace_: pd.DataFrame = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_stages": [Interval(Integral, 1, 50, closed="both")],
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "rho": [Interval(Real, 0, None, closed="left")],
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, 16, closed="both")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "leaving": [None, Interval(Real, 0, 1, closed="left")],
        "anchor": [Interval(Real, 0, None, closed="left")],
        "class_weight": [None, dict, StrOptions({"balanced"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "preset": [StrOptions({"default", "paper"})],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    n_stages: int = 4
    lam: float | str = "auto"
    rho: float = 0.0001
    _: KW_ONLY
    n_rounds: int = 100
    max_depth: int = 3
    learning_rate: float = 0.1
    min_samples_leaf: int = 20
    tau: float = 0.2
    leaving: float | None = None
    anchor: float = 10.0
    tol: float = 1e-5
    max_iter: int = 50
    preset: str = "default"
    random_state: Any = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, grades: Any = None
    ) -> CascadeClassifier:
        """Grow the trees and train all stages.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is a missing value.
        y : array (n,)
            Two labels; the second in order is the one that stays.
        sample_weight : array (n,), optional
            Weights of the rows.
        grades : array (n,), optional
            How relevant each row is, where there is more to know than ``y`` says: trees and stages
            are then fitted to the grades, and rows that leave are judged as of the lowest grade.
            All grades of the second class must be above those of the first.
        """
        ground = self._prepare(X, y, sample_weight, grades)
        self.lam_ = self._settled(X, y, sample_weight)
        return self._train(ground)

    def _settled(self, X: Any, y: Any, weight: Any) -> float:
        """The trade-off: as given, or for "auto" chosen on rows held out, by their labels."""
        if not isinstance(self.lam, str):
            return float(self.lam)
        quick = clone(self).set_params(max_iter=min(int(self.max_iter), ROUNDS))
        return choose_lam(quick, (quick._by_lam, self._by_lam), self._costs_for(X), X, y, weight)

    def fit_path(
        self,
        X: Any,
        y: Any,
        lams: Sequence[float],
        sample_weight: Any = None,
        *,
        grades: Any = None,
    ) -> list[CascadeClassifier]:
        """Fit one cascade for each ``lam``; they share the trees.

        Parameters
        ----------
        X, y, sample_weight, grades
            As for :meth:`fit`.
        lams : sequence of float
            Values of ``lam``.

        Returns
        -------
        list of CascadeClassifier, fitted, in the order of ``lams``
        """
        fit = self._by_lam(X, y, sample_weight, grades)
        return [fit(lam) for lam in lams]

    def _prepare(self, X: Any, y: Any, sample_weight: Any, grades: Any) -> Ground:
        """Check everything and grow the trees."""
        self._validate_params()
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], weight=sample_weight
        )
        codes = self._read_labels(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}: a cascade "
                f"tells one class from the rest, y has {len(self.classes_)}."
            )
        weight = read_weight(sample_weight, X, self.class_weight, y)
        targets, boundary = class_targets(codes, self.classes_), 0.0
        if grades is not None:
            targets, boundary = graded_targets(grades, codes, targets.output)
        grown_for = codes if grades is None else targets.Y[:, 0]
        trees = self._grow(X, grown_for, weight, grades is None, costs)
        said = TreePolicy(costs, targets.output, trees).batch(X, billed=False).raw
        return Ground(X, codes, weight, costs, targets, boundary, trees, said)

    def _train(self, ground: Ground) -> CascadeClassifier:
        """The stages over the trees."""
        chain = self._solve(ground)
        policy = to_policy(chain, ground.trees, ground.costs, ground.targets, ground.boundary)
        if self.leaving is not None:
            policy = set_thresholds(policy, ground.X, ground.weight, float(self.leaving))
        slope = calibrate(policy, ground.X, ground.codes, ground.weight)
        trees = policy.model.trees
        self.policy_ = CascadePolicy(policy.costs, policy.output, trees, policy.stages, slope)
        self.trace_ = self._trace(ground.X)
        return self

    def _grow(self, X: Any, y: Any, weight: Floats | None, labels: bool, costs: Costs) -> Trees:
        """The trees to choose from, each with an output of its own."""
        shape: dict[str, Any] = {
            "n_rounds": self.n_rounds, "max_depth": self.max_depth, "n_jobs": self.n_jobs,
            "learning_rate": self.learning_rate, "min_samples_leaf": self.min_samples_leaf,
            "newton": False, "validation_fraction": None,
        }  # fmt: skip
        booster: Any = GreedyMiserClassifier(**shape) if labels else GreedyMiserRegressor(**shape)
        trees = [booster.fit(X, y, sample_weight=weight).policy_.trees]
        if self.preset == "default":
            unnamed = costs.expanded([1] * costs.n_features)
            fewer = clone(booster).set_params(costs=unnamed, n_rounds=-(-self.n_rounds // 2))
            trees += cheap_trees(fewer, X, y, weight, costs.total)
        return apart(Trees.join(trees))

    def at(self, *, leaving: float, X: Any, sample_weight: Any = None) -> CascadeClassifier:
        """The fitted cascade with other thresholds; nothing is trained.

        Parameters
        ----------
        leaving : number from 0 to below 1
            Share of the rows that get to a stage (the last one aside) that leave there.
        X : array or frame (n, d)
            Rows on which thresholds are placed, best ones that did not train; labels are not needed.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._check_fitted()
        other = copy.copy(self).set_params(leaving=leaving)
        other._validate_params()
        X = self._read_inner(X)
        other.policy_ = set_thresholds(
            self._inner_policy, X, read_weight(sample_weight, X), float(leaving)
        )
        other.trace_ = other._trace(X)
        return other

    with_leaving = once("with_leaving", X="X", leaving="leaving", sample_weight="sample_weight")

    def _solve(self, ground: Ground) -> LinearTree:
        """Minimise the chain's objective over what the trees say."""
        said, weight, targets = ground.said, ground.weight, ground.targets
        share = (
            np.full(len(said), 1.0 / len(said))
            if weight is None
            else weight / np.add.reduce(weight)
        )
        price, member = price_terms(ground.trees, ground.costs)
        with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
            mean, _ = mo.column_means(said, weight, threads.map)
            columns = standardise(said, mean, share, BLOCK_ROWS)
            objective = ChainObjective(
                columns.blocks, targets.Y, share, np.ones(1) / float(self.tau), Topology.chain(self.n_stages),
                price, member, self.lam_, float(self.rho), threads.map,
            )  # fmt: skip
            state = self._start(objective)
            state = solve_block(objective, state, float(self.tol), self.max_iter)
            self.objective_ = state.history
            self.n_iter_ = max((len(state.history) - 1) // self.n_stages, 1)
            own = np.where(np.isfinite(columns.scale), columns.scale, 0.0)
            support = refit_stages(objective, state, own, float(self.anchor))
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
        policy, rows = self._inner_policy, []
        evaluated = policy.batch(X, billed=False).evaluated
        costs = policy.costs
        for number, end in enumerate(policy.ends.tolist()):
            first = policy.model.trees.first(end)
            mask = np.zeros(costs.n_features, dtype=bool)
            mask[first.features] = True
            rows.append(
                {
                    "stage": number + 1,
                    "trees": end,
                    "features": int(mask.sum()),
                    "cost_model": costs.price(mask, end),
                    "share": float((evaluated >= end).mean()),
                }
            )
        return pd.DataFrame(rows)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Values of ``lam`` from one that buys next to nothing on, by bisection on the mean bill."""
        costs = self._costs_for(X)
        if y is None:
            return lam_points(None, costs)
        some = sample(X, y)
        fit = self._by_lam(*some)
        return lam_points(lambda lam: float(fit(lam).cost(some[0]).mean()), costs)

    def _by_lam(
        self, X: Any, y: Any, sample_weight: Any = None, grades: Any = None
    ) -> Callable[[float], CascadeClassifier]:
        """The cascade of some rows, by ``lam``; all share the trees."""
        probe = copy.copy(self)
        ground = probe._prepare(X, y, sample_weight, grades)

        def fit(lam: float) -> CascadeClassifier:
            model = copy.copy(probe).set_params(lam=lam)
            model._validate_params()
            model.lam_ = float(lam)
            return model._train(ground)

        return fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
