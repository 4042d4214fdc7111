"""How one case's bill grew, purchase by purchase."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Self

from worthwhile.plots._style import COLOURS, clean, new_axes

if TYPE_CHECKING:
    from worthwhile.runtime import Ledger


class LedgerDisplay:
    """Each purchase as a bar that begins where the bill stood before it.

    Parameters
    ----------
    names : list of str
        What was bought, in order.
    amounts : list of numbers
        What was paid for each.
    unit : str
        Unit of the amounts.
    budget : number, optional
        Budget of the case, to mark.

    Attributes
    ----------
    ax_, figure_, bars_
        After ``plot``.

    Examples
    --------
    >>> from worthwhile import plots
    >>> display = plots.LedgerDisplay(["age", "chol"], [1.0, 7.27], unit="CAD", budget=10).plot()
    >>> [float(bar.get_x()) for bar in display.bars_], display.ax_.get_xlabel()
    ([0.0, 1.0], 'bill (CAD)')
    """

    def __init__(
        self,
        names: list[str],
        amounts: list[float],
        *,
        unit: str = "",
        budget: float | None = None,
    ) -> None:
        self.names = names
        self.amounts = amounts
        self.unit = unit
        self.budget = budget

    @classmethod
    def from_ledger(cls, ledger: Ledger, *, budget: float | None = None, ax: Any = None) -> Self:
        """Draw a ledger.

        Parameters
        ----------
        ledger : Ledger
            Of a session.
        budget : number, optional
            Budget to mark.
        ax : matplotlib axes, optional
            Where to draw.
        """
        names = [
            f"{entry.count} evaluations" if entry.feature is None else str(entry.feature)
            for entry in ledger.entries
        ]
        amounts = [float(entry.amount) for entry in ledger.entries]
        return cls(names, amounts, unit=ledger.unit, budget=budget).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, the first purchase on top."""
        self.ax_ = new_axes(ax)
        before = list(accumulate(self.amounts, initial=0.0))[:-1]
        places = range(len(self.names))
        self.bars_ = self.ax_.barh(places, self.amounts, left=before, color=COLOURS[2])
        if self.budget is not None and math.isfinite(self.budget):
            self.ax_.axvline(
                self.budget, color=COLOURS[1], linestyle="--", label=f"budget {self.budget:.4g}"
            )
            self.ax_.legend(frameon=False)
        self.ax_.set_yticks(places, self.names)
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(f"bill ({self.unit})" if self.unit else "bill")
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self
