"""Feature-Budgeted Random Forest (ICML 2015): Table 1, share of the features read and test error.

    python -m benchmarks.papers.budgetrf_2015 --data FOLDER [--quick] [--save FILE] [--out FILE]

BudgetRF against plain forests with Gini and entropy at 1, 10, 20 and 40 trees; every feature costs 1,
bills are by row. Forest is drawn anew for every run with the paper's sizes, MiniBooNE is the authors'
sample of 5000 rows, and CIFAR has features of our own. Runs are kept in the file of ``--save`` as they
come, so that the whole can be done in pieces (``--sets``); pruning curves and times that
``benchmarks/speed/forests.py`` put there are written into the page as well.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.common import Kept, machine, markdown, options, write
from benchmarks.speed.forests import SIZES, chosen, chosen_crossed, edge, load
from worthwhile import BudgetedForestClassifier, PricedModel

TREES = (1, 10, 20, 40)
PAPER = {
    ("miniboone", "Gini"): ("27.32 (.1278)", "85.06 (.0803)", "94.83 (.0730)", "98.42 (.0693)"),
    ("miniboone", "entropy"): ("20.67 (.1230)", "75.54 (.0775)", "90.35 (.0713)", "97.54 (.0680)"),
    ("miniboone", "BudgetRF"): ("16.40 (.1241)", "57.80 (.0786)", "73.57 (.0721)", "86.78 (.0689)"),
    ("forest", "Gini"): ("22.57 (.2107)", "63.04 (.1307)", "70.76 (.1238)", "76.63 (.1196)"),
    ("forest", "entropy"): ("21.68 (.2045)", "63.56 (.1313)", "72.37 (.1239)", "79.34 (.1200)"),
    ("forest", "BudgetRF"): ("11.37 (.2122)", "23.21 (.1364)", "25.92 (.1232)", "29.01 (.1156)"),
    ("cifar", "Gini"): ("3.80 (.4284)", "30.35 (.3604)", "49.85 (.3349)", "72.20 (.3106)"),
    ("cifar", "entropy"): ("3.46 (.4267)", "28.34 (.3561)", "46.45 (.3296)", "68.47 (.3080)"),
    ("cifar", "BudgetRF"): ("2.62 (.4264)", "21.09 (.3600)", "35.45 (.3332)", "54.24 (.3125)"),
}
METHODS = {
    "Gini": "Gini",
    "entropy": "entropy",
    "BudgetRF, as in the paper": "BudgetRF",
    "BudgetRF, minimax, no bootstrap": "BudgetRF",
    "BudgetRF, default": "BudgetRF",
}
"""What is run, and whose figures of the paper stand beside it."""


PRUNING = """Mean number of features (test error) of 40 trees before and after pruning: the cheapest
pruning whose error on the pruning rows is within 0.5 points of the start forest's. Node errors are in-bag,
so the labels of the pruning rows only choose. *pruned*: BudgetPrune as it is, ten values of lam. *refitted*:
`keep_levels` 3 and 5, seven values of lam, and leaves fitted together on the training rows (`refit`)."""

PRUNING_NOTES = """BudgetPrune as it is saves a tenth on Forest from our forests, and 2 to 5 % elsewhere. The
solver is not what holds it back: the dual's gap is at most about 1 % of the objective. What is seen is a jump: the
bill hardly falls with lam until, between two neighbouring values, nearly everything is cut. Our reading is that
trees share what they buy, so that the mean error of the trees is a concave function of the bill and no lam
prefers what lies between; values of lam inside the jump were not searched. Cut there by force, trees vote badly:
40 Gini trees of depth 4 read 14.5 of the 16 features of Letters and are wrong on 23 %. Fitting the leaves
together mends that.

The target, within 0.5 points at clearly lower cost, is met on Forest (seeds 0 and 1: 10 to 20 % from the default;
seed 0: 17 % from Gini when refitted). On Letters about a tenth can be saved (more below).
On seed 0 of Letters refitted forests save 9 to 13 %, but
the additions were made on that draw. On seed 1, run once with everything fixed, they save 4.9 % (Gini) and 5.2 %
(default) within 0.5 points on test rows; from the paper's forest 10.4 % with 0.80 points lost. There plain pruning
saves 3.3, 6.4 and 4.8 % with 0.38, 0.55 and 0.85 points lost, so refitting is hardly better on Letters.
The figures of seed 0 look like the effect of choosing on it; seed 1, though one draw only, is the one to believe.
On Forest a subsample of seed 0 was used for the additions, so that its refitted lines may flatter as well. Of seed 1,
run once with everything fixed, three of six lines were run: from the default plain pruning saves 10.3 % and loses
0.49 points, refitted 19.5 % and 0.40, much as on seed 0; from Gini plain pruning saves 2.5 % and loses 0.31.
Part of the gain is refitting itself, which also lowers the error of forests that are hardly pruned: see the right
ends of the lines.

