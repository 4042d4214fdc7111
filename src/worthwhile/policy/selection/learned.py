"""Buying factor by factor: a learned choice of what to buy next for this case, or to stop."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State, are_moderate
from worthwhile.policy.foreign import Foreign, try_out
from worthwhile.policy.output import Output
from worthwhile.policy.selection._one_row import AnyRow, LinearRow, Plan, Row, make_plan
from worthwhile.policy.selection.choosers import chooser_state, read_choosers
from worthwhile.policy.selection.rows import (
    Bools,
    Chooser,
    FactorPrices,
    ForeignScorer,
    Ints,
    Layout,
    Linear,
    Model,
    RowStates,
    expand,
    join,
)
from worthwhile.policy.trees import check_arrays

CHUNK = 4096
"""Rows of a batch that are handled together."""


def pick(scores: Floats, open_: Bools) -> Ints:
    """Best action of each row among the factors still on sale and stopping (the last number)."""
    allowed = scores.copy()
    np.copyto(allowed[:, :-1], -np.inf, where=~open_)
    best: Ints = np.argmax(allowed, axis=1)
    return best


class FactorPolicy(Policy):
    """Buys factors and asks the data classifier.

    Parameters
    ----------
    costs, output
        As for every policy.
    layout : Layout
        The factors.
    scorer : Linear or callable
        The data classifier: logits, or a foreign model's probabilities.
    """

    def __init__(
        self, costs: Costs, output: Output, layout: Layout, scorer: Linear | ForeignScorer
    ) -> None:
        super().__init__(costs, output)
        self.model = Model(layout, scorer, FactorPrices(costs, layout))

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


class SelectionPolicy(FactorPolicy):
    """Buys the factor that the chooser of one trade-off scores highest, until that is to stop.

    Parameters
    ----------
    costs, output, layout, scorer
        As for :class:`FactorPolicy`.
    choosers : sequence of LinearChooser or TreeChooser
        One per trade-off.
    lams : sequence of float
        The trade-offs, in the same order.
    chosen : int
        Which of them is in use.
    """

    kind = "selection"
    chooses_by_price = True  # the share of the full price spent so far is what its choosers look at

    def __init__(
        self,
        costs: Costs,
        output: Output,
        layout: Layout,
        scorer: Linear | ForeignScorer,
        choosers: Sequence[Chooser],
        lams: Sequence[float],
        chosen: int = 0,
    ) -> None:
        super().__init__(costs, output, layout, scorer)
        self.choosers, self.lams, self.chosen = tuple(choosers), tuple(lams), chosen
        self._others: dict[int, SelectionPolicy] = {}

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns of all factors, and the free ones."""
        return np.sort(self.model.layout.features).astype(np.intp)

    def at(self, lam: float) -> SelectionPolicy:
        """The same with another of the trade-offs in use."""
        if lam not in self.lams:
            raise ValueError(
                f"lam is {lam!r}, but the model was fitted for {', '.join(map(repr, self.lams))}: use one of these, "
                "or fit again with it in extra_lams."
            )
        number = self.lams.index(lam)
        if number == self.chosen:
            return self
        if number not in self._others:  # kept: a request may come with any of them
            self._others[number] = SelectionPolicy(
                self.costs, self.output, self.model.layout, self.model.scorer,
                self.choosers, self.lams, number,
            )  # fmt: skip
        return self._others[number]

    @cached_property
    def joint(self) -> Linear | None:
        """The linear parts of the data classifier and of the chooser in use, in one piece."""
        return join(self.model, self.choosers[self.chosen])

    @cached_property
    def plan(self) -> Plan | None:
        """What rows of sessions share; None where something is not linear."""
        return make_plan(self.model, self.choosers[self.chosen])

    def begin(self) -> SelectionCase:
        """Start a row with nothing known."""
        return SelectionCase(self)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows step by step; rows that buy the same factor are handled together."""
        if self.charges_for_free:
            return super().batch(X, limit, billed=billed)
        starts = range(0, max(len(X), 1), CHUNK)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are refused by the caller
            parts = [self._drive(X[i : i + CHUNK], limit) for i in starts]
        raw, bought, evaluated = (np.concatenate(p) for p in zip(*parts, strict=True))
        return Outcome(raw, expand(self.model.layout, bought, self.n_features), evaluated)

    def _drive(self, X: Floats, limit: int | None) -> tuple[Floats, Bools, Ints]:
        layout, each = self.model.layout, self.costs.flat.evaluation
        rows = RowStates(self.model, self.choosers[self.chosen], len(X), self.joint)
        evaluated = np.zeros(len(X), dtype=np.int64)
        free = layout.columns(layout.n_factors)
        if len(free) and len(X):
            rows.add(slice(None), layout.n_factors, X[:, free].astype(np.float64))
        open_ = np.ones((len(X), layout.n_factors), dtype=bool)
        active = np.arange(len(X))
        while True:
            active = active[open_[active].any(axis=1)]
            if limit is not None:
                active = active[rows.spent[active] + (evaluated[active] + 1) * each <= limit]
            if len(active) == 0:
                return rows.raw(slice(None)), rows.bought, evaluated
            evaluated[active] += 1
            left = None if limit is None else limit - evaluated[active] * each
            choice = self._choose(rows, active, open_, left)
            active, choice = active[choice < layout.n_factors], choice[choice < layout.n_factors]
            for factor in np.unique(choice):
                here = active[choice == factor]
                values = X[np.ix_(here, layout.columns(factor))].astype(np.float64)
                rows.add(here, int(factor), values)
                open_[here, factor] = False

    def _choose(self, rows: RowStates, active: Ints, open_: Bools, left: Ints | None) -> Ints:
        """Best actions that fit; what does not fit is refused for good."""
        scores = rows.scores(active)
        choice = pick(scores, open_[active])
        if left is None:
            return choice
        after = rows.spent[active, None] + self.model.prices.marginal(rows.opened[active])
        after = np.column_stack([after, rows.spent[active]])
        while (dear := after[np.arange(len(active)), choice] > left).any():
            open_[active[dear], choice[dear]] = False
            choice = pick(scores, open_[active])
        return choice

    def state(self) -> State:
        """The arrays of the factors, the data classifier and the choosers."""
        settings = {"lams": list(self.lams), "chosen": self.chosen, **self._model_settings()}
        return settings, model_arrays(self.model) | chooser_state(self.choosers)

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> SelectionPolicy:
        """Read and check what :meth:`state` wrote."""
        settings, arrays = state
        own = {name: a for name, a in arrays.items() if name not in MODEL_ARRAYS}
        rest = {name: a for name, a in arrays.items() if name in MODEL_ARRAYS}
        layout, scorer = read_model((settings, rest), costs, output)
        lams, chosen = settings.get("lams"), settings.get("chosen")
        if not isinstance(lams, list) or not lams or not all(isinstance(x, float) for x in lams):
            raise ValueError(f"lams is {lams!r}, not a list of numbers")
        if type(chosen) is not int or not 0 <= chosen < len(lams):
            raise ValueError(f"chosen is {chosen!r}, not one of {len(lams)} trade-offs")
        choosers = read_choosers(own, len(lams), layout, output.n_raw or 0)
        return cls(costs, output, layout, scorer, choosers, lams, chosen)


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


def read_model(state: State, costs: Costs, output: Output) -> tuple[Layout, Linear | ForeignScorer]:
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
        return layout, judge
    scorer = Linear(*(arrays[name] for name in ("weight", "mark", "bias")))
    if problem := scorer.problem(layout, n_classes):
        raise ValueError(problem)
    return layout, scorer


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


class SelectionCase(FactorCase):
    """One row: it waits for the factor that was chosen last."""

    def __init__(self, policy: SelectionPolicy) -> None:
        super().__init__(*policy.members)
        chooser = policy.choosers[policy.chosen]
        self._row: Row = LinearRow(policy.plan) if policy.plan else AnyRow(policy.model, chooser)
        self._evaluation = policy.costs.flat.evaluation
        self._closed: set[int] = set()
        self._added: set[int] = set()
        self._looked = False
        self._waits = self._n_factors
        self._stopped = False

    def _settle(self, factor: int) -> None:
        if factor in self._added:
            return
        if factor < self._n_factors and factor not in self._closed:
            self._closed.add(factor)
            self._row.close(factor)
        values = self.row(factor)
        if values:
            self._added.add(factor)
            self._row.add(factor, values)
            self._looked = False

    def wants(self, left: int | None) -> list[Bundle]:
        """The free columns first; then one factor at a time."""
        if self._unsettled[self._waits]:
            waiting = self.missing(self._waits)
            return [(c,) for c in waiting] if self._waits == self._n_factors else [waiting]
        if self._stopped or len(self._closed) == self._n_factors:
            return []
        if not self._looked:
            if left is not None and left < self._evaluation:
                return []
            self.evaluated += 1
            self._row.look()
            self._looked = True
        choice = self._row.best()
        self._stopped = choice == self._n_factors
        if self._stopped:
            return []
        self._waits = choice
        return [self.missing(choice)]

    def answer(self) -> Floats:
        """The data classifier on what is known."""
        return self._row.raw()
