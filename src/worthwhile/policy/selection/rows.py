"""Rows in progress through factors: what is known, what it cost, what the data classifier says.

Shared by the learned choice (:mod:`worthwhile.policy.selection.learned`) and the fixed orders
(:mod:`worthwhile.policy.selection.static_order`). A factor is a bundle of columns that are bought together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import LARGEST, Floats, are_moderate

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

N_METAS = 6
"""Confidence, its change, whether the guess changed, cost, its change, cost / confidence."""


@dataclass(frozen=True)
class Layout:
    """Which columns belong to which factor, and how they are standardised.

    Attributes
    ----------
    features : int32 (entries,), columns of factor 0, 1, ..., and last the free ones
    start : int32 (n_factors + 2,), factor f owns entries ``start[f]`` to ``start[f + 1] - 1``; the
        free columns are number ``n_factors``
    mean, scale : float64 (entries,), a value x is read as (x - mean) / scale, a missing one as 0
    """

    features: npt.NDArray[np.int32]
    start: npt.NDArray[np.int32]
    mean: Floats
    scale: Floats

    @property
    def n_factors(self) -> int:
        """Number of factors, the free columns not counted."""
        return len(self.start) - 2

    @property
    def n_entries(self) -> int:
        """Number of columns that are read at all."""
        return len(self.features)

    @cached_property
    def _slices(self) -> list[slice]:
        start = self.start.tolist()
        return [slice(*ends) for ends in pairwise(start)]

    def entries(self, factor: int) -> slice:
        """Entries of a factor."""
        return self._slices[factor]

    def columns(self, factor: int) -> npt.NDArray[np.int32]:
        """Columns of a factor."""
        return self.features[self.entries(factor)]

    def owner(self) -> Ints:
        """Factor of each entry."""
        return np.repeat(np.arange(self.n_factors + 1), np.diff(self.start))

    def standardise(self, values: Floats, entries: slice) -> Floats:
        """Values (m, width of the entries) as the models read them."""
        z = (values - self.mean[entries]) / self.scale[entries]
        if (missing := np.isnan(values)).any():
            z[missing] = 0.0
        return z

    def problem(self, n_features: int) -> str:
        """What is unsafe about the arrays; empty if nothing."""
        start, n = self.start.astype(np.int64), len(self.features)
        if len(start) < 2 or start[0] != 0 or start[-1] != n or (start[1:] < start[:-1]).any():
            return "start does not cut the entries into factors"
        if (start[1:-1] <= start[:-2]).any():
            return "a factor has no columns"
        if n and not 0 <= self.features.min() <= self.features.max() < n_features:
            return "features are out of range"
        if len(np.unique(self.features)) != n:
            return "a column is listed twice"
        if len(self.mean) != n or len(self.scale) != n:
            return "mean and scale do not fit the entries"
        if not are_moderate(self.mean, self.scale):
            return f"mean and scale are not finite, or over {LARGEST}"
        return "" if (self.scale >= 1 / LARGEST).all() else "scale is not positive"


class FactorPrices:
    """What factors cost, in quanta, where fees may be shared by several of them.

    Attributes
    ----------
    own : int64 (n_factors,), prices of the columns and the fees that no other factor shares
    fee : int64 (n_shared,), fees that several factors share
    touches : bool (n_factors, n_shared), which factors pay which of them
    shared : the same as a list per factor
    total : what all columns of the data cost together
    """

    def __init__(self, costs: Costs, layout: Layout) -> None:
        flat, n = costs.flat, layout.n_factors
        touches, members = np.zeros((n, len(flat.fee)), dtype=bool), flat.members
        own = np.zeros(n, dtype=np.int64)
        for f in range(n):
            columns = layout.columns(f)
            own[f] = flat.price[columns].sum()
            touches[f] = members[columns].any(axis=0)
        shared = touches.sum(axis=0) > 1
        for g in np.flatnonzero(~shared):
            own[touches[:, g]] += flat.fee[g]
        self.own, self.fee, self.touches = own, flat.fee[shared], touches[:, shared]
        self.shared = [np.flatnonzero(row).tolist() for row in self.touches]
        self.total = flat.total

    def marginal(self, opened: Bools) -> Ints:
        """Price of every factor for rows that have paid some of the shared fees, (m, n_factors)."""
        price = np.tile(self.own, (len(opened), 1))
        for g, fee in enumerate(self.fee):
            price += fee * (self.touches[:, g] & ~opened[:, g, None])
        return price

    def of(self, bought: Bools) -> Ints:
        """Price of sets of factors, (m,)."""
        price: Ints = bought @ self.own  # whole numbers: exact in any order
        for g, fee in enumerate(self.fee):
            price += fee * bought[:, self.touches[:, g]].any(axis=1)
        return price


@dataclass(frozen=True)
class Linear:
    """A linear function of the known columns and of marks that say which factors are known.

    Attributes
    ----------
    weight : float64 (entries, width)
    mark : float64 (n_factors, width)
    bias : float64 (width,)
    """

    weight: Floats
    mark: Floats
    bias: Floats

    def part(self, layout: Layout, factor: int, z: Floats) -> Floats:
        """What a factor adds for rows with standardised values z, (m, width).

        The products are added one column after the other, so a row alone gives the same bits.
        """
        weight = self.weight[layout.entries(factor)]
        if z.size * weight.shape[1] < 100_000:
            total: Floats = np.add.accumulate(z[:, :, None] * weight, axis=1)[:, -1]
        else:
            total = z[:, :1] * weight[0]
            for column in range(1, len(weight)):
                total += z[:, column, None] * weight[column]
        return total + self.mark[factor] if factor < len(self.mark) else total

    def problem(self, layout: Layout, width: int) -> str:
        """What is unsafe about the arrays; empty if nothing."""
        shapes = (layout.n_entries, width), (layout.n_factors, width), (width,)
        for array, shape in zip((self.weight, self.mark, self.bias), shapes, strict=True):
            if array.shape != shape:
                return f"an array of shape {array.shape} should have {shape}"
            if not are_moderate(array):
                return f"a weight is not finite, or over {LARGEST}"
        return ""


@dataclass(frozen=True)
class ForeignScorer:
    """Probabilities of a classifier of another library.

    Attributes
    ----------
    model : a fitted classifier of class codes 0, 1, ...
    n_classes : number of classes, of which the model may have seen fewer
    masked : whether the marks are inputs of the model, after the values
    layout, fill, names : where the model came fitted and takes the user's own columns (of all
        classes, under their labels): how values were standardised, what stands for columns that are
        not known (d,), and the names of the columns that it asks for
    """

    model: Any
    n_classes: int
    masked: bool
    layout: Layout | None = None
    fill: Floats | None = None
    names: list[str] | None = None

    def __call__(self, z: Floats, marks: Floats) -> Floats:
        """Probabilities (m, n_classes) from standardised values and marks, 0 where unknown."""
        chances = np.zeros((len(z), self.n_classes))
        if not len(z):
            return chances
        if self.fill is None:
            inputs = np.hstack([z, marks]) if self.masked else z
            chances[:, self.model.classes_] = self.model.predict_proba(inputs)
            return chances
        assert self.layout is not None
        rows: Any = np.tile(self.fill, (len(z), 1))
        rows[:, self.layout.features] = self.layout.mean + self.layout.scale * z
        if self.names is not None:
            import pandas as pd

            rows = pd.DataFrame(rows, columns=self.names)
        chances[:] = self.model.predict_proba(rows)
        return chances


@dataclass(frozen=True)
class Model:
    """What a dynamic and a fixed order share: factors, their prices, the data classifier."""

    layout: Layout
    scorer: Linear | ForeignScorer
    """Logits, or a foreign model's probabilities."""
    prices: FactorPrices

    @classmethod
    def of(cls, costs: Costs, layout: Layout, scorer: Linear | ForeignScorer) -> Model:
        """At these prices."""
        return cls(layout, scorer, FactorPrices(costs, layout))


