"""A data classifier that was fitted elsewhere and is never trained again: the paper's premise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from worthwhile.core import links
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.policy.selection.rows import ForeignScorer, Layout, Linear

Floats = npt.NDArray[np.float64]

NOT_KEPT = "in the policy"
"""What a model file says instead of a classifier that was given fitted: the policy has it."""

ALIKE = 1e-9
"""How far probabilities of a classifier may be from those of its weights."""


@dataclass(eq=False, repr=False, kw_only=True)
class TakesClassifier(ClassParameters, TrainingParameters, CostAwareClassifier):
    """What estimators with a data classifier share: one that is fitted stays as it is."""

    factors: Any = None
    classifier: Any = None
    masked: bool = True
    adapt: bool | int = True
    n_folds: int | None = 10
    random_state: Any = None

    def _given(self, X: Floats, layout: Layout) -> Linear | ForeignScorer | None:
        """The classifier as a scorer over the factors, where it came fitted; None where it is to be trained."""
        model = self._unfrozen()
        if isinstance(model, str):
            raise ValueError(
                f"classifier is {model!r}: a model file does not keep a classifier apart from the policy; set it to "
                "train again."
            )
        if not hasattr(model, "classes_"):
            return None
        self._check_given(model)
        holes = np.isnan(X)
        fill = np.where(holes, 0.0, X).sum(axis=0) / np.maximum((~holes).sum(axis=0), 1)
        scorer = ForeignScorer(model, len(self.classes_), False, layout, fill, self._names(model))
        linear = _as_linear(model, layout, fill)
        if linear is None:
            return scorer
        rows = layout.standardise(X[:, layout.features], slice(None))
        marks = np.ones((len(rows), layout.n_factors))
        own = links.softmax(rows @ linear.weight + linear.bias)
        return linear if np.abs(own - scorer(rows, marks)).max() <= ALIKE else scorer

    def _names(self, model: Any) -> list[str] | None:
        names = getattr(model, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _check_given(self, model: Any) -> None:
        """Refuse a classifier that does not speak of these columns and labels."""
        if self._encoding is not None:
            raise ValueError(
                "classifier is fitted already, and X has text, categories or dates: give numbers alone, as it was "
                "fitted on, or a classifier that is not fitted."
            )
        if not hasattr(model, "predict_proba"):
            raise ValueError(
                f"classifier is a {type(model).__name__} without predict_proba: purchases go by probabilities."
            )
        if not np.array_equal(model.classes_, self.classes_):
            raise ValueError(
                f"classifier was fitted on the labels {np.asarray(model.classes_).tolist()[:5]}, y has "
                f"{self.classes_.tolist()[:5]}: they have to be the same."
            )
        count = getattr(model, "n_features_in_", self.n_features_in_)
        mine = getattr(self, "feature_names_in_", None)
        names = self._names(model)
        if count != self.n_features_in_ or (
            mine is not None and names is not None and names != list(mine)
        ):
            raise ValueError(
                f"classifier was fitted on {count} columns{f' {names[:5]}' if names else ''}, X has "
                f"{self.n_features_in_}{f' {list(mine)[:5]}' if mine is not None else ''}: give the same ones in the "
                "same order."
            )

    def _unfrozen(self) -> Any:
        model = self.classifier
        return model.estimator if isinstance(model, FrozenEstimator) else model

    def _is_given(self) -> bool:
        return hasattr(self._unfrozen(), "classes_") or isinstance(self.classifier, str)

    def __sklearn_clone__(self) -> Any:
        # A classifier that is fitted is data, not a recipe: it stays as it is.
        params = self.get_params(deep=False)
        kept = ("classifier",) if self._is_given() else ()
        copies = {
            name: value if name in kept else clone(value, safe=False)
            for name, value in params.items()
        }
        twin = type(self)(**copies)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if name in vars(self):
                setattr(twin, name, vars(self)[name])
        return twin

    def _stored_params(self) -> dict[str, Any]:
        params = super()._stored_params()
        return {**params, "classifier": NOT_KEPT} if self._is_given() else params


def _as_linear(model: Any, layout: Layout, fill: Floats) -> Linear | None:
    """The weights of a logistic regression, for standardised values; what no factor has is at its mean."""
    if not isinstance(model, LogisticRegression):
        return None
    weight, bias = model.coef_, model.intercept_
    if len(weight) == 1:
        weight, bias = np.vstack([-weight, weight]) / 2, np.array([-bias[0], bias[0]]) / 2
    inside = weight[:, layout.features]
    return Linear(
        np.ascontiguousarray((inside * layout.scale).T),
        np.zeros((layout.n_factors, len(weight))),
        np.ascontiguousarray(bias + weight @ fill),
    )
