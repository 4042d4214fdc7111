"""Stage-wise regression on cheap features only: the baseline of the Greedy Miser paper."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if

from costwise.costs import MOST_QUANTA, Costs, as_floats, budget_quanta
from costwise.estimators._miser import Miser
from costwise.estimators.base import CostAware, CostAwareClassifier


class FeatureSubsets(CostAware):
    """A booster that sees only features up to a price cap; one booster per cap makes a trade-off.

    Parameters
    ----------
    estimator : GreedyMiserRegressor or GreedyMiserClassifier
        The booster, usually with ``lam=0``; it stays as it is, a copy is fitted.
    cap : number, default=inf
        Features whose own price is above this are not used.

    Attributes
    ----------
    model_ : estimator
        The fitted copy.

    Notes
    -----
    Paper: Xu, Weinberger, Chapelle, "The Greedy Miser", ICML 2012, section 6 ("feature subsets"),
    with caps 1, 20, 100 and 200. :meth:`trade_off_grid` offers every distinct price as a cap.

    Examples
    --------
    >>> import numpy as np
    >>> from costwise import FeatureSubsets, GreedyMiserRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> booster = GreedyMiserRegressor(costs=[1, 5, 20], n_rounds=10)
    >>> model = FeatureSubsets(booster, cap=5).fit(X, X.sum(axis=1))
    >>> model.acquired(X).any(axis=0).tolist()
    [True, True, False]
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("cap",)
    model_: Miser

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [Miser],
        "cap": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, estimator: Any, cap: float = float("inf")) -> None:
        self.estimator = estimator
        self.cap = cap

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None
    ) -> FeatureSubsets:
        """Fit the booster on the features that the cap allows.

        Parameters
        ----------
        X, y, sample_weight, validation
            As for the booster.
        """
        self._validate_params()
        cap = budget_quanta(self.cap)
        model = clone(self.estimator)
        self.model_ = model._fit(
            X, y, sample_weight, validation, MOST_QUANTA if cap is None else cap
        )
        self.policy_ = self.model_.policy_
        self.n_features_in_ = self.model_.n_features_in_
        if hasattr(self.model_, "feature_names_in_"):
            self.feature_names_in_ = self.model_.feature_names_in_
        return self

    predict_proba = CostAwareClassifier.predict_proba
    predict_log_proba = CostAwareClassifier.predict_log_proba

    @property
    def _probabilities(self) -> bool:
        return bool(is_classifier(self.estimator))

    @available_if(lambda self: is_classifier(self.estimator))
    def decision_function(self, X: Any, budget: Any = None) -> npt.NDArray[np.float64]:
        """Raw scores: (n,) for two classes, else (n, n_classes)."""
        return self.model_.decision_function(X, budget)  # type: ignore[attr-defined]

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels, if the booster classifies."""
        classes: npt.NDArray[Any] = self.model_.classes_  # type: ignore[attr-defined]
        return classes

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score as the booster does: R2 or accuracy."""
        self._check_fitted()
        return float(self.model_.score(X, y, sample_weight))  # type: ignore[attr-defined]

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """All distinct prices as caps, cheapest first."""
        names = list(X.columns) if hasattr(X, "columns") else None
        costs = Costs.of(self.estimator.costs, np.shape(X)[1], names)
        return [{"cap": cap} for cap in np.unique(as_floats(costs.flat.price)).tolist()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags
