"""What features cost: prices, groups with a shared fee, the price of evaluating a stage."""

from costwise.costs._costs import Costs, FlatCosts, Group
from costwise.costs._measure import Timing
from costwise.costs._money import (
    MOST_QUANTA,
    QUANTA_PER_UNIT,
    as_decimal,
    as_float,
    as_floats,
    budget_quanta,
    to_quanta,
)

__all__ = [
    "MOST_QUANTA",
    "QUANTA_PER_UNIT",
    "Costs",
    "FlatCosts",
    "Group",
    "Timing",
    "as_decimal",
    "as_float",
    "as_floats",
    "budget_quanta",
    "to_quanta",
]
