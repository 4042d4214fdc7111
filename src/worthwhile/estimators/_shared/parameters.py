"""Parameters that many estimators have, and how all declare theirs: as fields, from which the constructor is made.

A class lists its parameters once, with types and defaults, under ``@dataclass(eq=False, repr=False)``; what its
bases list comes with it. Signature, storing and types of the attributes follow from that, for scikit-learn, for
type checkers and for the pages alike. Models are compared by identity, and shown as scikit-learn shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(eq=False, repr=False, kw_only=True)
class TrainingParameters:
    """Of every estimator that trains."""

    costs: Any = None
    categorical: Any = None
    dates: Any = None
    n_jobs: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ClassParameters:
    """Of every classifier that trains; described in :class:`~worthwhile.GreedyMiserClassifier`."""

    knows_errors: ClassVar[bool] = True

    class_weight: Any = None
    calibrate: str | bool | None = None
    errors: Any = None
