"""What things cost, computed apart from the library: bills of sessions are checked against it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from worthwhile import Costs


@dataclass(frozen=True)
class Tariff:
    """Amounts in quanta, and what goes with what."""

    prices: dict[Any, int]
    """By feature, in the order of the columns."""
    fees: dict[str, int]
    members: dict[str, frozenset[int]]
    """Columns that open the fee of a group: its own and those of all groups within it."""
    requires: dict[int, set[int]]
    ceilings: frozenset[int]
    """Columns whose price is known only afterwards."""
    evaluation: int

    @classmethod
    def of(cls, costs: Costs) -> Tariff:
        """What the price list says, from its plain data."""
        stored, index = costs.to_dict(), costs.index
        groups = stored["groups"]
        return cls(
            dict(zip(costs.features, map(_quanta, stored["prices"]), strict=True)),
            {name: _quanta(group["fee"]) for name, group in groups.items()},
            {name: frozenset(map(index, _members(groups, name))) for name in groups},
            {index(f): set(map(index, needed)) for f, needed in stored.get("requires", ())},
            frozenset(map(index, stored.get("ceilings", ()))),
            _quanta(stored["evaluation"]),
        )

    def today(self, amounts: Mapping[Any, int]) -> Tariff:
        """The same at other prices, fees and price of evaluation, given in quanta."""
        return replace(
            self,
            prices={name: amounts.get(name, price) for name, price in self.prices.items()},
            fees={name: amounts.get(name, fee) for name, fee in self.fees.items()},
            evaluation=amounts.get("evaluation", self.evaluation),
        )

    def price(self, column: int) -> int:
        """Of a column alone."""
        return list(self.prices.values())[column]

    def fees_of(self, columns: set[int]) -> int:
        """Fees that columns open."""
        opened = [name for name, members in self.members.items() if not members.isdisjoint(columns)]
        return sum(self.fees[name] for name in opened)

    def needed(self, column: int) -> set[int]:
        """A column and all that it requires."""
        return {column}.union(*(self.needed(c) for c in self.requires.get(column, ())))

    def bill(self, bought: set[int], evaluated: int) -> int:
        """What these columns cost at list prices, and that many evaluations."""
        return sum(map(self.price, bought)) + self.fees_of(bought) + evaluated * self.evaluation


def _members(groups: dict[str, Any], name: str) -> set[Any]:
    """The features of a group and of all that stand within it."""
    inner = [other for other, g in groups.items() if name in g.get("within", ())]
    return set(groups[name]["features"]).union(*(_members(groups, other) for other in inner))


def _quanta(amount: str) -> int:
    whole, _, part = str(amount).partition(".")
    return int(whole) * 10**9 + int(part.ljust(9, "0"))
