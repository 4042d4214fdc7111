"""Prices in other forms: of some columns, of columns made from others, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from worthwhile.costs._money import EXACT, as_decimal, as_text, to_quanta
from worthwhile.exceptions import CostsError

if TYPE_CHECKING:
    from worthwhile.costs._costs import Costs
    from worthwhile.costs._price_list import Group


def some_columns(
    costs: Costs, names: tuple[str, ...] | None, indices: Iterable[int]
) -> dict[str, Any]:
    """Arguments of the same prices for some columns; groups keep the members that are left."""
    indices = list(indices)
    values = list(costs.prices.values())
    chosen = [{"ceiling": values[i]} if costs.is_ceiling(i) else values[i] for i in indices]
    call = dict(zip((costs.name(i) for i in indices), names or range(len(indices)), strict=True))
    return {
        "prices": chosen if names is None else dict(zip(names, chosen, strict=True)),
        "groups": _renamed(costs.groups, call),
        "requires": _required(costs.requires, call),
        "evaluation": costs.evaluation,
        "unit": costs.unit,
    }


def _renamed(groups: Mapping[str, Group], call: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    """Groups whose features are called otherwise, without those that are not called at all."""
    place = {feature: number for number, feature in enumerate(call)}
    found: dict[str, dict[str, Any]] = {}
    for name, group in groups.items():
        left = sorted((f for f in group.features if f in call), key=place.__getitem__)
        found[name] = {
            "fee": group.fee,
            "features": [call[f] for f in left],
            "within": group.within,
        }
    while (
        True
    ):  # a group goes when its features are gone and no group that stands within it is left
        holds = {outer for spec in found.values() for outer in spec["within"]}
        kept = {name: spec for name, spec in found.items() if spec["features"] or name in holds}
        if len(kept) == len(found):
            return kept
        found = kept


def _required(requires: Mapping[Any, Any], call: Mapping[Any, Any]) -> dict[Any, list[Any]]:
    """What features require, called otherwise."""
    found = {}
    for feature, needed in requires.items():
        if feature not in call:
            continue
        if missing := [f for f in needed if f not in call]:
            raise CostsError(
                f"{feature!r} requires {missing[0]!r}, which is not among the columns: add it, or leave "
                f"{feature!r} out."
            )
        found[call[feature]] = [call[f] for f in needed]
    return found


def made_columns(costs: Costs, counts: Sequence[int]) -> dict[str, Any]:
    """Arguments of the prices of columns made from others; see :meth:`Costs.expanded`."""
    if len(counts) != costs.n_features:
        raise CostsError(f"counts has {len(counts)} numbers for {costs.n_features} features.")
    flat, prices = costs.flat, list[Decimal]()
    fees: list[list[int]] = [[] for _ in costs.fee_names]
    own: dict[str, dict[str, Any]] = {}
    taken = set(costs.fee_names)
    for source, count in enumerate(counts):
        columns = range(len(prices), len(prices) + int(count))
        price = as_decimal(flat.price[source])
        for g in flat.opens[flat.begin[source] : flat.begin[source + 1]]:
            fees[g] += columns
        if count > 1 and price:  # paid by whichever of them is read first
            own[new_name(str(costs.name(source)), taken)] = {"fee": price, "features": columns}
            price = Decimal(0)
        prices += [price] * int(count)
    shared = {
        name: {"fee": as_decimal(fee), "features": columns}
        for name, fee, columns in zip(costs.fee_names, flat.fee, fees, strict=True)
        if columns
    }
    if not prices:
        raise CostsError("counts is 0 everywhere: some feature must become a column.")
    return {
        "prices": prices, "groups": shared | own, "evaluation": costs.evaluation, "unit": costs.unit
    }  # fmt: skip


def new_name(name: str, taken: set[str]) -> str:
    """A name for the fee that stands for a value, unlike all that are taken."""
    while name in taken:
        name = f"value of {name}"
    taken.add(name)
    return name


def with_prices(costs: Costs, prices: Any) -> dict[str, Any]:
    """Arguments of the same structure at other prices; see :meth:`Costs.today`."""
    data, features = to_plain(costs), costs.features
    if not isinstance(prices, Mapping):
        raise CostsError(
            f"prices is a {type(prices).__name__}: give a mapping from features and groups to their prices of "
            "today, or a Costs with the same features, groups and requirements."
        )
    for name, amount in prices.items():
        in_groups = isinstance(name, str) and name in data["groups"]
        if name in features and in_groups:
            raise CostsError(
                f"prices names {name!r}, which is a feature and a group: give a Costs instead."
            )
        if in_groups:
            data["groups"][name]["fee"] = to_quanta(amount, f"fee of group {name!r}")
        elif name == "evaluation" and name not in features:
            data["evaluation"] = to_quanta(amount, "evaluation")
        else:
            data["prices"][costs.index(name)] = to_quanta(amount, f"price of {name!r}")
    # What was not named is text still.
    amounts = [as_text(p) if isinstance(p, int) else p for p in data["prices"]]
    for group in data["groups"].values():
        group["fee"] = as_text(group["fee"]) if isinstance(group["fee"], int) else group["fee"]
    if isinstance(data["evaluation"], int):
        data["evaluation"] = as_text(data["evaluation"])
    return from_plain({**data, "prices": amounts})


def structure_of(costs: Costs) -> dict[str, Any]:
    """Everything but the amounts."""
    data = to_plain(costs)
    groups = {
        name: (sorted(map(str, g["features"])), sorted(g.get("within", ())))
        for name, g in data["groups"].items()
    }
    return {"names": data["names"], "groups": groups, "requires": data.get("requires", [])}


def to_plain(costs: Costs) -> dict[str, Any]:
    """Plain data with exact amounts as text. What is not used has no key: files stay as they were."""
    names = costs.feature_names
    groups: dict[str, dict[str, Any]] = {}
    for name, group in costs.groups.items():
        groups[name] = {"fee": _text(group.fee), "features": list(group.features)}
        if group.within:
            groups[name]["within"] = list(group.within)
    plain: dict[str, Any] = {
        "unit": costs.unit,
        "evaluation": _text(costs.evaluation),
        "names": None if names is None else list(names),
        "prices": [as_text(q) for q in costs.lists[0]],
        "groups": groups,
    }
    if costs.requires:  # pairs: keys of plain data are text, which a column's number is not
        plain["requires"] = [[f, list(needed)] for f, needed in costs.requires.items()]
    if costs.ceilings:
        plain["ceilings"] = list(costs.ceilings)
    return plain


def _text(amount: Decimal) -> str:
    return EXACT.to_sci_string(amount)


def from_plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments from what :func:`to_plain` wrote."""
    names, amounts = data["names"], [Decimal(price) for price in data["prices"]]
    after = set(data.get("ceilings", ()))
    values = [
        {"ceiling": amount} if name in after else amount
        for name, amount in zip(names or range(len(amounts)), amounts, strict=True)
    ]
    if len(after) != sum(isinstance(value, dict) for value in values):
        raise CostsError("ceilings names what is no feature: give features of the price list.")
    groups = {name: {**spec, "fee": Decimal(spec["fee"])} for name, spec in data["groups"].items()}
    return {
        "prices": values if names is None else dict(zip(names, values, strict=True)),
        "groups": groups,
        "requires": dict(data.get("requires", ())),
        "evaluation": Decimal(data["evaluation"]),
        "unit": data["unit"],
    }
