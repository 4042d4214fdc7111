"""Adaptive Classification for Prediction Under a Budget (NIPS 2017): what a gate saves.

    python benchmarks/papers/adapt_2017.py --data FOLDER [--quick] [--results FILE] [--figure FILE] [--out FILE]

Runs the parts of ``benchmarks/bench_adapt.py`` and writes them down beside the paper's figures. With
``--results`` parts that the file holds already are not run again, and new ones are added to it, so that
a run can be divided. ``--figure`` draws the curves of the paper's Figure 5.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench_adapt import NEED_DATA, PARTS, WITHIN, keep
from common import heading, markdown, options, write

PAPER = {"letters": 31, "forest": 32, "miniboone": 63, "cifar": 12}
"""Per cent of the feature cost that ADAPT-GBRT saves within one point of the top accuracy (section 5)."""

NAMES = {
    "letters": "Letters", "forest": "Forest", "miniboone": "MiniBooNE (sample)", "cifar": "CIFAR features",
}  # fmt: skip

COLOURS = {"ADAPT-GBRT": "tab:red", "ADAPT-LIN": "tab:blue", "L1 gate": "tab:gray"}

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
            f"The paper: ADAPT-GBRT saves {PAPER[part]} %.\n\n"
        )
        lines, second = [], "an error to spare"
        for base, about in figures.items():
            label = f"{base}: {about['accuracy']:.4f} at {about['cost']:.2f}"
            for method, found in about["methods"].items():
                if "fair" in found:
                    second = "max_drop"
                # Parts that were run before max_drop was there have the rule that it replaced.
                rules = [*taken(found["plain"]), *taken(found.get("fair", found.get("spare")))]
                lines.append([label, method, *rules, read_off(about, found)])
        heads = [
            "in front of", "method", "best on all: cost", "accuracy, points", "saved (%)",
            f"{second}: cost", "accuracy, points", "saved (%)", "read off the test curve (%)",
        ]  # fmt: skip
        text += markdown(heads, lines) + "\n"
    return text


def splits(results: Figures) -> str:
    """Letters under other divisions of the rows."""
    runs = [
        about["methods"]["ADAPT-GBRT"] for about in results["letters-splits"]["figures"].values()
    ]
    lines = []
    rules = {"plain": "best on all", "fair": "max_drop", "spare": "an error to spare"}
    for rule, label in rules.items():
        found = [run.get(rule) for run in runs]
        if None in found:
            continue
        saved, lost = ([100 * f[key] for f in found] for key in ("saved", "lost"))
        lines.append([label, ", ".join(f"{s:.1f}" for s in saved), f"{np.mean(saved):.1f}",
                      ", ".join(f"{-x:+.2f}" for x in lost), f"{-np.mean(lost):+.2f}"])  # fmt: skip
    heads = ["chosen on validation rows", "saved (%)", "mean", "accuracy, points", "mean"]
    return (
        f"### Letters, {len(runs)} random divisions into the same numbers of rows, ADAPT-GBRT in front of the "
        f"SVM\n\n{markdown(heads, lines)}\n"
    )


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
validation rows choose for each other, and the smallest budget is taken at which the half that did not choose loses
at most one point. "An error to spare", the rule before it, asks for a standard error (of the paired difference) more
on the rows that chose. Test rows say what the model taken costs and how accurate it is. The last column does what a
reader of the paper's plots does, and chooses on the test curve itself: it flatters every method, and is there to
compare with the paper.

max_drop was run on MiniBooNE, CIFAR and, for ADAPT-GBRT, on Forest; the tables of Letters, and Forest's lines of Greedy
Miser and BudgetPrune, are of the run before, with an error to spare and seven gammas. What max_drop is worth was tried
first on validation rows alone: divided at random 40 to 60 times, one part chose, the other judged.

| rule | MiniBooNE (600 choose): lost | within one | saved (%) | CIFAR (2,400): lost | within one | saved (%) |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
| best on all | 1.51 | 32 % | 85 | 1.69 | 32 % | 20 |
| with a standard error to spare | 0.80 | 60 % | 70 | 1.02 | 65 % | 15 |
| max_drop | 0.68 | 73 % | 55 | 0.52 | 80 % | 9 |

What holds, by max_drop: on Forest ADAPT-GBRT saves 60 % (the paper: 32) and loses 0.15 points, on the MiniBooNE sample
76 % (63) and loses 0.75, on CIFAR 8 % (12) and loses 0.90: within one point on test rows of all three. On Letters the
order of the three gates, and on average over the random divisions the size of the saving (in file order the SVM's is
half a point short of the paper's); on Letters and CIFAR Greedy Miser never comes within one point of the model that
ADAPT-GBRT fronts, and on MiniBooNE it loses 1.7 by this rule. BudgetPrune saves little everywhere. What does not hold:
"best on all" loses up to 2.3 points where it promised one; on MiniBooNE ADAPT-LIN loses 1.05 ± 0.31 points by max_drop
and is no better than the L1 gate. On heart ADAPT-LIN takes 19 % off the bill with a loss inside its standard error;
ADAPT-GBRT takes 28 % off and loses 1.6 points, more than the one it was chosen for; the tight budgets lose five to six
points, and folds of 200 patients leave much of a larger budget unspent.

What changed on Forest: depth. With depth 6 and 60 rounds the rule saved 25 %. On the same validation rows, 80 rounds
of depth 10 saved 58 % with gamma at 0.003 of the most and 63 % at 0.0055, which sweeps lacked before; depth 13 saved
71 %, at two to three times the training. Depth 10 was taken. Its test figures are of a short sweep: gamma at 0.0055 of
the most with mean shares 0 and 0.2, as found on validation rows, and 0.3 with 0, 0.2 and 0.4. A whole sweep has more
to choose from. Greedy Miser's line on Forest is of trees of depth 6 with 180 rounds: it says nothing about deeper ones.

How fair the comparison is: a sweep of ADAPT-GBRT holds well over a thousand models (gammas, shares, lengths,
thresholds), Greedy Miser's ten, each cut to its best round, with three times the rounds. On MiniBooNE and CIFAR
BudgetPrune has 55 prunings (11 values of lam; 0, 3, 5, 7 or 9 levels kept), once as they are and once with leaves
refitted; on CIFAR it starts from a forest of 40 trees, as the existing model is no forest, and never comes
within one point of it. On Letters and Forest its lines are of an earlier sweep of six values, none of which lies
between a forest hardly pruned and one pruned away: too coarse to say what it can do; the finer sweep was not run on
these two. Losses with ± have the standard error of the
paired difference on test rows.

- Bills of gated rows hold what the gate read, which the authors' public evaluation leaves out. A forest is billed for
  what lies on its paths.
- A sweep also moves the threshold of each trained gate, which the paper does not do; the L1 gate's is moved likewise.
- What was looked at: depth 6 on Letters once came from a search that had seen test rows; depths, rates and leaves
  were tried again on the training and validation rows only, and 6 stayed. The Letters in file order were run before
  with 40 budgets instead of 200, and those test figures (29.5 and 32.9 % saved) were seen, which is why the budgets
  became finer. Forest's test rows were seen in the run with depth 6; depth, rounds and gammas were then changed on
  validation rows only. The random divisions, of the same 20,000 rows, were run once, after that. Test rows of MiniBooNE
  and CIFAR were seen in earlier runs by the other rules; max_drop was designed on validation rows, and run on test
  rows once. Heart's settings were tried on folds of two other divisions
  of the same patients.
- The parts were run one by one and gathered with `--results`; on Letters the gates, Greedy Miser and BudgetPrune in
  separate runs, and the curve of the gates there has all models, elsewhere at most 40.
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
    text = heading(title, "papers/adapt_2017.py", given, start)
    text += "## Cost saved within one point of the existing model\n\n"
    if given.figure:
        draw(results, given.figure)
        text += f"![Accuracy against cost on the Letters, three gates](../figures/{Path(given.figure).name})\n\n"
    text += savings(results)
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
