"""The description of prices that everything else asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from worthwhile._html import html_table
from worthwhile._messages import some
from worthwhile.costs._flat import FlatCosts, Mask
from worthwhile.costs._forms import (
    from_plain,
    made_columns,
    new_name,
    some_columns,
    structure_of,
    to_plain,
    with_prices,
)
from worthwhile.costs._money import (
    MOST_QUANTA,
    QUANTA_PER_UNIT,
    as_decimal,
    as_float,
    as_floats,
    to_quanta,
)
from worthwhile.costs._reading import in_order, read_groups, read_prices, read_requires
from worthwhile.exceptions import CostsError

if TYPE_CHECKING:
    import os

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


class Costs:
    """Price per feature, fees shared in any pattern, the price of evaluating a tree or stage.

    Parameters
    ----------
    prices : mapping, sequence or array
        Price of every feature, by name or in column order. 0 means free. A price that is known only
        afterwards (tokens, time) declares a ceiling, ``{"ceiling": 0.05}``: asks, budgets and bills of
        batches count the ceiling, a session's ledger what was paid.
    groups : mapping of str to {"fee": number, "features": [...], "within": group or groups}, optional
        The fee is paid once per row, when the first feature of the group is bought. This covers
        group discounts, descriptors whose features come almost free after the first, and bundles
        (fee > 0, own prices 0). A feature may be in several groups, and a group may stand within
        others (a panel within a blood draw): then their fees are due as well, each once. A group
        that others stand within may list no features of its own.
    requires : mapping of feature to feature or features, optional
        What can be bought only with or after something else, such as ``{"biopsy": "scan"}``. Who wants
        the one without having the other buys both, the required one first, or neither.
    evaluation : number, default=0
        Price of evaluating one tree or stage.
    unit : str, default=""
        Name of the unit, such as "CAD" or "ms"; only shown.

    Notes
    -----
    Amounts are whole numbers of 1e-9 units, so sums are exact in any order. A price is read as the
    shortest decimal of its own type: ``np.float32(0.1)`` is 0.1.

    Examples
    --------
    >>> costs = Costs({"age": 1, "chol": 5.17, "fbs": 3.10},
    ...               groups={"blood": {"fee": 2.10, "features": ["chol", "fbs"]}}, unit="CAD")
    >>> costs.price(["chol"]), costs.price(["chol", "fbs"])
    (7.27, 10.37)
    >>> costs.marginal("fbs", have=["chol"])
    3.1
    >>> Costs([0.1, 0.2]).price([True, True])
    0.3

    A courier for blood and urine alike, and a panel inside the blood draw:

    >>> costs = Costs({"chol": 5, "hdl": 1, "ldl": 1, "ph": 2},
    ...               groups={"courier": {"fee": 10},
    ...                       "blood": {"fee": 3, "features": ["chol"], "within": "courier"},
    ...                       "panel": {"fee": 4, "features": ["hdl", "ldl"], "within": "blood"},
    ...                       "urine": {"fee": 2, "features": ["ph"], "within": "courier"}})
    >>> costs.price(["chol"]), costs.price(["hdl"]), costs.price(["hdl", "ph"])
    (18.0, 18.0, 22.0)
    """

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

    # What is described ---------------------------------------------------------------------------

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

    @property
    def total(self) -> float:
        """What buying everything costs."""
        return as_float(self.flat.total)

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
    def lists(self) -> tuple[list[int], list[list[int]], list[int]]:
        """Prices, the fees that each feature opens, and fees: for single rows faster than arrays."""
        return self._price.tolist(), self._opens, self._fee.tolist()

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
        if isinstance(features, (str, bytes)) or not isinstance(features, Iterable):
            raise CostsError(f"{what} is {features!r}: give a list of features.")
        return sorted({self.index(feature) for feature in features})

    # What things cost ----------------------------------------------------------------------------

    def quanta(self, acquired: Any, evaluated: Any = 0) -> npt.NDArray[np.int64]:
        """Bill of each row in whole quanta; see :meth:`price`."""
        mask = self._mask(acquired)
        rows = mask.reshape(-1, self.n_features)
        return self.flat.bill(rows, evaluated).reshape(mask.shape[:-1])

    def price(self, acquired: Any, evaluated: Any = 0) -> Any:
        """What a set of features costs together with all that it requires, each and each fee once.

        Parameters
        ----------
        acquired : bool array (d,) or (n, d), or a list of features
            What was bought, for one row or for a batch.
        evaluated : int or int array (n,), default=0
            Trees or stages evaluated, each at the price of an evaluation.

        Returns
        -------
        float or float64 array (n,)
        """
        quanta = self.quanta(acquired, evaluated)
        return as_float(int(quanta)) if quanta.ndim == 0 else as_floats(quanta)

    def marginal(self, feature: Feature, have: Any = ()) -> float:
        """What buying one more feature adds for a row that already has ``have``."""
        mask = self._mask(have)
        if mask.ndim != 1:
            raise CostsError("have is a batch: marginal takes the purchases of one row.")
        return as_float(self.marginal_quanta(self.index(feature), mask))

    def marginal_quanta(self, index: int, have: Mask) -> int:
        """The same in quanta, for a column index and a mask."""
        return int(self.flat.after(have).alone[index])

    def _mask(self, acquired: Any) -> Mask:
        if not isinstance(acquired, np.ndarray):
            items = list(acquired)
            if all(
                isinstance(f, (str, int, np.integer)) and not isinstance(f, bool) for f in items
            ):
                mask = np.zeros(self.n_features, dtype=bool)
                mask[[self.index(f) for f in items]] = True
                return mask
            acquired = np.asarray(acquired)
        if acquired.dtype != bool or acquired.shape[-1:] != (self.n_features,) or acquired.ndim > 2:
            raise CostsError(
                f"acquired has dtype {acquired.dtype} and shape {acquired.shape}: give a list of features, or "
                f"booleans of shape ({self.n_features},) or (n, {self.n_features})."
            )
        mask = np.asarray(acquired, dtype=bool)
        return mask

    # Other forms ---------------------------------------------------------------------------------

    def select(self, columns: Iterable[Feature]) -> Costs:
        """The prices of some columns, in that order; groups keep the members that are left.

        Examples
        --------
        >>> Costs({"a": 1, "b": 2, "c": 3}).select(["c", "a"]).prices
        {'c': Decimal('3'), 'a': Decimal('1')}
        """
        indices = [self.index(column) for column in columns]
        if len(set(indices)) < len(indices):
            raise CostsError("columns has a feature twice: a column has one price.")
        names = None if self._names is None else tuple(self._names[i] for i in indices)
        return type(self)(**some_columns(self, names, indices))

    def resolve(self, n_features: int, names: Sequence[str] | None = None) -> Costs:
        """The prices in the column order of given data.

        Parameters
        ----------
        n_features : int
            Number of columns of the data.
        names : sequence of str, optional
            Its column names.
        """
        if self._names is None:
            if self.n_features != n_features:
                raise CostsError(
                    f"costs has {self.n_features} prices but the data has {n_features} columns: give one price "
                    "per column, 0 for a free one."
                )
            names = None if names is None else tuple(names)
            return type(self)(**some_columns(self, names, range(n_features)))
        if names is None:
            raise CostsError(
                "costs are by name but the data has no column names: pass a data frame, or the prices as an "
                "array in column order."
            )
        if missing := [name for name in names if name not in self._index]:
            raise CostsError(f"no price for {some(missing)}: add it to costs, 0 if it is free.")
        if unknown := sorted(set(self._names) - set(names)):
            raise CostsError(
                f"costs has prices for {some(unknown)}, which the data does not have: "
                "use costs.select(X.columns), or add the columns."
            )
        return self.select(names)

    @classmethod
    def of(cls, costs: Any, n_features: int, names: Sequence[str] | None = None) -> Costs:
        """Read what estimators accept as ``costs=`` for given data: None means 1 per feature."""
        if costs is None:
            costs = cls(np.ones(n_features, dtype=np.int64))
        elif not isinstance(costs, cls):
            costs = cls(costs)
        resolved: Costs = costs.resolve(n_features, names)
        return resolved

    def today(self, prices: Any) -> Costs:
        """The same features, groups and requirements at other prices.

        Parameters
        ----------
        prices : mapping or Costs
            Amounts by feature, by group (its fee) or for ``"evaluation"``; what is not named stays.
            Or a ``Costs`` with the same features, groups and requirements.

        Examples
        --------
        >>> costs = Costs({"age": 1, "chol": 5}, groups={"blood": {"fee": 2, "features": ["chol"]}})
        >>> costs.today({"chol": 4.5, "blood": 0}).price(["age", "chol"])
        5.5
        """
        if not isinstance(prices, Costs):
            return type(self)(**with_prices(self, prices))
        if prices.n_features != self.n_features or structure_of(prices) != structure_of(self):
            raise CostsError(
                "prices has other features, groups or requirements than the model's costs: change amounts "
                "alone, or give a mapping from features and groups to their prices of today."
            )
        return prices

    def expanded(self, counts: Sequence[int]) -> Costs:
        """Prices of columns that are made from features: feature ``s`` becomes ``counts[s]`` columns.

        Columns stand in the order of their sources and have no names. Whichever column of a feature
        is read first pays the feature and the fees that it opens; the others are free then. So a set
        of columns costs what the features that it touches cost.

        Examples
        --------
        >>> costs = Costs({"age": 1, "job": 5}, groups={"form": {"fee": 2, "features": ["job"]}})
        >>> made = costs.expanded([1, 3])
        >>> made.price([0]), made.price([2]), made.price([1, 2, 3])
        (1.0, 7.0, 7.0)
        """
        return type(self)(**made_columns(self, counts))

    def to_dict(self) -> dict[str, Any]:
        """Plain data with exact amounts as text; read back by :meth:`from_dict`."""
        return to_plain(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Costs:
        """Read what :meth:`to_dict` wrote."""
        return cls(**from_plain(data))

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Costs:
        """Read prices from a YAML file; errors say the line.

        The file has ``features`` (name: price), and may have ``groups`` (name: {fee, features,
        within}), ``requires`` (name: name or names), ``evaluation`` and ``unit``.
        """
        from worthwhile.costs._yaml import read_yaml

        return cls(**read_yaml(path))

    def to_yaml(
        self, path: str | os.PathLike[str], comments: Mapping[str, str] | None = None
    ) -> None:
        """Write prices as a YAML file that :meth:`from_yaml` reads back exactly.

        ``comments`` stand beside the prices of the features that they name.
        """
        from worthwhile.costs._yaml import write_yaml

        write_yaml(self, path, comments)

    @classmethod
    def measure(
        cls,
        callables: Mapping[str, Callable[[Any], Any]],
        sample: Sequence[Any],
        *,
        groups: Mapping[str, Mapping[str, Any]] | None = None,
        repeats: int = 5,
    ) -> Costs:
        """Time real extractors: the price is the median time per row, in whole nanoseconds.

        Parameters
        ----------
        callables : mapping of feature name to function
            Each is called with the whole ``sample``.
        sample : sequence
            Typical inputs, such as ids; times are divided by its length.
        groups : mapping, optional
            As for :class:`Costs`; the fee may be a function, which is timed too.
        repeats : int, default=5
            How often each function is timed.

        Returns
        -------
        Costs
            In seconds; its ``measured`` tells median, fastest and slowest of each.
        """
        from worthwhile.costs._measure import measure

        prices, specs, timings = measure(callables, sample, groups or {}, repeats)
        costs = cls(prices, specs, unit="s")
        costs._measured = timings
        return costs

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Costs) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self._names, self._price.tobytes(), self._fee.tobytes(), self._unit))

    def __repr__(self) -> str:
        groups = f", {len(self._fee)} groups" if len(self._fee) else ""
        unit = f" {self._unit}" if self._unit else ""
        return f"Costs({self.n_features} features{groups}, {self.total:g}{unit} in all)"

    def _repr_html_(self) -> str:
        heads = ["feature", "own price", "fees it opens", "alone"]
        rows = [
            (feature, price, ", ".join(self.fees_of(feature)), self.price([feature]))
            for feature, price in self.prices.items()
        ]
        return html_table(repr(self), heads, rows)
