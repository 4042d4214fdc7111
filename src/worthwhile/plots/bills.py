"""How bills differ from row to row."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from worthwhile.plots._style import COLOURS, clean, new_axes


class BillsDisplay:
    """Distribution of the bills of single rows, with their mean.

    Parameters
    ----------
    bills : array (n,)
        The bill of each row.
    unit : str
        Unit of the bills.
    budget : number, optional
        Budget to mark.

    Attributes
    ----------
    ax_, figure_, bars_
        After ``plot``.

    Examples
    --------
    >>> from worthwhile import plots
    >>> plots.BillsDisplay([1.0, 1.0, 4.0], unit="CAD").plot().ax_.get_xlabel()
    'cost of a row (CAD)'
    """

    def __init__(self, bills: Any, *, unit: str = "", budget: float | None = None) -> None:
        self.bills = bills
        self.unit = unit
        self.budget = budget

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, budget: float | None = None, ax: Any = None
    ) -> Self:
        """Draw the bills of some rows.

        Parameters
        ----------
        estimator : fitted estimator
            Any of worthwhile, or a search.
        X : array or frame (n, d)
            Rows.
        budget : number, optional
            Mean budget to mark; by default that of a search.
        ax : matplotlib axes, optional
            Where to draw.
        """
        if budget is None and hasattr(estimator, "best_estimator_"):
            budget = estimator.budget
        return cls(estimator.cost(X), unit=estimator.costs_.unit, budget=budget).plot(ax)

    def plot(self, ax: Any = None, bins: int = 40) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw.
        bins : int, default=40
            Bars, from 0 to the largest bill.
        """
        bills = np.asarray(self.bills, dtype=np.float64)
        if bills.ndim != 1 or len(bills) == 0:
            raise ValueError(f"bills has shape {bills.shape}: give the bill of each row.")
        self.ax_ = new_axes(ax)
        counts, edges = np.histogram(bills, bins=bins, range=(0, float(bills.max()) or 1.0))
        share = counts / len(bills)
        self.bars_ = self.ax_.bar(
            edges[:-1], share, np.diff(edges), align="edge", color=COLOURS[2], edgecolor=COLOURS[2], linewidth=0.8
        )  # fmt: skip
        mean = float(bills.mean())
        self.ax_.axvline(mean, color="black", linewidth=1.6, label=f"mean {mean:.4g}")
        if self.budget is not None and np.isfinite(self.budget):
            self.ax_.axvline(
                self.budget, color=COLOURS[1], linestyle="--", linewidth=1.6, label=f"budget {self.budget:.4g}"
            )  # fmt: skip
        self.ax_.legend(frameon=False)
        self.ax_.set_xlabel(f"cost of a row ({self.unit})" if self.unit else "cost of a row")
        self.ax_.set_ylabel("share of rows")
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self
