"""What Early Exit for queries and for classes share: a staged model, and where its exits are."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import Interval

from worthwhile._messages import on_purpose
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.estimators.base import CostAware
from worthwhile.policy.exits.policy import LOWEST, ExitPolicy
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]


class EarlyExit(CostAware, ABC):
    """Parameters and fit of both estimators."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("threshold",)
    policy_: ExitPolicy
    threshold_: Any
    feature_importances_: Floats

    keep: int = 1

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "threshold": [Real, "array-like"],
        "every": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, model: Any, threshold: Any, rule: str, every: int, costs: Any) -> None:
        self.model = model
        self.threshold = threshold
        self.rule = rule
        self.every = every
        self.costs = costs

    @abstractmethod
    def _default_model(self) -> Any:
        """What is trained where no model is given."""

    def _fit(self, X: Any, y: Any, **how: Any) -> Self:
        self._validate_params()
        if not is_fitted(self.model):
            self._read_training(X, y)  # what is wrong with the data is refused before any work
        read_weight(how.get("sample_weight"), X)  # so are weights, even where nothing is trained
        point = self._free_choice(X, y, how)
        model = self._staged_model(X, y, how, point.get("model"))
        known, given = model.policy_.n_features, tuple(getattr(X, "shape", ()))[1:]
        if given and given != (known,):
            raise ValueError(
                f"model was fitted on {known} columns, X has {given[0]}: give the columns it knows."
            )
        self.threshold_ = point["threshold"] if point else self._settled(X, y, how)
        _, _, costs = self._read_training(X, y, like=model)
        inner = model._inner_policy
        policy = TreePolicy(costs, inner.output.plain, inner.trees)
        if (policy.output.classes is None) == hasattr(self, "predict_proba"):
            raise TypeError(
                f"model is a {type(model).__name__}: give a classifier to EarlyExitClassifier and a regressor to "
                "EarlyExitRegressor."
            )
        trees = policy.trees
        step = int(self.every) * trees.per_round
        n_stages = -(-trees.n_trees // step)
        ends = np.minimum(np.arange(1, n_stages + 1) * step, trees.n_trees).astype(np.int64)
        levels = self._levels(len(ends))
        if policy.output.classes is not None:
            self.classes_ = policy.output.classes
        self.policy_ = ExitPolicy(policy, ends, self.rule, levels, int(self.keep))
        vars(self).pop("feature_importances_", None)
        known = getattr(model, "feature_importances_", None)
        if known is not None:
            self.feature_importances_ = np.asarray(known) / (np.sum(known) or 1.0)
        return self

    def _given_costs(self) -> Any:
        """Without prices of its own, those of a fitted model."""
        if self.costs is None and is_fitted(self._model_given()):
            return self._model_given().policy_.costs
        return self.costs

    def _model_given(self) -> Any:
        return self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model

    def _free_choice(self, X: Any, y: Any, how: dict[str, Any]) -> dict[str, Any]:
        """The model and its threshold, where neither was given and both are chosen; else nothing."""
        return {}

    def _settled(self, X: Any, y: Any, how: dict[str, Any]) -> Any:
        """The threshold to use."""
        return self.threshold

    def _moved(self, threshold: Any) -> Self:
        """The same trees with another threshold."""
        twin, policy = copy.copy(self), self._inner_policy
        twin.threshold = twin.threshold_ = threshold
        levels = twin._levels(len(policy.ends))
        twin.policy_ = ExitPolicy(policy.model, policy.ends, policy.rule, levels, policy.keep)
        return twin

    def _staged_model(self, X: Any, y: Any, how: dict[str, Any], chosen: Any = None) -> Any:
        """The model as given (or chosen) if it is fitted; otherwise a copy, trained."""
        model = self._model_given() if chosen is None else chosen
        if not is_fitted(model):
            model = self._default_model() if model is None else clone(model)
            if self.costs is not None and "costs" in model.get_params(deep=False):
                model.set_params(costs=self.costs)
            takes = inspect.signature(model.fit).parameters
            given = {name: value for name, value in how.items() if value is not None}
            if unknown := sorted(set(given) - set(takes)):
                if unknown != ["qid"]:
                    raise TypeError(
                        f"{unknown[0]} was given, but {type(model).__name__}.fit does not take it: leave it out."
                    )
                del given["qid"]  # a pointwise model: queries matter only at the exits
            with on_purpose():
                model.fit(X, y, **given)
        if not isinstance(getattr(model, "_inner_policy", None), TreePolicy):
            raise TypeError(
                f"model is a {type(model).__name__}, which has no stages of trees: give a Greedy Miser, a budgeted "
                "forest or another ensemble of trees of this library (PricedModel for scikit-learn's forests)."
            )
        return model

    def _levels(self, n_stages: int) -> Floats:
        """What the rule compares with at each exit but the last."""
        n_exits = max(0, n_stages - 1)
        levels = np.asarray(self.threshold_, dtype=np.float64)
        if levels.ndim == 0:
            share = np.ones(n_exits)
            if self.rule == "proximity":  # down to 0 at the last exit
                share = (n_stages - np.arange(1, n_stages)) / max(1, n_exits)
            levels = levels * share
        elif levels.shape != (n_exits,):
            raise ValueError(
                f"threshold has shape {levels.shape}: give one number, or one for each of the {n_exits} exits before "
                "the end."
            )
        lowest = LOWEST[self.rule]
        if np.isnan(levels).any() or (levels < lowest).any():
            raise ValueError(
                f"threshold is {self.threshold_!r}: with rule={self.rule!r} it is at least {lowest:g} at every exit."
            )
        return levels

    def _check_accounting(self, accounting: str, budget: Any) -> bool:
        """Whether bills are by model."""
        if accounting not in ("row", "model"):
            raise ValueError(f"accounting is {accounting!r}: it is 'row' or 'model'.")
        if accounting == "model" and budget is not None:
            raise ValueError("budget works with accounting='row' only.")
        return accounting == "model"

    def _cost_by_model(self, evaluated: npt.NDArray[np.int64]) -> Floats:
        """Bills for all features of the first trees, as many as were evaluated for each row."""
        trees, costs = self._inner_policy.model.trees, self._inner_policy.costs
        counts, place = np.unique(evaluated, return_inverse=True)
        masks = np.zeros((len(counts), costs.n_features), dtype=bool)
        for mask, count in zip(masks, counts.tolist(), strict=True):
            mask[trees.first(count).features] = True
        bills: Floats = costs.price(masks, counts)
        return bills[place.reshape(-1)]

    # Files and copies ----------------------------------------------------------------------------

    def _stored_params(self) -> dict[str, Any]:
        # The policy holds the trees: a file needs no second copy of the model.
        return {**self.get_params(deep=False), "model": None}

    def __sklearn_clone__(self) -> Self:
        params = {
            name: value if name == "model" and is_fitted(value) else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**params)


def is_fitted(model: Any) -> bool:
    """Whether a model can be used as it is."""
    if isinstance(model, FrozenEstimator):
        return True
    return model is not None and not isinstance(model, type) and hasattr(model, "policy_")
