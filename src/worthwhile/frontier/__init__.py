"""From a budget to a model: sweeps, frontiers, searches, comparisons."""

from __future__ import annotations

from worthwhile.frontier._compare import compare
from worthwhile.frontier._comparison import MIXED, Choice, Comparison
from worthwhile.frontier._duration import expected_seconds, in_words
from worthwhile.frontier._measure import RANKINGS
from worthwhile.frontier._methods import METHODS
from worthwhile.frontier._one_point import MixedPoint, Point
from worthwhile.frontier._points import Frontier
from worthwhile.frontier._rebuild import make_method, named_methods, train_choice, train_points
from worthwhile.frontier._search import BudgetSearchCV

__all__ = [
    "METHODS",
    "MIXED",
    "RANKINGS",
    "BudgetSearchCV",
    "Choice",
    "Comparison",
    "Frontier",
    "MixedPoint",
    "Point",
    "compare",
    "expected_seconds",
    "in_words",
    "make_method",
    "named_methods",
    "train_choice",
    "train_points",
]
