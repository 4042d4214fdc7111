"""The one to use: a budget or the price of an error, and nothing else to set.

``budget_classifier`` and ``budget_regressor`` are the estimators, on what ``_base`` says about frontiers and
points. ``_fit`` goes the way, stage by stage (``_stages``): ``_search`` finds lists of purchases, ``_parts``
those for the values of one that says which others matter, ``_branches`` those of rows that gain more from
another purchase after the first ones, ``_screening`` leaves out sets at which nobody would stop, ``_nodes``
grows a forest for each of the others (``_forests``: the table of codes and its forests; ``_boosters``: trees
that correct one another beside them, and the order in which those would buy), ``_induction`` decides who goes
on to which set, by what answers are worth (``_payoff``) to rows alike (``_cells``), ``_bridges`` finds what
lies in the gaps between two such policies, ``_promise`` says what all that will cost new rows, and ``_tables``
puts it into arrays.
``_mixing`` finds the two points between which a budget lies.
"""

from worthwhile.estimators.budget.budget_classifier import BudgetClassifier
from worthwhile.estimators.budget.budget_regressor import BudgetRegressor

__all__ = ["BudgetClassifier", "BudgetRegressor"]
