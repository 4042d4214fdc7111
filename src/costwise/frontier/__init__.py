"""From a budget to a model: sweeps, frontiers, searches, comparisons."""

from __future__ import annotations

from costwise.frontier._compare import compare
from costwise.frontier._comparison import Choice, Comparison
from costwise.frontier._methods import METHODS
from costwise.frontier._points import Frontier, Point
from costwise.frontier._rebuild import make_method, train_choice
from costwise.frontier._search import BudgetSearchCV

__all__ = [
    "METHODS",
    "BudgetSearchCV",
    "Choice",
    "Comparison",
    "Frontier",
    "Point",
    "compare",
    "make_method",
    "train_choice",
]