What was looked at: both additions were made on the draw of seed 0 (Letters whole, 40 % of Forest), with its test
errors in view. Tried there were levels 3, 4, 5, 7, 8 and 12, with about ten values of lam; three pairs of step
and ridge, up to 16 sweeps; averaging shares instead of votes; and two ways of weighting rows by the vote's
margin, which were dropped. Rows of seed 1 overlap with those of seed 0."""

LEFT_OUT = """`benchmarks.speed.forests --part fewer`: a finer path, from the first 25 of the 40 trees and from all
(a tree left out is one pruned to its root). Chosen as above, with leaves refitted on the training rows. Once chosen,
the leaves are refitted on training and pruning rows together, as one would before using a model; the last column
but one is the test error of that."""

LEFT_OUT_NOTES = """The grid was made on seed 2, with its test errors in view (there without lam above 0.08; three
tries before it: 100 trees to start from and 40 sweeps did not help, 8, 12 and 18 trees lost too much). Seeds 3 to 5
were run once with everything fixed: 9 to 16 % saved, 12 % in the mean, all three within 0.5 points after the last
refit, two of them better than the start forest. Before that refit, two of the three lose 0.7 points: 4,000
pruning rows choose no more finely. The last refit has a third more rows than the start forest was trained on, which is
part of its gain. Seeds 6 to 10 were run once with everything fixed, too: by this choice 12 % saved in the mean
(8 to 15 %), all five within 0.5 points after the last refit, two before it. Rows of the draws overlap."""

CROSSED = """The same prunings on fresh draws, chosen in another way: leaves are refitted on the training rows
and one half of the pruning rows, and measured on the other half, in turn. So all pruning rows choose, and what is
measured is nearer to what is used in the end: the pruning refitted on all rows. Such a refit sees a third more
labels than the start forest; the last column is what growing the start forest on all of them changes."""

CROSSED_NOTES = """This way of choosing was made after a look at all test errors of seeds 2 to 5, and fixed before
seeds 6 to 10 were run, once; the grid is the one above (no larger lam is tried once 3 points are lost). It saves
13 % (12 to 15 %), more evenly than the choice above. **Against the forest that pruning started from the target is
met in all five draws**, if the last refit counts as part of the method: between 0.42 points better and 0.32 worse.
**It is not met if it does not**: four of five then lose 0.58 to 0.72 points. Nor is it met against a forest that was
grown on as many labels: that one is 0.73 points better than the start forest, hence than the pruned one. Most of what
makes up for pruning is thus the labels of the pruning rows. At 16 features of which a row reads 15.6, and with 40
trees that share them, there is little to leave out."""

SPARE_NOTES = (
    "This choice was made with all these test errors in view. Seeds 11 to 14 were run after that, once: 9.4, 11.8, "
    "12.3 and 6.5 % saved, +0.30, -0.15, +0.50 and -0.05 points lost. So within 0.5 points, without a label more, a "
    "tenth of the bill of Letters can be saved, not more."
)

SPEED_NOTES = """Prediction with bills is faster than scikit-learn's `predict` (target met): the two calls
`predict` and `cost` take 0.85 of its time, one walk for both 0.45. The first call after `fit` also lays the
trees out anew (0.05 to 0.1 s). What made the difference: nodes of eight bytes, many rows a level at a time without a
branch, a row's purchases read off its leaf, and no zeros added. Compiling this takes 6 s once per machine.

Growing takes 0.67 of scikit-learn's time as the paper describes, and 0.98 by default; a repeat of the whole had 0.74
and 0.83 (1.37 s against 1.64): the target is met, and times on this machine vary by a tenth and more. While this
was worked on, seven runs of the default had 0.97, 1.06, 1.02, 0.98, 0.86, 1.04 and 0.90 of scikit-learn's time (the
third and the last two of fits alone), each with code a little faster than before; at the start it was 1.25. Without
the four trees that decide how to grow, it is 0.92.

