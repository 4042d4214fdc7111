"""What our classes take from scikit-learn, as type checkers should see it.

scikit-learn ships no types. pyright reads its source instead; to mypy its classes are Any, and so is
whatever one asks of a class built on them: a misspelt method would pass.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

MYPY = False  # mypy takes a variable of this name for true

if MYPY:
    from worthwhile._sklearn_bases import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        RegressorMixin,
    )
else:  # comes second, because pyright believes the last of several imports
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin

if TYPE_CHECKING:

    def available_if(check: Callable[[Any], Any]) -> Callable[[F], F]:
        """Make a method of those objects only for which ``check`` holds."""
        ...
else:
    from sklearn.utils.metaestimators import available_if

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "F",
    "MetaEstimatorMixin",
    "RegressorMixin",
    "available_if",
]
