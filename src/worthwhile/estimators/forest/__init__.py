"""Forests under a budget.

- **BudgetRF** (Nan, Wang, Saligrama 2015): ``budgeted_forest`` adds trees while the mean bill allows;
  ``_growth`` grows them on an impurity of ``_impurity``; ``_votes`` makes one voting ensemble.
- **BudgetPrune** (Nan, Wang, Saligrama 2016): ``pruned_forest`` takes a forest that is there
  (``_prune_trees``), states the program and solves it (``_prune_problem``), all trade-offs at once
  where it is small (``_prune_breakpoints``), and may fit the leaves anew (``_prune_refit``).
- **Forward forest**, a comparator: ``forward_forest`` has forests on ever longer lists of features;
  ``_forward_search`` orders the list, ``_forward_exits`` says where rows leave it.
"""

from worthwhile.estimators.forest.budgeted_forest import BudgetedForestClassifier
from worthwhile.estimators.forest.forward_forest import ForwardForestClassifier
from worthwhile.estimators.forest.pruned_forest import PrunedForestClassifier

__all__ = ["BudgetedForestClassifier", "ForwardForestClassifier", "PrunedForestClassifier"]
