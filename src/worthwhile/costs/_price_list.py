"""What a price list says: features and their prices, groups and their fees, what requires what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from worthwhile._messages import some
from worthwhile.costs._flat import FlatCosts, Mask
from worthwhile.costs._forms import new_name
from worthwhile.costs._money import MOST_QUANTA, QUANTA_PER_UNIT, as_decimal, as_float, to_quanta
from worthwhile.costs._reading import in_order, read_groups, read_prices, read_requires
from worthwhile.exceptions import CostsError

if TYPE_CHECKING:
    from worthwhile.costs._measure import Timing

Feature = str | int


@dataclass(frozen=True)
class Group:
    """Features that share a fee, paid once when the first of them is bought.

    Attributes
    ----------
    fee : Decimal
    features : tuple of the features that the group lists
    within : tuple of str, groups that it stands in: their fees are due with its own
    """

    fee: Decimal
    features: tuple[Feature, ...]
    within: tuple[str, ...] = ()


class PriceList:
    """The constructor of :class:`~worthwhile.Costs`, and what was described to it."""

    def __init__(
        self,
        prices: Mapping[str, Any] | Sequence[Any] | npt.NDArray[Any],
        groups: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        requires: Mapping[Any, Any] | None = None,
        evaluation: Any = 0,
        unit: str = "",
    ) -> None:
        names, amounts, self._ceilings = read_prices(prices)
        self._names = names
        self._index: dict[str, int] = {name: i for i, name in enumerate(names or ())}
        self._price = np.array(amounts, dtype=np.int64)
        structure = read_groups(groups or {}, self.index)
        self._group_names = tuple(groups or {})
        self._members, self._within = structure.members, structure.within
        self._fee = np.array(structure.fees, dtype=np.int64)
        self._opens = structure.opens(len(amounts))
        self._requires = read_requires(requires or {}, len(amounts), self.index)
        self._evaluation = to_quanta(evaluation, "evaluation")
        if not isinstance(unit, str):
            raise CostsError(
                f"unit is {unit!r}: it is the name of the unit, such as 'CAD' or 'ms'."
            )
        self._unit = unit
        self._measured: dict[Feature, Timing] | None = None
        if (full := sum(amounts) + sum(structure.fees)) > MOST_QUANTA:
            raise CostsError(
                f"all features together cost {as_float(full):,.0f}: a full bill "
                f"goes up to {MOST_QUANTA / QUANTA_PER_UNIT:,.0f}. Use a larger unit."
            )

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Names in column order, or None when prices were given by position."""
        return self._names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._price)

    @property
    def features(self) -> tuple[Feature, ...]:
        """How features are called: by name where there are names, else by column index."""
        return self._names if self._names is not None else tuple(range(self.n_features))

    @property
    def prices(self) -> dict[Feature, Decimal]:
        """Own price of each feature, exact."""
        return {f: as_decimal(q) for f, q in zip(self.features, self._price, strict=True)}

    @property
    def ceilings(self) -> tuple[Feature, ...]:
        """Features whose price is known only afterwards: what stands in ``prices`` is its ceiling."""
        return tuple(self.names_of(sorted(self._ceilings)))

    def is_ceiling(self, index: int) -> bool:
        """Whether the price of a column is known only afterwards."""
        return index in self._ceilings

    @property
    def own(self) -> npt.NDArray[np.int64]:
        """Own price of each feature in quanta, in column order."""
        return self._price

    def name(self, index: int) -> Feature:
        """What feature number ``index`` is called."""
        return self._names[index] if self._names is not None else index

    def names_of(self, indices: Sequence[int]) -> list[Feature]:
        """What features are called."""
        names = self._names
        return [*indices] if names is None else [names[index] for index in indices]

    def index(self, feature: Feature) -> int:
        """Column of a feature given by name, or by column where there are no names."""
        if type(feature) is int and self._names is None and 0 <= feature < len(self._price):
            return feature  # in a session, this is asked for every value
        if isinstance(feature, str):
            if (column := self._index.get(feature)) is not None:
                return column
        elif (
            self._names is None
            and isinstance(feature, (int, np.integer))
            and not isinstance(feature, bool)
            and 0 <= feature < self.n_features
        ):
            return int(feature)
        known = (
            f"the features are {some(self._names)}"
            if self._names is not None
            else f"the features have no names; use a column index from 0 to {self.n_features - 1}"
        )
        raise CostsError(f"unknown feature {feature!r}: {known}.")

    def columns_of(self, features: Any, what: str) -> list[int]:
        """Columns of a list of features, which is called ``what`` where it is refused."""
        if type(features) is tuple and not features:
            return []  # nothing was said: single rows and sessions should not pay for it
        if isinstance(features, (str, bytes)) or not isinstance(features, Iterable):
            raise CostsError(f"{what} is {features!r}: give a list of features.")
        return sorted({self.index(feature) for feature in features})

    # Groups and requirements ---------------------------------------------------------------------

    @property
    def groups(self) -> dict[str, Group]:
        """The groups with their fees, members and the groups that they stand within."""
        names, called = self._group_names, self.names_of
        return {
            name: Group(as_decimal(fee), tuple(called(members)), tuple(names[g] for g in within))
            for name, fee, members, within in zip(
                names, self._fee, self._members, self._within, strict=True
            )
        }

    def fees_of(self, feature: Feature) -> tuple[str, ...]:
        """Names of the groups whose fees a feature opens, all that they stand within included."""
        return tuple(self._group_names[g] for g in self.lists[1][self.index(feature)])

    @cached_property
    def fee_names(self) -> tuple[str, ...]:
        """What the fees are called, in the order of ``flat.fee``: groups, then required features."""
        taken = set(self._group_names)
        values = (new_name(str(self.name(feature)), taken) for feature in self._required)
        return (*self._group_names, *values)

    @property
    def requires(self) -> dict[Feature, tuple[Feature, ...]]:
        """What each feature requires, of those that require something."""
        if not self._required:  # every step of a session asks
            return {}
        return {
            self.name(f): tuple(self.names_of(needed)) for f, needed in enumerate(self._requires) if needed
        }  # fmt: skip

    @cached_property
    def requirements(self) -> list[tuple[int, ...]]:
        """Columns that each column requires, directly or not; what is required comes first."""
        return [in_order(f, self._requires) for f in range(self.n_features)]

    @cached_property
    def _required(self) -> list[int]:
        """Columns that something requires."""
        return sorted({f for needed in self._requires for f in needed})

    def dependents(self, columns: Iterable[int]) -> list[int]:
        """Some columns and all that require one of them, ascending."""
        given = set(columns)
        return [
            f for f in range(self.n_features) if f in given or not given.isdisjoint(self.requirements[f])
        ] if given else []  # fmt: skip

    def closed(self, acquired: Mask) -> Mask:
        """Purchases (n, d) together with all that they require."""
        if not self._required or not len(acquired):
            return acquired
        found = acquired.copy()
        for feature, needed in enumerate(self.requirements):
            if needed:
                found[:, needed] |= acquired[:, [feature]]
        return found

    @property
    def evaluation(self) -> Decimal:
        """Price of evaluating one tree or stage."""
        return as_decimal(self._evaluation)

    @property
    def unit(self) -> str:
        """Name of the unit."""
        return self._unit

    @property
    def measured(self) -> dict[Feature, Timing] | None:
        """The timings behind the prices, when they come from :meth:`measure`."""
        return self._measured

    # For those who compute -----------------------------------------------------------------------

    @cached_property
    def flat(self) -> FlatCosts:
        """The same as plain arrays, for kernels.

        What something requires has its price as a fee here, which it opens itself and whatever
        requires it, so that a set of features costs what it costs with all that it requires.
        """
        if not self._required:
            return FlatCosts.of(self._price, self._opens, self._fee, self._evaluation)
        price, value_fee = self._price.copy(), {}
        for number, feature in enumerate(self._required):
            value_fee[feature] = len(self._fee) + number
        opens = []
        for feature, needed in enumerate(self.requirements):
            whole = (feature, *needed)
            own = {g for f in whole for g in self._opens[f]}
            opens.append(sorted(own | {value_fee[f] for f in whole if f in value_fee}))
        price[self._required] = 0
        fee = np.concatenate([self._fee, self._price[self._required]])
        return FlatCosts.of(price, opens, fee, self._evaluation)

    @cached_property
    def _payers(self) -> list[npt.NDArray[np.intp]]:
        """The features that open each fee of ``flat``."""
        return self.flat.payers()

    @cached_property
    def lists(self) -> tuple[list[int], list[list[int]], list[int]]:
        """Prices, the fees that each feature opens, and fees: for single rows faster than arrays."""
        return self._price.tolist(), self._opens, self._fee.tolist()
