"""The model that is there already, in whatever form it comes, as a policy with losses."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from worthwhile._messages import some
from worthwhile.columns import Columns
from worthwhile.costs import Costs
from worthwhile.estimators.base import CostAware
from worthwhile.estimators.priced.priced_model import PricedModel, from_sklearn_trees
from worthwhile.policy.base import Policy
from worthwhile.policy.gate import probabilities_of
from worthwhile.policy.output import Output
from worthwhile.policy.whole import Source, WholePolicy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

LEAST = 1e-12
"""Probabilities below this count as this: one impossible label must not outweigh all others."""

N_TREES = 100
"""Trees of the forest that is trained where no model is given."""


@dataclass(frozen=True, eq=False)
class Existing:
    """The existing model and what it says about the training rows.

    Attributes
    ----------
    policy : Policy
        Under the prices of the composite.
    proba : float64 (n, K)
        Probabilities of the training rows, out of fold where they were given or made so.
    """

    policy: Policy
    proba: Floats

    def losses(self, codes: Ints) -> Floats:
        """Log loss of each training row."""
        return log_losses(self.proba, codes)


def log_losses(proba: Floats, codes: Ints) -> Floats:
    """Log loss of each row, bounded."""
    return -np.log(np.maximum(proba[np.arange(len(codes)), codes], LEAST))


def read_existing(
    existing: Any,
    costs: Costs,
    classes: npt.NDArray[Any],
    X: Floats,
    proba: Any,
    columns: Columns | None = None,
) -> Existing:
    """Turn a given model into a policy, and see what it says about the training rows.

    Parameters
    ----------
    existing : fitted classifier, or (function, features)
        See :class:`worthwhile.AdaptiveLinearClassifier`.
    costs : Costs
        Prices of the composite.
    classes : array
        Labels of the training data.
    X : array (n, d)
        Training rows.
    proba : array (n, K), optional
        Out-of-fold probabilities to use instead of the model's own.
    columns : Columns, optional
        What the columns behind the numbers of X are.
    """
    policy = as_policy(existing, costs, classes, columns)
    if policy.output.classes is None or not np.array_equal(policy.output.classes, classes):
        known = None if policy.output.classes is None else policy.output.classes.tolist()
        raise ValueError(
            f"existing knows the classes {known}, y has {classes.tolist()}: give a classifier that was trained on "
            "the same labels."
        )
    if proba is not None:
        return Existing(policy, read_proba(proba, len(X), len(classes), "existing_proba"))
    raw = policy.batch(X, billed=False).raw
    said = probabilities_of(policy.output, raw) if raw.shape[1] == policy.output.n_raw else raw
    return Existing(policy, read_proba(said, len(X), len(classes), "the output of existing"))


def as_policy(
    existing: Any, costs: Costs, classes: npt.NDArray[Any], columns: Columns | None = None
) -> Policy:
    """A given model as a policy over numbers under the given prices."""
    if isinstance(existing, tuple):
        return _function(existing, costs, classes, columns)
    if isinstance(existing, FrozenEstimator):
        existing = existing.estimator
    if isinstance(existing, CostAware):
        if not isinstance(existing, PricedModel):  # which has no fit, and checks its own model
            check_is_fitted(existing, "policy_")
        policy = existing.policy_
    elif hasattr(existing, "fit") or hasattr(existing, "predict"):
        policy = PricedModel(existing).policy_
    else:
        raise TypeError(
            f"existing is a {type(existing).__name__}: give a fitted classifier, a PricedModel, or a pair (function, "
            "features) of a function from rows to probabilities and the list of the features it reads."
        )
    names, own = costs.feature_names, policy.costs.feature_names
    if policy.n_features != costs.n_features or (own and names and own != names):
        raise ValueError(
            f"existing was fitted on {policy.n_features} columns"
            f"{' ' + str(list(own)[:5]) if own else ''}, X has {costs.n_features}"
            f"{' ' + str(list(names)[:5]) if names else ''}: give it the same columns in the same order."
        )
    if policy.columns is None and columns is not None:
        text = [costs.name(c) for c in range(len(columns)) if columns[c].kind != "number"]
        raise ValueError(
            f"existing was fitted on numbers alone, but X has text, categories or dates in {some(text)}: give it the "
            "columns that it knows, or an existing model that was fitted on these."
        )
    return policy.priced(costs).with_columns(None)


def _function(
    pair: tuple[Any, ...], costs: Costs, classes: npt.NDArray[Any], columns: Columns | None
) -> WholePolicy:
    if len(pair) != 2 or not callable(pair[0]) or isinstance(pair[1], (str, bytes)):
        raise TypeError(
            f"existing is a tuple of {len(pair)}: give (function, features), a function from rows to probabilities "
            "and the list of the features it reads."
        )
    function, features = pair
    reads = np.unique([costs.index(feature) for feature in features]).astype(np.intp)
    names = None if costs.feature_names is None else list(costs.feature_names)
    if columns is not None:
        function = _in_words(function, columns, names)
        names = None
    return WholePolicy(
        costs, Output("probabilities", classes), Source(function, "call", names), reads
    )


def _in_words(function: Any, columns: Columns, names: list[str] | None) -> Any:
    """A function of the user's table as one of its numbers."""

    def in_numbers(rows: Floats) -> Any:
        return function(columns.frame(rows, names))

    return in_numbers


def read_proba(proba: Any, n: int, k: int, name: str) -> Floats:
    """Check probabilities of n rows and k classes."""
    array = np.asarray(proba, dtype=np.float64)
    if array.shape != (n, k):
        raise ValueError(
            f"{name} has shape {array.shape}: give one row per row of X and one column per class, {(n, k)}."
        )
    if not np.isfinite(array).all() or (array < 0).any() or (array > 1 + 1e-6).any():
        raise ValueError(f"{name} has values that are not probabilities: give numbers from 0 to 1.")
    if np.abs(array.sum(axis=1) - 1).max(initial=0.0) > 1e-3:
        raise ValueError(
            f"{name} has rows that do not add to 1: give probabilities of all classes."
        )
    return array


def default_existing(
    X: Floats, codes: Ints, classes: npt.NDArray[Any], costs: Costs, random_state: Any, n_jobs: Any,
    weight: Floats | None = None,
) -> Existing:  # fmt: skip
    """Train a forest; each row's probabilities come from the trees that did not see it."""
    forest = RandomForestClassifier(
        N_TREES, oob_score=True, random_state=random_state, n_jobs=-1 if n_jobs is None else n_jobs
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # few rows: some are in every tree
        forest.fit(X, codes, weight)
    proba = np.array(forest.oob_decision_function_, dtype=np.float64)
    unseen = ~np.isfinite(proba).all(axis=1) | (proba.sum(axis=1) <= 0)
    proba[unseen] = np.bincount(codes, minlength=len(classes)) / len(codes)
    found = from_sklearn_trees(forest, costs)
    assert found is not None
    return Existing(type(found)(costs, Output("probabilities", classes), found.trees), proba)  # type: ignore[attr-defined,call-arg]
