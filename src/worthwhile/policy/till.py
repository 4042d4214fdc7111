"""What a row pays while it is bought for: each feature once, each fee once, within a limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from worthwhile.costs import Costs

if TYPE_CHECKING:
    from worthwhile.policy.base import Bundle


class Till:
    """What one row has bought and what that leaves, in whole quanta."""

    def __init__(self, costs: Costs, limit: int | None) -> None:
        self._price, self._opens, self._fee = costs.lists
        self._needs = costs.requirements if costs.requires else None
        self._evaluation = costs.flat.evaluation
        self._have: set[int] = set()
        self._open: set[int] = set()
        self.limit = limit
        self.spent = 0
        """Spent on features and fees."""

    def bill(self, evaluated: int) -> int:
        """The purchases and ``evaluated`` evaluations."""
        return self.spent + evaluated * self._evaluation

    def left(self, evaluated: int) -> int | None:
        """Money left after the purchases and ``evaluated`` evaluations; None without a limit."""
        return None if self.limit is None else self.limit - self.bill(evaluated)

    def quote(self, bundle: Bundle) -> list[tuple[int, int, int]]:
        """Feature, own price and fees of each member that is not paid for yet."""
        fees = self._fees_of(bundle)
        return [
            (feature, self._price[feature], sum(self._fee[g] for g in fees.get(feature, ())))
            for feature in bundle
            if feature not in self._have
        ]

    def closed(self, bundle: Bundle) -> Bundle:
        """A bundle with all that it requires and the row does not have, what is required first."""
        if self._needs is None:
            return bundle
        found: dict[int, None] = {}
        for feature in bundle:
            if feature not in self._have:
                found |= dict.fromkeys(f for f in self._needs[feature] if f not in self._have)
            found[feature] = None
        return tuple(found)

    def amount(self, bundle: Bundle) -> int:
        """What a bundle would cost now, with all that it requires."""
        bundle = self.closed(bundle)
        have, price = self._have, self._price
        own = sum(price[feature] for feature in bundle if feature not in have)
        return own + sum(self._fee[g] for fees in self._fees_of(bundle).values() for g in fees)

    def _fees_of(self, bundle: Bundle) -> dict[int, tuple[int, ...]]:
        """The fees that members would open, in their order, by the member that is the first to."""
        if not self._fee:
            return {}
        opened, found = self._open.copy(), {}
        for feature in bundle:
            if feature in self._have:
                continue
            if new := tuple(g for g in self._opens[feature] if g not in opened):
                opened.update(new)
                found[feature] = new
        return found

    def buy(self, bundle: Bundle, evaluated: int) -> bool:
        """Buy a whole bundle, with all that it requires, if it fits; say whether it did."""
        amount = self.amount(bundle)
        left = self.left(evaluated)
        if left is not None and amount > left:
            return False
        self.spent += amount
        self.take(self.closed(bundle))
        return True

    def pay(self, bundle: Bundle) -> tuple[Bundle, dict[int, tuple[int, ...]]]:
        """Pay list prices and the fees that they open, whatever is left.

        Gives what was not paid for before, and the fees by the feature that opened them.
        """
        new = tuple(feature for feature in bundle if feature not in self._have)
        fees = self._fees_of(new)
        due = sum(self._fee[g] for opened in fees.values() for g in opened)
        self.spent += sum(map(self._price.__getitem__, new)) + due
        self.take(new)
        return new, fees

    def copy(self) -> Till:
        """A till to draft purchases on."""
        twin = object.__new__(Till)
        twin.__dict__.update(self.__dict__, _have=set(self._have), _open=set(self._open))
        return twin

    def take_alone(self, feature: int) -> None:
        """Note a feature that was had outside the list price: the fees that it would open stay due."""
        self._have.add(feature)

    def take(self, bundle: Bundle) -> None:
        """Note features as paid for at their list price, and their fees as opened."""
        self._have.update(bundle)
        if self._fee:
            for feature in bundle:
                self._open.update(self._opens[feature])