class Chooser(Protocol):
    """Scores of the actions: one per factor, and last to stop."""

    def linear(self) -> Linear | None:
        """The part that can be added up factor by factor, if there is one."""

    def scores(self, partial: Floats, metas: Floats, guess: Ints) -> Floats:
        """Scores (m, n_factors + 1) from the partial sums, or from (z, marks) without them."""


def join(model: Model, chooser: Chooser | None) -> Linear | None:
    """What is linear in the data classifier and in the chooser, side by side: one sum gives both."""
    both = model.scorer, chooser.linear() if chooser is not None else None
    parts = [part for part in both if isinstance(part, Linear)]
    if len(parts) < 2:
        return parts[0] if parts else None
    return Linear(
        np.hstack([part.weight for part in parts]),
        np.hstack([part.mark for part in parts]),
        np.concatenate([part.bias for part in parts]),
    )


class RowStates:
    """Rows in progress: a batch has many, a case one. Both do the same arithmetic."""

    def __init__(
        self, model: Model, chooser: Chooser | None, n: int, joint: Linear | None = None
    ) -> None:
        layout = model.layout
        self._model, self._chooser = model, chooser
        self._linear = isinstance(model.scorer, Linear)
        self._adds_up = chooser is not None and chooser.linear() is not None
        self._joint = joint if joint is not None else join(model, chooser)
        self._n_raw = len(model.scorer.bias) if isinstance(model.scorer, Linear) else 0
        self.bought = np.zeros((n, layout.n_factors), dtype=bool)
        self.spent = np.zeros(n, dtype=np.int64)
        """List price of the factors that are known, which is what the chooser sees as cost."""
        self.opened = np.zeros((n, len(model.prices.fee)), dtype=bool)
        if self._joint is not None:
            self._sums = np.tile(self._joint.bias, (n, 1))
        self._keeps = not self._linear or (chooser is not None and not self._adds_up)
        self._z = np.zeros((n, layout.n_entries if self._keeps else 0))
        self._last = np.full((n, 3), np.nan)

    def add(self, rows: Any, factor: int, values: Floats) -> None:
        """Take in the values (m, columns of the factor) of some rows."""
        model = self._model
        layout = model.layout
        entries = layout.entries(factor)
        z = layout.standardise(values, entries)
        if self._joint is not None:
            self._sums[rows] += self._joint.part(layout, factor, z)
        if self._keeps:
            self._z[rows, entries] = z
        if factor < layout.n_factors:
            self.spent[rows] += model.prices.own[factor]
            for g in model.prices.shared[factor]:
                self.spent[rows] += model.prices.fee[g] * ~self.opened[rows, g]
                self.opened[rows, g] = True
            self.bought[rows, factor] = True

    def raw(self, rows: Any) -> Floats:
        """Answer of the data classifier with what is known."""
        scorer = self._model.scorer
        if isinstance(scorer, Linear):
            raw: Floats = self._sums[rows, : self._n_raw]
            return raw
        return scorer(self._z[rows], self.bought[rows].astype(np.float64))

    def scores(self, rows: Any) -> Floats:
        """Look at the rows as they are now and score their actions."""
        assert self._chooser is not None
        model, raw = self._model, self.raw(rows)
        confidence = confidence_of(raw) if self._linear else raw.max(axis=1)
        guess = np.argmax(raw, axis=1)
        metas, self._last[rows] = meta_features(
            confidence, guess, self.spent[rows] / max(model.prices.total, 1), self._last[rows]
        )
        partial = (
            self._sums[rows, self._n_raw :]
            if self._adds_up
            else np.hstack([self._z[rows], self.bought[rows].astype(np.float64)])
        )
        return self._chooser.scores(partial, metas, guess)


