"""Adaptive Classification for Prediction Under a Budget (NIPS 2017): what a gate saves.

    python -m benchmarks.papers.adapt_2017 --data FOLDER [--quick] [--results FILE] [--figure FILE] [--out FILE]

Runs the parts of ``adapt_2017_parts.py`` and writes them down beside the paper's figures. With
``--results`` parts that the file holds already are not run again, and new ones are added to it, so that
a run can be divided. ``--figure`` draws the curves of the paper's Figure 5.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import heading, markdown, options, write
from benchmarks.papers.adapt_2017_parts import NEED_DATA, PAPER, PARTS, WITHIN, keep

"""Per cent of the feature cost that ADAPT-GBRT saves within one point of the top accuracy (section 5)."""

NAMES = {
    "letters": "Letters", "forest": "Forest", "miniboone": "MiniBooNE (sample)", "cifar": "CIFAR features",
}  # fmt: skip

COLOURS = {"ADAPT-GBRT": "tab:red", "ADAPT-LIN": "tab:blue", "L1 gate": "tab:gray"}

RULES = {
    "budget": "budget", "fair": "max_drop=0.01", "stricter": "max_drop=0.005", "plain": "best on all",
}  # fmt: skip

Figures = dict[str, Any]


def gather(given: argparse.Namespace) -> Figures:
    """Figures of all parts, run here unless the file has them."""
    path = given.results or str(Path(tempfile.mkdtemp()) / "results.json")
    for name, part in PARTS.items():
        known = json.loads(Path(path).read_text()) if Path(path).exists() else {}
        if name in known or (name in NEED_DATA and not given.data) or given.no_run:
            continue
        print(name, flush=True)
        start = time.perf_counter()
        figures = part(given)
        seconds = round(time.perf_counter() - start)
        keep(path, {name: {"figures": figures, "quick": given.quick, "seconds": seconds}})
    return json.loads(Path(path).read_text())


def taken(found: Figures | None) -> list[str]:
    """Cells of what a rule took."""
    if found is None:
        return ["-", "-", "not reached"]
    lost, error = 100 * found["lost"], found.get("lost_error")
    spread = "" if error is None else f" ± {100 * error:.2f}"
    return [f"{found['cost']:.2f}", f"{-lost:+.2f}{spread}", f"{100 * found['saved']:.1f}"]


def read_off(about: Figures, found: Figures) -> str:
    """What the curve on test rows itself would say, which is how a plot is read."""
    good = [cost for cost, accuracy in found["curve"] if accuracy >= about["accuracy"] - WITHIN]
    return f"{100 * (1 - min(good) / about['cost']):.1f}" if good else "not reached"


def savings(results: Figures) -> str:
    """One table per data set: every method under both rules."""
    text = ""
    for part, name in NAMES.items():
        if part not in results:
            continue
        figures = results[part]["figures"]
        rows = next(iter(figures.values()))["rows"]
        text += (
            f"### {name}\n\n{rows[0]} / {rows[1]} / {rows[2]} rows to train, choose and test on. "
            f"The paper: ADAPT-GBRT saves {100 * PAPER[part]:.0f} %.\n\n"
        )
        lines = []
        for base, about in figures.items():
            label = f"{base}: {about['accuracy']:.4f} at {about['cost']:.2f}"
            for method, found in about["methods"].items():
                rules = [*taken(found["plain"]), *taken(found["fair"])]
                lines.append([label, method, *rules, read_off(about, found)])
        heads = [
            "in front of", "method", "best on all: cost", "accuracy, points", "saved (%)",
            "max_drop: cost", "accuracy, points", "saved (%)", "read off the test curve (%)",
        ]  # fmt: skip
        text += markdown(heads, lines) + "\n"
    return text


def splits(results: Figures) -> str:
    """Letters under other divisions of the rows."""
    figures, lines = results["letters-splits"]["figures"], []
    for base in dict.fromkeys(key.split(",")[0] for key in figures):
        runs = [about["methods"]["ADAPT-GBRT"] for key, about in figures.items() if base in key]
        for rule, label in RULES.items():
            found = [run[rule] for run in runs]
            saved, lost = ([100 * f[key] for f in found] for key in ("saved", "lost"))
            lines.append([base, label, ", ".join(f"{s:.1f}" for s in saved), f"{np.mean(saved):.1f}",
                          ", ".join(f"{-x:+.2f}" for x in lost), f"{-np.mean(lost):+.2f}"])  # fmt: skip
    heads = ["in front of", "chosen by", "saved (%)", "mean", "accuracy, points", "mean"]
    return (
        "### Letters, random divisions into the same numbers of rows, ADAPT-GBRT\n\n"
        f"{markdown(heads, lines)}\n"
    )


def budgets(results: Figures) -> str:
    """The most accurate within a budget: what is left of the cost by the paper's saving."""
    lines = []
    for part, name in NAMES.items():
        for base, about in results.get(part, {"figures": {}})["figures"].items():
            for method, found in about["methods"].items():
                if "budget" in found:
                    cells = taken(found["budget"])
                    lines.append([f"{name}, {base}", f"{100 * PAPER[part]:.0f} %", method, *cells])
    heads = ["in front of", "to save", "method", "cost", "accuracy, points", "saved (%)"]
    return f"### Within a budget: the cost less what the paper saves\n\n{markdown(heads, lines)}\n"


