"""Models people already have, charged for what they really read."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import Pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.utils import ClassifierTags, RegressorTags, get_tags
from sklearn.utils.validation import _num_features, check_is_fitted

from worthwhile._sklearn import available_if
from worthwhile.columns import Columns, is_frame
from worthwhile.columns.table import places_of
from worthwhile.core.trees import Trees, join_nodes
from worthwhile.costs import Costs, budget_quanta
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.priced._catboost import from_catboost
from worthwhile.estimators.priced._catboost_categories import EMPTY, category_columns
from worthwhile.estimators.priced._columns import columns, comes_from, is_booster
from worthwhile.estimators.priced._front import make_front
from worthwhile.estimators.priced._lightgbm import from_lightgbm
from worthwhile.estimators.priced._mixed import mix_policies
from worthwhile.estimators.priced._sklearn import from_sklearn_boosting, tree_nodes
from worthwhile.estimators.priced._snapshot import Snapshot
from worthwhile.estimators.priced._whole import classifier_output, fallback_of, typical
from worthwhile.estimators.priced._xgboost import from_xgboost
from worthwhile.estimators.reading import column_names
from worthwhile.policy.base import Policy
from worthwhile.policy.front import Front, fed_costs
from worthwhile.policy.output import Output
from worthwhile.policy.pipeline import PipelinePolicy
from worthwhile.policy.trees import TreePolicy
from worthwhile.policy.whole import Source, WholePolicy

Floats = npt.NDArray[np.float64]

MADE = ("_policy", "_seen", "_seen_with")
"""Attributes that a priced model makes of its parameters."""

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)


class PricedModel(CostAware):
    """Any fitted model with its prices: exact bills, sessions, files.

    By default a model reads all its features. Of the trees, forests and gradient boosting of
    scikit-learn, and of LightGBM, XGBoost and CatBoost, each row pays only for what its paths touch,
    and a session asks for features as the walks need them.

    Parameters
    ----------
    model : fitted estimator
        A scikit-learn classifier, regressor or pipeline of numeric columns; an estimator of LightGBM,
        XGBoost or CatBoost; a ``Booster`` of LightGBM or XGBoost, whose classes are 0, 1, ...
    costs : Costs, mapping, array or None
        Prices; None means 1 per feature.
    fallback : label, number or array, optional
        The answer for rows whose budget does not pay for all features: a class, class
        probabilities, or a number for regression. Nothing is bought then. Trees need none: they
        answer with the mean at the node reached.
    background : array or frame (n, d), optional
        A sample whose column means stand for what is not bought (and, for models that refuse NaN,
        for what came back empty).

    Notes
    -----
    There is no ``fit``: the model is used as it is, and stays fitted when cloned. In a model file
    trees of any library are stored as plain arrays: read back, ``model`` is None, and everything
    else works as before, without that library. Other models are stored with skops.

    Trees of other libraries give the library's own predictions to its float precision; ranking and
    custom objectives give raw values. Under a budget the answer is the mean of the leaves under the
    node reached, weighted by training data. Splits by categories are walked exactly where these are whole
    numbers from 0 on or text, and values that are new go where the library sends them. CatBoost keeps no
    text of its categories: give ``background`` rows that have all of them. Its symmetric trees are then
    walked exactly; where it combines categories with numbers, it is read as a whole, and a warning says
    so. Objectives with a link of their own (Poisson, gamma, Tweedie), linear
    leaves and the like are read as a whole.

    Examples
    --------
    >>> from worthwhile import PricedModel, datasets
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> heart = datasets.load_heart()
    >>> forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(heart.data, heart.target)
    >>> priced = PricedModel(forest, heart.costs)
    >>> bool((priced.predict(heart.data) == forest.predict(heart.data)).all())
    True
    >>> bool(priced.cost(heart.data).max() <= heart.costs.total)
    True
    >>> float(priced.cost(heart.data, budget=25).max()) <= 25
    True
    """

    _policy: Policy
    _seen_with: tuple[Any, ...]

    def __init__(
        self, model: Any, costs: Any = None, fallback: Any = None, background: Any = None
    ) -> None:
        self.model = model
        self.costs = costs
        self.fallback = fallback
        self.background = background

    @classmethod
    def mixed(cls, first: Any, second: Any, share: float, *, seed: int = 0) -> PricedModel:
        """Two fitted models of one table as one, whose mean bill lies between theirs.

        Each case follows one of the two; a coin says which, tossed by ``key=`` of ``predict``,
        ``session`` and the others. Chance then decides who gets a test.

        Parameters
        ----------
        first, second : fitted estimators of worthwhile
            The cheaper and the dearer one, with the same prices and answers of one kind.
        share : float
            Share of the cases, from 0 to 1, that follow the second.
        seed : int, default=0
            Which cases these are.

        Returns
        -------
        PricedModel
            As one that was read from a file: its ``model`` is None.

        Examples
        --------
        >>> from worthwhile import GreedyMiserClassifier, PricedModel, datasets
        >>> heart = datasets.load_heart()
        >>> miser = GreedyMiserClassifier(costs=heart.costs, n_rounds=20).fit(heart.data, heart.target)
        >>> half = PricedModel.mixed(miser.at(stage=2), miser, share=0.5)
        >>> bills = half.cost(heart.data, key=range(len(heart.data)))
        >>> bool(miser.at(stage=2).cost(heart.data).mean() < bills.mean() < miser.cost(heart.data).mean())
        True
        """
        made = cls(None)
        made._restore(mix_policies(first.policy_, second.policy_, share, seed))
        return made

    @property
    def policy_(self) -> Policy:  # type: ignore[override]
        """The model as a buyer, made on first use, and anew where a parameter or the model changed."""
        seen: Snapshot | None = self.__dict__.get("_seen")
        others = (self.costs, self.fallback, self.background)
        if seen is None or not all(map(is_, others, self._seen_with)) or not seen.is_of(self.model):
            self._policy = self._make_policy()
            # Afterwards: looking into some models leaves something behind in them.
            self._seen, self._seen_with = Snapshot(self.model), others
        return self._policy

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of columns the model was fitted on."""
        return self.policy_.n_features

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:  # type: ignore[override]
        """Column names, where the model was fitted on a frame."""
        if (names := self.policy_.costs.feature_names) is None:
            raise AttributeError("the model was fitted without column names")
        return np.array(names, dtype=object)

    @property
    def classes_(self) -> npt.NDArray[Any]:  # type: ignore[override]
        """Labels of a classifier."""
        if (classes := self.policy_.output.classes) is None:
            raise AttributeError("the model is a regressor: it has no classes")
        return classes

    def _make_policy(self) -> Policy:
        if (stored := self._from_file()) is not None:
            return stored
        self._check_fitted()
        n_features, names = columns(self.model, self.costs)
        costs = Costs.of(self.costs, n_features, names)
        if isinstance(self.model, Pipeline) and len(self.model.steps) > 1:
            return self._behind(costs, names)
        for adapt in ADAPTERS:
            if (policy := adapt(self.model, costs)) is not None:
                return policy
        if (policy := from_catboost(self.model, costs, self.background)) is not None:
            return policy
        return self._whole(costs, names)

    def _behind(self, costs: Costs, names: list[str] | None) -> Policy:
        """The model at the end of a pipeline, and what stands before it."""
        model = self.model.steps[-1][1]
        made = model.policy_.columns if isinstance(model, CostAware) else None
        front = self._front(costs.n_features, names, self.background, made)
        background = None
        if self.background is not None:
            sample = self.background
            named = names if names is not None and is_frame(sample) else None
            places = None if named is None else places_of(sample, named, range(len(named)))
            background = front.apply(front.columns.read(sample, places=places))
        return self._over(front, costs, background)

    def _front(self, n: int, names: list[str] | None, sample: Any, made: Columns | None) -> Front:
        return make_front(Pipeline(self.model.steps[:-1]), n, names, sample, made)

    def _over(self, front: Front, costs: Costs, background: Any = None) -> PipelinePolicy:
        """The last step as a buyer of the columns that feed its inputs."""
        prices = fed_costs(costs, front)
        last = PricedModel(self.model.steps[-1][1], prices, self.fallback, background)
        inner = last.policy_.with_columns(None).priced(prices)
        policy = PipelinePolicy(costs, inner.output, front, inner)
        plain = all(column["kind"] == "number" for column in front.columns.to_dict())
        return policy if plain else policy.with_columns(front.columns)

    def front_of(self, made: Any, X: Any) -> Front:
        """How a pipeline makes the inputs of its last step, before that is fitted.

        Parameters
        ----------
        made : array or frame
            What the steps before it, which are fitted, make of training data.
        X : array or frame
            The training data.
        """
        columns = Columns.learn(made) if is_frame(made) or hasattr(made, "dtype") else None
        return self._front(_num_features(X), column_names(X), None, columns)

    def behind(self, front: Front) -> PricedModel:
        """Itself, with the way through its preprocessing known."""
        costs = Costs.of(self.costs, len(front.columns), front.names)
        self._policy = self._over(front, costs)
        self._seen = Snapshot(self.model)
        self._seen_with = (self.costs, self.fallback, self.background)
        return self

    def with_last(self, pipeline: Pipeline) -> PricedModel:
        """The same preprocessing with another last step, without looking through it again."""
        policy = self.policy_
        assert isinstance(policy, PipelinePolicy)
        twin = PricedModel(pipeline, policy.costs, self.fallback, self.background)
        return twin.behind(policy.front)

    def _from_file(self) -> Policy | None:
        """The policy of the file that the model was read from, with the prices of now.

        None where there is no file, or the model has been changed since.
        """
        stored: Policy | None = self.__dict__.get("_stored")
        if stored is None or self.fallback is not None or self.background is not None:
            return None
        if not self._stored_with.is_of(self.model):
            return None
        if self.costs is stored.costs:
            return stored
        given = stored.costs
        names = None if given.feature_names is None else list(given.feature_names)
        return stored.priced(Costs.of(self.costs, given.n_features, names))

    def _whole(self, costs: Costs, names: list[str] | None) -> WholePolicy:
        model = self.model
        if is_classifier(model):
            output, method, labels = classifier_output(model)
        else:
            output, method, labels = Output("value"), "predict", None
        columns = self._columns_in_words(costs)
        fill = None if self.background is None else typical(self.background, costs, columns)
        empty = EMPTY if columns is not None and comes_from(model, "catboost") else None
        policy = WholePolicy(
            costs,
            output,
            Source(model, method, names, labels, columns, empty),
            np.arange(costs.n_features),
            None if self.fallback is None else fallback_of(self.fallback, output),
            fill,
            fill_empty=fill is not None and empty is None and not get_tags(model).input_tags.allow_nan,
        )  # fmt: skip
        return policy.with_columns(columns)

    def _columns_in_words(self, costs: Costs) -> Columns | None:
        """What the columns of a model of words are; None where it reads numbers alone."""
        sample, names = self.background, costs.feature_names
        if comes_from(self.model, "catboost"):
            return category_columns(self.model, costs, sample)
        if not is_frame(sample):
            return None
        places = None if names is None else places_of(sample, names, range(len(names)))
        found = Columns.learn(sample)
        if found is None or places is None:
            return found
        return Columns(found[place] for place in places if place is not None)

    # Taken as descriptors: through the class they would lose the test of whether they are there.
    predict_proba = vars(CostAwareClassifier)["predict_proba"]
    predict_log_proba = vars(CostAwareClassifier)["predict_log_proba"]
    decision_function = available_if(lambda self: self.policy_.output.classes is not None)(
        CostAwareClassifier.decision_function
    )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of a classifier, R2 of a regressor."""
        measure = r2_score if self.policy_.output.classes is None else accuracy_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def _check_fitted(self) -> None:
        if self.model is not None and not is_booster(self.model):
            check_is_fitted(self.model)

    def _stored_params(self) -> dict[str, Any]:
        # The policy holds all that prediction needs: a forest is stored as plain arrays.
        return {"model": None}

    def _restore(self, policy: Policy) -> None:
        self.model = policy.source.model if isinstance(policy, WholePolicy) else None
        self.costs = policy.costs
        self._stored = policy
        self._stored_with = Snapshot(self.model)

    def within(self, budget: Any) -> PricedModel:
        """A copy that never spends more than ``budget`` on a case; as one read from a file."""
        policy = self.policy_.limited(budget_quanta(budget))
        if policy.limit is not None:
            policy.check_budget()
        return self._with_policy(policy)

    def _with_policy(self, policy: Policy) -> PricedModel:
        twin = PricedModel(self.model, self.costs)
        twin._restore(policy)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        # What is made from the parameters is made again: elsewhere all objects are new ones.
        state: dict[str, Any] = super().__getstate__()
        return {name: part for name, part in state.items() if name not in MADE}

    def __sklearn_clone__(self) -> PricedModel:
        twin = PricedModel(self.model, self.costs, self.fallback, self.background)
        for name in ("_stored", "_stored_with"):  # read from a file: that knows more
            if name in self.__dict__:
                setattr(twin, name, self.__dict__[name])
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.policy_.output.classes is None:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
        else:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


def from_ours(model: Any, costs: Costs) -> Policy | None:
    """Estimators of this library bring their own policy; only the prices are exchanged."""
    if not isinstance(model, CostAware):
        return None
    return model.policy_.priced(costs)


def from_sklearn_trees(model: Any, costs: Costs) -> Policy | None:
    """Trees and forests of scikit-learn, node by node."""
    if isinstance(model, BaseDecisionTree):
        members = [model]
    elif isinstance(model, FORESTS):
        members = model.estimators_
    else:
        return None
    if model.n_outputs_ != 1:
        raise ValueError(
            f"model has {model.n_outputs_} outputs: trees with one output can be priced."
        )
    nodes, root = join_nodes([tree_nodes(member) for member in members])
    leaf, value = nodes["left"] < 0, nodes["value"]
    trees = Trees.build(
        feature=np.where(leaf, -1, nodes["feature"]),
        # A split of empty values from all others has an infinite threshold; files hold finite ones.
        threshold=np.where(leaf, 0.0, np.nan_to_num(nodes["threshold"])),
        left=nodes["left"],
        right=nodes["right"],
        missing_left=nodes["missing_left"],
        value=value,
        root=root,
        base=value[root].mean(axis=0),
        average=True,
        single=True,
    )
    output = (
        Output("probabilities", np.asarray(model.classes_))
        if is_classifier(model)
        else Output("value")
    )
    return TreePolicy(costs, output, trees)


ADAPTERS: list[Callable[[Any, Costs], Policy | None]] = [
    from_ours,
    from_sklearn_trees,
    from_sklearn_boosting,
    from_lightgbm,
    from_xgboost,
]
"""Ways to see inside a model, tried in order; what none of them knows is read as a whole."""
