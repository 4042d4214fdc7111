"""How cost and score grow over the stages of a model."""

from __future__ import annotations

from typing import Any, Self

from worthwhile.plots._style import clean, line_style, new_axes

SCORES = ("validation_score", "score", "validation_loss", "train_loss")
COSTS = ("cost_row", "cost", "cost_model")


class TraceDisplay:
    """The trace of a staged model: its score against what a row has cost by then.

    Parameters
    ----------
    cost, score : array
        One entry per stage.
    score_name, unit : str
        Names on the axes.

    Attributes
    ----------
    ax_, figure_, line_
        After ``plot``.

    Examples
    --------
    >>> from worthwhile import GreedyMiserClassifier, datasets, plots
    >>> heart = datasets.load_heart()
    >>> miser = GreedyMiserClassifier(lam=1e-4, costs=heart.costs, n_rounds=10, validation_fraction=0.3)
    >>> display = plots.TraceDisplay.from_estimator(miser.fit(heart.data, heart.target))
    >>> display.ax_.get_xlabel()
    'mean cost (CAD)'
    """

    def __init__(self, cost: Any, score: Any, *, score_name: str = "score", unit: str = "") -> None:
        self.cost = cost
        self.score = score
        self.score_name = score_name
        self.unit = unit

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw ``trace_`` of a fitted estimator.

        Parameters
        ----------
        estimator : fitted estimator with a ``trace_``
        ax : matplotlib axes, optional
        """
        estimator = getattr(estimator, "best_estimator_", estimator)
        trace = getattr(estimator, "trace_", None)
        if trace is None:
            raise ValueError(
                f"estimator is a {type(estimator).__name__} without trace_: give a fitted model that has stages."
            )
        costs = [name for name in COSTS if name in trace]
        scores = [name for name in SCORES if name in trace and not trace[name].isna().all()]
        if not costs or not scores:
            raise ValueError(
                f"trace_ has the columns {list(trace.columns)}: it needs one of {', '.join(COSTS)} and one of "
                f"{', '.join(SCORES)}."
            )
        display = cls(
            trace[costs[0]].to_numpy(),
            trace[scores[0]].to_numpy(),
            score_name=scores[0].replace("_", " "),
            unit=estimator.costs_.unit,
        )
        return display.plot(ax)

    def plot(self, ax: Any = None, **line: Any) -> Self:
        """Draw; further arguments are those of matplotlib's ``plot``."""
        from worthwhile.plots._style import cost_label

        self.ax_ = new_axes(ax)
        style = line_style(0) | {"markersize": 3.5, "linewidth": 1.4} | line
        (self.line_,) = self.ax_.plot(self.cost, self.score, **style)
        self.ax_.set_xlabel(cost_label(self.unit))
        self.ax_.set_ylabel(self.score_name)
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self
