"""Ranking under a budget: the right panel of Greedy Miser's figure 1, and more.

``panel``: NDCG@5 against the mean bill per document for stage-wise regression, feature subsets,
Early Exit, Cronus, Greedy Miser, Greedy Miser with Early Exit, ASTC and BudgetRF, on data of the
shape of Yahoo's and on MQ2007 (fold 1, with unit and with skewed prices). Every point is chosen on
validation documents and reported on test documents. The table has the cost at which each method
comes within 1 % of the unconstrained NDCG@5.
``lambdarank``: the LambdaMART-style loss beside LightGBM's, without prices, at equal trees.
``throughput``: scoring a million documents in queries of 24, with exits, beside LightGBM's predict.

    python -m benchmarks.parts.ranking --quick
    python -m benchmarks.parts.ranking --data FOLDER --keep FILE --out ranking.md --plot ranking.png

``--keep`` holds what is finished, so that parts (``--only``, ``--method``) can be run one after
another; the page and the plot are made of all that is there. What is written by hand below the line
``<!-- notes -->`` of an existing page stays.
"""

from __future__ import annotations

import functools
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import Kept, machine, markdown, options, skewed, write
from benchmarks.parts.ranking_methods import METHODS, Documents, Point, Problem, mean_point
from worthwhile import Costs, EarlyExitRegressor, GreedyMiserRegressor, datasets

CLOSE = 0.99
"""Share of the unconstrained NDCG@5 that counts as matching it."""

PAPER = {"Early Exit": "1/2", "Cronus": "1/4", "Greedy Miser": "1/10"}
"""Share of the cost of stage-wise regression at which its score is almost matched (section 6)."""

NAMES = ["Yahoo-shaped", "MQ2007, unit prices", "MQ2007, skewed prices"]

ORDER = [
    "stage-wise regression", "feature subsets", "Early Exit", "Greedy Miser", "Greedy Miser + Early Exit",
    "Cronus", "ASTC", "BudgetRF",
]  # fmt: skip
"""The methods, in the order of their colours."""

COMMAND = "`python -m benchmarks.parts.ranking --data FOLDER --keep FILE --out FILE --plot FILE`"

LEGEND = """
Settings are chosen on validation documents, figures are of test documents. "Cost within 1 %": mean bill per document of
the cheapest setting whose validation NDCG@5 is at least 0.99 of that of stage-wise regression; by row, what lies on a
document's own paths; by model, all features of the trees evaluated for it, as the paper counts; a dash where no setting
comes that close, or where a bill by model has no meaning. "To stage-wise": difference on test documents, with its
standard error over 20 groups of queries. "Highest": of the setting that is best on validation documents.
"""


def yahoo(quick: bool, seed: int) -> list[Problem]:
    sizes = (4000, 2000, 2000) if quick else (60000, 72000, 48000)
    parts = []
    for number, size in enumerate(sizes):
        X, y, qid, costs = datasets.make_yahoo_like(size, 10 * seed + number)
        parts.append(Documents(X.astype(np.float32), y, qid, times=10))
    finer = () if quick else (-3.2, -3.0)
    rounds = 100 if quick else 400
    return [
        Problem(
            NAMES[0],
            *parts,
            costs,
            rounds,
            (-3.3, -2.7),
            4,
            finer=finer,
            chain=(-1.8, -1.4),
            more=2,
        )
    ]


def mq2007(folder: str, costs: Costs, name: str, quick: bool) -> list[Problem]:
    """Fold 1, and the same test queries with other parts as validation in turn."""
    bunch = datasets.fetch_paper_set("mq2007_agg", folder)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    found = []
    for held in (4,) if quick else (4, 3, 2):
        masks = ((part != held) & (part != 5), part == held, part == 5)
        documents = [Documents(X[m], y[m], qid[m]) for m in masks]
        found.append(
            Problem(
                name,
                *documents,
                costs,
                60 if quick else 100,
                (-2.5, -0.3),
                finer=(-1.5, -1.3),
                chain=(-1.0, -0.4) if name == NAMES[1] else (-2.2, -0.8),
                every=1,
                shares=(0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.5),
            )
        )
    return found


@functools.cache
def problem_of(name: str, folder: str | None, quick: bool, seed: int) -> list[Problem]:
    if name == NAMES[0]:
        return yahoo(quick, seed)
    assert folder
    costs = Costs(np.ones(21)) if name == NAMES[1] else skewed(21)
    return mq2007(folder, costs, name, quick)


def run_method(problems: list[Problem], part: str, quick: bool) -> list[dict[str, Any]]:
    """All points of some methods, means over the problems, as JSON."""
    found, start = [], time.perf_counter()
    runs = [METHODS[part](problem, quick) for problem in problems]
    for points in zip(*runs, strict=True):
        point = mean_point(points)
        found.append(point.plain())
        print(
            f"{problems[0].name}: {point.method}, {point.setting}, {point.held[0]:.4g} {point.held[2]:.4f}, "
            f"{time.perf_counter() - start:.0f} s",
            file=sys.stderr,
        )
    return found


