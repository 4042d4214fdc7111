"""After the search the search is the model it found."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worthwhile._sklearn import F, available_if
from worthwhile.costs import Costs
from worthwhile.policy.base import Policy
from worthwhile.runtime import Answers, Session
from worthwhile.runtime.query import QuerySession

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def _has(name: str) -> Callable[[F], F]:
    """Whether the model, or before fitting the estimator, has a method; raise its own error if not."""

    def check(search: Any) -> bool:
        getattr(getattr(search, "best_estimator_", search.estimator), name)
        return True

    return available_if(check)


class Delegate:
    """Everything a fitted model of worthwhile can be asked, passed on to ``best_estimator_``."""

    estimator: Any
    best_estimator_: Any
    scorer_: Any

    @property
    def _model(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

    def predict(self, X: Any, *args: Any, **kwargs: Any) -> Array:
        """Predict with the chosen model; arguments are its own."""
        return self._model.predict(X, *args, **kwargs)

    @_has("predict_proba")
    def predict_proba(self, X: Any, *args: Any, **kwargs: Any) -> Floats:
        """Probabilities of the chosen model."""
        return self._model.predict_proba(X, *args, **kwargs)

    @_has("predict_log_proba")
    def predict_log_proba(self, X: Any, *args: Any, **kwargs: Any) -> Floats:
        """Logarithms of the probabilities of the chosen model."""
        return self._model.predict_log_proba(X, *args, **kwargs)

    @_has("decision_function")
    def decision_function(self, X: Any, *args: Any, **kwargs: Any) -> Floats:
        """Raw scores of the chosen model."""
        return self._model.decision_function(X, *args, **kwargs)

    def acquired(self, X: Any, *args: Any, **kwargs: Any) -> npt.NDArray[np.bool_]:
        """What the chosen model buys for each row, bool (n, d)."""
        return self._model.acquired(X, *args, **kwargs)

    def cost(self, X: Any, *args: Any, **kwargs: Any) -> Floats:
        """The bill of each row."""
        return self._model.cost(X, *args, **kwargs)

    def total_cost(self, X: Any, y: Any, *args: Any, **kwargs: Any) -> Floats:
        """The bill of each row and the price of its error."""
        return self._model.total_cost(X, y, *args, **kwargs)

    def evaluated(self, X: Any, *args: Any, **kwargs: Any) -> npt.NDArray[np.int64]:
        """Trees or stages evaluated for each row."""
        return self._model.evaluated(X, *args, **kwargs)

    @overload
    def session(
        self, budget: Any = None, one_by_one: bool = False, *, prices: Any = None, unavailable: Any = (),
        key: Any = None,
    ) -> Session: ...  # fmt: skip
    @overload
    def session(
        self, budget: Any = None, one_by_one: bool = False, *, documents: int, **request: Any
    ) -> QuerySession: ...
    def session(self, *args: Any, **kwargs: Any) -> Any:
        """Start predicting one case on demand with the chosen model."""
        return self._model.session(*args, **kwargs)

    def predict_with(self, *args: Any, **kwargs: Any) -> Answers:
        """Predict for many ids with extractors."""
        return self._model.predict_with(*args, **kwargs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chosen model as a file; ``worthwhile.load`` gives that model."""
        self._model.save(path)

    def check(self, X: Any, y: Any, **how: Any) -> dict[str, Any]:
        """Hold rows whose truth is known against what was promised; see the chosen model."""
        found: dict[str, Any] = self._model.check(X, y, **how)
        return found

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Score of the chosen model, by the scorer of the search."""
        more = {} if qid is None else {"qid": qid}
        return float(self.scorer_(self._model, X, y, **more))

    @property
    def policy_(self) -> Policy:
        """The chosen model as a buyer."""
        policy: Policy = self._attribute("policy_")
        return policy

    @property
    def costs_(self) -> Costs:
        """The prices in column order."""
        costs: Costs = self._attribute("costs_")
        return costs

    @property
    def classes_(self) -> Array:
        """Labels of a classifier."""
        return self._attribute("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return int(self._attribute("n_features_in_"))

    @property
    def feature_names_in_(self) -> Array:
        """Column names, where the data had any."""
        return self._attribute("feature_names_in_")

    def _attribute(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        return getattr(self.best_estimator_, name)
