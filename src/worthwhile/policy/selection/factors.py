"""Buying factors and asking a data classifier: what learned and fixed orders share, and what files keep of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Case, Floats, Policy, State, are_moderate
from worthwhile.policy.foreign import Foreign, try_out
from worthwhile.policy.output import Output
from worthwhile.policy.selection.rows import ForeignScorer, Layout, Linear, Model
from worthwhile.policy.trees import check_arrays

CHUNK = 4096
"""Rows of a batch that are handled together."""


class FactorPolicy(Policy):
    """Buys factors and asks the data classifier.

    Parameters
    ----------
    costs, output
        As for every policy.
    model : Model
        The factors at these prices, and the data classifier.
    """

    def __init__(self, costs: Costs, output: Output, model: Model) -> None:
        super().__init__(costs, output)
        self.model = model

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether batch and session agree to the last bit: not where a foreign model answers."""
        return isinstance(self.model.scorer, Linear)

    @cached_property
    def members(self) -> tuple[list[Bundle], dict[int, int]]:
        """The factors as tuples, for cases."""
        return members_of(self.model.layout)

    @cached_property
    def charges_for_free(self) -> bool:
        """Whether columns that were free in training have a price today: then rows go one by one."""
        free = self.model.layout.columns(self.model.layout.n_factors)
        return bool(self.costs.flat.alone[free].any())

    def _model_settings(self) -> dict[str, Any]:
        """What a file needs to know about a foreign data classifier."""
        scorer = self.model.scorer
        if not isinstance(scorer, ForeignScorer):
            return {}
        named = {} if scorer.names is None else {"named": True}
        return {"masked": scorer.masked, **named}


MODEL_ARRAYS = ("features", "start", "mean", "scale", "weight", "mark", "bias", "model", "fill")
"""What :func:`model_arrays` may write."""


def model_arrays(model: Model) -> dict[str, Any]:
    """The factors and the data classifier for a model file."""
    layout, scorer = model.layout, model.scorer
    arrays = {
        "features": layout.features, "start": layout.start,
        "mean": layout.mean, "scale": layout.scale,
    }  # fmt: skip
    if isinstance(scorer, ForeignScorer):
        filled = {} if scorer.fill is None else {"fill": scorer.fill}
        return arrays | {"model": Foreign(scorer.model), **filled}
    return arrays | {"weight": scorer.weight, "mark": scorer.mark, "bias": scorer.bias}


def read_model(state: State, costs: Costs, output: Output) -> Model:
    """Read and check what :func:`model_arrays` wrote."""
    settings, arrays = state
    arrays = dict(arrays)
    foreign = arrays.pop("model", None)
    expected = {"features": "i4", "start": "i4", "mean": "f8", "scale": "f8"}
    if foreign is None:
        expected |= {"weight": "f8", "mark": "f8", "bias": "f8"}
    elif "fill" in arrays:
        expected["fill"] = "f8"
    check_arrays(arrays, expected, {"weight": 2, "mark": 2})
    layout = Layout(*(arrays[name] for name in ("features", "start", "mean", "scale")))
    if problem := layout.problem(costs.n_features):
        raise ValueError(problem)
    if output.kind != ("logits" if foreign is None else "probabilities"):
        raise ValueError(f"output is {output.kind!r}")
    n_classes = output.n_raw or 0
    if foreign is not None:
        if not isinstance(foreign, Foreign) or not isinstance(settings.get("masked"), bool):
            raise ValueError("no foreign model")
        judge = ForeignScorer(
            foreign.value, n_classes, settings["masked"], *_given(settings, arrays, layout, costs)
        )
        nothing = np.zeros((1, layout.n_entries)), np.zeros((1, layout.n_factors))
        try_out(foreign.value, lambda: judge(*nothing))
        return Model.of(costs, layout, judge)
    scorer = Linear(*(arrays[name] for name in ("weight", "mark", "bias")))
    if problem := scorer.problem(layout, n_classes):
        raise ValueError(problem)
    return Model.of(costs, layout, scorer)


def _given(
    settings: Mapping[str, Any], arrays: Mapping[str, Any], layout: Layout, costs: Costs
) -> tuple[Layout | None, Floats | None, list[str] | None]:
    """How a model that came fitted sees rows of the user's table; nothing for one that we trained."""
    fill, named = arrays.get("fill"), settings.get("named", False)
    names = None if costs.feature_names is None else list(costs.feature_names)
    if fill is None:
        if named:
            raise ValueError("a model that was trained on factors asks for no names")
        return None, None, None
    if settings["masked"] or fill.shape != (costs.n_features,) or not are_moderate(fill):
        raise ValueError("fill does not have a moderate number for every column")
    if named is not True and named is not False:
        raise ValueError("named is not true or false")
    if named and names is None:
        raise ValueError("the model asks for names that the prices do not have")
    return layout, fill, names if named else None


def members_of(layout: Layout) -> tuple[list[Bundle], dict[int, int]]:
    """Columns of each factor (the free ones last), and the factor of each column."""
    members = [tuple(layout.columns(f).tolist()) for f in range(layout.n_factors + 1)]
    return members, {c: f for f, columns in enumerate(members) for c in columns}


class FactorCase(Case):
    """One row in which factors become known as their columns do.

    A factor is known when each of its columns is known or cannot be had, and at least one is
    known; what cannot be had stands at its training mean.
    """

    def __init__(self, members: list[Bundle], owner: dict[int, int]) -> None:
        self._members, self._owner = members, owner
        self._n_factors = len(members) - 1
        self._unsettled = [len(columns) for columns in members]
        self._values: dict[int, float] = {}
        self._refused: set[int] = set()

    def missing(self, factor: int) -> Bundle:
        """Columns of a factor that are still to be had."""
        if self._unsettled[factor] == len(self._members[factor]):
            return self._members[factor]
        return tuple(
            c for c in self._members[factor] if c not in self._values and c not in self._refused
        )

    def row(self, factor: int) -> list[float] | None:
        """Values of a settled factor, NaN where they cannot be had; None if none is known."""
        known, columns = self._values, self._members[factor]
        if not self._refused:
            return [known[column] for column in columns]
        if known.keys().isdisjoint(columns):
            return None
        return [known.get(column, math.nan) for column in columns]

    def learn(self, feature: int, value: float) -> None:
        """Take in a value."""
        known = self._values
        if feature in known or feature in self._refused:
            known[feature] = value
            self._refused.discard(feature)
            self._note(feature, False)
            return
        known[feature] = value
        factor = self._owner.get(feature)
        if factor is not None:
            left = self._unsettled[factor] = self._unsettled[factor] - 1
            if not left:
                self._settle(factor)

    def learn_all(self, values: Mapping[int, float]) -> None:
        """Take in several values; a whole factor is settled at once."""
        columns = tuple(values)
        factor = self._owner.get(columns[0], self._n_factors) if columns else self._n_factors
        if columns != self._members[factor] or self._unsettled[factor] < len(columns):
            super().learn_all(values)
            return
        self._values.update(values)
        self._unsettled[factor] = 0
        self._settle(factor)

    def refuse(self, bundle: Bundle) -> None:
        """Note what cannot be had."""
        for feature in bundle:
            news = feature not in self._values and feature not in self._refused
            self._refused.add(feature)
            self._note(feature, news)

    def _note(self, feature: int, news: bool) -> None:
        factor = self._owner.get(feature)
        if factor is None:
            return
        left = self._unsettled[factor] = self._unsettled[factor] - news
        if not left:
            self._settle(factor)

    def _settle(self, factor: int) -> None:
        """React to a factor of which every column is known or cannot be had."""
