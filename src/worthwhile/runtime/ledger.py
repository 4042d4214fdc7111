"""The record of what was paid for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from worthwhile._html import html_table
from worthwhile.costs import EXACT, Costs, add_amounts, as_decimal

KINDS = ("bought", "stated", "paid", "over", "known", "unavailable", "evaluation")


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    Attributes
    ----------
    feature : str, int or None
        What was bought; None for the evaluation of trees or stages.
    kind : str
        "bought" at the list price, "stated" at another price, "paid" at an amount that was known only
        afterwards, "over" where that was more than its declared ceiling, "known" already and free,
        "unavailable" and not paid, or "evaluation".
    price, fee : Decimal
        Own price, and the fees that this purchase opened, together.
    group : str or None
        The group whose fee was paid; several, in the order of the price list, are joined by " + ".
    count : int
        Number of trees or stages evaluated; 1 for a feature.
    """

    feature: str | int | None
    kind: str
    price: Decimal
    fee: Decimal
    group: str | None = None
    count: int = 1

    @property
    def amount(self) -> Decimal:
        """Price and fee together."""
        return EXACT.add(self.price, self.fee)


class _Purchases(NamedTuple):
    """What was bought at once at list prices: columns, and the fees, by number, that some of them opened."""

    features: tuple[int, ...]
    fees: dict[int, tuple[int, ...]]
    costs: Costs
    kind: str = "bought"
    price: int | None = None


def _spell_out(line: Any) -> list[Entry]:
    """Entries of a line as it was noted."""
    if isinstance(line, Entry):
        return [line]
    if isinstance(line, _Purchases):
        return [_bought(feature, line) for feature in line.features]
    feature, kind, price, fee, group, count = line
    return [Entry(feature, kind, as_decimal(price), as_decimal(fee), group if fee else None, count)]


def _bought(feature: int, line: _Purchases) -> Entry:
    """One purchase at the list price."""
    costs, (prices, _, amounts) = line.costs, line.costs.lists
    paid = [g for g in line.fees.get(feature, ()) if amounts[g]]
    fee = as_decimal(sum(amounts[g] for g in paid))
    groups = " + ".join(costs.fee_names[g] for g in paid)
    own = prices[feature] if line.price is None else line.price
    return Entry(costs.name(feature), line.kind, as_decimal(own), fee, groups or None)


class Ledger:
    """Append-only record of purchases with exact amounts, in order.

    Parameters
    ----------
    unit : str
        Of the amounts.
    key : str, optional
        Of the case, where it has one.

    Examples
    --------
    >>> from decimal import Decimal
    >>> ledger = Ledger(unit="CAD")
    >>> ledger.add(Entry("chol", "bought", Decimal("5.17"), Decimal("2.10"), "blood"))
    >>> ledger.total
    Decimal('7.27')
    >>> print(ledger)
    chol  7.27  (5.17 + 2.10 fee of blood)
    total 7.27 CAD
    """

    def __init__(self, unit: str = "", *, key: str | None = None) -> None:
        self.unit, self.key = unit, key
        self._lines: list[Any] = []  # entries, and what entries are made of when somebody looks

    def add(self, entry: Entry) -> None:
        """Append a line."""
        if entry.kind not in KINDS:
            raise ValueError(f"kind is {entry.kind!r}: it is one of {', '.join(KINDS)}.")
        self._lines.append(entry)

    def note(
        self,
        feature: str | int | None,
        kind: str,
        price: int,
        fee: int = 0,
        group: str | None = None,
        count: int = 1,
    ) -> None:
        """Append a line given in quanta."""
        self._lines.append((feature, kind, price, fee, group, count))

    def note_purchases(
        self, features: tuple[int, ...], fees: dict[int, tuple[int, ...]], costs: Costs
    ) -> None:
        """Append features bought at their list price, with the fees (by number) that they opened."""
        self._lines.append(_Purchases(features, fees, costs))

    def note_paid(
        self, feature: int, fees: dict[int, tuple[int, ...]], costs: Costs, price: int
    ) -> None:
        """Append a feature at what was paid for it, in quanta, where the list has a ceiling."""
        kind = "over" if price > costs.lists[0][feature] else "paid"
        self._lines.append(_Purchases((feature,), fees, costs, kind, price))

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The lines so far, oldest first."""
        self._lines = [entry for line in self._lines for entry in _spell_out(line)]
        return tuple(self._lines)

    @property
    def over(self) -> tuple[Entry, ...]:
        """The lines for which more was paid than the declared ceiling."""
        return tuple(entry for entry in self.entries if entry.kind == "over")

    @property
    def total(self) -> Decimal:
        """Sum of all lines, exact."""
        return add_amounts(entry.amount for entry in self.entries)

    def to_records(self) -> list[dict[str, Any]]:
        """One plain dictionary per line, amounts as text, running total included."""
        records, total = [], Decimal(0)
        for entry in self.entries:
            total = EXACT.add(total, entry.amount)
            record = {k: str(v) if isinstance(v, Decimal) else v for k, v in asdict(entry).items()}
            records.append({**record, "amount": str(entry.amount), "total": str(total)})
        return records

    def to_frame(self) -> Any:
        """The lines as a pandas data frame, amounts as exact decimals."""
        import pandas as pd

        return pd.DataFrame([{**asdict(e), "amount": e.amount} for e in self.entries])

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __str__(self) -> str:
        names = [
            str(e.feature) if e.feature is not None else f"{e.count} evaluations"
            for e in self.entries
        ]
        width = max([5, *map(len, names)])
        notes = {
            "known": "  (known already)",
            "unavailable": "  (not available)",
            "stated": "  (stated)",
            "paid": "  (known afterwards)",
            "over": "  (over its ceiling)",
        }
        lines = []
        for name, entry in zip(names, self.entries, strict=True):
            note = notes.get(entry.kind, "")
            if entry.fee:
                note += f"  ({entry.price} + {entry.fee} fee of {entry.group})"
            lines.append(f"{name:<{width}} {entry.amount}{note}")
        lines.append(f"{'total':<{width}} {self.total} {self.unit}".rstrip())
        return "\n".join(lines if self.key is None else [f"key {self.key}", *lines])

    def _repr_html_(self) -> str:
        rows = [
            (entry.feature if entry.feature is not None else f"{entry.count} evaluations",
             entry.kind, entry.price, entry.group, entry.fee or None, entry.amount)
            for entry in self.entries
        ]  # fmt: skip
        total = f"{self.total} {self.unit}".strip()
        heads = ["feature", "kind", "price", "group", "fee", "amount"]
        of = "" if self.key is None else f"key {self.key}: "
        return html_table(f"{of}{len(rows)} lines, {total} in all", heads, rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw how the bill grew; a :class:`~worthwhile.plots.LedgerDisplay`."""
        import worthwhile

        return worthwhile.plots.LedgerDisplay.from_ledger(self, ax=ax)
