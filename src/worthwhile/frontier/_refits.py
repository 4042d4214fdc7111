"""Points of a search fitted on all rows, each candidate once."""

from __future__ import annotations

from typing import Any

from worthwhile.costs import QUANTA_PER_UNIT, Errors
from worthwhile.frontier._errors import decided
from worthwhile.frontier._measure import bills, train
from worthwhile.frontier._points import Frontier
from worthwhile.frontier._stages import cut
from worthwhile.frontier._sweep import Measured, Sweep
from worthwhile.frontier._tune import Refit


class Refits:
    """Models of points, trained when they are asked for.

    Parameters
    ----------
    estimator : estimator
    sweep : Sweep
    measured : list of Measured
        What cross-validation saw of each point.
    frontier : Frontier
    margins : array (points,)
        What the mean bill of new rows may be above the expected one.
    errors : Errors, optional
        Prices of errors that the models decide by.
    """

    def __init__(
        self, estimator: Any, sweep: Sweep, measured: list[Measured], frontier: Frontier, margins: Any,
        errors: Errors | None = None,
    ) -> None:  # fmt: skip
        self.estimator, self._sweep, self.measured = estimator, sweep, measured
        self._frontier, self.margins, self._errors = frontier, margins, errors
        self._models: dict[int, Any] = {}
        self._found: dict[int, Refit] = {}

    def by(self, estimator: Any) -> Refits:
        """The same points, to be fitted by another estimator."""
        return Refits(
            estimator, self._sweep, self.measured, self._frontier, self.margins, self._errors
        )

    def __len__(self) -> int:
        return len(self._models)

    def of(self, i: int) -> Refit:
        """The model of a point."""
        if i not in self._found:
            point, params = self.measured[i], self._frontier[i].params
            if point.candidate not in self._models:
                self._models[point.candidate] = train(self.estimator, params, self._sweep.rows)
            model = cut(self._models[point.candidate], point.stage, point.case_budget)
            self._found[i] = self._billed(model, params, point.gap, self.margins[i])
        return self._found[i]

    def is_validated(self, i: int) -> bool:
        """Whether the model is what was validated: it pays no less than all models of its folds."""
        return bool(self.of(i).bill >= self.measured[i].least - self.margins[i])

    def between(self, i: int, j: int, params: dict[str, Any]) -> Refit:
        """A model of other parameters, taken to be as uncertain as the worse of two points."""
        model = cut(train(self.estimator, params, self._sweep.rows), self.measured[i].stage)
        gap = max(self.measured[i].gap, self.measured[j].gap)
        return self._billed(model, params, gap, max(self.margins[i], self.margins[j]))

    def _billed(self, model: Any, params: dict[str, Any], gap: float, margin: float) -> Refit:
        """Bill a model on its training rows: new rows pay the gap more, and no more than the margin on top."""
        model = decided(model, self._errors)
        bill = float(bills(model, self._sweep.rows).mean()) / QUANTA_PER_UNIT
        return Refit(model, params, bill, bill + gap, bill + gap + margin)