What changed, with the same trees to the last bit: nodes of at most 500 rows with few random thresholds are no longer
sorted, but all columns of a row are compared with all thresholds at once (from 1.8 to 1.0 s of CPU); rows of large
nodes are parted without jumps (from 0.27 to 0.17); validation rows go down the trees a level at a time, and their
purchases are bits (from 0.3 to 0.15); large arrays are kept from tree to tree, and the votes of all nodes lie in
small pages (huge ones took 0.02 to 0.8 s of system time to get). What is left, in seconds of CPU of about 2.6: 1.0
for small nodes, 0.8 for the stumps of large ones, 0.17 for parting their rows, 0.2 for the Python around them, 0.25
for bills, votes and putting the trees together. Counting large nodes with columns side by side was tried as well
and is not faster. Pruning stays far under a minute (met)."""

YAHOO_NOTES = """The 140 trees of the target take less than four minutes and 0.93 GB above the data. Time grows
linearly with the trees, memory by 3 MB a tree; four times the rows need five times of it. With the growth of today
8 and 35 trees on all rows were run again: 19.3 and 60.3 s, 0.55 and 0.62 GB."""


def fitted(method: str, train: Any, valid: Any, seed: int) -> Any:
    """A forest of 40 trees."""
    if not method.startswith("BudgetRF"):
        forest = RandomForestClassifier(40, criterion=method.lower(), n_jobs=-1, random_state=seed)
        return forest.fit(*train)
    way: dict[str, Any] = {"preset": "paper"} if "paper" in method else {}
    if "minimax" in method:
        way = {"criterion": "minimax", "bootstrap": False}
    return BudgetedForestClassifier(random_state=seed, **way).fit(*train, validation=valid)


def first(model: Any, count: int) -> Any:
    """The first trees of a forest, as a model of their own."""
    if isinstance(model, BudgetedForestClassifier):
        return model.at(budget=model.trace_["cost"].iloc[count - 1])
    few = RandomForestClassifier()
    few.__dict__.update(model.__dict__, estimators_=model.estimators_[:count])
    return PricedModel(few)


def one_run(name: str, seed: int, given: Any) -> dict[str, Any]:
    """Share of the features in per cent and error at each number of trees, for every method."""
    share = 0.1 if given.quick else given.share if name == "cifar" else 1.0
    train, valid, (X, y) = load(name, given.data, seed, share)
    found: dict[str, Any] = {"rows": [len(train[1]), len(valid[1]), len(y)]}
    for method in METHODS:
        model = fitted(method, train, valid, seed)
        points = []
        for count in TREES:
            part = first(model, count)
            error = float(np.mean(part.predict(X) != y))
            points.append((100 * float(part.acquired(X).mean()), error))
        found[method] = points
        if method == "BudgetRF, default":
            found["way"] = [model.criterion_, model.bootstrap_]
    return found


def table(name: str, runs: list[dict[str, Any]]) -> str:
    """Table 1 for one data set: means over the runs, spread in brackets."""
    lines = []
    for method, twin in METHODS.items():
        points = np.array([run[method] for run in runs])
        mean, spread = points.mean(axis=0), points.std(axis=0)
        cells = [
            f"{m[0]:.2f} ±{s[0]:.2f} ({m[1]:.4f} ±{s[1]:.4f})"
            for m, s in zip(mean, spread, strict=True)
        ]
        lines.append([method, *cells])
        if twin == method or method == "BudgetRF, as in the paper":
            lines.append([f"{twin}, paper", *PAPER[name, twin]])
    rows = " / ".join(map(str, runs[0]["rows"]))
    taken = sum(run["way"] == ["expected", False] for run in runs)
    heads = ["% of the features (test error)", *(f"{trees} trees" for trees in TREES)]
    return (
        f"## {name}\n\n{len(runs)} runs, {rows} rows; mean ± standard deviation.\n\n{markdown(heads, lines)}\n"
        f'The default took `criterion="expected", bootstrap=False` in {taken} of {len(runs)} runs, else the way of '
        "the paper.\n\n"
    )


def pruning(found: dict[str, Any]) -> str:
    """What pruning saves, and the curves."""
    keys = [key for key in found if key.startswith("prune ")]
    if not keys:
        return ""
    lines, curves = [], ""
    for key in keys:
        points = found[key]["points"]
        best, begin = chosen(points), points[0]
        cells = [f"{p['test'][0]:.2f} ({p['test'][1]:.4f})" for p in (begin, best)]
        saved = f"{100 * (1 - best['test'][0] / begin['test'][0]):.1f} %"
        points_lost = f"{100 * (best['test'][1] - begin['test'][1]):+.2f}"
        title = key.removeprefix("prune ").replace("|", ", ")
        title += "" if "seed" in title else ", seed 0"
        lines.append([title, *cells, saved, points_lost, f"{best['lam']:g}", str(best["keep"])])
        shown = edge(points[1:])[:: -1 if len(points) < 12 else -2]
        cells = [f"{p['test'][0]:.2f} ({p['test'][1]:.4f})" for p in shown]
        curves += f"- {title}: {', '.join(cells)}\n"
    heads = ["start forest", "before", "after", "saved", "error, points", "lam", "levels kept"]
    return (
        f"## BudgetPrune\n\n{PRUNING}\n\n{markdown(heads, lines)}\n"
        "![Test error against mean number of features](../figures/forest-pruning.png)\n\n"
        "Circles: start forests; lines: what is best for its bill on the pruning rows. Some points in numbers, "
        f"mean number of features (test error):\n\n{curves}\n{PRUNING_NOTES}\n\n"
    )


def left_out(found: dict[str, Any]) -> str:
    """Prunings that may leave trees out, and are refitted on all rows in the end."""
    keys = [key for key in found if key.startswith("fewer ")]
    if not keys:
        return ""
    heads = [
        "start forest: default", "before", "after", "saved", "error, points", "refitted on all, points",
        "trees, levels, lam",
    ]  # fmt: skip
    lines = [_pruned(key, found[key]["points"], chosen(found[key]["points"])) for key in keys]
    text = f"{LEFT_OUT}\n\n{markdown(heads, lines)}\n{LEFT_OUT_NOTES}\n\n"
    fresh = [key for key in keys if "crossed" in found[key]["points"][1]]
    if fresh:
        lines, figures = [], []
        for key in fresh:
            points = found[key]["points"]
            best, begin = chosen_crossed(points), points[0]
            grown = 100 * (begin["more"][1] - begin["test"][1])
            lines.append([*_pruned(key, points, best), f"{grown:+.2f}"])
            lost = [100 * (best[of][1] - begin["test"][1]) for of in ("test", "all")]
            figures.append([100 * (1 - best["test"][0] / begin["test"][0]), *lost, grown])
        mean, spread = np.mean(figures, axis=0), np.std(figures, axis=0, ddof=1)
        cells = [f"{m:+.2f} ±{s:.2f}" for m, s in zip(mean, spread, strict=True)]
        saved = f"{mean[0]:.1f} ±{spread[0]:.1f} %"
        lines.append(["mean ± standard deviation", "", "", saved, *cells[1:3], "", cells[3]])
        heads = [*heads, "start forest grown on all, points"]
        text += f"{CROSSED}\n\n{markdown(heads, lines)}\n{CROSSED_NOTES}\n\n"
    return text + _to_spare([found[key]["points"] for key in keys])


def _to_spare(draws: list[list[dict[str, Any]]]) -> str:
    """What a stricter choice saves and loses on test rows, over all draws."""
    pairs = [(points[0]["test"], chosen(points, 0.0025)["test"]) for points in draws]
    saved = [100 * (1 - after[0] / before[0]) for before, after in pairs]
    lost = [100 * (after[1] - before[1]) for before, after in pairs]
    return (
        "With half of the half point to spare (at most 0.25 points more error on the pruning rows) and leaves refitted "
        f"on the training rows alone, the {len(draws)} draws save {min(saved):.1f} to {max(saved):.1f} % "
        f"({np.mean(saved):.1f} ±{np.std(saved, ddof=1):.1f}) and lose {min(lost):+.2f} to {max(lost):+.2f} points "
        f"({np.mean(lost):+.2f} ±{np.std(lost, ddof=1):.2f}), {sum(x <= 0.5 for x in lost)} of them at most 0.5. "
        f"{SPARE_NOTES}\n\n"
    )


def _pruned(key: str, points: list[dict[str, Any]], best: dict[str, Any]) -> list[str]:
    """What one pruning saves and loses: cells of a table."""
    begin = points[0]
    cells = [f"{p[0]:.2f} ({p[1]:.4f})" for p in (begin["test"], best["test"])]
    saved = f"{100 * (1 - best['test'][0] / begin['test'][0]):.1f} %"
    lost = [f"{100 * (best[of][1] - begin['test'][1]):+.2f}" for of in ("test", "all")]
    taken = f"{best['trees']}, {best['keep']}, {best['lam']:g}"
    return [key.removeprefix("fewer ").replace("|", ", "), *cells, saved, *lost, taken]


def speeds(found: dict[str, Any]) -> str:
    """Times, and memory on large data."""
    text = ""
    if "speed" in found:
        took = found["speed"]
        base = took["times"]["scikit-learn"]
        lines = [
            [name, *(f"{cell:.2f}" if np.isfinite(cell) else "-" for cell in cells), f"{cells[0] / base[0]:.2f}"]
            for name, cells in took["times"].items()
        ]  # fmt: skip
        heads = [
            "40 trees",
            "fit, s",
            "fit, CPU s",
            "first predict, s",
            "predict, s",
            "predict and cost, s",
            "one walk for both, s",
            "fit / scikit-learn",
        ]
        text = (
            f"## Speed\n\nForest, {took['shape'][0]} rows, {took['threads']} threads each, nothing else running, "
            "alternating, medians of nine. Our fit includes the bills on the validation rows; the default "
            "grows four trees more to decide how.\n\n" + markdown(heads, lines) + "\n"
        )
        for name in ("Gini", "BudgetRF"):
            wall, cpu, gap, objective = took[f"prune {name}"]
            text += (
                f"Pruning 40 trees ({name}) on {SIZES['forest'][1]} rows: {wall:.1f} s (CPU {cpu:.1f} s), "
                f"gap {gap:.1e} of {objective:.4f}.\n\n"
            )
        text += f"{SPEED_NOTES}\n\n"
    lines = [
        [f"{int(key.split()[1]):,} x 519, {key.split()[2]} trees", f"{v['wall']:.1f}", f"{v['cpu']:.1f}",
         f"{v['data']:.2f}", f"{v['above']:.2f}", f"{v['nodes']:,}"]
        for key, v in found.items() if key.startswith("yahoo ")
    ]  # fmt: skip
    if lines:
        heads = ["rows, trees", "s", "CPU s", "data, GB", "peak above it, GB", "nodes"]
        text += f"Data of the shape of Yahoo! LTR, with its prices:\n\n{markdown(heads, lines)}\n{YAHOO_NOTES}\n"
    return text


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--save", help="file of results, read and added to")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--sets", nargs="*", default=["forest", "miniboone", "cifar"])
    parser.add_argument("--share", type=float, default=1.0, help="of CIFAR's rows that are used")
    given = parser.parse_args()
    kept = Kept(given.save)
    for name in given.sets:
        for seed in range(given.seed, given.seed + (2 if given.quick else given.runs)):
            kept.get(f"table {name} {seed}", partial(one_run, name, seed, given))
    quick = " --quick" if given.quick else ""
    text = (
        "# Feature-Budgeted Random Forest (ICML 2015)\n\n"
        f"`python -m benchmarks.papers.budgetrf_2015 --data FOLDER{quick}`, seeds from {given.seed} on, in pieces. "
        f"{machine()}.\n\n"
    )
    text += (
        "alpha is 0. Gini and entropy: scikit-learn's forests with union bills. Draws differ from the paper's, and so "
        "do the features of CIFAR (a fifth of the rows): relations between lines compare, errors do "
        "not. The default's two ways and their "
        "numbers of thresholds were chosen on rows held out from another draw of Forest, with a look at held-out "
        "rows of the other sets; about 30 settings were tried. Draws overlap, so that a run's test rows may "
        "hold some of these; those of MiniBooNE, whose 5,000 rows are all drawn from, hold many.\n\n"
        "The paper's relation (Forest: no worse than the Gini forest at well under half its bill) is reached by the "
        "default; trees grown as the paper describes have its bills, but more error than the Gini forest.\n\n"
    )
    for name in ("forest", "miniboone", "cifar"):
        runs = [value for key, value in kept.found.items() if key.startswith(f"table {name} ")]
        text += table(name, runs) if runs else ""
    write(given.out, text + pruning(kept.found) + left_out(kept.found) + speeds(kept.found))


if __name__ == "__main__":
    main()
