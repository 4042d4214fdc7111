"""What was chosen on each split of a comparison."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from worthwhile.frontier import Choice
from worthwhile.plots._style import COLOURS, clean, cost_label, new_axes


class ChoiceDisplay:
    """Bill and score of the model chosen on each split, on validation rows and on test rows, and the mean of these.

    Parameters
    ----------
    validation, test : tuples of array (n_splits,)
        Mean bills and scores.
    title : str
        What was chosen.
    unit, score_name : str
        Names on the axes.

    Attributes
    ----------
    ax_, figure_, lines_
        After ``plot``; markers by what they show.

    Examples
    --------
    >>> from worthwhile import plots
    >>> from worthwhile.frontier import Choice, Point
    >>> points = [Point(4, 0.8, test_cost=5, test_score=0.7), Point(4, 0.9, test_cost=3, test_score=0.8)]
    >>> display = plots.ChoiceDisplay.from_choice(Choice("tree", 0.85, 0.75, 4.0, tuple(points)))
    >>> display.lines_["mean on test rows"].get_xydata().tolist()
    [[4.0, 0.75]]
    """

    def __init__(
        self, validation: Any, test: Any, *, title: str = "", unit: str = "", score_name: str = "score"
    ) -> None:  # fmt: skip
        self.validation = validation
        self.test = test
        self.title = title
        self.unit = unit
        self.score_name = score_name

    @classmethod
    def from_choice(
        cls, choice: Choice, *, unit: str = "", score_name: str = "score", ax: Any = None
    ) -> Self:
        """Draw what a comparison chose.

        Parameters
        ----------
        choice : Choice
            Of :meth:`worthwhile.Comparison.best`.
        unit, score_name : str
            Names on the axes.
        ax : matplotlib axes, optional
            Where to draw.
        """
        used = choice.mixed or choice.points
        validation = np.array([(point.cost, point.score) for point in used]).T
        test = np.array([(point.test_cost, point.test_score) for point in used]).T
        display = cls(
            tuple(validation), tuple(test), title=choice.method, unit=unit, score_name=score_name
        )
        return display.plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one marker per split and kind of rows."""
        self.ax_ = new_axes(ax)
        test = tuple(np.asarray(values, dtype=np.float64) for values in self.test)
        mean = tuple([values.mean()] for values in test)
        looks: dict[str, tuple[Any, dict[str, Any]]] = {
            "validation rows": (self.validation, {"marker": "o", "mfc": "none", "color": COLOURS[6]}),
            "test rows": (test, {"marker": "s", "color": COLOURS[2]}),
            "mean on test rows": (mean, {"marker": "*", "color": COLOURS[0], "markersize": 14}),
        }  # fmt: skip
        self.lines_: dict[str, Any] = {}
        for name, ((costs, scores), look) in looks.items():
            (self.lines_[name],) = self.ax_.plot(costs, scores, linestyle="", label=name, **look)
        self.ax_.set_title(self.title)
        self.ax_.set_xlabel(cost_label(self.unit))
        self.ax_.set_ylabel(self.score_name)
        self.ax_.legend(frameon=False)
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self
