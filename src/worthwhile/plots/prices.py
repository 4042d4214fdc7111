"""What each feature costs when it is bought alone: its fees and what it requires included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from worthwhile.plots._style import COLOURS, clean, new_axes

if TYPE_CHECKING:
    from worthwhile.costs import Costs

MOST_BARS = 40
"""Features that are drawn; of more, the dearest."""


class PricesDisplay:
    """Own price of each feature, and what its fees and what it requires add, dearest first.

    Parameters
    ----------
    features : list of str
        Names.
    prices, fees : list of numbers
        Own price of each, and what is due beside it when nothing else was bought.
    unit : str
        Unit of the prices.

    Attributes
    ----------
    ax_, figure_, bars_
        After ``plot``; bars of own prices, and of what is due beside them.

    Examples
    --------
    >>> from worthwhile import Costs, plots
    >>> costs = Costs({"age": 1, "chol": 5}, {"blood": {"fee": 2, "features": ["chol"]}}, unit="CAD")
    >>> display = plots.PricesDisplay.from_costs(costs)
    >>> display.features, display.fees
    (['chol', 'age'], [2.0, 0.0])
    """

    def __init__(
        self, features: list[str], prices: list[float], fees: list[float], *, unit: str = ""
    ) -> None:
        self.features = features
        self.prices = prices
        self.fees = fees
        self.unit = unit

    @classmethod
    def from_costs(cls, costs: Costs, *, ax: Any = None) -> Self:
        """Draw a price list.

        Parameters
        ----------
        costs : Costs
            Prices; of many features the dearest are drawn.
        ax : matplotlib axes, optional
            Where to draw.
        """
        alone = {feature: costs.price([feature]) for feature in costs.features}
        dearest = sorted(alone, key=lambda feature: -alone[feature])[:MOST_BARS]
        prices = [float(costs.prices[feature]) for feature in dearest]
        fees = [alone[f] - price for f, price in zip(dearest, prices, strict=True)]
        return cls([str(f) for f in dearest], prices, fees, unit=costs.unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw one bar per feature."""
        self.ax_ = new_axes(ax)
        places = range(len(self.features))
        own = self.ax_.barh(places, self.prices, color=COLOURS[2], label="own price")
        fees = self.ax_.barh(
            places,
            self.fees,
            left=self.prices,
            color=COLOURS[0],
            label="fees, and what it requires",
        )
        self.bars_ = own, fees
        self.ax_.set_yticks(places, self.features)
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(f"price ({self.unit})" if self.unit else "price")
        if any(self.fees):
            self.ax_.legend(frameon=False)
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self
