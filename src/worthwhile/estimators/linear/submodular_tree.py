"""ASTC: a tree of linear models, each node buying features greedily by fit per price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from worthwhile.core.linear import moments as mo
from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import MOST_QUANTA, Costs, budget_quanta
from worthwhile.estimators._shared.covering import bill_of, covering, few_covering, present, sample
from worthwhile.estimators._shared.deprecation import with_old_names
from worthwhile.estimators._shared.held_out_choice import choose_point
from worthwhile.estimators.linear._astc_certificate import certificate_frame
from worthwhile.estimators.linear._astc_grow import AstcSettings, Problem, as_tree, grow
from worthwhile.estimators.linear._astc_inputs import TreeInputs
from worthwhile.estimators.linear._base import (
    LinearTreeBase,
    LinearTreeClassifier,
    LinearTreeRegressor,
)
from worthwhile.estimators.linear._prune import prune
from worthwhile.estimators.linear._targets import Targets, centred_targets, geometric_budgets
from worthwhile.policy.linear_tree import LinearTreePolicy
from worthwhile.policy.linear_tree_inputs import TreeInputsPolicy

AUTO_POINTS, ROUTINGS = 7, ("hard", "soft")
"""Budgets that those of "auto" are found between, besides everything, and with which routings."""


@dataclass(eq=False, repr=False)
class _SubmodularTree(LinearTreeBase):
    """Parameters and training of both kinds."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("budget",)
    _renamed: ClassVar[dict[str, str]] = {"depth": "max_depth"}
    certificates_: pd.DataFrame = field(init=False)
    budget_: Any = field(init=False)
    routing_: str = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Real, 0, None, closed="both"), "array-like", StrOptions({"auto"})],
        "max_depth": [Interval(Integral, 1, 16, closed="both")],
        "budget_per": [StrOptions({"node", "path"})],
        "routing": [StrOptions({"auto", "hard", "soft"})],
        "tau": [Interval(Real, 0, None, closed="neither"), StrOptions({"std"})],
        "on_overflow": [StrOptions({"skip", "stop"})],
        "preset": [StrOptions({"default", "paper"})],
        "engine": [StrOptions({"auto", "moments", "qr"})],
        "certify": ["boolean"],
        "min_weight": [Interval(Real, 0, None, closed="left")],
        "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    budget: float | Sequence[float] | str = "auto"
    _: KW_ONLY
    max_depth: int = 5
    budget_per: str = "node"
    routing: str = "auto"
    tau: float | str = "std"
    on_overflow: str = "skip"
    preset: str = "default"
    engine: str = "auto"
    trees: Any = None
    certify: bool = True
    min_weight: float = 20
    validation_fraction: float | None = None
    random_state: Any = None

    def _learn(
        self, X: Any, targets: Targets, costs: Costs, weight: Any, held: Any
    ) -> LinearTreePolicy:
        X, literal = np.ascontiguousarray(X), self.preset == "paper"
        targets = centred_targets(targets, weight) if literal else targets
        settings = AstcSettings(
            budgets=self._budgets(), max_depth=self.max_depth, soft=self.routing_ == "soft", tau=self.tau,
            on_overflow="exceed" if literal else self.on_overflow, engine=self.engine, certify=self.certify,
            min_weight=float(self.min_weight), literal=literal,
        )  # fmt: skip
        inputs = None if self.trees is None else TreeInputs(self.trees, costs)
        read, prices = (X, costs.flat) if inputs is None else (inputs.columns(X), inputs.prices)
        with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
            mean, holes = mo.column_means(read, weight, threads.map)
            problem = Problem(
                read, targets.Y, targets.mean, targets.scale, mean, holes, prices, weight
            )
            nodes = grow(problem, settings, threads.map)
        tree = as_tree(nodes, mean)
        kept = [nodes[position] for position in sorted(nodes)]
        if held is not None:
            V, Y = held
            tree, numbers = prune(tree, V if inputs is None else inputs.columns(V), Y)
            kept = [kept[number] for number in numbers]
        if self.certify:
            self.certificates_ = certificate_frame([node.certificate for node in kept])
        self.shares_ = np.array([node.weight / kept[0].weight for node in kept])
        if inputs is not None:
            return TreeInputsPolicy(costs, targets.output, tree, inputs.trees)
        return LinearTreePolicy(costs, targets.output, tree)

    def _budgets(self) -> tuple[int, ...]:
        """Budget of every node of the full tree in quanta, level order."""
        n_nodes: int = 2**self.max_depth - 1
        values = np.asarray(self.budget_, dtype=object).ravel().tolist()
        quanta = [budget_quanta(value) for value in values]
        amounts: list[int] = [MOST_QUANTA if amount is None else amount for amount in quanta]
        if np.ndim(self.budget_) == 0:
            if self.budget_per == "node":
                return (amounts[0],) * n_nodes
            # Whole quanta: what does not divide evenly goes to the first levels.
            share, rest = divmod(amounts[0], self.max_depth)
            amounts = [share + (level < rest) for level in range(self.max_depth)]
        elif self.budget_per == "path":
            raise ValueError(
                f"budget has {len(values)} numbers but budget_per='path' splits one total over the path: "
                "give one number, or budget_per='node'."
            )
        if len(amounts) == n_nodes:
            return tuple(amounts)
        if len(amounts) == self.max_depth:
            return tuple(a for level, a in enumerate(amounts) for _ in range(2**level))
        raise ValueError(
            f"budget has {len(values)} numbers: give one number, one per level (max_depth={self.max_depth}) or "
            f"one per node in level order ({n_nodes})."
        )

    def _auto_points(self, X: Any, y: Any, weight: Any) -> list[dict[str, Any]]:
        """Trade-offs that "auto" chooses from."""
        costs = self._costs_for(X)
        levels = self.max_depth if self.budget_per == "node" else 1
        start = dict.fromkeys([*geometric_budgets(costs, levels, AUTO_POINTS), costs.total])
        # Routings differ in where rows go, hardly in what a budget buys.
        probe = self._quick().set_params(routing=ROUTINGS[0])
        bill = bill_of(probe, *present(X, y, weight), "budget")
        budgets = [float(round(b, 9)) for b in few_covering(bill, list(start))]
        routings = ROUTINGS if self.routing == "auto" else (self.routing,)
        return [{"budget": b, "routing": r} for r in routings for b in budgets]

    def _settle(self, X: Any, y: Any, weight: Any) -> None:
        self.routing_ = ROUTINGS[0] if self.routing == "auto" else self.routing
        self.budget_ = self.budget
        if isinstance(self.budget, str):
            point = choose_point(self._quick(), self._auto_points(X, y, weight), X, y, weight)
            self.budget_, self.routing_ = point["budget"], point["routing"]

    def _quick(self) -> Any:
        return clone(self).set_params(certify=False)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Budgets from the cheapest single purchase on, found by bisection on the mean bill."""
        costs = self._costs_for(X)
        levels = self.max_depth if self.budget_per == "node" else 1
        budgets = geometric_budgets(costs, levels)
        if y is None or len(budgets) == 1:
            return [{"budget": budget} for budget in budgets]
        probe = clone(self).set_params(certify=False)
        bill = bill_of(probe, *sample(X, y), "budget")
        found = covering(bill, [0.0, budgets[0], *budgets[3::4], costs.total])
        points: list[dict[str, Any]] = [{"budget": float(round(b, 9))} for b in found]
        if self.budget_per == "path" or self.max_depth == 1 or len(found) == 1:
            return points
        # Below what a whole path buys: a purchase at the root alone.
        below = [0.0] * (self.max_depth - 1)
        first = covering(lambda b: bill([b, *below]), [budgets[0], max(bill(found[1]), budgets[0])])
        alone = [{"budget": [float(round(b, 9)), *below]} for b in first]
        return [points[0], *alone, *points[1:]]


@with_old_names
@dataclass(eq=False, repr=False)
class SubmodularTreeClassifier(LinearTreeClassifier, _SubmodularTree):
    """ASTC for classification: a tree of sparse linear models that buys features as rows descend.

    Every node fits least squares to its rows on features chosen greedily by gain in fit per price;
    what an ancestor bought is free. Rows above the node's weighted median score go up, the others
    down, and the last node on the way gives the answer.

    Parameters
    ----------
    budget : number, list of numbers or "auto", default="auto"
        What each node may spend on new features: one number for all nodes, one per level, or one
        per node in level order (upper child first). Never exceeded. "auto": of numbers whose bills leave no gap, and of
        both routings, those with the cheapest tree within one standard error of the best, on rows held out.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    max_depth : int, default=5
        Levels of nodes in the full tree (2**max_depth - 1 nodes). Every node is a linear model, so 1 is
        a single one, and a row passes ``max_depth`` of them; trees that split on one feature
        (boosting, forests) count levels of splits instead.
    budget_per : {"node", "path"}, default="node"
        "path": ``budget`` is one total that is split evenly over the levels of a path.
    routing : {"auto", "hard", "soft"}, default="auto"
        Whether training rows go to one child, or to both with weights from a sigmoid, which is better
        where rows are few. Prediction always takes one path. "auto": chosen along with the budget;
        "hard" under a budget that is given.
    tau : number or "std", default="std"
        Width of the soft step, in label units (standard deviations of y in regression); "std" is
        the weighted standard deviation of the node's scores.
    on_overflow : {"skip", "stop"}, default="skip"
        When the best choice does not fit the budget: go on with the best that fits, or end.
    preset : {"default", "paper"}, default="default"
        "paper": Algorithm 1 to the letter. A node buys while what it has spent is within its budget, so that
        its last purchase may exceed it; rows and labels are centred once, not in every node; no
        node repeats its parent. ``on_overflow`` and ``min_weight`` are not looked at.
    engine : {"auto", "moments", "qr"}, default="auto"
        Both choose alike. Moments read the rows once per level; QR keeps them all in float64 and is
        taken by "auto" when there are at most twice as many rows as features.
    trees : fitted boosted model of this library, optional
        Its trees, instead of the columns, become the inputs of the linear models (the paper's
        non-linear variant); a node pays for all raw features of the trees it reads. It stays
        fitted when this is cloned.
    certify : bool, default=True
        Compute ``certificates_``. Without them, and where that is cheaper, only the needed columns
        of the Gram are computed.
    min_weight : number, default=20
        A node with less weight than this, or than twice its free features, repeats its parent.
    validation_fraction : number or None, default=None
        Share of the rows kept for cutting splits that do not help them, unless ``fit`` is given
        ``validation``; None: no pruning, as in the paper.
    random_state : int, optional
        Seed of that split.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    budget_, routing_ : number or list of numbers, str
        The budget and the routing that were used.
    certificates_ : frame, one row per node
        ``ratio``: lower bound on the submodularity ratio; ``guarantee`` = 1 - exp(-ratio): the fit
        is at least this share of the best fit of any set that costs at most ``cost`` (0 says
        nothing); ``features``: how many the node could have bought; ``statement``: the same in
        words. Not there with ``certify=False``.
    shares_ : float64 array (n_nodes,)
        Share of the training weight that reaches each node.
    trace_ : frame
        Mean cost, training score and features if rows stopped at each level (on at most 4096
        training rows).

    Notes
    -----
    Paper: Kusner, Chen, Zhou, Xu, Weinberger, Chen, "Feature-Cost Sensitive Learning with
    Submodular Trees of Classifiers", AAAI 2014, Algorithm 1, eqs. 5-11, Theorem 2.2.

    Differs from the paper, unless ``preset="paper"``: the budget is never exceeded (its loop overshoots by
    one feature); data are centred in every node, with an intercept; nodes with few rows repeat their
    parent. In both: the threshold applies to the prediction (line 11
    of Algorithm 1 compares the weight); child weights are products along the path; several classes
    share one support per node and are routed along their leading principal direction; groups with
    a fee compete as blocks. Probabilities are the scores
    times one slope fitted on training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import SubmodularTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) > 0
    >>> model = SubmodularTreeClassifier(budget=3, costs=[1, 2, 2], max_depth=2).fit(X, y)
    >>> bool(model.cost(X).max() <= 6)
    True
    >>> model.certificates_.statement[0]
    'at least 60.8 % of the best fit for cost 2 among 3 features (submodularity ratio >= 0.935)'
    """


@with_old_names
@dataclass(eq=False, repr=False)
class SubmodularTreeRegressor(LinearTreeRegressor, _SubmodularTree):
    """ASTC for regression with one or several targets.

    Targets are standardised while selecting, so several targets count alike, and share one support
    per node. Everything else is as in :class:`SubmodularTreeClassifier`, whose parameters, defaults
    and attributes these are; one parameter means something else.

    Parameters
    ----------
    tau : number or "std", default="std"
        Width of the soft step in standard deviations of y; "std": of the node's scores.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import SubmodularTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> y = X[:, 0] + np.abs(X[:, 1])
    >>> model = SubmodularTreeRegressor(budget=1, max_depth=2).fit(X, y)
    >>> model.policy_.tree.own(0).tolist()
    [0]
    """