def chosen(points: list[Point], best: float, kind: int) -> Point | None:
    """The cheapest on validation documents that comes close to the best there."""
    close = [p for p in points if p.held[2] >= CLOSE * best and p.held[kind] is not None]
    return min(close, key=lambda point: point.held[kind]) if close else None


def table(points: dict[str, list[Point]]) -> str:
    """One line per method: the cheapest setting that matches stage-wise regression."""
    whole = points["stage-wise regression"][0]
    lines = []
    for method, own in points.items():
        line: list[Any] = [method, PAPER.get(method)]
        for kind in (0, 1):
            point = chosen(own, whole.held[2], kind)
            line += [point and point.test[kind], point and point.test[kind] / whole.test[kind]]
        point = chosen(own, whole.held[2], 0)
        highest = max(own, key=lambda p: p.held[2])
        line += [
            point and point.test[2],
            point and against(point, whole),
            point and point.setting,
            highest.test[2],
        ]
        lines.append(line)
    heads = [
        "method", "paper", "cost by row", "of stage-wise", "cost by model", "of stage-wise ",
        "NDCG@5 (test)", "to stage-wise", "setting", "highest NDCG@5",
    ]  # fmt: skip
    return markdown(heads, lines)


def against(point: Point, whole: Point) -> str:
    """Difference on test documents in % of stage-wise regression, and its standard error."""
    gap = np.array(point.groups) - np.array(whole.groups)
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) / whole.test[2]
    return f"{point.test[2] / whole.test[2] - 1:+.1%} ± {error:.1%}"


def describe(problems: list[Problem]) -> str:
    """What the methods of a panel were given."""
    problem = problems[0]
    parts = (problem.train, problem.held, problem.test)
    rows = " / ".join(str(len(part.y)) for part in parts)
    queries = " / ".join(str(len(np.unique(part.qid))) for part in parts)
    text = f"{rows} documents of {queries} queries for training / validation / test, at most {problem.rounds} trees"
    if problem.more > 1:
        text += f" ({problem.more * problem.rounds} for Greedy Miser and Cronus)"
    if (times := problem.train.times) > 1:
        text += f", irrelevant documents count {times} times"
    if len(problems) > 1:
        text += (
            f". Means over {len(problems)} runs with the same test queries (fold 1), in which parts 4, 3 and 2 are "
            "validation in turn: settings are chosen by the mean over all of them"
        )
    return f"{text}."


