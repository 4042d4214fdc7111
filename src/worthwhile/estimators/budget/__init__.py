"""The one to use: a budget, and nothing else to set.

``budget_classifier`` is the estimator, on what ``_base`` says about frontiers and points. ``_fit`` goes
the way: ``_search`` finds lists of purchases, ``_nodes`` grows a forest for each set on them (``_forests``:
the table of codes and its forests), ``_induction`` decides who goes on to which set, by what answers
are worth (``_payoff``).
"""

from worthwhile.estimators.budget.budget_classifier import BudgetClassifier

__all__ = ["BudgetClassifier"]
