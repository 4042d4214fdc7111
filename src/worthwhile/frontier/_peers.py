"""What people use today, under the same accounting: fitted as ever, priced exactly."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import ClassifierTags, RegressorTags, get_tags

from worthwhile.costs import Costs, as_floats
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.priced.priced_model import ADAPTERS, PricedModel
from worthwhile.policy.base import Policy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy
from worthwhile.policy.whole import Source, WholePolicy

Params = dict[str, Any]


class Priced(CostAware):
    """A model of another library: ``fit`` trains it, and then it is charged for what it reads.

    Parameters
    ----------
    model : estimator
        A classifier or regressor; LightGBM's and scikit-learn's trees pay by row, ensembles of
        them can be cut to their first rounds.
    costs : Costs, mapping or array, optional
        Prices; None means 1 per feature.
    grid : list of dicts
        The trade-off: parameters of this estimator (``model__...`` for the model).
    n_best : int, optional
        Train on this many features only: those with the largest gain per price in a first model
        that saw them all.
    """

    def __init__(
        self, model: Any, *, costs: Any = None, grid: Any = ({},), n_best: int | None = None
    ) -> None:
        self.model = model
        self.costs = costs
        self.grid = grid
        self.n_best = n_best

    def trade_off_grid(self, X: Any, y: Any) -> list[Params]:
        """The given trade-off."""
        return [dict(step) for step in self.grid]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the model and price it."""
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        # Categories become numbers in the order of their mean targets; a plain table stays as it is.
        values, _, costs = self._read_training(X, y)
        if self.n_best is not None:
            values = self._masked(values, y, costs, weight)
        model = self._fresh().fit(values, y, **weight)
        self.policy_ = _policy(model, costs)
        if self.policy_.output.classes is not None:
            self.classes_ = self.policy_.output.classes
        if isinstance(inner := self._inner_policy, TreePolicy):
            self.n_rounds_ = inner.trees.n_trees // self._trees_per_round()
        return self

    def _fresh(self) -> Any:
        """An unfitted copy; CatBoost's lists of penalties make ``clone`` refuse its models."""
        return copy.deepcopy(self.model)

    def _masked(self, values: Any, y: Any, costs: Costs, weight: Params) -> Any:
        """Columns that were not selected become constant, so no tree uses them."""
        first = self._fresh().fit(values, y, **weight)
        gain = np.asarray(first.booster_.feature_importance("gain"), dtype=np.float64)
        price = as_floats(costs.own)
        worth = gain / np.maximum(price, price[price > 0].min() / 1e3 if (price > 0).any() else 1.0)
        values = values.copy()
        values[:, np.argsort(-worth, kind="stable")[self.n_best :]] = 0.0
        return values

    def _trees_per_round(self) -> int:
        return int(self._inner_policy.trees.per_round)

    def at(self, *, stage: int) -> Self:
        """Return a copy with the first ``stage`` rounds only."""
        twin = copy.copy(self)
        policy = self._inner_policy
        assert isinstance(policy, TreePolicy)
        trees = policy.trees.first(stage * self._trees_per_round())
        twin.policy_ = TreePolicy(policy.costs, policy.output, trees)
        twin.n_rounds_ = stage
        return twin

    predict_proba = CostAwareClassifier.predict_proba
    score = PricedModel.score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.model)
        tags.estimator_type = inner.estimator_type
        if tags.estimator_type == "classifier":
            tags.classifier_tags = ClassifierTags()
        else:
            tags.regressor_tags = RegressorTags()
        return tags


def _policy(model: Any, costs: Costs) -> Policy:
    """Trees by row; other models by all columns they can be seen to use."""
    for adapt in ADAPTERS:
        if (policy := adapt(model, costs)) is not None:
            return policy
    used = np.asarray(getattr(model, "feature_importances_", np.ones(costs.n_features)))
    if is_classifier(model):
        output, method = Output("probabilities", np.asarray(model.classes_)), "predict_proba"
    else:
        output, method = Output("value"), "predict"
    return WholePolicy(costs, output, Source(model, method, None, None), np.flatnonzero(used))


def decision_tree(costs: Costs, classify: bool, seed: int) -> Priced:
    """A plain tree of scikit-learn, from stumps to full size."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if classify else DecisionTreeRegressor
    leaves = [2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024]
    return Priced(
        kind(random_state=seed), costs=costs, grid=[{"model__max_leaf_nodes": n} for n in leaves]
    )


def random_forest(costs: Costs, classify: bool, seed: int) -> Priced:
    """A plain forest of scikit-learn: more or fewer trees, larger or smaller."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if classify else RandomForestRegressor
    grid: list[Params] = [{"model__max_leaf_nodes": n} for n in (4, 16, 64, 256, None)]
    return Priced(kind(100, random_state=seed, n_jobs=1), costs=costs, grid=grid)


def lightgbm(costs: Costs, classify: bool, seed: int, leaves: int = 16, **more: Any) -> Priced:
    """LightGBM without prices: fewer or more rounds."""
    import lightgbm as library

    kind = library.LGBMClassifier if classify else library.LGBMRegressor
    model = kind(
        n_estimators=100, num_leaves=leaves, random_state=seed, n_jobs=1, verbose=-1, deterministic=True, **more
    )  # fmt: skip
    return Priced(model, costs=costs, grid=[{}])


def lightgbm_cegb(
    costs: Costs, classify: bool, seed: int, leaves: int = 16, penalty: str = "coupled", rows: int = 1
) -> Priced:  # fmt: skip
    """LightGBM's cost-efficient boosting; the penalty in its own unit, gain summed over rows."""
    priced = lightgbm(costs, classify, seed, leaves)
    prices = as_floats(costs.own)
    scale = prices.mean() if prices.mean() > 0 else 1.0
    # Lazy penalties are charged for every row that meets the feature, coupled ones once.
    most = 1.0 if penalty == "lazy" else float(rows)
    trade_offs = most / scale * np.logspace(0.5, -5.5, 13)
    name = f"model__cegb_penalty_feature_{penalty}"
    priced.grid = [
        {name: prices.tolist(), "model__cegb_tradeoff": float(value)} for value in trade_offs
    ]
    return priced


def lightgbm_static(costs: Costs, classify: bool, seed: int, leaves: int = 16) -> Priced:
    """LightGBM on the features with the largest gain per price."""
    priced = lightgbm(costs, classify, seed, leaves)
    counts = np.unique(np.round(np.geomspace(1, costs.n_features, 12)).astype(int))
    priced.grid = [{"n_best": int(count)} for count in counts]
    return priced


def catboost(costs: Costs, classify: bool, seed: int, rows: int = 1) -> Priced:
    """CatBoost's penalty for the first use of a feature; its symmetric trees read whole models."""
    import catboost as library

    kind = library.CatBoostClassifier if classify else library.CatBoostRegressor
    model = kind(
        iterations=100, random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )
    prices = as_floats(costs.own)
    scale = prices.mean() if prices.mean() > 0 else 1.0
    grid = [
        {
            "model__first_feature_use_penalties": prices.tolist(),
            "model__penalties_coefficient": float(value),
        }
        for value in rows / scale * np.logspace(0, -6, 10)
    ]
    return Priced(model, costs=costs, grid=grid)
