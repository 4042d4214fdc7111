"""All methods side by side on four data sets: how long it takes, what comes out, a figure.

    python -m benchmarks.parts.compare --data FOLDER [--quick] [--keep FOLDER] [--out docs/reproduction/compare.md]
        [--figure FILE] [--methods budget lightgbm-static ...]

``worthwhile.compare`` with every method of the library and every peer that is installed: heart with its
published prices, Letters, segmentation and the MiniBooNE sample with a price of 1 for each feature. The
target is 20 minutes in all on two cores; ``--methods`` runs some of them. ``--keep`` holds what is done and
the seconds it took, so that a run may be done in pieces, and the figure drawn again without training.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from benchmarks.common import load, machine, markdown, options, write
from worthwhile import Costs, compare
from worthwhile.frontier import Frontier

SETS = {
    # rows (None: all), random splits, models per method and split
    "heart": (None, 2, 8),
    "letters": (2500, 1, 8),
    "segmentation": (None, 1, 8),
    "miniboone_sample": (3000, 1, 8),
}
TITLES = {
    "heart": "Heart disease, prices in CAD",
    "segmentation": "Image segmentation, 7 classes",
    "miniboone_sample": "MiniBooNE, 50 features",
    "letters": "Letters, 26 classes",
}


def run(name, given):
    """A comparison, its rows and the seconds it took; what was kept of an earlier run is not done again."""
    rows, splits, effort = SETS[name]
    rows = min(rows or 2000, 2000) if given.quick else rows
    X, y, published = load(name, given.data, rows)
    costs = published or Costs(np.ones(X.shape[1]))
    journal, clock = None, None
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
        journal, clock = (Path(given.keep, name + end) for end in (".jsonl", ".seconds"))
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare(
                X, y, costs, given.methods or "all", n_splits=1 if given.quick else splits,
                effort=3 if given.quick else effort,
                n_jobs=given.jobs, random_state=given.seed, resume=journal,
            )  # fmt: skip
    finally:
        seconds = time.perf_counter() - start
        if clock:
            with clock.open("a") as file:
                file.write(f"{seconds}\n")
    if clock:
        seconds = sum(float(line) for line in clock.read_text().split())
    return found, len(y), seconds


def curve(found, names, budgets):
    """Mean test score of the best of some methods, each budget's chosen on validation."""
    scores = [
        Frontier.join({name: found.frontier(name, split) for name in names}).step(
            budgets, part="test"
        )
        for split in range(len(found.runs))
    ]
    return np.mean(scores, axis=0)


def draw(comparisons, path):
    """One panel per set: every method thin, the best of ours and of the peers wide."""
    import matplotlib.pyplot as plt

    wide, high = (2, 2) if len(comparisons) == 4 else (len(comparisons), 1)
    figure, grid = plt.subplots(
        high, wide, figsize=(4.6 * wide, 3.2 * high + 0.4), layout="constrained", squeeze=False
    )
    for ax, (name, found) in zip(grid.flat, comparisons.items(), strict=True):
        shares = np.geomspace(0.005, 1, 160)
        budgets = found.full_cost * shares
        ours = [m for m in found.methods if m not in found.peers]
        thin = {"drawstyle": "steps-post", "linewidth": 0.8, "zorder": 1}
        for method in found.methods:
            peer = method in found.peers
            style = {"color": "0.6", "linestyle": ":"} if peer else {"color": "#9cc4df"}
            ax.plot(100 * shares, curve(found, [method], budgets), **thin, **style)
        best_of = {"drawstyle": "steps-post", "zorder": 3}
        peers = curve(found, found.peers, budgets)
        best = curve(found, ours, budgets)
        ax.plot(100 * shares, peers, color="#d1495b", linestyle="--", linewidth=2, **best_of)
        ax.plot(100 * shares, best, color="#0b3c5d", linewidth=2.6, **best_of)
        ax.fill_between(
            100 * shares, peers, best, where=best > peers, step="post", color="#9cc4df", alpha=0.35, linewidth=0
        )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks([0.5, 1, 2, 5, 10, 20, 50, 100], [0.5, 1, 2, 5, 10, 20, 50, 100])
        ax.minorticks_off()
        ax.set_xlim(0.5, 100)
        ax.set_title(TITLES[name], fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color="0.92", linewidth=0.8)
    for ax in grid[-1]:
        ax.set_xlabel("mean bill per case, % of the price of all features")
    for ax in grid[:, 0]:
        ax.set_ylabel("accuracy on test rows")
    lines = [
        plt.Line2D([], [], color="#0b3c5d", linewidth=2.6, label="best of worthwhile, by budget"),
        plt.Line2D(
            [], [], color="#d1495b", linestyle="--", linewidth=2, label="best of the peers, by budget"
        ),
        plt.Line2D([], [], color="#9cc4df", linewidth=1.2, label="each method of worthwhile"),
        plt.Line2D([], [], color="0.6", linestyle=":", linewidth=1.2, label="each peer"),
    ]  # fmt: skip
    figure.legend(handles=lines, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", help="name of a data set; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="methods at a time")
    parser.add_argument("--methods", nargs="*", help="methods by name; all that apply without it")
    parser.add_argument("--keep", metavar="FOLDER", help="where finished comparisons are kept")
    parser.add_argument("--figure", metavar="FILE", help="draw the front figure into this file")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # the seconds so far are kept
    lines, found, text = [], {}, ""
    for name in given.only or SETS:
        found[name], rows, seconds = run(name, given)
        one = found[name]
        lines.append(
            [name, rows, len(one.methods), len(one.runs), len(one.failures), f"{seconds:.0f}"]
        )
        print(lines[-1], flush=True)
        text += f"\n## {TITLES[name]}\n\n{one.to_markdown()}"
    total = sum(float(line[-1]) for line in lines)
    lines.append(["all", "", "", "", "", f"{total:.0f}"])
    heads = ["data", "rows", "methods", "splits", "failed", "seconds"]
    quick = " --quick" if given.quick else ""
    some = " --methods " + " ".join(given.methods) if given.methods else ""
    write(
        given.out,
        f"# All methods side by side\n\n`python -m benchmarks.parts.compare --data FOLDER{quick}{some}`, "
        f"seed {given.seed}, {given.jobs} methods at a time. {machine()}.\n\n{markdown(heads, lines)}{text}",
    )
    if given.figure:
        draw(found, given.figure)


if __name__ == "__main__":
    main()
