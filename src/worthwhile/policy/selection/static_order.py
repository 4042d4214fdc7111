"""A fixed order of factors, the same for every case."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Floats, Outcome, State
from worthwhile.policy.output import Output
from worthwhile.policy.selection.factors import (
    CHUNK,
    FactorCase,
    FactorPolicy,
    model_arrays,
    read_model,
)
from worthwhile.policy.selection.rows import Model, RowStates, expand
from worthwhile.policy.till import Till


class StaticOrderPolicy(FactorPolicy):
    """Buys the first factors of a list and asks the data classifier.

    Parameters
    ----------
    costs, output, model
        As for :class:`~worthwhile.policy.selection.factors.FactorPolicy`.
    order : sequence of int
        Factors to buy, in this order.
    """

    kind = "static-order"

    def __init__(self, costs: Costs, output: Output, model: Model, order: Sequence[int]) -> None:
        super().__init__(costs, output, model)
        self.order = tuple(int(f) for f in order)

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns of the factors in the list, and the free ones."""
        layout = self.model.layout
        columns = [layout.columns(f) for f in (*self.order, layout.n_factors)]
        return np.sort(np.concatenate(columns)).astype(np.intp)

    def begin(self) -> StaticOrderCase:
        """Start a row with nothing known."""
        return StaticOrderCase(self)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows buy the same: prices do not depend on values."""
        if self.charges_for_free:
            return super().batch(X, limit, billed=billed)
        layout, each = self.model.layout, self.costs.flat.evaluation
        till = Till(self.costs, limit)
        stages = 1 if limit is None or each <= limit else 0
        bought = [f for f in self.order if stages and till.buy(self.members[0][f], stages)]
        starts = range(0, max(len(X), 1), CHUNK)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are refused by the caller
            raw = [self._answers(X[i : i + CHUNK], bought) for i in starts]
        mask = np.zeros((len(X), layout.n_factors), dtype=bool)
        mask[:, bought] = True
        acquired = expand(layout, mask, self.n_features)
        return Outcome(np.concatenate(raw), acquired, np.full(len(X), stages, dtype=np.int64))

    def _answers(self, X: Floats, bought: list[int]) -> Floats:
        layout, rows = self.model.layout, RowStates(self.model, None, len(X))
        for factor in (layout.n_factors, *bought):
            if len(columns := layout.columns(factor)) and len(X):
                rows.add(slice(None), factor, X[:, columns].astype(np.float64))
        return rows.raw(slice(None))

    def state(self) -> State:
        """The arrays of the factors and the data classifier, and the order."""
        return {"order": list(self.order), **self._model_settings()}, model_arrays(self.model)

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> StaticOrderPolicy:
        """Read and check what :meth:`state` wrote."""
        settings = state[0]
        model = read_model(state, costs, output)
        order = settings.get("order")
        if (
            not isinstance(order, list)
            or not all(type(f) is int and 0 <= f < model.layout.n_factors for f in order)
            or len(set(order)) < len(order)
        ):
            raise ValueError(f"order is {order!r}, not a list of different factors")
        return cls(costs, output, model, order)


class StaticOrderCase(FactorCase):
    """One row: it wants the free columns and the whole list at once."""

    def __init__(self, policy: StaticOrderPolicy) -> None:
        super().__init__(*policy.members)
        self._policy = policy
        self._started = False

    def wants(self, left: int | None) -> list[Bundle]:
        """What is missing of the free columns, then of each factor in the list."""
        if not self._started:
            self._started = True
            self.evaluated = int(left is None or self._policy.costs.flat.evaluation <= left)
        order = self._policy.order if self.evaluated else ()
        bundles: list[Bundle] = [(column,) for column in self.missing(self._n_factors)]
        return bundles + [missing for factor in order if (missing := self.missing(factor))]

    def answer(self) -> Floats:
        """The data classifier on the factors that are known, added in the order of the list."""
        rows = RowStates(self._policy.model, None, 1)
        others = [f for f in range(self._n_factors) if f not in self._policy.order]
        for factor in (self._n_factors, *self._policy.order, *others):
            if not self.missing(factor) and (values := self.row(factor)):
                rows.add(slice(None), factor, np.array([values]))
        raw: Floats = rows.raw(slice(None))[0]
        return raw
