"""Preprocessing in front of an estimator of ours: swept and billed by the columns of the table."""

from __future__ import annotations

import copy
import warnings
from typing import Any, Self

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_features

from worthwhile._sklearn import BaseEstimator, MetaEstimatorMixin
from worthwhile.costs import Costs
from worthwhile.estimators.priced.priced_model import PricedModel
from worthwhile.estimators.reading import column_names
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.frontier._delegate import Delegate
from worthwhile.frontier._stages import COUNTS
from worthwhile.policy.front import Front, fed_costs


def as_searchable(estimator: Any) -> Any:
    """An estimator that can be swept: a pipeline that ends with one of ours is dressed as one."""
    return PricedPipeline(estimator) if isinstance(estimator, Pipeline) else estimator


class PricedPipeline(Delegate, MetaEstimatorMixin, BaseEstimator):
    """A pipeline whose last step is an estimator of ours.

    ``fit`` fits the steps before it, finds which columns of the table feed which of its inputs, and
    fits it with the prices that follow; then everything speaks of the columns of the table.
    Parameters are those of the pipeline.

    Parameters
    ----------
    estimator : Pipeline
        The prices of its last step are those of the table's columns.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    @property
    def costs(self) -> Any:
        """The prices that were given to the last step."""
        return self.estimator.steps[-1][1].costs

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the pipeline, by the names of its steps."""
        own = {
            name: params.pop(name)
            for name in list(params)
            if name.partition("__")[0] == "estimator"
        }
        super().set_params(**own)
        self.estimator.set_params(**params)
        return self

    def fit(self, X: Any, y: Any, **how: Any) -> Self:
        """Fit the steps in their order; ``how`` goes to the last one."""
        pipeline, made, costs, front = self._fitted_front(X, y)
        pipeline.steps[-1][1].fit(made, y, **how)
        priced = PricedModel(pipeline, costs)
        self.best_estimator_ = priced if front is None else priced.behind(front)
        return self

    def trade_off_grid(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """The trade-off of the last step on what the others make of the table."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WorthwhileWarning)  # said when the pipeline is fitted
            pipeline, made, _, _ = self._fitted_front(X, y)
        name, model = pipeline.steps[-1]
        return [
            {f"{name}__{parameter}": value for parameter, value in point.items()}
            for point in model.trade_off_grid(made, y)
        ]

    def _fitted_front(self, X: Any, y: Any) -> tuple[Pipeline, Any, Costs, Front | None]:
        """A copy with all steps fitted but the last, which has its prices; what they make, and how; the prices."""
        pipeline = clone(self.estimator)
        costs = Costs.of(self.costs, _num_features(X), column_names(X))
        *before, (_, model) = pipeline.steps
        if not before:
            return pipeline, X, costs, None
        made = Pipeline(before).fit_transform(X, y)
        front = PricedModel(pipeline, costs).front_of(made, X)
        model.set_params(costs=fed_costs(costs, front))
        return pipeline, made, costs, front

    def at(self, **where: Any) -> PricedPipeline:
        """The same pipeline with its last step elsewhere on its trade-off."""
        priced = self._model
        *before, (name, model) = priced.model.steps
        twin = copy.copy(self)
        twin.best_estimator_ = priced.with_last(Pipeline([*before, (name, model.at(**where))]))
        return twin

    def __getattr__(self, name: str) -> Any:
        # How many stages there are to cut to, where the last step can be cut.
        if name in (*COUNTS, "every_stage_differs") and "best_estimator_" in vars(self):
            return getattr(self.best_estimator_.model.steps[-1][1], name)
        raise AttributeError(f"{type(self).__name__} has no {name!r}.")

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """Accuracy of a classifier, R2 of a regressor."""
        return float(self._model.score(X, y))

    def __sklearn_tags__(self) -> Any:
        return get_tags(self.estimator)
