"""One row on its way through factors, for sessions: what :class:`RowStates` does, at a third of the time.

For a single row the calls of numpy cost more than the arithmetic. What does not depend on the row
is cut into contiguous blocks once per policy, and marks are columns whose value is always 1, so
that a purchase is one product and one sum. The bits are those of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from worthwhile.policy.base import Floats
from worthwhile.policy.selection.choosers import LinearChooser
from worthwhile.policy.selection.rows import (
    N_METAS,
    Chooser,
    Linear,
    Model,
    RowStates,
    join,
    metas_of_one,
)


class Row(Protocol):
    """One row in progress."""

    def add(self, factor: int, values: Sequence[float]) -> None:
        """Take in the values of a factor, NaN where they are missing."""

    def close(self, factor: int) -> None:
        """Take a factor off sale."""

    def look(self) -> None:
        """Score the actions in view of what is known now."""

    def best(self) -> int:
        """The action of highest score among the factors on sale and stopping (the last number)."""

    def raw(self) -> Floats:
        """Answer of the data classifier with what is known, (n_raw,)."""


class Block(NamedTuple):
    """A factor: how its columns are standardised, and what they add to all sums at once."""

    mean: Floats
    scale: Floats
    weight: Floats
    mark: tuple[float, ...]
    """(1.0,) where the last line of the arrays is the mark of the factor, else nothing."""
    price: int
    shared: tuple[int, ...]
    """Fees that it shares with others."""


@dataclass(frozen=True)
class Plan:
    """What all rows share.

    Attributes
    ----------
    start : float64 (n_classes + n_actions,), sums before anything is known
    blocks : one per factor, and last the free columns
    metas : per guess, weights of the meta-features and of that guess (N_METAS + 1, n_actions)
    """

    start: Floats
    n_classes: int
    blocks: list[Block]
    metas: list[Floats]
    fee: list[int]
    total: float


def make_plan(model: Model, chooser: Chooser) -> Plan | None:
    """Cut up a policy; None where its data classifier or its chooser is not linear."""
    if not isinstance(model.scorer, Linear) or not isinstance(chooser, LinearChooser):
        return None
    joint, layout, prices = join(model, chooser), model.layout, model.prices
    assert joint is not None
    n, blocks = layout.n_factors, []
    for factor in range(n + 1):
        entries, is_free = layout.entries(factor), factor == n
        mean, scale, weight = layout.mean[entries], layout.scale[entries], joint.weight[entries]
        if not is_free:  # (1 - 0) / 1 is exact
            mean, scale = np.append(mean, 0.0), np.append(scale, 1.0)
            weight = np.vstack([weight, joint.mark[factor]])
        own, shared = (0, []) if is_free else (int(prices.own[factor]), prices.shared[factor])
        mark = () if is_free else (1.0,)
        blocks.append(Block(mean, scale, np.ascontiguousarray(weight), mark, own, tuple(shared)))
    n_classes = len(model.scorer.bias)
    metas = [np.vstack([chooser.meta[:N_METAS], w]) for w in chooser.meta[N_METAS:]]
    fee, total = prices.fee.tolist(), float(max(prices.total, 1))
    return Plan(joint.bias, n_classes, blocks, metas, fee, total)


class LinearRow:
    """A row whose data classifier and chooser are both linear."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._sums = plan.start.copy()
        self._raw, self._partial = self._sums[: plan.n_classes], self._sums[plan.n_classes :]
        self._terms = np.empty((N_METAS + 2, len(self._partial)))
        self._scores = self._partial
        self._spent, self._opened = 0, set[int]()
        self._last: tuple[float, int, float] | None = None

    def add(self, factor: int, values: Sequence[float]) -> None:
        """Take in the values of a factor, NaN where they are missing."""
        block = self._plan.blocks[factor]
        z = np.array((*values, *block.mark))
        z -= block.mean
        z /= block.scale
        total = sum(values)
        if total != total:
            z[np.isnan(z[: len(values)]).nonzero()] = 0.0
        if len(z):
            # Over the first axis of a block of several columns, numpy adds line after line.
            self._sums += np.add.reduce(z[:, None] * block.weight, axis=0)
        self._spent += block.price
        for group in block.shared:
            if group not in self._opened:
                self._opened.add(group)
                self._spent += self._plan.fee[group]

    def close(self, factor: int) -> None:
        """Take a factor off sale: whatever is added to its score, it stays the lowest."""
        self._partial[factor] = self._scores[factor] = -np.inf

    def look(self) -> None:
        """Score the actions: partial sums, then the meta-features in order, then the guess."""
        raw, plan = self._raw, self._plan
        guess, total = int(raw.argmax()), 0.0
        for power in np.exp(raw - raw[guess]).tolist():
            total += power
        now = 1.0 / total, guess, self._spent / plan.total
        metas = np.array((*metas_of_one(now, self._last), 1.0))
        self._last, terms = now, self._terms
        terms[0] = self._partial
        np.multiply(metas[:, None], plan.metas[guess], out=terms[1:])
        self._scores = np.add.reduce(terms, axis=0)

    def best(self) -> int:
        """The action of highest score among the factors on sale and stopping."""
        return int(self._scores.argmax())

    def raw(self) -> Floats:
        """Answer of the data classifier with what is known."""
        return self._raw.copy()


class AnyRow:
    """The only row of a batch: for foreign data classifiers and choosers made of trees."""

    def __init__(self, model: Model, chooser: Chooser) -> None:
        self._rows = RowStates(model, chooser, 1)
        self._open = np.ones(model.layout.n_factors + 1, dtype=bool)
        self._scores = np.zeros(len(self._open))

    def add(self, factor: int, values: Sequence[float]) -> None:
        """Take in the values of a factor, NaN where they are missing."""
        self._rows.add(slice(None), factor, np.array([values]))

    def close(self, factor: int) -> None:
        """Take a factor off sale."""
        self._open[factor] = False

    def look(self) -> None:
        """Score the actions in view of what is known now."""
        self._scores = self._rows.scores(slice(None))[0]

    def best(self) -> int:
        """The action of highest score among the factors on sale and stopping."""
        return int(np.where(self._open, self._scores, -np.inf).argmax())

    def raw(self) -> Floats:
        """Answer of the data classifier with what is known."""
        raw: Floats = self._rows.raw(slice(None))[0]
        return raw