def threads() -> int:
    """Threads for both sides: the cores that may be used."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def lambdarank(folder: str, quick: bool) -> str:
    """NDCG@5 on test queries without prices, at equal trees; times are medians of five, in turns."""
    import lightgbm

    bunch = datasets.fetch_paper_set("mq2007_agg", folder)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    shape = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "num_leaves": 8}
    peer = lightgbm.LGBMRanker(**shape, min_child_samples=20, n_jobs=threads(), verbose=-1)
    ours = GreedyMiserRegressor(
        loss="lambdarank", preset="paper", max_depth=3, n_rounds=100, n_jobs=threads()
    )
    ours.fit(X[:500], y[:500], qid=qid[:500])  # kernels compile once for a machine
    lines, gaps = [], []
    for fold in range(1 if quick else 5):
        test = part == (4 + fold) % 5 + 1
        train = ~test & (part != (3 + fold) % 5 + 1)
        group = np.unique(qid[train], return_counts=True)[1]
        took = []
        for _ in range(5):
            start = time.perf_counter()
            peer.fit(X[train], y[train], group=group)
            middle = time.perf_counter()
            ours.fit(X[train], y[train], qid=qid[train])
            took.append((middle - start, time.perf_counter() - middle))
        seconds = np.median(took, axis=0).tolist()
        documents = Documents(X[test], y[test], qid[test])
        scores = [model.predict(X[test]) for model in (peer, ours)]
        both = [documents.ndcg(score) for score in scores]
        groups = [documents.by_group(score) for score in scores]
        gaps += (np.array(groups[1]) - np.array(groups[0])).tolist()
        lines.append([fold + 1, *both, *seconds, seconds[1] / seconds[0]])
    lines.append(["mean", *np.mean([line[1:] for line in lines], axis=0).tolist()])
    heads = ["fold", "LightGBM NDCG@5", "worthwhile NDCG@5", "LightGBM s", "worthwhile s", "ratio"]
    error = float(np.std(gaps, ddof=1) / np.sqrt(len(gaps)))
    return (
        f"\n## lambdarank on MQ2007, 100 trees of depth 3, learning rate 0.1, threads: {threads()}\n\n"
        f"{markdown(heads, lines)}\nDifference of NDCG@5: {np.mean(gaps):+.4f}, standard error {error:.4f} over groups "
        "of test queries.\n"
    )


def throughput(quick: bool) -> str:
    """Documents a second, in queries of 24."""
    import lightgbm

    rng = np.random.default_rng(0)
    n, d, fit = (100_000 if quick else 1_000_000), 40, 50_000
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.clip((X[:fit] @ rng.normal(size=d) + rng.normal(size=fit)).round(), 0, 4)
    qid = np.arange(n) // 24
    ours = GreedyMiserRegressor(n_rounds=300, max_depth=3, preset="paper").fit(X[:fit], y)
    peer = lightgbm.LGBMRegressor(
        n_estimators=300, max_depth=3, num_leaves=8, n_jobs=threads(), verbose=-1
    )
    peer.fit(X[:fit], y)
    runs = {
        "LightGBM predict": lambda: peer.predict(X),
        "worthwhile predict": lambda: ours.predict(X),
    }
    trees = {"LightGBM predict": 300.0, "worthwhile predict": 300.0}
    for s in (np.inf, 1.0, 0.3):
        exits = EarlyExitRegressor(ours, threshold=s).fit(X[:100], y[:100])
        exits.predict(X[:1000], qid=qid[:1000])
        runs[f"exits every 10 trees, s={s:g}"] = lambda exits=exits: exits.predict(X, qid=qid)
        trees[f"exits every 10 trees, s={s:g}"] = float(exits.evaluated(X, qid=qid).mean())
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(3):  # taking turns: a machine that slows down does so for all
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    first = float(np.median(seconds["LightGBM predict"]))
    lines = [
        [
            name,
            float(np.median(took)),
            n / float(np.median(took)),
            first / float(np.median(took)),
            trees[name],
        ]
        for name, took in seconds.items()
    ]
    heads = ["scoring", "s", "documents / s", "times LightGBM", "mean trees"]
    text = f"\n## Scoring {n} documents in queries of 24, 300 trees of depth 3, {d} features, threads: {threads()}\n\n"
    return text + markdown(heads, lines)


def front(points: list[Point]) -> list[Point]:
    """Points that are better on validation documents than all cheaper ones."""
    kept: list[Point] = []
    for point in sorted(points, key=lambda p: (p.held[0], -p.held[2])):
        if not kept or point.held[2] > kept[-1].held[2]:
            kept.append(point)
    return kept


def draw(path: str, panels: dict[str, dict[str, list[Point]]]) -> None:
    """Test figures of the settings that are worth their cost on validation documents."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 4.2), squeeze=False)
    for axis, (name, found) in zip(axes[0], panels.items(), strict=True):
        whole = found["stage-wise regression"][0].test
        axis.axhline(CLOSE * whole[2], color="0.7", linestyle=":", linewidth=1)
        for method, points in found.items():
            number = ORDER.index(method)
            line = [(p.test[0] / whole[0], p.test[2]) for p in front(points) if p.test[0] > 0]
            axis.plot(
                *zip(*line, strict=True), marker="osv^Dx*P"[number], markersize=4, label=method,
                linewidth=1, color=f"C{number}",
            )  # fmt: skip
        axis.set(title=name, xlabel="mean bill per document, of stage-wise", xscale="log")
        axis.set_ylim(max(axis.get_ylim()[0], 0.66 * whole[2]), None)
    axes[0][0].set_ylabel("NDCG@5 (test)")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FILE", help="where finished parts are kept")
    parser.add_argument("--plot", metavar="FILE", help="draw the panels into this file")
    parser.add_argument("--only", choices=[*NAMES, "lambdarank", "throughput", "nothing"])
    parser.add_argument("--method", choices=list(METHODS), help="one part of a panel")
    args = parser.parse_args()
    kept, panels, text = Kept(args.keep), {}, ""

    def wanted(key: str, part: str) -> bool:
        return key in kept.found or args.only in (None, part)

    def given(name: str) -> list[Problem]:
        return problem_of(name, args.data, args.quick, args.seed)

    for name in NAMES if args.data else NAMES[:1]:
        points: dict[str, list[Point]] = {}
        for part in METHODS:
            key = f"{name}: {part}"
            if wanted(key, name) and (key in kept.found or args.method in (None, part)):
                for plain in kept.get(
                    key, lambda name=name, part=part: run_method(given(name), part, args.quick)
                ):
                    points.setdefault(plain["method"], []).append(Point(**plain))
        if "stage-wise regression" in points:
            panels[name] = points
            about = kept.get(f"{name}: documents", lambda name=name: describe(given(name)))
            text += f"\n## {name}: cost within 1 % of the unconstrained NDCG@5\n\n{about}\n\n{table(points)}"
    if args.data and wanted("lambdarank", "lambdarank"):
        text += kept.get("lambdarank", lambda: lambdarank(args.data, args.quick))
    if wanted("throughput", "throughput"):
        text += kept.get("throughput", lambda: throughput(args.quick))
    figure = ""
    if args.plot and panels:
        draw(args.plot, panels)
        place = os.path.relpath(args.plot, Path(args.out or ".").parent)
        figure = f"\n![NDCG@5 against the mean bill]({place})\n"
    write(args.out, f"# Ranking under a budget\n\n{COMMAND}\n\n{machine()}\n{LEGEND}{figure}{text}")


if __name__ == "__main__":
    main()
