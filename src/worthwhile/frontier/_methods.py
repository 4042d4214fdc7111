"""Every method and baseline by name, ready to be swept on some data."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

import worthwhile
from worthwhile.columns import Columns, is_frame
from worthwhile.costs import Costs
from worthwhile.frontier import _peers
from worthwhile.frontier._measure import LabelledRows, fitted
from worthwhile.frontier._pipelines import as_searchable


@dataclass(frozen=True, eq=False)
class Task:
    """What a method needs to know before it can be set up."""

    rows: LabelledRows
    costs: Costs
    n_classes: int
    """0 for regression."""
    seed: int = 0

    @property
    def classify(self) -> bool:
        """Whether labels are predicted."""
        return self.n_classes > 0

    @property
    def suffix(self) -> str:
        """How classes of the two kinds end."""
        return "Classifier" if self.classify else "Regressor"

    @cached_property
    def existing(self) -> Any:
        """A forest on all features: what gates and prunings start from, trained once."""
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(100, min_samples_leaf=2, random_state=self.seed, n_jobs=1)
        rows = self.rows
        if (
            is_frame(rows.X) and Columns.learn(rows.X) is not None
        ):  # text, dates: made into numbers inside
            return _peers.Priced(forest, costs=self.costs).fit(rows.X, rows.y, rows.weight)
        return worthwhile.PricedModel(forest.fit(rows.X, rows.y, rows.weight), self.costs)

    @cached_property
    def booster(self) -> Any:
        """Greedy Miser without prices: what early exits are put on, trained once."""
        return fitted(self.make(f"GreedyMiser{self.suffix}", split_noise=0), self.rows)

    def make(self, name: str, *args: Any, **params: Any) -> Any:
        """An estimator with the prices and the seed of the task."""
        kind = getattr(worthwhile, name)
        names = kind._get_param_names()
        if "random_state" in names:
            params.setdefault("random_state", self.seed)
        if "costs" in names:
            params.setdefault("costs", self.costs)
        return kind(*args, **params)


@dataclass(frozen=True)
class Method:
    """A method by name."""

    build: Callable[[Task], Any]
    classification: bool = True
    regression: bool = False
    binary_only: bool = False
    needs: str = ""
    """Library that has to be installed."""
    peer: bool = False
    """Something people use today rather than a method of this library."""
    queries_only: bool = False
    """Learns from the order of rows within queries."""

    def applies(self, task: Task) -> bool:
        """Whether it can be run on this data."""
        if task.classify:
            return self.classification and (task.n_classes == 2 or not self.binary_only)
        return self.regression and (task.rows.qid is not None or not self.queries_only)

    def installed(self) -> bool:
        """Whether what it needs is there."""
        return not self.needs or importlib.util.find_spec(self.needs) is not None


def _miser(**params: Any) -> Callable[[Task], Any]:
    return lambda task: task.make(f"GreedyMiser{task.suffix}", **params)


def _ours(name: str, **params: Any) -> Callable[[Task], Any]:
    return lambda task: task.make(f"{name}{task.suffix}", **params)


def _around(name: str, **params: Any) -> Callable[[Task], Any]:
    return lambda task: task.make(name, task.existing, **params)


def _peer(make: Callable[..., Any], **params: Any) -> Callable[[Task], Any]:
    return lambda task: make(task.costs, task.classify, task.seed, **params)


def _by_rows(make: Callable[..., Any], **params: Any) -> Callable[[Task], Any]:
    return lambda task: make(task.costs, task.classify, task.seed, rows=len(task.rows), **params)


METHODS: dict[str, Method] = {
    "greedy-miser": Method(_miser(), regression=True),
    "greedy-miser-row": Method(_miser(penalty="row", max_depth=5), regression=True),
    # One deep tree at full step, then its corrections: a first answer for the price of one path.
    "greedy-miser-deep": Method(
        _miser(penalty="row", max_depth=10, min_samples_leaf=5, learning_rate=0.5, n_rounds=30), regression=True
    ),
    "greedy-miser-rank": Method(
        _miser(loss="lambdarank"), classification=False, regression=True, queries_only=True
    ),
    "submodular-tree": Method(_ours("SubmodularTree"), regression=True),
    "cost-sensitive-tree": Method(
        _ours("CostSensitiveTree", max_depth=3), regression=True
    ),
    "cost-weighted-l1": Method(_ours("CostWeightedL1"), regression=True),
    "budgeted-forest": Method(_ours("BudgetedForest")),
    "pruned-forest": Method(_ours("PrunedForest")),
    "budget": Method(_ours("Budget"), regression=True),
    "forward-forest": Method(_ours("ForwardForest")),
    "adaptive-linear": Method(
        _around("AdaptiveLinearClassifier"), binary_only=True
    ),
    "adaptive-boosting": Method(
        _around("AdaptiveBoostingClassifier", max_iter=5)
    ),
    "l1-gate": Method(_around("L1GateClassifier")),
    "dynamic-selection": Method(
        _ours("DynamicSelection", max_iter=5, n_folds=3)
    ),
    "static-order": Method(_ours("StaticOrder", n_folds=3)),
    "early-exit": Method(
        lambda task: task.make(f"EarlyExit{task.suffix}", task.booster),
        regression=True,
    ),
    "cascade": Method(_ours("Cascade"), binary_only=True),
    "feature-subsets": Method(
        lambda task: task.make(
            "FeatureSubsets", task.make(f"GreedyMiser{task.suffix}")
        ),
        regression=True,
    ),
    "decision-tree": Method(_peer(_peers.decision_tree), regression=True, peer=True),
    "random-forest": Method(_peer(_peers.random_forest), regression=True, peer=True),
    "lightgbm": Method(_peer(_peers.lightgbm), regression=True, needs="lightgbm", peer=True),
    "lightgbm-cegb": Method(
        _by_rows(_peers.lightgbm_cegb), regression=True, needs="lightgbm", peer=True
    ),
    "lightgbm-static": Method(
        _peer(_peers.lightgbm_static), regression=True, needs="lightgbm", peer=True
    ),
    "catboost": Method(_by_rows(_peers.catboost), regression=True, needs="catboost", peer=True),
}  # fmt: skip
"""What :func:`compare` knows. Settings that cost much time are smaller than the defaults."""

for _leaves in (16, 64):
    for _penalty in ("coupled", "lazy"):
        METHODS[f"lightgbm-cegb-{_penalty}-{_leaves}"] = Method(
            _by_rows(_peers.lightgbm_cegb, leaves=_leaves, penalty=_penalty),
            regression=True,
            needs="lightgbm",
            peer=True,
        )

VARIANTS = (
    "lightgbm-cegb-coupled-16",
    "lightgbm-cegb-coupled-64",
    "lightgbm-cegb-lazy-16",
    "lightgbm-cegb-lazy-64",
)
"""Left out of "all" and "peers": the same peer at other settings."""


def read_methods(methods: Any, task: Task) -> dict[str, Method]:
    """The methods asked for, by name."""
    if isinstance(methods, str):
        kinds: dict[str, Callable[[Method], bool]] = {
            "all": lambda method: True,
            "ours": lambda method: not method.peer,
            "peers": lambda method: method.peer,
        }
        if methods in kinds:
            chosen = {
                name: method
                for name, method in METHODS.items()
                if name not in VARIANTS
                and kinds[methods](method)
                and method.applies(task)
                and method.installed()
            }
            return chosen
        methods = [methods]
    if isinstance(methods, Mapping):
        return {name: _given(name, estimator) for name, estimator in methods.items()}
    return {name: _named(name, task) for name in _names(methods)}


def _given(name: Any, estimator: Any) -> Method:
    """An estimator of the caller, or a pipeline that ends with one, under a name of the caller."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if name in METHODS or not all(hasattr(last, part) for part in ("trade_off_grid", "cost")):
        raise ValueError(
            f"methods has {name!r} as a {type(last).__name__}: give an estimator of worthwhile, or a Pipeline that "
            "ends with one, under a name of your own."
        )

    def build(task: Task) -> Any:
        own = clone(estimator)
        inner = own.steps[-1][1] if isinstance(own, Pipeline) else own
        ours = {"costs": task.costs, "random_state": task.seed}
        inner.set_params(
            **{k: v for k, v in ours.items() if inner.get_params(deep=False).get(k, v) is None}
        )
        return as_searchable(own)

    return Method(build, regression=True)


def _names(methods: Any) -> Iterable[str]:
    names = list(methods)
    if not names:
        raise ValueError("methods is empty: name at least one, or use 'all'.")
    return names


def _named(name: Any, task: Task) -> Method:
    if name not in METHODS:
        raise ValueError(
            f"methods has {name!r}: use 'all', 'ours', 'peers', or a list of {', '.join(METHODS)}."
        )
    method = METHODS[name]
    if not method.installed():
        raise ImportError(
            f"methods has {name!r}, which needs {method.needs}: install it, or leave it out."
        )
    if not method.applies(task):
        kind = f"{task.n_classes} classes" if task.classify else "regression"
        raise ValueError(f"methods has {name!r}, which does not apply to {kind}: leave it out.")
    return method
