"""What ASTC and CSTC share: how a tree of linear models is trained, pruned and calibrated."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone

from worthwhile.costs import Costs
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.validation import code_labels
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.base import CostAware, CostAwareClassifier, CostAwareRegressor
from worthwhile.estimators.linear._prune import prune, pruning_rows
from worthwhile.estimators.linear._targets import (
    Targets,
    as_columns,
    calibrate,
    class_targets,
    refuse_sizes,
    trace_by_level,
    value_targets,
)
from worthwhile.policy.linear_tree import LinearTreePolicy


class LinearTreeBase(TrainingParameters, CostAware, ABC):
    """A tree of linear models."""

    policy_: LinearTreePolicy
    trees: Any
    _style = "columns"
    shares_: npt.NDArray[np.float64]
    trace_: pd.DataFrame

    def pruned(self, X: Any, y: Any) -> Self:
        """A copy without the splits that do not lower the loss of further rows.

        It is what ``fit(..., validation=(X, y))`` makes of the tree; the outputs of its nodes stay as
        they are.

        Parameters
        ----------
        X, y
            Rows that the tree was not trained on, and their labels or targets.
        """
        self._check_fitted()
        twin, policy, rows = copy.copy(self), self._inner_policy, self._read_inner(X)
        tree, kept = prune(
            policy.tree, policy.inputs(rows), self._as_outputs(y), getattr(self, "loss", "squared")
        )
        twin.policy_, twin.shares_ = policy.with_tree(tree), self.shares_[kept]
        if hasattr(self, "certificates_"):
            twin.certificates_ = self.certificates_.iloc[kept].reset_index(drop=True)
        twin.trace_ = trace_by_level(twin._inner_policy, rows, np.asarray(y))
        return twin

    @abstractmethod
    def _as_outputs(self, y: Any) -> npt.NDArray[np.float64]:
        """Labels or targets in the units of the outputs."""

    def _like(self) -> Any:
        """A fitted model inside, whose columns these are."""
        return self.trees if hasattr(self.trees, "policy_") else None

    def _stored_params(self) -> dict[str, Any]:
        # The policy holds the trees: a file needs no second copy of their model.
        return {**self.get_params(deep=False), "trees": None}

    def __sklearn_clone__(self) -> Self:
        params = {
            name: value if name == "trees" else clone(value, safe=False)
            for name, value in self.get_params(deep=False).items()
        }
        return type(self)(**params)

    @abstractmethod
    def _settle(self, X: Any, y: Any, weight: Any) -> None:
        """Set the trade-off to be used: as given, or for "auto" chosen on rows held out."""

    @abstractmethod
    def _learn(
        self, X: Any, targets: Targets, costs: Costs, weight: Any, held: Any
    ) -> LinearTreePolicy:
        """Train on the rows given, prune on ``held`` = (X, y in the units of the outputs) or None."""


class LinearTreeClassifier(ClassParameters, CostAwareClassifier, LinearTreeBase):
    """A tree of linear models that answers with classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is read as the training mean.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows.
        validation : tuple (X, y), optional
            Rows for pruning, instead of a share of the training rows.
        """
        self._validate_params()
        given = X, y
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], like=self._like(), weight=sample_weight
        )
        codes = self._read_labels(y)
        weight = read_weight(sample_weight, X, self.class_weight, y)
        weight, X, y, codes = drop_weightless(weight, X, y, codes)
        train, held = pruning_rows(self, X, codes, validation)
        self._settle(*given, sample_weight)
        if held is not None:
            held = (held[0], class_targets(held[1], self.classes_).Y)
            X, y, codes = X[train], y[train], codes[train]
            weight = None if weight is None else weight[train]
        policy = self._learn(X, class_targets(codes, self.classes_), costs, weight, held)
        policy = policy.scaled(calibrate(policy, X, codes, weight))
        refuse_sizes(policy, X)
        self.policy_, self.trace_ = policy, trace_by_level(policy, X, y)
        return self

    def _as_outputs(self, y: Any) -> npt.NDArray[np.float64]:
        codes = code_labels(y, self.classes_, "y", "the model")
        return class_targets(codes, self.classes_).Y


class LinearRegressor(CostAwareRegressor):
    """A regressor that takes several targets at once."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class LinearTreeRegressor(LinearRegressor, LinearTreeBase):
    """A tree of linear models that answers with numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Train the tree.

        Parameters
        ----------
        X, sample_weight, validation
            As for the classifier.
        y : array (n,) or (n, m)
            Targets.
        """
        self._validate_params()
        given = X, y
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], multi_output=True, like=self._like(), weight=sample_weight
        )  # fmt: skip
        weight, X, y = drop_weightless(read_weight(sample_weight, X), X, y)
        train, held = pruning_rows(self, X, y, validation)
        self._settle(*given, sample_weight)
        if held is not None:
            held = (held[0], as_columns(held[1]))
            X, y, weight = X[train], y[train], None if weight is None else weight[train]
        policy = self._learn(X, value_targets(y, weight), costs, weight, held)
        refuse_sizes(policy, X)
        self.policy_, self.trace_ = policy, trace_by_level(policy, X, y)
        return self

    def _as_outputs(self, y: Any) -> npt.NDArray[np.float64]:
        return as_columns(y)