def stricter(results: Figures) -> str:
    """The gates with half a point to lose, beside one."""
    lines = []
    for part, name in NAMES.items():
        for base, about in results.get(part, {"figures": {}})["figures"].items():
            for method, found in about["methods"].items():
                if "stricter" in found:
                    cells = [*taken(found["fair"])[1:], *taken(found["stricter"])[1:]]
                    lines.append([f"{name}, {base}", method, *cells])
    heads = [
        "in front of", "method", "max_drop=0.01: accuracy, points", "saved (%)",
        "max_drop=0.005: accuracy, points", "saved (%)",
    ]  # fmt: skip
    return f"### Half a point to lose, instead of one\n\n{markdown(heads, lines)}\n"


def synthetic(figures: Figures) -> str:
    """Synthetic-2."""
    lines = [[name, *pair] for name, pair in figures.items()]
    return (
        "## Synthetic-2 (Figure 3)\n\nThe paper: full accuracy at 1.5, where the L1 gate needs 1.75.\n\n"
        f"{markdown(['method', 'accuracy', 'cost'], lines)}\n"
    )


def heart(figures: Figures) -> str:
    """Dollars."""
    base = figures["forest alone"]["cost"]
    lines = [
        [name, f"{f['accuracy']:.3f}", f"{f['difference']:+.3f} ± {f['error']:.3f}", f"{f['cost']:.2f}",
         f"{100 * (1 - f['cost'] / base):.0f}"]
        for name, f in figures.items()
    ]  # fmt: skip
    heads = [
        "who answers",
        "accuracy",
        "against the forest (standard error)",
        "dollars per patient",
        "saved (%)",
    ]
    return (
        "## Real prices: heart\n\nA forest of 200 trees that is there already, and a gate in front of it; means of "
        "ten divisions of the 297 patients (70 % to train on). Settings by five folds within the training rows; "
        f'"within one point" is on these folds, too.\n\n{markdown(heads, lines)}\n'
    )


def growth(figures: Figures) -> str:
    """Speed."""
    first = figures["Greedy Miser"]
    lines = [[name, f"{rate:.0f}", f"{rate / first:.2f}"] for name, rate in figures.items()]
    return (
        "## Speed of growing\n\n36,603 x 54, depth 3, 100 rounds where not stated, ten outer iterations, all in one "
        "run.\n\n"
        f"{markdown(['trees of', 'per second', 'of Greedy Miser'], lines)}\n"
    )


