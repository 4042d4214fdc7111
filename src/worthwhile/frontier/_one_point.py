"""One point of a sweep, and two with a share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Point:
    """One model of a sweep.

    Attributes
    ----------
    cost, score : float
        Mean bill and score on the validation rows.
    cost_error, score_error : float
        Standard errors of the two; NaN where they are not known.
    bound : float
        What the mean bill of new rows will stay below, with the confidence of the search; the cost
        itself where no search has set it.
    params : dict
        Parameters of the model.
    stage : int or None
        Rounds or trees kept, for models that were cut; None for whole ones.
    case_budget : float or None
        What the model may spend on a case, at most (``model.within``); None is no limit.
    test_cost, test_score : float
        The same on test rows, which choose nothing; NaN where there are none.
    method : str
        Name of the method, where several stand side by side.
    """

    cost: float
    score: float
    cost_error: float = math.nan
    score_error: float = math.nan
    bound: float = math.nan
    params: dict[str, Any] = field(default_factory=dict)
    stage: int | None = None
    case_budget: float | None = None
    test_cost: float = math.nan
    test_score: float = math.nan
    method: str = ""

    def __post_init__(self) -> None:
        if math.isnan(self.bound):
            object.__setattr__(self, "bound", self.cost)


@dataclass(frozen=True)
class MixedPoint:
    """Two points, and the share of the cases that follow the second.

    Costs, bounds and scores are means over cases, so those of the mixture lie on the line between the
    two; scores that are no such means (the area under a ROC curve, F1) do so only roughly.

    Attributes
    ----------
    first, second : Point
        The cheaper and the dearer one; one point twice where it is not mixed.
    share : float
        Of the second, from 0 to 1.
    """

    first: Point
    second: Point
    share: float

    def _between(self, name: str) -> float:
        if self.share == 0:
            return float(getattr(self.first, name))
        low, high = getattr(self.first, name), getattr(self.second, name)
        return float((1 - self.share) * low + self.share * high)

    @property
    def cost(self) -> float:
        """Mean bill on the validation rows."""
        return self._between("cost")

    @property
    def score(self) -> float:
        """Score on the validation rows."""
        return self._between("score")

    @property
    def bound(self) -> float:
        """What the mean bill of new rows stays below."""
        return self._between("bound")

    @property
    def test_cost(self) -> float:
        """Mean bill on test rows."""
        return self._between("test_cost")

    @property
    def test_score(self) -> float:
        """Score on test rows."""
        return self._between("test_score")


def read_point(point: Point | Mapping[str, Any], number: int) -> Point:
    if isinstance(point, Mapping):
        known = {f.name for f in fields(Point)}
        if not {"cost", "score"} <= set(point) or not set(point) <= known:
            raise ValueError(
                f"points[{number}] has the keys {sorted(point)}: it needs cost and score, and may have "
                f"{', '.join(sorted(known - {'cost', 'score'}))}."
            )
        point = Point(**{**point, "cost": float(point["cost"]), "score": float(point["score"])})
    if not (math.isfinite(point.cost) and point.cost >= 0 and math.isfinite(point.score)):
        raise ValueError(
            f"points[{number}] has cost {point.cost} and score {point.score}: a cost is a number >= 0, a score a "
            "number. Leave out points that could not be scored."
        )
    return point


def as_number(value: Any, what: str) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {value!r}: it is a number.") from None
    if math.isnan(found):
        raise ValueError(f"{what} is nan: it is a number.")
    return found


def plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def setting_of(point: Point | MixedPoint) -> str:
    """Parameters and stage of a point in words; of both, with their shares, where two are mixed."""
    if isinstance(point, MixedPoint):
        if point.share == 0:
            return setting_of(point.first)
        first, second = setting_of(point.first), setting_of(point.second)
        return f"{1 - point.share:.0%} {first}; {point.share:.0%} {second}"
    parts = [
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in point.params.items()
    ]
    return ", ".join([*parts, *([f"{point.stage} stages"] if point.stage is not None else [])])
