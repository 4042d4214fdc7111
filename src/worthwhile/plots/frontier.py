"""Cost against score, for one sweep or for many methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from worthwhile.frontier import MIXED, Comparison, Frontier
from worthwhile.plots._style import COLOURS, clean, cost_label, line_style, log_costs, new_axes

MOST_INSIDE = 5
"""Curves whose names fit into the axes; with more the legend stands beside them."""

BAND = 0.68
"""Confidence of the band: with few splits, surer ones would fill the picture."""


class FrontierDisplay:
    """Step curves of the best score within each budget.

    Parameters
    ----------
    curves : mapping of str to (costs, scores, low, high)
        What to draw; ``low`` and ``high`` may be None.
    points : mapping of str to (costs, scores), optional
        Single models behind the curves.
    unit, score_name : str
        Names on the axes.
    emphasised : sequence of str
        Curves drawn wide; with any, the others are drawn thin.

    Attributes
    ----------
    ax_, figure_, lines_
        Axes, figure and lines by name, after ``plot``.

    Examples
    --------
    >>> from worthwhile import Frontier, plots
    >>> sweep = Frontier([{"cost": 1, "score": 0.6}, {"cost": 4, "score": 0.8}])
    >>> display = plots.FrontierDisplay.from_frontier(sweep)
    >>> display.ax_.get_xlabel()
    'mean cost'
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[Any, Any, Any, Any]],
        points: Mapping[str, tuple[Any, Any]] | None = None,
        *,
        unit: str = "",
        score_name: str = "score",
        emphasised: Sequence[str] = (),
    ) -> None:
        self.curves = dict(curves)
        self.points = dict(points or {})
        self.unit = unit
        self.score_name = score_name
        self.emphasised = tuple(emphasised)

    @classmethod
    def from_frontier(
        cls, frontiers: Frontier | Mapping[str, Frontier], *, part: str = "validation", ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw one frontier, or several by name.

        Parameters
        ----------
        frontiers : Frontier or mapping of str to Frontier
            Sweeps.
        part : {"validation", "test"}, default="validation"
            Which scores to show. Points are chosen on validation in either case.
        ax : matplotlib axes, optional
            Where to draw.
        """
        named = {"": frontiers} if isinstance(frontiers, Frontier) else dict(frontiers)
        if not named:
            raise ValueError("frontiers is empty: give at least one.")
        curves, points = {}, {}
        for name, frontier in named.items():
            steps = frontier.pareto().cost
            end = max(frontier.full_cost, float(steps[-1]))
            at = np.append(steps, end)
            curves[name] = (at, frontier.step(at, part=part), None, None)
            points[name] = frontier.values(part)
        some = next(iter(named.values()))
        return cls(curves, points, unit=some.unit, score_name=some.score_name).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what a ``BudgetClassifier``, a ``BudgetRegressor`` or a search found, and the point in use.

        Parameters
        ----------
        estimator : fitted BudgetClassifier, BudgetRegressor or BudgetSearchCV
            The band is a standard error of the score to each side; a search has none.
        ax : matplotlib axes, optional
            Where to draw.
        """
        lines = getattr(estimator, "frontier_", None)
        if isinstance(lines, Frontier):
            display = cls.from_frontier(lines, ax=ax)
            used = estimator.best_cost_, estimator.best_score_
        elif lines is None:
            raise ValueError(
                f"estimator is a {type(estimator).__name__} without frontier_: give a fitted BudgetClassifier, "
                "BudgetRegressor or BudgetSearchCV."
            )
        else:
            cost, score, error = (
                lines[name].to_numpy() for name in ("cost", "score", "score_error")
            )
            display = cls(
                {"": (cost, score, score - error, score + error)}, unit=estimator.costs_.unit
            ).plot(ax)
            first, second, share = estimator.mixture_ or (estimator.point_, estimator.point_, 0.0)
            used = tuple(
                (1 - share) * values[first] + share * values[second] for values in (cost, score)
            )
        display.ax_.plot(*used, "o", color=COLOURS[1], markersize=8, label="in use", zorder=5)
        display.ax_.legend(loc="lower right", frameon=False)
        return display

    @classmethod
    def from_comparison(
        cls, comparison: Comparison, methods: Sequence[str] | None = None, *, ax: Any = None
    ) -> Self:  # fmt: skip
        """Draw all methods of a comparison: mean test scores over the splits.

        Parameters
        ----------
        comparison : Comparison
            What ``worthwhile.compare`` gave.
        methods : list of str, optional
            Names to draw; by default all, and the best on validation with its 68 % interval.
        ax : matplotlib axes, optional
            Where to draw.
        """
        names = [*comparison.methods, MIXED] if methods is None else list(methods)
        budgets = comparison.full_cost * np.geomspace(0.005, 1, 120)
        curves = {}
        for name in names:
            mean, low, high = comparison.curve(name, budgets, BAND)
            banded = name == MIXED and not np.isnan(low).all()
            curves[name] = (budgets, mean, low if banded else None, high if banded else None)
        wide = [name for name in names if name == MIXED]
        display = cls(
            curves, unit=comparison.unit, score_name=comparison.score_name, emphasised=wide
        )
        return display.plot(ax, log=True)

    def plot(self, ax: Any = None, *, log: bool = False) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        log : bool, default=False
            Show costs on a logarithmic axis.
        """
        self.ax_ = new_axes(ax, wide=len(self.curves) > MOST_INSIDE)
        self.lines_: dict[str, Any] = {}
        order = sorted(self.curves, key=lambda name: name in self.emphasised)
        for number, name in enumerate(order):
            self._draw(name, number)
        if len(self.curves) > 1 or any(self.curves):
            self._legend()
        self.ax_.set_xlabel(cost_label(self.unit))
        self.ax_.set_ylabel(self.score_name)
        costs = np.concatenate([np.asarray(costs) for costs, *_ in self.curves.values()])
        if log and (costs > 0).any():
            log_costs(self.ax_, float(costs[costs > 0].min()), float(costs.max()))
        self._limit()
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self

    def _limit(self) -> None:
        """Show the curves in full; an interval over few splits may run out of the picture."""
        if not any(low is not None for *_, low, _ in self.curves.values()):
            return
        scores = np.concatenate([np.asarray(scores) for _, scores, *_ in self.curves.values()])
        low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
        self.ax_.set_ylim(low - 0.05 * (high - low), high + 0.1 * (high - low))

    def _draw(self, name: str, number: int) -> None:
        costs, scores, low, high = self.curves[name]
        wide = name in self.emphasised
        style = line_style(number)
        if wide:
            style |= {"color": "black", "linestyle": "-", "marker": ""}
        if name in self.points:
            x, y = self.points[name]
            self.ax_.plot(
                x, y, linestyle="", marker=style["marker"], color=style["color"], markersize=2.5, alpha=0.35, zorder=1
            )  # fmt: skip
        every = max(1, len(costs) // 8)
        (self.lines_[name],) = self.ax_.plot(
            costs, scores, drawstyle="steps-post", linewidth=3 if wide else 1.4, markersize=4.5,
            markevery=(number % every, every), label=name, zorder=4 if wide else 3, **style,
        )  # fmt: skip
        if low is not None and high is not None:
            self.ax_.fill_between(
                costs, low, high, step="post", color="0.85", zorder=0, linewidth=0
            )

    def _legend(self) -> None:
        """Beside the axes where there are many lines, best at the end first."""
        ends = {name: np.nan_to_num(np.asarray(self.curves[name][1]))[-1] for name in self.lines_}
        names = sorted(self.lines_, key=lambda name: (name not in self.emphasised, -ends[name]))
        handles = [self.lines_[name] for name in names]
        if len(names) > MOST_INSIDE:
            self.ax_.legend(
                handles, names, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize="small",
                handlelength=2.6,
            )  # fmt: skip
        else:
            self.ax_.legend(handles, names, loc="lower right", frameon=False, handlelength=2.6)