def meta_features(
    confidence: Floats, guess: Ints, cost: Floats, last: Floats
) -> tuple[Floats, Floats]:
    """Meta-features (m, N_METAS) of section 3.3, and what the next call needs as ``last``.

    ``last`` is (m, 3): confidence, guess and cost at the decision before, NaN at the first one,
    where all changes are 0.
    """
    now, metas = np.empty((len(cost), 3)), np.empty((len(cost), N_METAS))
    now[:, 0], now[:, 1], now[:, 2] = confidence, guess, cost
    last = np.where(np.isnan(last), now, last)
    change = now - last
    metas[:, 0], metas[:, 1], metas[:, 2] = confidence, change[:, 0], change[:, 1] != 0
    metas[:, 3], metas[:, 4] = cost, change[:, 2]
    np.divide(cost, np.maximum(confidence, 1e-6), out=metas[:, 5])
    return metas, now


def metas_of_one(
    now: tuple[float, int, float], last: tuple[float, int, float] | None
) -> tuple[float, ...]:
    """The same of one row, from (confidence, guess, cost) now and before: plain numbers, same bits."""
    confidence, guess, cost = now
    gain, moved, paid = (
        (confidence - last[0], float(guess != last[1]), cost - last[2]) if last else (0.0, 0.0, 0.0)
    )
    return confidence, gain, moved, cost, paid, cost / max(confidence, 1e-6)


def confidence_of(raw: Floats) -> Floats:
    """Highest softmax probability of rows of logits: what belongs to the largest is exp(0)."""
    power = np.exp(np.ascontiguousarray(raw - np.maximum.reduce(raw, axis=1, keepdims=True)))
    # Accumulating adds column after column, whatever the number of rows.
    total: Floats = np.add.accumulate(power, axis=1)[:, -1]
    return 1.0 / total


def expand(layout: Layout, bought: Bools, n_features: int) -> Bools:
    """Factors that were bought (m, n_factors) as columns (m, n_features), with the free ones."""
    acquired = np.zeros((len(bought), n_features), dtype=bool)
    for factor in range(layout.n_factors):
        acquired[:, layout.columns(factor)] = bought[:, factor, None]
    acquired[:, layout.columns(layout.n_factors)] = True
    return acquired
