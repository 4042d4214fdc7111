"""CSTC: a tree of sparse linear models trained together under a mixed-norm price."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, StrOptions

from worthwhile.costs import Costs
from worthwhile.estimators._shared.covering import bill_of, sample, seeded
from worthwhile.estimators._shared.deprecation import with_old_names
from worthwhile.estimators.linear._astc_inputs import TreeInputs
from worthwhile.estimators.linear._base import (
    LinearTreeBase,
    LinearTreeClassifier,
    LinearTreeRegressor,
)
from worthwhile.estimators.linear._cstc_fit import CstcSettings, fit_tree, price_terms
from worthwhile.estimators.linear._lam_choice import choose_lam
from worthwhile.estimators.linear._prune import prune
from worthwhile.estimators.linear._targets import Targets, lam_points
from worthwhile.policy.linear_tree import LinearTreePolicy
from worthwhile.policy.linear_tree_inputs import TreeInputsPolicy

FEW_ROWS, FEW_ROUNDS = 1000, 10
"""Rows that bills for a grid are looked at with; rounds of the models that "auto" chooses from."""


@dataclass(eq=False, repr=False)
class _CostSensitiveTree(LinearTreeBase):
    """Parameters and training of both kinds."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    _renamed: ClassVar[dict[str, str]] = {"depth": "max_depth"}
    objective_: list[float] = field(init=False)
    n_iter_: int = field(init=False)
    lam_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "rho": [Interval(Real, 0, None, closed="left")],
        "max_depth": [Interval(Integral, 1, 10, closed="both")],
        "tau": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"block", "joint"})],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [None, Interval(Real, 0, 1, closed="neither")],
        "loss": [StrOptions({"squared"})],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    lam: float | str = "auto"
    _: KW_ONLY
    rho: float = 0.0001
    max_depth: int = 5
    tau: float = 0.2
    solver: str = "block"
    tol: float = 1e-5
    max_iter: int = 50
    trees: Any = None
    loss: str = "squared"
    validation_fraction: float | None = 0.1
    random_state: Any = None

    def _learn(
        self, X: Any, targets: Targets, costs: Costs, weight: Any, held: Any
    ) -> LinearTreePolicy:
        options = CstcSettings(
            float(self.lam_), float(self.rho), self.max_depth, self.solver, float(self.tol),
            self.max_iter, float(self.tau), self.n_jobs, self.loss,
        )  # fmt: skip
        inputs = None if self.trees is None else TreeInputs(self.trees, costs)
        read, terms = (
            (X, price_terms(costs)) if inputs is None else (inputs.columns(X), inputs.terms(costs))
        )
        tree, self.objective_ = fit_tree(read, targets, terms, weight, options)
        blocks = self.max_depth if self.solver == "block" else 1
        self.n_iter_ = max((len(self.objective_) - 1) // blocks, 1)
        if held is not None:
            V, Y = held
            tree, _ = prune(tree, V if inputs is None else inputs.columns(V), Y, self.loss)
        if inputs is None:
            policy = LinearTreePolicy(costs, targets.output, tree)
        else:
            policy = TreeInputsPolicy(costs, targets.output, tree, inputs.trees)
        ended = np.bincount(policy.leaves(X), weights=weight, minlength=tree.n_nodes).astype(
            np.float64
        )
        for node, parent in reversed(list(enumerate(tree.parents()))):
            if parent >= 0:
                ended[parent] += ended[node]
        self.shares_ = ended / ended[0]
        return policy

    def _settle(self, X: Any, y: Any, weight: Any) -> None:
        if not isinstance(self.lam, str):
            self.lam_ = self.lam
            return
        plain = seeded(self)
        quick = clone(plain).set_params(max_iter=min(int(self.max_iter), FEW_ROUNDS))
        fitters = _fitter(quick), _fitter(plain)
        self.lam_ = choose_lam(quick, fitters, self._costs_for(X), X, y, weight)

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Values of ``lam`` from one that buys next to nothing on, by bisection on the mean bill."""
        costs = self._costs_for(X)
        # Every level has a loss, and the norm over a path of equal nodes grows with its root.
        bill = None if y is None else bill_of(self, *sample(X, y, most=FEW_ROWS), "lam")
        return lam_points(bill, costs, dearest=float(np.sqrt(self.max_depth)))


def _fitter(estimator: Any) -> Any:
    """A function from rows to one from ``lam`` to the tree of these rows."""

    def fitter(X: Any, y: Any, **more: Any) -> Any:
        return lambda lam: clone(estimator).set_params(lam=lam).fit(X, y, **more)

    return fitter


@with_old_names
@dataclass(eq=False, repr=False)
class CostSensitiveTreeClassifier(LinearTreeClassifier, _CostSensitiveTree):
    """CSTC for classification: all nodes of the tree trained together, the slow reference.

    Rows pass each node up or down with a probability; the objective is the expected squared loss of
    all nodes, an l1 term, and the expected price of the paths, in which a feature counts once per
    path through a mixed norm. It is smooth but not convex, and is minimised by block coordinate
    descent with quadratic upper bounds, or by L-BFGS on everything at once. Afterwards small
    coefficients go, nodes are refitted on their supports, and splits that do not help on validation
    rows are cut. Prediction takes one path.

    Parameters
    ----------
    lam : number or "auto", default="auto"
        Loss (in units of the variance of the +-1 labels) that one unit of price is worth. "auto":
        the cheapest tree within one standard error of the best, on rows held out, of some whose
        mean bills leave no holes.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    rho : number, default=0.0001
        Weight of the l1 term, on standardised columns.
    max_depth : int, default=5
        Levels of nodes, as for :class:`SubmodularTreeClassifier`: 1 is a single linear model.
    tau : number, default=0.2
        Width of the soft step at a node, in label units.
    solver : {"block", "joint"}, default="block"
        Block coordinate descent, or L-BFGS on all parameters.
    tol : number, default=1e-5
        Stop when a round lowers the objective by less than this share.
    max_iter : int, default=50
        Most rounds over the levels (or L-BFGS steps).
    trees : fitted boosted model of this library, optional
        Its trees, instead of the columns, become the inputs, as in
        :class:`SubmodularTreeClassifier`; a feature counts once per path for all trees that test it.
    loss : {"squared", "logistic"}, default="squared"
        Loss of the nodes. "logistic": log loss in bits (of the softmax for several classes),
        which takes several times as long.
    validation_fraction : number or None, default=0.1
        Share of the rows kept for pruning, unless ``fit`` is given ``validation``; None: no pruning.
    random_state : int, optional
        Seed of that split.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    lam_ : float
        The trade-off that was used.
    objective_ : list of float
        The objective at the start and after every block (or step).
    n_iter_ : int
        Rounds over the levels (or steps).
    shares_ : float64 array (n_nodes,)
        Share of the training weight that reaches each node.
    trace_ : frame
        Mean cost, training score and features if rows stopped at each level.

    Notes
    -----
    Paper: Kusner et al., AAAI 2014, eqs. 2-3, where CSTC is the comparator; the method is from Xu,
    Kusner, Chen, Weinberger, "Cost-Sensitive Tree of Classifiers", ICML 2013.

    Differs from the papers: norms are smoothed by 1e-5, so that the objective and its bounds are
    exact and never rise; the step at a node has width 0.2 (theirs is ``tau=1``, with which nearly
    all rows drift to one side, as predictions are too small to move it); a block is a whole level,
    as nodes of one level do not interact; leaves are solved by the same preconditioned L-BFGS as
    other nodes; groups with a fee are price terms of their own; several classes share supports
    (group norms); the refit uses the rows that really arrive.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import CostSensitiveTreeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] + 0.5 * X[:, 1] > 0
    >>> model = CostSensitiveTreeClassifier(lam=0.2, max_depth=2, random_state=0).fit(X, y)
    >>> model.acquired(X).any(axis=0).tolist()
    [True, True, False, False]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_CostSensitiveTree._parameter_constraints,
        "loss": [StrOptions({"squared", "logistic"})],
    }


@with_old_names
@dataclass(eq=False, repr=False)
class CostSensitiveTreeRegressor(LinearTreeRegressor, _CostSensitiveTree):
    """CSTC for regression with one or several targets; see :class:`CostSensitiveTreeClassifier`.

    Parameters, their defaults and attributes are those of the classifier; two parameters mean
    something else, and one has a single value.

    Parameters
    ----------
    lam : number or "auto", default="auto"
        Loss (in units of the variance of y) that one unit of price is worth.
    tau : number, default=0.2
        Width of the soft step at a node, in standard deviations of y.
    loss : {"squared"}, default="squared"
        Loss of the nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import CostSensitiveTreeRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = X[:, 0] + 0.01 * X[:, 3]
    >>> model = CostSensitiveTreeRegressor(lam=0.2, max_depth=2, random_state=0).fit(X, y)
    >>> model.acquired(X).any(axis=0).tolist()
    [True, False, False, False]
    """
