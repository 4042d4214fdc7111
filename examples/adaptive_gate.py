"""A gate in front of an exact model, drawn: the two synthetic problems of the ADAPT paper.

    python examples/adaptive_gate.py --plot gates.png

The first two rows are the paper's Figure 2: the data and the exact model, then, for a linear and for
a boosted pair, who answers where at the start and after ten iterations (shaded: sent on to the exact
model; dark line: border of the cheap model). The last row is Figure 3: what a joint choice of
features is worth when features cost money.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.svm import SVC

from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    L1GateClassifier,
    datasets,
)


def pairs(existing: Any) -> dict[str, tuple[Any, Any]]:
    """Each variant at its start and after ten iterations."""
    linear = AdaptiveLinearClassifier(
        existing, p_full=0.6, gamma=0, costs=[0, 0], refit_supports=False
    )
    boosted = AdaptiveBoostingClassifier(existing, p_full=0.45, costs=[0, 0], n_rounds=60)
    return {
        "ADAPT-LIN": (clone(linear).set_params(max_iter=1), clone(linear).set_params(max_iter=10)),
        "ADAPT-GBRT": (
            clone(boosted).set_params(max_iter=1),
            clone(boosted).set_params(max_iter=10),
        ),
    }


def describe(name: str, model: Any, X: pd.DataFrame, y: np.ndarray) -> None:
    report = model.gate_report(X, y)
    sent, all_rows = report.loc["existing"], report.loc["all"]
    print(
        f"{name:28s} accuracy {all_rows['accuracy']:.3f}   sent on {sent['share']:.2f}   "
        f"cheap model where it answers {report.loc['cheap', 'accuracy']:.3f}   cost {all_rows['cost']:.2f}"
    )


def mesh(X: pd.DataFrame, steps: int = 160) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """A grid of points over the data."""
    low, high = X.min().to_numpy() - 0.2, X.max().to_numpy() + 0.2
    a, b = np.meshgrid(np.linspace(low[0], high[0], steps), np.linspace(low[1], high[1], steps))
    return a, b, pd.DataFrame({"x1": a.ravel(), "x2": b.ravel()})


def shade(axes: Any, X: pd.DataFrame, y: np.ndarray, model: Any, title: str) -> None:
    """Points, the region that is sent on, and the border of the model that answers elsewhere."""
    a, b, grid = mesh(X)
    if hasattr(model, "sent"):
        axes.contourf(
            a, b, model.sent(grid).reshape(a.shape), levels=[0.5, 1.5], colors=["#f2e2c4"]
        )
        cheap = model.policy_.cheap
        side = cheap.output.winner(cheap.batch(grid.to_numpy()).raw)
    else:
        side = (model.predict(grid) == model.classes_[1]).astype(int)
    axes.contour(a, b, side.reshape(a.shape), levels=[0.5], colors="#202020")
    scatter(axes, X, y, title)


def scatter(axes: Any, X: pd.DataFrame, y: np.ndarray, title: str) -> None:
    for label, colour, mark in ((1, "#c03028", "o"), (-1, "#2050a0", "^")):
        axes.scatter(*X[y == label].to_numpy().T, s=6, c=colour, marker=mark, alpha=0.7)
    axes.set(title=title, xticks=[], yticks=[])


def synthetic_1(draw: Any) -> None:
    X, y, _ = datasets.make_synthetic_1(1000)
    existing = SVC(gamma=2, C=10).fit(X, y)
    print(f"Synthetic-1: exact model {existing.score(X, y):.3f}")
    fitted = {name: [model.fit(X, y) for model in two] for name, two in pairs(existing).items()}
    for name, (first, last) in fitted.items():
        describe(f"{name}, first iteration", first, X, y)
        describe(f"{name}, last iteration", last, X, y)
    if draw is None:
        return
    scatter(draw[0, 0], X, y, "data")
    shade(draw[1, 0], X, y, existing, "exact model")
    for row, (name, (first, last)) in enumerate(fitted.items()):
        shade(draw[row, 1], X, y, first, f"{name}, start")
        shade(draw[row, 2], X, y, last, f"{name}, end")


def synthetic_2(draw: Any) -> None:
    X, y, costs = datasets.make_synthetic_2(1000, separation=2)
    existing = SVC(gamma=1).fit(X, y)
    joint = AdaptiveLinearClassifier(existing, p_full=0.5, costs=costs).fit(X, y)
    apart = L1GateClassifier(existing, budget=1.9, costs=costs).fit(X, y, validation=(X, y))
    print("Synthetic-2: the exact model reads both features and costs 2")
    describe("ADAPT-LIN", joint, X, y)
    describe("L1 gate", apart, X, y)
    if draw is None:
        return
    scatter(draw[2, 0], X, y, "four clusters")
    shade(draw[2, 1], X, y, joint, f"ADAPT-LIN, cost {joint.cost(X).mean():.2f}")
    shade(draw[2, 2], X, y, apart, f"L1 gate, cost {apart.cost(X).mean():.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plot", metavar="FILE", help="draw the figure into this file")
    args = parser.parse_args()
    figure, draw = None, None
    if args.plot:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, draw = plt.subplots(3, 3, figsize=(11, 9))
    synthetic_1(draw)
    synthetic_2(draw)
    if figure is not None:
        figure.tight_layout()
        figure.savefig(args.plot, dpi=120)


if __name__ == "__main__":
    main()
