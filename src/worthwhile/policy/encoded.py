"""A policy over columns that are made from those that are bought."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Expansion
from worthwhile.costs import Costs
from worthwhile.policy._sources import SourcesCase
from worthwhile.policy.base import Bundle, Floats, Outcome, Policy, State, read_inner
from worthwhile.policy.output import Output


class EncodedPolicy(Policy):
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
        super().__init__(costs, output)
        self.expansion, self.inner = expansion, inner
        self.exact = inner.exact  # type: ignore[misc]
        self.chooses_by_price = inner.chooses_by_price  # type: ignore[misc]

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Sources of which some row may read a column."""
        return np.unique(self.expansion.sources[self.inner.reads]).astype(np.intp)

    def check_budget(self) -> None:
        """As the policy inside."""
        self.inner.check_budget()

    def begin(self) -> EncodedCase:
        """Start a row."""
        return EncodedCase(self)

    def expanded(self, X: npt.NDArray[Any]) -> Floats:
        """What is made of rows; columns that nobody reads are left out."""
        return self.expansion.apply(X, self.reads)

    def batch(
        self, X: Floats, limit: int | None = None, *, billed: bool = True, **how: Any
    ) -> Outcome:
        """Make the columns, run the policy inside, and see which sources it took them from."""
        outcome = self.inner.batch(self.expanded(X), limit, billed=billed, **how)
        return outcome._replace(acquired=self.expansion.folded(outcome.acquired))

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True, **how: Any
    ) -> Outcome:  # fmt: skip
        """The same where some sources are not to be had."""
        columns = np.flatnonzero(np.isin(self.expansion.sources, missing)).tolist()
        outcome = self.inner.batch_without(self.expanded(X), limit, columns, billed=billed, **how)
        return outcome._replace(acquired=self.expansion.folded(outcome.acquired))

    def _priced(self, costs: Costs) -> EncodedPolicy:
        inner = self.inner.priced(prices_of_made(costs, self.expansion))
        return EncodedPolicy(costs, self.output, self.expansion, inner)

    def state(self) -> State:
        """The tables, and the policy inside."""
        return self.expansion.settings(), {**self.expansion.arrays(), "inner": self.inner}

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


class EncodedCase(SourcesCase):
    """One row: values of sources come in, columns made from them go to the case inside.

    Of a source that was asked for, the case inside learns the columns that it wanted; the others wait
    until it wants them, which costs nothing. So it goes the way that it goes in a batch, where every
    column is bought on its own.
    """

    def __init__(self, policy: EncodedPolicy) -> None:
        super().__init__(policy.inner.begin())
        self._expansion = policy.expansion
        self._source: list[int] = policy.expansion.sources.tolist()
        self._evaluation = policy.costs.flat.evaluation
        self._held: dict[int, list[float]] = {}  # columns of the sources that are known

    def _made_of(self, source: int) -> range:
        first = self._expansion.first
        return range(first[source], first[source + 1])

    def wants(self, left: int | None) -> list[Bundle]:
        """The sources of what the case inside wants, in its order."""
        while True:
            before = self._inner.evaluated
            bundles = self._inner.wants(left)
            self.evaluated = self._inner.evaluated
            if left is not None:
                left -= (self.evaluated - before) * self._evaluation
            free: list[int] = []
            self._wanted = {}
            for bundle in bundles:
                sources = tuple(dict.fromkeys(self._source[column] for column in bundle))
                if self._held.keys() >= set(sources):
                    free += bundle
                else:
                    self._wanted.setdefault(sources, []).append(bundle)
            if not free:
                return list(self._wanted)
            for column in free:
                self._inner.learn(column, self._made(column))
            if self._wanted:
                return list(self._wanted)

    def _made(self, column: int) -> float:
        source = self._source[column]
        return self._held[source][column - self._expansion.first[source]]

    def learn(self, feature: int, value: float) -> None:
        """What was wanted of the source; all that is made from it where nobody asked."""
        made: list[float] = self._expansion.of(feature, np.array([value]))[0].tolist()
        self._held[feature] = made
        columns = dict.fromkeys(self._wanted_of(feature)) or self._made_of(feature)
        self._inner.learn_all({column: self._made(column) for column in columns})

    def why(self, feature: int) -> str:
        """Why the first column of the source that is wanted is wanted."""
        return self._inner.why([*self._wanted_of(feature), *self._made_of(feature)][0])


def prices_of_made(costs: Costs, expansion: Expansion) -> Costs:
    """Prices of columns that are made from sources: whichever is read first pays for its source."""
    return costs if expansion.one_to_one else costs.expanded(expansion.counts)