def draw(results: Figures, path: str) -> None:
    """Figure 5: the three gates in front of both models, in one plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for base, style, marker in (("RBF-SVM", "-", "*"), ("forest", "--", "P")):
        about = results["letters"]["figures"][base]
        for method, colour in COLOURS.items():
            cost, accuracy = zip(*sorted(about["methods"][method]["curve"]), strict=True)
            axes.plot(cost, accuracy, style, color=colour, lw=1.4, label=f"{method}, {base}")
        axes.plot(
            about["cost"],
            about["accuracy"],
            marker,
            color="black",
            ms=9,
            label=f"{base} alone",
            clip_on=False,
        )
    axes.set(
        xlabel="mean number of features bought",
        ylabel="accuracy on test rows",
        xlim=(4, 16),
        ylim=(0.7, 0.985),
    )
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=80, bbox_inches="tight")


NOTES = """## How to read this

Every method is swept; each of 200 budgets picks the most accurate model on validation rows. "Best on all" takes the
cheapest of these whose accuracy on the same rows is within one point of the existing model's. The best of many models
looks better on the rows it was chosen on than it is. "max_drop" is `max_drop=0.01` of the gates: halves of the
validation rows choose for each other, and the smallest budget is taken at which the half that did not choose loses at
most one point on average. It is a mean: test rows may lose more or less. Test rows say what the model taken costs and
how accurate it is; ± is the standard error of the paired difference. The last column does what a reader of the
paper's plots does, and chooses on the test curve itself: it flatters every method.

"Within a budget" is the plain way to use a gate: the budget is the existing model's cost less what the paper saves,
31 % of it on the Letters, and the most accurate model on validation rows that fits is taken, as `budget=` does.

What max_drop is worth was tried on validation rows alone: divided at random 40 to 60 times, one part chose, the other
judged.

| rule | MiniBooNE (600 choose): lost | within one | saved (%) | CIFAR (2,400): lost | within one | saved (%) |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| best on all | 1.51 | 32 % | 85 | 1.69 | 32 % | 20 |
| with a standard error to spare | 0.80 | 60 % | 70 | 1.02 | 65 % | 15 |
| max_drop | 0.68 | 73 % | 55 | 0.52 | 80 % | 9 |

What holds, by a budget: on the Letters ADAPT-GBRT saves 35 % in front of the SVM and 31 % in front of the forest, and
loses 0.85 and 0.12 points: within one point at the paper's saving for both. In three random divisions of the same rows
it saves 31 to 42 % and loses 0.63 points in front of the SVM and 0.29 in front of the forest in the mean; one of the
six runs loses more than a point (1.10).

What holds, by max_drop. In front of the SVM of the Letters ADAPT-GBRT saves 41.5 % (the paper: 31) and loses 0.90
points; on Forest 60 % (32) and 0.15; on the MiniBooNE sample 76 % (63) and 0.75; on CIFAR 8 % (12) and 0.90. On the
Letters ADAPT-LIN lies above the L1 gate. On MiniBooNE and CIFAR Greedy Miser and BudgetPrune do less well than
ADAPT-GBRT: they lose more than a point, save less, or never come within one. On Forest BudgetPrune with leaves
refitted saves 19 % and Greedy Miser 16 %, both more accurate than the forest.

What does not hold:

- In front of the forest of the Letters max_drop saves 45 % and loses 1.72 ± 0.33 points. With half a point to lose it
  saves 44 % and loses 0.87. The SVM's then saves 16 % only: between half a point and one its curve is flat, and where
  it crosses is decided by a few of 4,000 rows. No single setting of this rule has both within one point at 31 %:
  the cheapest model that may lose a point is a harder thing to choose than the best within a budget.
- On the Letters Greedy Miser with the same deep trees, and 300 rounds, answers from 9 of 16 features with 96.9 %: a
  saving of 44 % without any gate. ADAPT-GBRT with 100 rounds is not better. With trees of depth 6 and no Newton
  steps Greedy Miser never came within a point, and ADAPT-GBRT saved 30.5 %.
- "Best on all" loses up to 2.3 points where it promised one. On MiniBooNE ADAPT-LIN loses 1.05 ± 0.31 by max_drop and
  is no better than the L1 gate.
- On heart ADAPT-LIN takes 19 % off the bill with a loss inside its standard error; ADAPT-GBRT takes 28 % off and loses
  1.6 points. Tight budgets lose five to six points, and folds of 200 patients leave much of a larger budget unspent.

