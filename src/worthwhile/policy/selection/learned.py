"""Buying factor by factor: a learned choice of what to buy next for this case, or to stop."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Floats, Outcome, State
from worthwhile.policy.output import Output
from worthwhile.policy.selection._one_row import AnyRow, LinearRow, Plan, Row, make_plan
from worthwhile.policy.selection.choosers import chooser_state, read_choosers
from worthwhile.policy.selection.factors import (
    CHUNK,
    MODEL_ARRAYS,
    FactorCase,
    FactorPolicy,
    model_arrays,
    read_model,
)
from worthwhile.policy.selection.rows import (
    Bools,
    Chooser,
    Ints,
    Linear,
    Model,
    RowStates,
    expand,
    join,
)


def pick(scores: Floats, open_: Bools) -> Ints:
    """Best action of each row among the factors still on sale and stopping (the last number)."""
    allowed = scores.copy()
    np.copyto(allowed[:, :-1], -np.inf, where=~open_)
    best: Ints = np.argmax(allowed, axis=1)
    return best


class SelectionPolicy(FactorPolicy):
    """Buys the factor that the chooser of one trade-off scores highest, until that is to stop.

    Parameters
    ----------
    costs, output, model
        As for :class:`~worthwhile.policy.selection.factors.FactorPolicy`.
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
        model: Model,
        choosers: Sequence[Chooser],
        lams: Sequence[float],
        chosen: int = 0,
    ) -> None:
        super().__init__(costs, output, model)
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
                self.costs, self.output, self.model, self.choosers, self.lams, number
            )
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
        model = read_model((settings, rest), costs, output)
        lams, chosen = settings.get("lams"), settings.get("chosen")
        if not isinstance(lams, list) or not lams or not all(isinstance(x, float) for x in lams):
            raise ValueError(f"lams is {lams!r}, not a list of numbers")
        if type(chosen) is not int or not 0 <= chosen < len(lams):
            raise ValueError(f"chosen is {chosen!r}, not one of {len(lams)} trade-offs")
        choosers = read_choosers(own, len(lams), model.layout, output.n_raw or 0)
        return cls(costs, output, model, choosers, lams, chosen)


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
