"""What all drawings share: matplotlib on demand, and lines that can be told apart in greyscale."""

from __future__ import annotations

from typing import Any

from worthwhile._messages import missing_package

COLOURS = ("#0b3c5d", "#d1495b", "#328cc1", "#e0a100", "#3c7a4b", "#7d4e9e", "#6b6b6b", "#b8623b")
"""From dark to light and back, so that neighbours differ without colour too."""

DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def new_axes(ax: Any, *, wide: bool = False) -> Any:
    """The given axes, or new ones, wider where a legend stands beside them."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise missing_package("drawing needs", "matplotlib", "plot") from None
    return plt.subplots(layout="constrained", figsize=(8.4, 4.8) if wide else None)[1]


def line_style(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of the n-th line; all three differ between neighbours."""
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def cost_label(unit: str) -> str:
    """Label of an axis of mean bills."""
    return f"mean cost ({unit})" if unit else "mean cost"


def clean(ax: Any) -> None:
    """Less ink: no box, a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)


def log_costs(ax: Any, lowest: float, highest: float) -> None:
    """A logarithmic axis of costs with plain numbers on it."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.set_xlim(lowest, highest)
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
