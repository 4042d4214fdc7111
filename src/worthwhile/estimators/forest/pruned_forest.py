"""BudgetPrune: a forest pruned for a trade-off between error and bill."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_X_y, validate_data

from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import Costs, as_floats
from worthwhile.estimators._shared.covering import covering, sample
from worthwhile.estimators._shared.deprecation import once
from worthwhile.estimators._shared.importances import impurity_by_feature
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.validation import (
    code_labels,
    development_rows,
    read_validation,
)
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.forest._prune_breakpoints import breakpoints
from worthwhile.estimators.forest._prune_problem import PruneProblem, Pruning
from worthwhile.estimators.forest._prune_refit import read_targets, refitted
from worthwhile.estimators.forest._prune_trees import prunable
from worthwhile.estimators.forest.budgeted_forest import BudgetedForestClassifier
from worthwhile.estimators.priced.priced_model import PricedModel
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class PrunedForestClassifier(ClassParameters, TrainingParameters, CostAwareClassifier):
    """A forest cut back where what a subtree gains is not worth what its features cost.

    All trees are pruned together: a feature that several trees read is paid for once per row.

    Parameters
    ----------
    forest : fitted or unfitted forest, optional
        A :class:`~worthwhile.BudgetedForestClassifier`, a scikit-learn forest of classification
        trees, or a :class:`~worthwhile.PricedModel` of a classifier by LightGBM, XGBoost, CatBoost or
        scikit-learn's boosting. A fitted one is pruned as it is; of an unfitted one a clone is
        trained. None trains a ``BudgetedForestClassifier`` that does not look at prices
        (``price_power=0``).
    lam : number, default=0.001
        Error that one unit of money is worth.
    costs : Costs, mapping or array, optional
        Prices of the features; None means those of ``forest``, or 1 each.
    solver : {"auto", "cut", "dual"}, default="auto"
        "cut": exact, by minimum cut. "dual": dual ascent with dynamic programming, for large
        problems; ``gap_`` tells how far from the best it may be. "auto" chooses by size.
    errors : {"in-bag", "held-out"}, default="in-bag"
        Where the errors of nodes come from: the rows each tree was trained on, or the pruning rows. Prices
        of errors are given to :meth:`with_errors`.
        Forests of scikit-learn do not keep the rows that their trees saw, but the weight and the
        class shares of these rows at every node, which is enough.
    keep_levels : int, default=0
        Levels of splits, from the root of every tree, that are never pruned. Trees share what they
        buy, so that from some ``lam`` on all of it goes at once; with 3 or 5 levels kept there are
        prunings in between.
    validation_fraction : float, default=0.3
        Share of the rows held out for pruning when a forest is trained here and ``fit`` gets no
        validation set.
    max_iter : int, default=50
        Iterations of the dual ascent.
    random_state : int, RandomState or None
        Seed of the hold-out, and of a forest trained here.
    categorical, dates, n_jobs, class_weight, calibrate
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    feature_importances_ : float64 array (d,)
        What splits on each feature take off the Gini impurity of rows of the pruning; they add up to 1.
    forest_ : estimator
        The forest that was pruned.
    objective_, gap_ : float
        Mean error of the trees plus ``lam`` times the mean bill on the pruning rows, and how much
        lower the best may be (0 for "cut").
    n_iter_ : int
        Iterations of the dual ascent; 1 for "cut".
    trace_ : DataFrame
        The start forest and the pruned one: lam, cost (mean bill on the pruning rows), error (mean
        of the trees), score (accuracy of the forest there), n_trees, nodes.

    Notes
    -----
    Nan, Wang, Saligrama, "Pruning random forests for prediction on a budget", NIPS 2016; compared
    with in Nan and Saligrama, "Adaptive classification for prediction under a budget", NIPS 2017.
    A fitted ``forest`` should be pruned on rows that it has not seen. Held-out errors cut more than
    is good for the vote: each tree is better without such a split, the forest is not. Solutions by
    "cut" are nested: a larger ``lam`` only cuts further (see :meth:`path`).

    The trees of a booster have no errors of their own. They are pruned where their part of the score
    changes least: the error is then the mean squared change on the pruning rows, as a share of what
    it is when all trees are pruned to their roots, and ``errors`` has no say.

    Differs from the paper: a tree that is pruned to its root no longer votes, and its evaluation is
    not paid for; without any tree left, the answer is the prior. Each iterate of the dual ascent is
    improved tree by tree before its value is taken. Nodes of scikit-learn forests vote for their
    heaviest class like those of ours, while scikit-learn averages probabilities. ``keep_levels`` and
    :meth:`refit` are additions.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from worthwhile import PrunedForestClassifier, datasets
    >>> heart = datasets.load_heart()
    >>> forest = RandomForestClassifier(20, random_state=0).fit(heart.data[:150], heart.target[:150])
    >>> pruned = PrunedForestClassifier(forest, lam=1e-3, costs=heart.costs)
    >>> pruned = pruned.fit(heart.data[150:], heart.target[150:])
    >>> bool(pruned.trace_["cost"][1] < pruned.trace_["cost"][0]), pruned.gap_
    (True, 0.0)
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    policy_: TreePolicy = field(init=False)
    objective_: float = field(init=False)
    n_iter_: int = field(init=False)
    gap_: float = field(init=False)
    trace_: pd.DataFrame = field(init=False)
    feature_importances_: npt.NDArray[np.float64] = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "solver": [StrOptions({"auto", "cut", "dual"})],
        "errors": [StrOptions({"in-bag", "held-out"})],
        "keep_levels": [Interval(Integral, 0, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    forest: Any = None
    lam: float = 0.001
    _: KW_ONLY
    solver: str = "auto"
    knows_errors: ClassVar[bool] = False

    errors: str = "in-bag"
    keep_levels: int = 0
    validation_fraction: float = 0.3
    max_iter: int = 50
    random_state: Any = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None
    ) -> PrunedForestClassifier:
        """Prune a fitted forest on these rows, or train one on a part and prune it on the rest.

        Parameters
        ----------
        X : array or frame (n, d)
            Pruning rows if ``forest`` is fitted, else rows to train and prune on.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows: in training, and in held-out errors.
        validation : pair (X, y), optional
            Pruning rows, if ``forest`` is not fitted.
        """
        self._validate_params()
        fitted = _is_fitted(self.forest)
        like = self.forest if fitted and isinstance(self.forest, CostAware) else None
        X, y, costs = self._read_training(X, y, dtype=np.float64, like=like, weight=sample_weight)
        weight, X, y = drop_weightless(read_weight(sample_weight, X, self.class_weight, y), X, y)
        if fitted:
            X, codes, weight = self._pruning_rows(X, y, weight, validation)
        else:
            X, codes, weight = self._train(X, y, weight, validation, costs)
        if self.costs is None and isinstance(
            self._start_forest, BudgetedForestClassifier | PricedModel
        ):
            costs = self._start_forest._inner_policy.costs
        self._start(X, codes, weight, costs)
        return self

    def _pruning_rows(self, X: Any, y: Any, weight: Any, validation: Any) -> tuple[Any, Any, Any]:
        if validation is not None:
            raise ValueError(
                "validation is given, but forest is fitted: X and y are the pruning rows then. Leave validation out."
            )
        if not hasattr(self.forest, "classes_"):
            raise TypeError("forest predicts numbers: give one that predicts classes.")
        self._start_forest, self.classes_ = self.forest, np.asarray(self.forest.classes_)
        if self.forest.n_features_in_ != X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but forest was trained on {self.forest.n_features_in_}: give the "
                "same columns."
            )
        return X, code_labels(y, self.classes_, "y", "forest"), weight

    def _train(
        self, X: Any, y: Any, weight: Any, validation: Any, costs: Costs
    ) -> tuple[Any, Any, Any]:
        codes = self._read_labels(y)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        forest = BudgetedForestClassifier(
            costs=costs, price_power=0.0, validation_fraction=None, n_jobs=self.n_jobs
        )
        if self.forest is not None:
            forest = clone(self.forest)
        if "random_state" in forest.get_params() and forest.get_params()["random_state"] is None:
            forest.set_params(random_state=seed)
        if validation is not None:
            X_prune, codes = read_validation(self, validation, dtype=np.float64)
            self._start_forest = forest.fit(self._named(X), y, sample_weight=weight)
            return X_prune, codes, None
        rng = np.random.default_rng(seed)
        train, held = development_rows(len(X), self.validation_fraction, rng, codes)
        self._start_forest = forest.fit(
            self._named(X[train]), y[train], sample_weight=None if weight is None else weight[train]
        )
        return X[held], codes[held], None if weight is None else weight[held]

    @property
    def forest_(self) -> Any:
        """The forest that was pruned; model files do not hold it."""
        self._check_fitted()
        return self._start_forest

    def _named(self, X: Any) -> Any:
        """The rows with the names that the data had: prices may be by name."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else pd.DataFrame(X, columns=names)

    def _start(self, X: Any, codes: Any, weight: Any, costs: Costs) -> None:
        share = np.full(len(X), 1.0 / len(X)) if weight is None else weight / weight.sum()
        start = prunable(self._start_forest, self.classes_, costs, X, share)
        errors = None if start.voting and self.errors == "held-out" else start.errors
        # Boosted trees go on being evaluated, and paid for, when only their root is left.
        flat = costs.flat if start.voting else costs.flat._replace(evaluation=0)
        with Threads(count_threads(self.n_jobs)) as threads:
            self._problem = PruneProblem(
                start.trees, start.labels, errors, X, codes, share, flat, threads,
                int(self.keep_levels),
            )  # fmt: skip
        self._rows, self._base = (X, codes), start
        self._take(costs, self._problem.solve(self.lam, self.solver, self.max_iter))

    def _take(self, costs: Costs, pruning: Pruning) -> None:
        """Make a pruning the model."""
        trees = self._base.trees.pruned(pruning.expanded)
        if self._base.voting:  # a tree without a split no longer votes
            trees = trees.only(np.flatnonzero(trees.feature[trees.root] >= 0))
        policy = TreePolicy(costs, self._base.output, trees)
        self.policy_ = policy
        gains = impurity_by_feature(trees, *self._rows, len(self.classes_))
        self.feature_importances_ = self._by_source(gains)
        self.objective_ = pruning.objective
        self.n_iter_ = pruning.n_iter
        self.gap_ = max(pruning.objective - pruning.bound, 0.0)
        everything = self._base.trees.feature >= 0
        start = TreePolicy(costs, policy.output, self._base.trees)
        rows = [
            self._row(start, everything, 0.0),
            self._row(policy, pruning.expanded, self.lam),
        ]
        self.trace_ = pd.DataFrame(rows)

    def _row(self, policy: TreePolicy, expanded: Any, lam: float) -> dict[str, Any]:
        X, codes = self._rows
        error, cost = self._problem.parts(expanded)
        score = float(np.mean(policy.output.winner(policy.batch(X, billed=False).raw) == codes))
        nodes = len(policy.trees.feature)
        return {
            "lam": lam, "cost": cost, "error": error, "score": score, "n_trees": policy.trees.n_trees,
            "nodes": nodes,
        }  # fmt: skip

    def at(self, *, lam: float) -> PrunedForestClassifier:
        """The same forest pruned for another trade-off. Not for models read from a file."""
        self._check_path()
        other = copy.copy(self)
        other.__dict__.update(self.__dict__, lam=lam)
        other._take(self._inner_policy.costs, self._problem.solve(lam, self.solver, self.max_iter))
        return other

    with_lam = once("with_lam", lam="lam")

    def refit(
        self, X: Any, y: Any, sample_weight: Any = None, *, n_sweeps: int = 16
    ) -> PrunedForestClassifier:
        """The same pruned trees, their leaves fitted together: same bills, usually fewer errors.

        The leaves of a forest speak for themselves; cut short, they speak badly. Here their values
        add up to log-odds (logits with more than two classes), and sweeps over the trees lower the
        log loss on these rows, as in boosting, with the splits given. Take the rows that the forest
        was trained on: the pruning rows then remain to choose ``lam`` and ``keep_levels`` on.

        Parameters
        ----------
        X, y : rows and labels
            What to fit to; every class has to occur.
        sample_weight : array (n,), optional
            Weights of the rows.
        n_sweeps : int, default=16
            Passes over all trees.

        Notes
        -----
        Not part of BudgetPrune. The idea is that of Ren, Cao, Wei, Sun, "Global refinement of random
        forest", CVPR 2015, who fit all leaves by a support vector machine.
        """
        self._check_fitted()
        if n_sweeps < 1:
            raise ValueError(f"n_sweeps is {n_sweeps}: give 1 or more.")
        if self._encoding is not None:
            X, y = check_X_y(self._encoding.read(X), y, ensure_all_finite="allow-nan")
        else:
            X, y = validate_data(
                self, X, y, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
            )  # fmt: skip
        weight = read_weight(sample_weight, X, self.class_weight, y)
        weight = np.ones(len(X)) if weight is None else weight
        codes = code_labels(y, self.classes_, "y", "forest")
        targets, policy = read_targets(codes, self.classes_, weight), self._inner_policy
        with Threads(count_threads(self.n_jobs)) as threads:
            trees = refitted(
                policy.trees, X, targets, weight, policy.costs.flat, threads, int(n_sweeps)
            )
        other = copy.copy(self)
        output = Output("log-odds" if len(self.classes_) == 2 else "logits", self.classes_)
        other.policy_ = TreePolicy(policy.costs, output, trees)
        return other

    def path(self, lams: Any = None, max_points: int = 50) -> pd.DataFrame:
        """Prunings for many trade-offs, cheapest first: lam, cost, error, objective, gap, nodes.

        Without ``lams``: all values at which the exact solution changes (up to ``max_points``, found
        where the change is greatest first); each row holds from its lam down to the next one's.
        """
        self._check_path()
        if lams is None:
            found = breakpoints(self._problem, max_points)
        else:
            found = [
                (float(lam), self._problem.solve(float(lam), self.solver, self.max_iter))
                for lam in sorted(lams, reverse=True)
            ]
        rows = []
        for lam, pruning in found:
            error, cost = self._problem.parts(pruning.expanded)
            rows.append(
                {
                    "lam": lam, "cost": cost, "error": error, "objective": error + lam * cost,
                    "gap": max(pruning.objective - pruning.bound, 0.0),
                    "nodes": int(pruning.expanded.sum()),
                }
            )  # fmt: skip
        return pd.DataFrame(rows)

    def _check_path(self) -> None:
        self._check_fitted()
        if not hasattr(self, "_problem"):
            raise ValueError(
                "this model was read from a file, which does not hold the pruning rows: fit it again to prune anew."
            )

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Values of ``lam`` from "nothing is worth buying" on, by bisection on the mean bill.

        One forest is enough for all of them.
        """
        alone = as_floats(self._costs_for(X).flat.alone)
        if not (alone > 0).any():
            return [{"lam": 0.0}]
        low, high = 1e-3 / self._costs_for(X).total, 1.0 / alone[alone > 0].min()
        start = np.geomspace(high, low, 12).tolist()
        if y is None:
            return [{"lam": lam} for lam in start]
        pruned = copy.copy(self)
        pruned.lam = low
        pruned.fit(*sample(X, y))

        def bill(lam: float) -> float:
            return float(pruned.at(lam=lam).trace_["cost"][1])

        return [{"lam": lam} for lam in covering(bill, [*start[::3], low, 0.0])]

    def _stored_params(self) -> dict[str, Any]:
        # The pruned trees hold all that prediction needs.
        return {**super()._stored_params(), "forest": None}

    def __getstate__(self) -> dict[str, Any]:
        # Pickles and files hold the model; the problem, with its rows, stays here.
        state = super().__getstate__()
        return {k: v for k, v in state.items() if k not in ("_problem", "_rows", "_base")}

    def __sklearn_clone__(self) -> PrunedForestClassifier:
        params = self.get_params(deep=False)
        fitted = _is_fitted(self.forest)
        kept = {name: value if name == "forest" and fitted else clone(value, safe=False)
                for name, value in params.items()}  # fmt: skip
        return type(self)(**kept)


def _is_fitted(forest: Any) -> bool:
    if forest is None:
        return False
    if isinstance(forest, PricedModel):
        return True
    try:
        check_is_fitted(forest)
    except NotFittedError:
        return False
    return True
