"""The description of prices that everything else asks: what sets of features cost, and other forms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from worthwhile._html import html_table
from worthwhile._messages import some
from worthwhile.costs._errors import Errors
from worthwhile.costs._flat import Mask
from worthwhile.costs._forms import (
    from_plain,
    made_columns,
    some_columns,
    structure_of,
    to_plain,
    with_prices,
)
from worthwhile.costs._money import (
    as_float,
    as_floats,
)
from worthwhile.costs._price_list import Feature, PriceList
from worthwhile.exceptions import CostsError

if TYPE_CHECKING:
    import os


class Costs(PriceList):
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

    # What things cost ----------------------------------------------------------------------------

    @property
    def total(self) -> float:
        """What buying everything costs."""
        return as_float(self.flat.total)

    def quanta(self, acquired: Any, evaluated: Any = 0) -> npt.NDArray[np.int64]:
        """Bill of each row in whole quanta; see :meth:`price`."""
        mask = self._mask(acquired)
        rows = mask.reshape(-1, self.n_features)
        return self.flat.bill(rows, evaluated, self._payers).reshape(mask.shape[:-1])

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
            if names is None and self._measured is None:
                return self  # as they are: a list of prices never changes
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
        if self._names == tuple(names) and self._measured is None:
            return self
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
        self, path: str | os.PathLike[str], comments: Mapping[str, str] | None = None,
        errors: Errors | None = None,
    ) -> None:  # fmt: skip
        """Write prices as a YAML file that :meth:`from_yaml` reads back exactly.

        ``comments`` stand beside the prices of the features that they name; ``errors`` are prices of
        errors, which :meth:`Errors.from_yaml` reads.
        """
        from worthwhile.costs._yaml import write_yaml

        write_yaml(self, path, comments, errors)

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

    def plot(self, ax: Any = None) -> Any:
        """Draw what each feature costs; a :class:`~worthwhile.plots.PricesDisplay`."""
        import worthwhile

        return worthwhile.plots.PricesDisplay.from_costs(self, ax=ax)