How trees were chosen, on training and validation rows: on Forest depth 10 saved 58 to 63 % where depth 6 saved 25;
depth 13 saved 71 % at two to three times the training, and was not taken. On the Letters, in front of the SVM, by
max_drop on validation rows, 100 rounds:

| depth, steps, rate | saved (%) |
| --- | ---: |
| 6, mean, 0.3 | 30.9 |
| 8, mean, 0.3 | 31.0 |
| 10, mean, 0.3 | 26.2 |
| 6, Newton, 0.2 | 30.0 |
| 8, Newton, 0.2 | 41.6 |
| 8, Newton, 0.1 | 31.3 |
| 10, Newton, 0.1 | 23.4 |

The best of seven was taken, which is partly luck: with 200 rounds it saves 31.2 % on the same rows.

How fair the comparison is: a sweep of ADAPT-GBRT holds well over a thousand models (gammas, shares, lengths,
thresholds), Greedy Miser's ten, each cut to its best round, with three times the rounds and the same trees.
BudgetPrune has 55 prunings (11 values of lam; 0, 3, 5, 7 or 9 levels kept), once as they are and once with leaves
refitted; where the existing model is no forest it starts from one of 40 trees.
In front of the forest of the Letters, of 200 trees, it was stopped before it was done: the earlier, coarse sweep of
six values saved 0.8 %.

- Bills of gated rows hold what the gate read, which the authors' public evaluation leaves out. A forest is billed for
  what lies on its paths.
- A sweep also moves the threshold of each trained gate, which the paper does not do; the L1 gate's is moved likewise.
- What was looked at: test rows of all sets were seen in earlier runs, with other trees and rules. Trees and rules were
  then changed on training and validation rows only. Both values of max_drop were fixed before the Letters were run
  on test rows; the 200 rounds were tried after that, on validation rows. Heart's settings were tried on folds of two
  other divisions of the same patients.
- The parts were run one by one and gathered with `--results`. Half a point to lose was run on the Letters only; the
  script now has it for all gates; the budget was run with ADAPT-GBRT and Greedy Miser on the Letters. It was made a
  rule after the test figures of the other two had been seen; it has nothing to set but the paper's own figure.
- Speeds are of two threads with nothing else running. Reading and binning the rows is part of each fit and weighs on
  100 trees more than on the 2,100 of ADAPT-GBRT. Against 2,000 rounds of Greedy Miser its rate is 0.79, against 100
  rounds 0.99; the target was half.
- Forest's rows are drawn from the public set, as the paper's are not published. MiniBooNE is the public sample of
  5,000 rows, where the paper has 130,064. The CIFAR features are others than the paper's, and a sample of the rows:
  relations compare, figures do not. Yahoo's data is licensed.
"""


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--results", metavar="FILE", help="file that gathers figures over several runs"
    )
    parser.add_argument(
        "--no-run", action="store_true", help="only write down what --results holds"
    )
    parser.add_argument("--figure", metavar="FILE", help="where to draw Figure 5")
    given = parser.parse_args()
    results = gather(given)
    # What counts is the time of the parts, whenever they were run.
    start = time.perf_counter() - sum(part["seconds"] for part in results.values())
    given.quick = any(part["quick"] for part in results.values())
    title = "Adaptive Classification for Prediction Under a Budget (NIPS 2017)"
    text = heading(title, "papers.adapt_2017", given, start)
    text += "## Cost saved within one point of the existing model\n\n"
    if given.figure:
        draw(results, given.figure)
        text += f"![Accuracy against cost on the Letters, three gates](../figures/{Path(given.figure).name})\n\n"
    text += budgets(results) + savings(results) + stricter(results)
    if "letters-splits" in results:
        text += splits(results)
    for name, section in (("synthetic", synthetic), ("heart", heart), ("growth", growth)):
        if name in results:
            text += section(results[name]["figures"])
    missing = [name for name in PARTS if name not in results]
    if missing:
        text += f"Not run: {', '.join(missing)}.\n\n"
    text += NOTES
    write(given.out, text)


if __name__ == "__main__":
    main()
