"""What the classifier and the regressor share: the frontier, and the way to a point of it."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.costs import as_float, budget_quanta
from worthwhile.estimators.base import CostAware
from worthwhile.estimators.budget._fit import Fitted
from worthwhile.policy.base import Policy
from worthwhile.policy.library import LibraryPolicy

Floats = npt.NDArray[np.float64]

SURE = 1.645
"""Standard errors below a budget that the mean bill of a point must stay: 95 % of all times."""


class BudgetModel(CostAware):
    """A whole frontier from one training, and one of its points in use."""

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("budget",)
    every_stage_differs: ClassVar[bool] = True
    policy_: LibraryPolicy
    frontier_: pd.DataFrame
    n_stages_: int
    point_: int
    budget: Any

    def _take(self, fitted: Fitted, spread: float) -> None:
        """Keep the frontier; the model's own point is chosen by :meth:`_choose`."""
        points = fitted.points
        self.frontier_ = pd.DataFrame(
            {
                "cost": points.bill,
                "cost_error": points.error,
                "score": points.score,
                "score_error": np.full(len(points.score), spread),
                "rate": points.rate,
            }
        )
        self.n_stages_ = len(self.frontier_)

    def _choose(self, budget: Any) -> int:
        """The best point that keeps to a budget; without one, the cheapest that is about the best."""
        lines = self.frontier_
        limit = budget_quanta(budget)
        score = lines["score"].to_numpy()
        if limit is None:
            best = int(np.argmax(score))
            enough = score >= score[best] - lines["score_error"].iloc[best]
            return int(np.argmax(enough))
        safe = lines["cost"] + SURE * lines["cost_error"] <= as_float(limit)
        if not safe.any():
            return 0
        return int(np.flatnonzero(safe)[np.argmax(score[safe.to_numpy()])])

    def at(self, *, budget: Any = None, stage: int | None = None) -> Self:
        """Return a copy at another point of the frontier; nothing is trained again.

        Parameters
        ----------
        budget : number, optional
            Mean bill that the copy keeps to.
        stage : int, optional
            Or the line of ``frontier_`` itself.
        """
        self._check_fitted()
        if (budget is None) == (stage is None):
            raise ValueError("at takes one of budget and stage: give the mean bill, or a line.")
        if stage is None:
            stage = self._choose(budget)
        if isinstance(stage, bool) or not 0 <= stage < len(self.frontier_):
            raise ValueError(
                f"stage is {stage}: the frontier has lines 0 to {len(self.frontier_) - 1}."
            )
        return copy.copy(self)._use(int(stage))

    def _use(self, point: int) -> Self:
        """Take up a point."""
        self.point_ = point
        self.policy_ = self._inner_policy.at(point)
        return self

    def _restore(self, policy: Policy) -> None:
        super()._restore(policy)
        inner = self._inner_policy
        if not isinstance(inner, LibraryPolicy) or len(self.frontier_) != len(inner.library.rate):
            raise ValueError("the frontier does not fit the policy")

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """One training has the whole frontier."""
        return [{"budget": None}]
