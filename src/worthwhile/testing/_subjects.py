"""From an estimator to fitted models and the rows they are checked on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

from worthwhile.costs import Costs
from worthwhile.datasets import make_priced_classification, make_priced_regression
from worthwhile.testing._subject import Subject

N_TRAIN = 160
EVALUATION = "0.037"
MISSING = 0.08


def subjects(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    costs: Any = None,
    seed: int = 0,
    rows: int = 16,
    trusted: tuple[str, ...] = (),
) -> Iterator[Subject]:
    """The models that :func:`~worthwhile.testing.check_contract` looks at; its parameters.

    Examples
    --------
    >>> import worthwhile
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = worthwhile.datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=2).fit(heart.data, heart.target)
    >>> subject = next(subjects(worthwhile.PricedModel(tree, heart.costs), heart.data))
    >>> subject.name
    'PricedModel on the data given'
    """
    if _fitted(estimator):
        if X is None:
            raise ValueError(
                "X is None: a fitted model is checked on data like its own. Give some rows of it."
            )
        given = None if costs is None else Costs.of(costs, *_columns(X))
        yield Subject(
            estimator, X[:rows], "the data given", given=given, seed=seed, trusted=trusted
        )
        return
    if X is not None:
        if y is None:
            raise ValueError("y is None: an estimator that is to be fitted on X needs its target.")
        yield _fit(estimator, X, y, costs, "the data given", seed, rows, trusted)
        return
    for data, X_made, y_made, prices in _generated(estimator, seed):
        yield _fit(estimator, X_made, y_made, costs or prices, data, seed, rows, trusted)


def _fitted(estimator: Any) -> bool:
    return not hasattr(estimator, "fit") or "policy_" in vars(estimator)


def _columns(X: Any) -> tuple[int, list[str] | None]:
    if hasattr(X, "columns"):
        names = list(X.columns)
        return len(names), names if all(isinstance(name, str) for name in names) else None
    return np.asarray(X).shape[1], None


def _generated(estimator: Any, seed: int) -> Iterator[tuple[str, Any, Any, Costs]]:
    """Priced data with fees (nested ones with an array), gaps and a price of evaluation; small."""
    size: Any = {"n_signals": 3, "n_noise": 2, "missing": MISSING}
    if not is_classifier(estimator):
        X, target, costs = make_priced_regression(N_TRAIN, seed, **size)
        yield "a frame", X, target, _with_evaluation(costs)
        yield "an array", X.to_numpy(), target, _by_position(_nested(costs))
        return
    X, y, costs = make_priced_classification(N_TRAIN, seed, **size)
    labels = np.array(["no", "yes"])[y]
    yield "a frame with text labels", X, labels, _with_evaluation(costs)
    yield "an array", X.to_numpy(), y, _by_position(_nested(costs))
    if get_tags(estimator).classifier_tags.multi_class:
        X, y, costs = make_priced_classification(N_TRAIN, seed, n_classes=3, **size)
        yield "a frame with three classes", X, y, costs


def _with_evaluation(costs: Costs) -> Costs:
    data = costs.to_dict()
    # Prices that binary fractions cannot hold: a sum of floats would show.
    data["prices"] = [f"{price}.1" for price in data["prices"]]
    return Costs.from_dict({**data, "evaluation": EVALUATION, "unit": "CAD"})


def _nested(costs: Costs) -> Costs:
    """The same with fees that nest and cross, and a feature that requires another."""
    data, first = costs.to_dict(), costs.features[0]
    outer = "all of it"
    for group in data["groups"].values():
        group["within"] = [outer]
    data["groups"][outer] = {"fee": "0.59", "features": []}
    data["groups"]["across"] = {
        "fee": "1.3", "features": [first, costs.features[-1]], "within": [outer]
    }  # fmt: skip
    requires = [[costs.features[3], [costs.features[-2]]], [costs.features[-2], [first]]]
    return Costs.from_dict({**data, "requires": requires})


def _by_position(costs: Costs) -> Costs:
    """The same without names, for an array."""
    data = costs.to_dict()
    for group in data["groups"].values():
        group["features"] = [costs.index(f) for f in group["features"]]
    data["requires"] = [
        [costs.index(f), [costs.index(needed) for needed in more]]
        for f, more in costs.requires.items()
    ]
    return Costs.from_dict({**data, "names": None})


def _fit(
    estimator: Any, X: Any, y: Any, costs: Any, data: str, seed: int, rows: int, trusted: Any
) -> Subject:
    known = estimator.get_params(deep=False)
    base = clone(estimator)
    if "random_state" in known:
        base.set_params(random_state=seed)
    if costs is not None and "costs" in known:
        base.set_params(costs=costs)
    given = None
    if "costs" in known and base.get_params(deep=False)["costs"] is not None:
        given = Costs.of(base.get_params(deep=False)["costs"], *_columns(X))

    def fit(**params: Any) -> Any:
        return clone(base).set_params(**params).fit(X, y)

    return Subject(
        fit(), X[:rows], data, fit=fit, train=(X, y), given=given, seed=seed, trusted=trusted
    )
