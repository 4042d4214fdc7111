"""A policy over columns that are made from those that are bought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Expansion
from worthwhile.costs import Costs
from worthwhile.policy._made import MadeCase, MadePolicy
from worthwhile.policy.base import Floats, Policy, State, read_inner
from worthwhile.policy.output import Output


class EncodedPolicy(MadePolicy):
    """Buys source columns; the policy inside works on what is made from them.

    Laws, bills, sessions and files speak of the sources. A source that is bought gives all columns
    that are made from it, and they cost nothing beside it.

    Parameters
    ----------
    costs : Costs
        Prices of the sources.
    output : Output
        As that of the policy inside.
    expansion : Expansion
        How columns are made.
    inner : Policy
        Over the columns that are made, under :func:`prices_of_made`.
    """

    kind = "encoded"

    def __init__(self, costs: Costs, output: Output, expansion: Expansion, inner: Policy) -> None:
        super().__init__(costs, output, expansion, inner)
        self.expansion = expansion

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Sources of which some row may read a column."""
        return np.unique(self.expansion.sources[self.inner.reads]).astype(np.intp)

    def begin(self) -> EncodedCase:
        """Start a row."""
        return EncodedCase(self)

    def made(self, X: npt.NDArray[Any]) -> Floats:
        """What is made of rows; columns that nobody reads are left out."""
        return self.expansion.apply(X, self.reads)

    def _made_of(self, sources: Sequence[int]) -> list[int]:
        columns: list[int] = np.flatnonzero(np.isin(self.expansion.sources, sources)).tolist()
        return columns

    def _prices_of_made(self, costs: Costs) -> Costs:
        return prices_of_made(costs, self.expansion)

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> EncodedPolicy:
        """Read and check the tables and the policy inside."""
        settings, arrays = state
        inner, tables = read_inner(arrays, output)
        expansion = Expansion.from_state(costs.n_features, settings.get("parts"), tables)
        if inner.n_features != len(expansion.sources):
            raise ValueError(
                f"inner has {inner.n_features} columns, {len(expansion.sources)} are made"
            )
        return cls(costs, output, expansion, inner.priced(prices_of_made(costs, expansion)))


class EncodedCase(MadeCase):
    """One row: a source that is known gives all columns that are made from it."""

    def __init__(self, policy: EncodedPolicy) -> None:
        self._expansion = policy.expansion
        super().__init__(policy.inner, policy.expansion.source_of, policy.expansion.made_of)
        self._held: dict[int, list[float]] = {}  # columns of the sources that are known

    def _make(self, columns: list[int]) -> list[float]:
        return [self._one(column) for column in columns]

    def _one(self, column: int) -> float:
        (source,) = self._sources[column]
        if source not in self._held:
            values = np.array([self._known[source]])
            self._held[source] = self._expansion.of(source, values)[0].tolist()
        return self._held[source][column - self._expansion.first[source]]


def prices_of_made(costs: Costs, expansion: Expansion) -> Costs:
    """Prices of columns that are made from sources: whichever is read first pays for its source."""
    return costs if expansion.one_to_one else costs.expanded(expansion.counts)
