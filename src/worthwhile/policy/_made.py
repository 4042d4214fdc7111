"""Policies over columns that are made from those that are bought, and one row on its way through them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State
from worthwhile.policy.keys import Coin
from worthwhile.policy.output import Output

Mask = npt.NDArray[np.bool_]


class Maker(Protocol):
    """How columns are made from sources."""

    def folded(self, made: Mask, /) -> Mask:
        """Sources of the columns that are marked, (n, n_sources)."""

    def settings(self) -> dict[str, Any]:
        """What is no array, as JSON values."""

    def arrays(self) -> dict[str, Any]:
        """The rest by name."""


class MadePolicy(Policy):
    """Buys source columns; the policy inside works on columns that are made from them.

    Laws, bills, sessions and files speak of the sources.
    """

    def __init__(self, costs: Costs, output: Output, maker: Maker, inner: Policy) -> None:
        super().__init__(costs, output)
        self._maker, self.inner = maker, inner
        self.exact = inner.exact  # type: ignore[misc]
        self.chooses_by_price = inner.chooses_by_price  # type: ignore[misc]

    @abstractmethod
    def made(self, X: npt.NDArray[Any]) -> Floats:
        """What is made of rows; columns that nobody reads are left out."""

    @abstractmethod
    def _made_of(self, sources: Sequence[int]) -> list[int]:
        """Columns that some of the sources have a part in."""

    @abstractmethod
    def _prices_of_made(self, costs: Costs) -> Costs:
        """What the columns cost where sources cost this."""

    def check_budget(self) -> None:
        """As the policy inside."""
        self.inner.check_budget()

    @property
    def coin(self) -> Coin | None:
        """That of the policy inside."""
        return self.inner.coin

    def following(self, dearer: bool) -> Policy:
        """The same over the one of two policies inside; made once, since they keep what walks need."""
        if self.coin is None:
            return self
        sides: dict[bool, Policy] = vars(self).setdefault("_sides", {})
        if dearer not in sides:
            sides[dearer] = self._changed(inner=self.inner.following(dearer))
        return sides[dearer]

    def keyed(self, key: str | None) -> Policy:
        """As the policy inside: without a key it may stay undecided."""
        if key is None and self.inner.keyed(None) is not self.inner:
            return self.following(False)
        return super().keyed(key)

    def batch(
        self, X: Floats, limit: int | None = None, *, billed: bool = True, **how: Any
    ) -> Outcome:
        """Make the columns that may be read, run the policy inside, see which sources fed what it took."""
        outcome = self.inner.batch(self.made(X), limit, billed=billed, **how)
        return outcome._replace(acquired=self._maker.folded(outcome.acquired))

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True, **how: Any
    ) -> Outcome:  # fmt: skip
        """The same where some sources are not to be had."""
        gone = self._made_of(missing)
        outcome = self.inner.batch_without(self.made(X), limit, gone, billed=billed, **how)
        return outcome._replace(acquired=self._maker.folded(outcome.acquired))

    def _priced(self, costs: Costs) -> Policy:
        inner = self.inner.priced(self._prices_of_made(costs))
        return type(self)(costs, self.output, self._maker, inner)

    def state(self) -> State:
        """How columns are made, and the policy inside."""
        return self._maker.settings(), {**self._maker.arrays(), "inner": self.inner}


class MadeCase(Case):
    """Values of sources come in, columns made from them go to the case inside.

    Of what was asked for, the case inside learns the columns that it wanted; others wait until it wants
    them, which costs nothing. So it goes the way that it goes in a batch, where every column is bought
    on its own.

    Parameters
    ----------
    inner : Policy
        Over the columns that are made.
    sources : sequence of tuples of int
        What each column is made of; nothing, for a constant.
    made_of : sequence of sequences of int
        The columns that each source has a part in.
    """

    def __init__(
        self, inner: Policy, sources: Sequence[tuple[int, ...]], made_of: Sequence[Sequence[int]]
    ) -> None:
        self._inner = inner.begin()
        self._evaluation = inner.costs.flat.evaluation
        self._sources, self._made_of = sources, made_of
        self._known: dict[int, float] = {}
        self._told: set[int] = set()
        self._wanted: dict[Bundle, list[Bundle]] = {}  # inside, by what was asked for

    @abstractmethod
    def _make(self, columns: list[int]) -> list[float]:
        """Columns whose sources are all known."""

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
                if missing := self._missing(bundle):
                    self._wanted.setdefault(missing, []).append(bundle)
                else:
                    free += bundle
            self._tell(free)
            if self._wanted or not free:
                return list(self._wanted)

    def _missing(self, bundle: Bundle) -> Bundle:
        """Sources of some columns that are not known yet."""
        sources = dict.fromkeys(source for column in bundle for source in self._sources[column])
        return tuple(source for source in sources if source not in self._known)

    def _tell(self, columns: Iterable[int]) -> None:
        """Let the case inside learn those of the columns that are complete and new to it."""
        new = [
            column
            for column in dict.fromkeys(columns)
            if column not in self._told and not self._missing((column,))
        ]
        if new:
            self._told.update(new)
            self._inner.learn_all(dict(zip(new, self._make(new), strict=True)))

    def learn(self, feature: int, value: float) -> None:
        """What was wanted of the source; all that is made from it where nobody asked."""
        self._known[feature] = value
        asked = [
            column
            for sources, bundles in self._wanted.items()
            if feature in sources
            for bundle in bundles
            for column in bundle
        ]
        self._tell(asked or self._made_of[feature])

    def refuse(self, bundle: Bundle) -> None:
        """What was wanted from these sources cannot be had, and of a single source nothing at all."""
        columns = list(dict.fromkeys(c for source in bundle for c in self._made_of[source]))
        for wanted in self._wanted.pop(bundle, [tuple(columns)]):
            self._inner.refuse(wanted)
        if len(bundle) == 1:
            for column in columns:
                self._inner.refuse((column,))

    def answer(self) -> Floats:
        """What the case inside says."""
        return self._inner.answer()

    @property
    def where(self) -> Any:
        """Where the case inside stands."""
        return self._inner.where

    def why(self, feature: int) -> str:
        """Why the first column of the source that is wanted is wanted."""
        for sources, bundles in self._wanted.items():
            for column in (column for bundle in bundles for column in bundle):
                if feature in sources and feature in self._sources[column]:
                    return self._inner.why(column)
        made = self._made_of[feature]
        return self._inner.why(made[0]) if len(made) else "the model reads it next"
