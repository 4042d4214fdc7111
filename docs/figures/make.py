"""Draws the front figure: ``python docs/figures/make.py`` (a few minutes)."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib.pyplot as plt

import costwise
from costwise.exceptions import CostwiseWarning
from costwise.frontier import Comparison

METHODS = (
    "greedy-miser-row",
    "budgeted-forest",
    "submodular-tree",
    "cost-weighted-l1",
    "dynamic-selection",
    "decision-tree",
    "random-forest",
)


def run() -> Comparison:
    """Sweep the methods on the heart data."""
    heart = costwise.datasets.load_heart()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostwiseWarning)  # sweeps reach where nothing is bought
        return costwise.compare(
            heart.data, heart.target, heart.costs, METHODS, n_splits=8, effort=6, verbose=1
        )


def draw(found: Comparison, path: Path) -> None:
    """Write the picture."""
    display = costwise.plots.FrontierDisplay.from_comparison(found)
    display.ax_.set_title("Heart disease: what accuracy costs, 297 patients, 8 random splits")
    display.figure_.savefig(path, dpi=110)
    plt.close(display.figure_)


if __name__ == "__main__":
    draw(run(), Path(__file__).with_name("frontier.png"))
