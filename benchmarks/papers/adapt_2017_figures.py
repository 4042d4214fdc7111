"""The figures of ``adapt_2017``, from the results that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import best_within
from benchmarks.papers.adapt_2017_page import NAMES, PANELS, methods_of, plain_of
from benchmarks.papers.adapt_2017_small import UNEVEN
from benchmarks.papers.frame import Records
from worthwhile import datasets

LOOK: dict[str, dict[str, Any]] = {
    "ADAPT-GBRT": {"color": "#b2182b"},
    "ADAPT-LIN": {"color": "#2166ac"},
    "ADAPT-LIN, no refits": {"color": "#67a9cf", "ls": "--"},
    "ADAPT-LSTSQ": {"color": "#f4a582"},
    "L1 gate": {"color": "0.6"},
    "Greedy Miser": {"color": "#1a9850"},
    "BudgetPrune": {"color": "#762a83"},
    "BudgetPrune, refitted": {"color": "#af8dc3"},
}
STAR: dict[str, Any] = {"marker": "*", "color": "black", "ms": 10, "ls": "", "clip_on": False}


def draw(records: Records, folder: Path) -> None:
    """Figures 2 and 3, then 4, 5, the oracle's gate and several stages."""
    import matplotlib.pyplot as plt

    from worthwhile.plots._style import clean

    if "synthetic-1" in records and "synthetic-2" in records:
        _examples(records, folder)
    fronts = [key for key in PANELS if methods_of(records, *key)]
    extra = [
        make for name, make in (("oracle gate", _oracle), ("stages", _stages)) if name in records
    ]
    lines = -(-(len(fronts) + len(extra)) // 3)
    figure, grid = plt.subplots(lines, 3, figsize=(10.5, 2.9 * lines), layout="constrained")
    axes = list(grid.ravel())
    shown: dict[str, Any] = {}
    for axis, key in zip(axes, fronts, strict=False):
        shown |= _front(axis, records, *key)
    for axis, make in zip(axes[len(fronts) :], extra, strict=False):
        make(axis, records)
    for axis in axes[: len(fronts) + len(extra)]:
        clean(axis)
    for axis in axes[len(fronts) + len(extra) :]:
        axis.axis("off")
    figure.legend(shown.values(), shown.keys(), frameon=False, loc="outside lower center", ncols=4)
    figure.savefig(folder / "adapt-2017.png", dpi=90)
    plt.close(figure)


def _front(axis: Any, records: Records, model: str, name: str) -> dict[str, Any]:
    """Accuracy against cost around one model; lines by method, for the legend."""
    own, shown = methods_of(records, model, name), {}
    curves = {method: (one["curve"], LOOK[method]) for method, one in own.items()}
    if plain := plain_of(own.get("ADAPT-GBRT", {})):
        look = LOOK["ADAPT-GBRT"] | {"ls": ":"}
        curves["ADAPT-GBRT, as trained"] = (plain["curve"], look)
    for method, (points, look) in curves.items():
        # A bill of nothing has no place on a logarithmic axis.
        curve = np.array([point for point in sorted(points) if point[0] > 0 or name != "yahoo"])
        best = np.maximum.accumulate(curve[:, 1])
        (shown[method],) = axis.step(curve[:, 0], best, where="post", lw=1.2, **look)
    first = next(iter(own.values()))
    top = first.get("existing", first["accuracy"])
    (shown["existing model alone"],) = axis.plot(first["cost"], top, **STAR)
    best = max(top, *(a for one in own.values() for _, a in one["curve"]))
    low = top - (0.15 if name != "yahoo" else 0.05)
    what = "precision@5" if name == "yahoo" else "accuracy"
    axis.set(
        xlabel="mean bill of a row", ylabel=what, ylim=(low, best + 0.1 * (best - low)),
    )  # fmt: skip
    axis.set_title(f"{PANELS[model, name]}: {NAMES[name]}, {model}", fontsize=10)
    if name == "yahoo":
        axis.set_xscale("log")
    return shown


def _oracle(axis: Any, records: Records) -> None:
    own = records["oracle gate"]
    cost, _, loss = own["existing"]
    for key, colour in (("oracle", "#1a9850"), ("learned", "#b2182b")):
        line = np.array(sorted(own[key]))
        axis.plot(1 - line[:, 0] / cost, line[:, 2] - loss, ".-", color=colour, label=f"{key} gate")
    axis.plot(0, 0, **STAR)
    axis.set(
        title="Section 3: the oracle's gate, Letters", xlabel="share of the cost saved", ylabel="excess log loss",
    )  # fmt: skip
    axis.legend(frameon=False, fontsize=8, loc="upper left")


def _stages(axis: Any, records: Records) -> None:
    own = records["stages"]
    for key, label, colour in (
        ("stages", "one to three stages", "#b2182b"), ("one stage", "one stage", "0.5"),
    ):  # fmt: skip
        line = np.array([own[f"{key} {k}"][:2] for k in (1, 2, 3)])
        axis.plot(line[:, 0], line[:, 1], "o-", color=colour, label=label)
    axis.plot(*own["existing"], **STAR)
    axis.set(title="Remark 2: stages, Letters", xlabel="mean bill of a row", ylabel="accuracy")
    axis.legend(frameon=False, fontsize=8, loc="lower right")


def _examples(records: Records, folder: Path) -> None:
    """Figures 2 and 3."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    from worthwhile.plots._style import clean

    figure, grid = plt.subplots(2, 4, figsize=(10.5, 5), layout="constrained")
    axes = [*grid[0, :3], *grid[1, :2], grid[0, 3], grid[1, 2]]
    aside = grid[1, 3]
    aside.axis("off")
    own = records["synthetic-1"]
    extent = (own["low"][0], own["high"][0], own["low"][1], own["high"][1])
    pictures = {"RBF-SVM": own["exact picture"]} | {
        f"{name}, iteration {n}": own[f"{name} {n}"]["picture"]
        for name in ("ADAPT-LIN", "ADAPT-GBRT") for n in (1, 10)
    }  # fmt: skip
    colours = ListedColormap(["#d1e5f0", "#fddbc7", "#f5f0dc"])
    for axis, (title, picture) in zip(axes, pictures.items(), strict=False):
        side = int(len(picture) ** 0.5)
        grid = np.array(list(map(int, picture))).reshape(side, side)
        axis.imshow(
            grid, origin="lower", extent=extent, aspect="auto", cmap=colours, vmin=0, vmax=2
        )
        _dots(axis, np.array(own["rows"]))
        axis.set(title=title, xticks=[], yticks=[])
    X, y, _ = datasets.make_synthetic_2(400, 0, shares=UNEVEN, separation=2)
    _dots(axes[5], np.column_stack([X, y]))
    axes[5].set(title="Synthetic-2: four clusters", xlabel="feature 1", ylabel="feature 2")
    for method in ("ADAPT-LIN", "ADAPT-LIN, no refits", "ADAPT-LSTSQ", "L1 gate"):
        points = records["synthetic-2"][f"{method}, clusters of 26 %"]
        costs = np.linspace(1, 2, 60)
        axes[6].step(costs, best_within(points, costs), where="post", label=method, **LOOK[method])
    axes[6].set(title="Figure 3: Synthetic-2", xlabel="mean cost", ylabel="accuracy")
    aside.legend(*axes[6].get_legend_handles_labels(), frameon=False, loc="center left")
    clean(axes[6])
    figure.savefig(folder / "adapt-2017-examples.png", dpi=90)
    plt.close(figure)


def _dots(axis: Any, rows: np.ndarray) -> None:
    """Rows of a plane, by class."""
    axis.scatter(rows[:, 0], rows[:, 1], c=np.where(rows[:, 2] > 0, "#b2182b", "#2166ac"), s=3)
