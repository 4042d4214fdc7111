"""The models whose sessions are attacked: every public estimator, and models of another library."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags

import worthwhile
from tests.attack.tariff import Tariff
from tests.estimators.small import make, public_estimators
from worthwhile import (
    Costs,
    EarlyExitRegressor,
    GreedyMiserRegressor,
    L1GateClassifier,
    PricedModel,
)
from worthwhile.policy.base import Policy

Array = np.ndarray[Any, Any]
FREE = "noise_0"


@dataclass
class Subject:
    """A fitted model and rows to walk through it."""

    name: str
    model: Any
    X: Any
    queries: bool = False
    """Whether rows go through it together, as the documents of a query."""
    policy: Policy = field(init=False)
    rows: Array = field(init=False)
    tariff: Tariff = field(init=False)
    budgeted: bool = field(init=False)
    """Whether it can answer from a part of its features."""

    def __post_init__(self) -> None:
        self.policy, self.rows = self.model.policy_, np.asarray(self.X, dtype=np.float64)
        self.tariff = Tariff.of(self.policy.costs)
        try:
            self.policy.check_budget()
            self.budgeted = True
        except ValueError:
            self.budgeted = False

    def like(self, rows: Array) -> Any:
        """Rows in the form of X."""
        if not hasattr(self.X, "columns"):
            return rows
        return type(self.X)(rows, columns=self.X.columns)


@cache
def subjects() -> list[Subject]:
    """All of them; fitted once per process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data
        return [*_ours(), *_wrapped(), *_gated(), *_rankers()]


def priced_frame(n_classes: int = 2) -> tuple[Any, Array, Costs]:
    """Columns with names, fees within fees, requirements, ceilings, a free column, a price of evaluation."""
    X, y, costs = worthwhile.datasets.make_priced_classification(
        150, seed=4, n_signals=3, n_noise=2, n_classes=n_classes, missing=0.08
    )
    data = costs.to_dict()
    # Prices that binary fractions cannot hold: a sum of floats would show.
    data["prices"] = [
        "0" if name == FREE else f"{price}.1"
        for name, price in zip(data["names"], data["prices"], strict=True)
    ]
    data["groups"]["scan"] = {"fee": "3.37", "features": ["dear_0", "dear_2", "noise_1"]}
    data["groups"]["room"] = {"fee": "1.41", "features": ["dear_1", "noise_1"]}
    data["groups"]["clinic"] = {"fee": "0.77", "features": [], "within": ["building"]}
    data["groups"]["building"] = {"fee": "2.29", "features": ["noise_0"]}
    for name in ("scan", "room"):
        data["groups"][name]["within"] = ["clinic"]
    data["requires"] = [["dear_1", ["noise_0"]], ["noise_0", ["dear_2"]]]
    data["ceilings"] = ["cheap_1", "dear_0", "dear_2", "panel_0"]
    return X, y, Costs.from_dict({**data, "evaluation": "0.013", "unit": "CAD"})


def _array(n_classes: int) -> tuple[Array, Array, Costs]:
    """Columns without names, and nothing to pay for evaluations."""
    X, y, costs = priced_frame(n_classes)
    data = costs.to_dict()
    for group in data["groups"].values():
        group["features"] = [costs.index(f) for f in group["features"]]
    data["requires"] = [
        [costs.index(f), [costs.index(r) for r in needed]] for f, needed in data["requires"]
    ]
    data["ceilings"] = [costs.index(f) for f in data["ceilings"]]
    return X.to_numpy(), y, Costs.from_dict({**data, "names": None, "evaluation": "0"})


def _ours() -> list[Subject]:
    found = []
    for name in public_estimators():
        tags = get_tags(make(name)).classifier_tags
        several = tags is not None and tags.multi_class
        for kind, (X, y, costs) in (
            ("frame", priced_frame()),
            ("array", _array(3 if several else 2)),
        ):
            model = make(name)
            if "costs" in model.get_params():
                model.set_params(costs=costs)
            target = y.astype(float) if tags is None else np.array(["a", "b", "c"])[y]
            found.append(Subject(f"{name} on a {kind}", model.fit(X, target), X))
    return found


def _wrapped() -> list[Subject]:
    X, y, costs = priced_frame(3)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    regression = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X.to_numpy(), y)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y)
    linear = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X.to_numpy(), y)
    by_position = _array(3)[2]
    models = {
        "tree": PricedModel(tree, costs),
        "regression tree": PricedModel(regression),
        "forest": PricedModel(forest, costs),
        "logistic regression": PricedModel(linear, by_position),
        "logistic regression with fallback": PricedModel(linear, by_position, fallback=1),
        "logistic regression with background": PricedModel(linear, by_position, background=X),
        "tree and forest mixed": PricedModel.mixed(
            PricedModel(tree, costs), PricedModel(forest, costs), 0.5
        ),
    }
    named = ("tree", "forest", "tree and forest mixed")
    return [
        Subject(f"{name} priced", model, X if name in named else X.to_numpy())
        for name, model in models.items()
    ]


def _gated() -> list[Subject]:
    X, y, costs = priced_frame()
    linear = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y)
    gates = {"logistic regression": linear, "forest": PricedModel(forest, costs)}
    return [
        Subject(
            f"gate before {name}", L1GateClassifier(m, costs=costs, random_state=0).fit(X, y), X
        )
        for name, m in gates.items()
    ]


def _rankers() -> list[Subject]:
    found = []
    for kind, (X, y, costs) in (("frame", priced_frame(3)), ("array", _array(3))):
        ranker = GreedyMiserRegressor(n_rounds=8, min_samples_leaf=5, costs=costs).fit(X, y * 1.0)
        model = EarlyExitRegressor(ranker, threshold=0.6, every=2).fit(X, y * 1.0)
        found.append(Subject(f"ranker on a {kind}", model, X, queries=True))
    return found
