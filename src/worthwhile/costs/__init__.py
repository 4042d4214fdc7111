"""What features cost: prices, groups with a shared fee, the price of evaluating a stage.

``_reading`` reads what is given, on ``_money`` (whole quanta); ``_price_list`` holds what was described;
``_costs`` is the public class on it: what sets of features cost, by ``_flat`` (plain arrays, the bill), and other
forms of the list (``_forms``, ``_yaml``, ``_measure``). ``_errors`` reads what mistakes cost, ``_kinds`` which
columns are what.
"""

from worthwhile.costs._costs import Costs
from worthwhile.costs._errors import Errors, error_price, expected_prices
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
from worthwhile.costs._price_list import Group

__all__ = [
    "EXACT",
    "MOST_QUANTA",
    "NO_LIMIT",
    "QUANTA_PER_UNIT",
    "Costs",
    "Errors",
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
    "expected_prices",
    "read_kinds",
    "to_quanta",
]
