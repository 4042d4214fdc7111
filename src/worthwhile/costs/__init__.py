"""What features cost: prices, groups with a shared fee, the price of evaluating a stage."""

from worthwhile.costs._costs import Costs, Group
from worthwhile.costs._errors import error_price, read_errors
from worthwhile.costs._flat import FlatCosts
from worthwhile.costs._kinds import read_kinds
from worthwhile.costs._measure import Timing
from worthwhile.costs._money import (
    EXACT,
    MOST_QUANTA,
    NO_LIMIT,
    QUANTA_PER_UNIT,
    add_amounts,
    as_decimal,
    as_float,
    as_floats,
    as_text,
    budget_limits,
    budget_quanta,
    to_quanta,
)

__all__ = [
    "EXACT",
    "MOST_QUANTA",
    "NO_LIMIT",
    "QUANTA_PER_UNIT",
    "Costs",
    "FlatCosts",
    "Group",
    "Timing",
    "add_amounts",
    "as_decimal",
    "as_float",
    "as_floats",
    "as_text",
    "budget_limits",
    "budget_quanta",
    "error_price",
    "read_errors",
    "read_kinds",
    "to_quanta",
]
