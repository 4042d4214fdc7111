"""Whether what is told at stated prices fits into a budget, beside what was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worthwhile.costs import as_float
from worthwhile.exceptions import BudgetExceeded


class Claims(NamedTuple):
    """What a call of ``tell`` claims of a budget, in quanta."""

    settled: int
    """Never refused: what is planned at list prices, and what was paid where the list has a ceiling."""
    due: int
    """Stated prices, and what was given up and bought all the same."""
    held: int
    """List prices of what was asked for and now has a stated price: set aside, whatever others cost."""


def check_money(claims: Sequence[Claims], left: int, budget: float | None) -> None:
    """Refuse what does not fit into what is left."""
    left -= sum(claim.settled for claim in claims)
    due, held = sum(claim.due for claim in claims), sum(claim.held for claim in claims)
    if due > max(left, held):
        raise BudgetExceeded(
            f"price is {as_float(due):g} but the budget of {budget:g} has only {as_float(max(left, 0)):g} left beside "
            "what was asked for. Nothing was recorded: open a session with a larger budget, or tell it as known "
            "already (price=0)."
        )
