"""Stage-wise regression on cheap features only: the baseline of the Greedy Miser paper."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval

from worthwhile._sklearn import available_if
from worthwhile.costs import MOST_QUANTA, as_floats, budget_quanta
from worthwhile.estimators.base import CostAware
from worthwhile.estimators.boosting._base import Miser
from worthwhile.estimators.boosting.greedy_miser_regressor import GreedyMiserRegressor
from worthwhile.policy.base import Policy

Floats = npt.NDArray[np.float64]


def _classifies(subsets: FeatureSubsets) -> bool:
    return bool(is_classifier(subsets._inner()))


class FeatureSubsets(CostAware):
    """A booster that sees only features up to a price cap; one booster per cap makes a trade-off.

    Parameters
    ----------
    estimator : GreedyMiserRegressor or GreedyMiserClassifier, optional
        The booster, usually with ``lam=0``; it stays as it is, a copy is fitted. None means
        ``GreedyMiserRegressor()``.
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
    >>> from worthwhile import FeatureSubsets, GreedyMiserRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> booster = GreedyMiserRegressor(costs=[1, 5, 20], n_rounds=10)
    >>> model = FeatureSubsets(booster, cap=5).fit(X, X.sum(axis=1))
    >>> model.acquired(X).any(axis=0).tolist()
    [True, True, False]
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("cap",)
    classes_: npt.NDArray[Any]
    _model: Any

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [None, Miser],
        "cap": [Interval(Real, 0, None, closed="both")],
    }

    def __init__(self, estimator: Any = None, cap: float = float("inf")) -> None:
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
        model = clone(self._inner())
        model._fit(X, y, sample_weight, validation, MOST_QUANTA if cap is None else cap)
        self._model = model
        self._restore(model.policy_, model)
        return self

    def _inner(self) -> Any:
        return GreedyMiserRegressor() if self.estimator is None else self.estimator

    @property
    def model_(self) -> Any:
        """The fitted booster."""
        self._check_fitted()
        return self._model

    def _stored_params(self) -> dict[str, Any]:
        # A file holds the fitted booster once, in the place of the one it was copied from.
        return {"estimator": self._model, "cap": self.cap}

    def _restore(self, policy: Policy, model: Miser | None = None) -> None:
        super()._restore(policy)
        self._model = self.estimator if model is None else model

    @available_if(_classifies)
    def predict_proba(self, X: Any, budget: Any = None, **request: Any) -> Floats:
        """Probability of each class, (n, n_classes)."""
        found: Floats = self.model_.predict_proba(X, budget, **request)
        return found

    @available_if(_classifies)
    def predict_log_proba(self, X: Any, budget: Any = None, **request: Any) -> Floats:
        """Logarithm of :meth:`predict_proba`."""
        found: Floats = self.model_.predict_log_proba(X, budget, **request)
        return found

    @available_if(_classifies)
    def decision_function(self, X: Any, budget: Any = None, **request: Any) -> Floats:
        """Raw scores: (n,) for two classes, else (n, n_classes)."""
        found: Floats = self.model_.decision_function(X, budget, **request)
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score as the booster does: R2 or accuracy."""
        return float(self.model_.score(X, y, sample_weight))

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """All distinct prices as caps, cheapest first."""
        prices = as_floats(self._inner()._costs_for(X).own)
        return [{"cap": cap} for cap in np.unique(prices).tolist()]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self._inner())
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags
