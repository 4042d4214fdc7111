"""Ranking under a budget: the right panel of Greedy Miser's figure 1, and more.

``panel``: NDCG@5 against the mean bill per document for stage-wise regression, feature subsets,
Early Exit, Cronus, Greedy Miser, Greedy Miser with Early Exit, ASTC and BudgetRF, on data of the
shape of Yahoo's and on MQ2007 (fold 1, with unit and with skewed prices). Every point is chosen on
validation documents and reported on test documents. The table has the cost at which each method
comes within 1 % of the unconstrained NDCG@5.
``lambdarank``: the LambdaMART-style loss beside LightGBM's, without prices, at equal trees.
``throughput``: scoring a million documents in queries of 24, with exits, beside LightGBM's predict.

    python benchmarks/bench_ranking.py --quick
    python benchmarks/bench_ranking.py --data FOLDER --out ranking.md --plot ranking.png
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from common import machine, markdown, options, skewed, write

from costwise import (
    BudgetedForestClassifier,
    CascadeClassifier,
    Costs,
    EarlyExitRegressor,
    FeatureSubsets,
    GreedyMiserRegressor,
    SubmodularTreeRegressor,
    datasets,
)
from costwise.metrics import irrelevant_weight, ndcg_at_k, replicate_irrelevant

CLOSE = 0.99
"""Share of the unconstrained NDCG@5 that counts as matching it."""


@dataclass
class Documents:
    """Documents with grades and queries; irrelevant ones repeated where the paper does so."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    times: int = 1

    def __post_init__(self) -> None:
        self.rows = replicate_irrelevant(self.y, self.times)
        self.queries = self.qid[self.rows]

    def ndcg(self, score: np.ndarray) -> float:
        """NDCG@5 of scores of the distinct documents."""
        return ndcg_at_k(self.y[self.rows], score[self.rows], self.queries)

    def mean(self, cost: np.ndarray) -> float:
        """Mean bill per document."""
        return float(cost[self.rows].mean())


@dataclass
class Problem:
    """Training, validation and test documents, and prices."""

    name: str
    train: Documents
    held: Documents
    test: Documents
    costs: Costs
    rounds: int
    weight: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.weight = irrelevant_weight(self.train.y, self.train.times)


@dataclass
class Point:
    """One setting of a method: on validation documents, and on test documents."""

    setting: str
    held: tuple[float, float, float]
    test: tuple[float, float, float]
    """Bill by row, bill by model, NDCG@5."""


def measure(problem: Problem, setting: str, say) -> Point:
    """``say(documents)`` gives scores, bills by row and bills by model."""

    def at(documents: Documents) -> tuple[float, float, float]:
        score, by_row, by_model = say(documents)
        return documents.mean(by_row), documents.mean(by_model), documents.ndcg(score)

    return Point(setting, at(problem.held), at(problem.test))


def pointwise(problem: Problem, setting: str, model) -> Point:
    """A model whose documents do not see each other."""

    def say(documents: Documents):
        score = model.predict(documents.X)
        by_row = model.cost(documents.X)
        inner = getattr(model, "model_", model)
        if hasattr(inner, "truncate"):
            return score, by_row, inner.cost(documents.X, accounting="model")
        return score, by_row, by_row

    return measure(problem, setting, say)


def with_exits(problem: Problem, setting: str, model, threshold: float) -> Point:
    """Documents of a query decide together; copies of irrelevant documents take part."""
    exits = EarlyExitRegressor(model, threshold=threshold).fit(
        problem.train.X[:50], problem.train.y[:50]
    )

    def at(documents: Documents) -> tuple[float, float, float]:
        X, qid = documents.X[documents.rows], documents.queries
        score = exits.predict(X, qid=qid)
        ndcg = ndcg_at_k(documents.y[documents.rows], score, qid)
        by_model = exits.cost(X, qid=qid, accounting="model").mean()
        return float(exits.cost(X, qid=qid).mean()), float(by_model), ndcg

    return Point(setting, at(problem.held), at(problem.test))


def boosters(problem: Problem, lams: list[float]) -> list[GreedyMiserRegressor]:
    """Greedy Miser for each lam, cut to the round with the best validation NDCG@5."""
    held, train = problem.held, problem.train
    model = GreedyMiserRegressor(
        costs=problem.costs, n_rounds=problem.rounds, scoring=lambda y, score: held.ndcg(score)
    )
    return model.fit_path(train.X, train.y, lams, problem.weight, validation=(held.X, held.y))


def stages(problem: Problem) -> Iterator[tuple[str, Point]]:
    """The methods made of boosted trees."""
    held, train = problem.held, problem.train
    plain = GreedyMiserRegressor(costs=problem.costs, n_rounds=problem.rounds)
    top = plain.lam_max(train.X, train.y, problem.weight)
    lams = [0.0, *(top * np.logspace(-4, -0.5, 8)).tolist()]
    models = boosters(problem, lams)
    yield "stage-wise regression", pointwise(problem, "lam=0", models[0])
    prices = sorted({float(p) for p in problem.costs.prices.values()})
    # The paper's caps are four of seven prices; elsewhere four shares of the features.
    caps = [1, 20, 100, 200] if prices[-1] == 200 else np.quantile(prices, [0.25, 0.5, 0.75, 1])
    for cap in caps if len(prices) > 1 else []:
        booster = GreedyMiserRegressor(
            costs=problem.costs, n_rounds=problem.rounds, scoring=lambda y, score: held.ndcg(score)
        )
        model = FeatureSubsets(booster, cap=float(cap)).fit(
            train.X, train.y, problem.weight, validation=(held.X, held.y)
        )
        yield "feature subsets", pointwise(problem, f"cap={cap:g}", model)
    spread = float(np.std(models[0].predict(held.X)))
    thresholds = [s * spread for s in (0.1, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0)]
    for threshold in thresholds:
        yield "Early Exit", with_exits(problem, f"s={threshold:.3g}", models[0], threshold)
    for lam, model in zip(lams, models, strict=True):
        if lam > 0:
            yield "Greedy Miser", pointwise(problem, f"lam={lam / top:.2g} of most", model)
            for threshold in thresholds[1::2]:
                setting = f"lam={lam / top:.2g} of most, s={threshold:.3g}"
                yield "Greedy Miser + Early Exit", with_exits(problem, setting, model, threshold)


def others(problem: Problem, quick: bool) -> Iterator[tuple[str, Point]]:
    """Cronus, ASTC and BudgetRF."""
    train = problem.train
    relevant = train.y >= (2 if train.y.max() > 2 else 1)
    total = float(problem.costs.total)
    dear = problem.costs.n_features / total
    for lam in dear * np.array([0.003, 0.03, 0.06, 0.1, 0.15, 0.2]):
        model = CascadeClassifier(
            3, lam=float(lam), costs=problem.costs, n_trees=40 if quick else 100, max_iter=20
        ).fit(train.X, relevant, sample_weight=problem.weight)

        def say(documents: Documents, model=model):
            bill = model.cost(documents.X)
            return model.decision_function(documents.X), bill, bill

        yield "Cronus", measure(problem, f"lam={lam:.2g}", say)
    for share in (0.002, 0.005, 0.01, 0.02, 0.05, 0.1):
        model = SubmodularTreeRegressor(
            budget=max(1.0, share * total), depth=4, costs=problem.costs
        )
        model.fit(train.X, train.y.astype(float), sample_weight=problem.weight)
        yield "ASTC", pointwise(problem, f"budget={share * total:.3g} a node", model)
    for share in (0.01, 0.03, 0.1, 0.3):
        model = BudgetedForestClassifier(
            budget=share * total,
            costs=problem.costs,
            max_trees=10 if quick else 40,
            random_state=0,
            alpha=2.0,
        ).fit(train.X, train.y, sample_weight=problem.weight)

        def say_forest(documents: Documents, model=model):
            bill = model.cost(documents.X)
            grade = model.predict_proba(documents.X) @ model.classes_.astype(float)
            return grade, bill, bill

        yield "BudgetRF", measure(problem, f"budget={share * total:.3g}", say_forest)


def yahoo(quick: bool, seed: int) -> Problem:
    n = 4000 if quick else 20000
    parts = []
    for number, size in enumerate((n, n // 2, n // 2)):
        X, y, qid, costs = datasets.make_yahoo_like(size, 10 * seed + number)
        parts.append(Documents(X, y, qid, times=10))
    return Problem("Yahoo-shaped", *parts, costs, 100 if quick else 300)


def mq2007(folder: str, costs: Costs, name: str, quick: bool) -> Problem:
    bunch = datasets.fetch_paper_set("mq2007_agg", folder)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    masks = (part <= 3, part == 4, part == 5)
    return Problem(
        name, *(Documents(X[m], y[m], qid[m]) for m in masks), costs, 60 if quick else 200
    )


def chosen(points: list[Point], best: float, kind: int) -> Point | None:
    """The cheapest on validation documents that comes close to the best there."""
    close = [point for point in points if point.held[2] >= CLOSE * best]
    return min(close, key=lambda point: point.held[kind]) if close else None


def panel(problem: Problem, quick: bool) -> tuple[str, dict[str, list[Point]]]:
    """The table of one problem, and all points."""
    found: dict[str, list[Point]] = {}
    start = time.perf_counter()
    for name, point in itertools.chain(stages(problem), others(problem, quick)):
        found.setdefault(name, []).append(point)
        passed = time.perf_counter() - start
        print(f"{problem.name}: {name}, {point.setting}, {passed:.0f} s", file=sys.stderr)
    whole = found["stage-wise regression"][0]
    lines = []
    for name, points in found.items():
        row = [name]
        for kind in (0, 1):
            point = chosen(points, whole.held[2], kind)
            cost = None if point is None else point.test[kind]
            row += [cost, None if cost is None else cost / whole.test[kind]]
        point = chosen(points, whole.held[2], 0)
        row += [None if point is None else point.test[2], point.setting if point else "-"]
        row += [max(p.test[2] for p in points)]
        lines.append(row)
    heads = [
        "method",
        "cost by row",
        "of stage-wise",
        "cost by model",
        "of stage-wise ",
        "NDCG@5",
        "setting",
        "best",
    ]
    times = problem.train.times
    text = f"\n## {problem.name}: cost within 1 % of the unconstrained NDCG@5\n\n" + (
        f"{len(problem.train.y)} / {len(problem.held.y)} / {len(problem.test.y)} documents, {problem.rounds} rounds, "
        f"irrelevant documents count {times} times.\n\n"
    )
    return text + markdown(heads, lines), found


def lambdarank(folder: str, quick: bool) -> str:
    """NDCG@5 on test queries without prices, at equal trees."""
    import lightgbm

    bunch = datasets.fetch_paper_set("mq2007_agg", folder)
    X, y = np.asarray(bunch.data, dtype=np.float32), np.asarray(bunch.target)
    part, qid = np.asarray(bunch.part), np.asarray(bunch.qid)
    lines = []
    for fold in range(1 if quick else 5):
        test = part == (4 + fold) % 5 + 1
        train = ~test & (part != (3 + fold) % 5 + 1)
        group = np.unique(qid[train], return_counts=True)[1]
        shape = {"n_estimators": 100, "learning_rate": 0.1, "max_depth": 3, "num_leaves": 8}
        peer = lightgbm.LGBMRanker(**shape, min_child_samples=20, n_jobs=2, verbose=-1)
        ours = GreedyMiserRegressor(loss="lambdarank", n_jobs=2)
        ours.fit(X[:500], y[:500], qid=qid[:500])  # kernels compile once for a machine
        start = time.perf_counter()
        peer.fit(X[train], y[train], group=group)
        middle = time.perf_counter()
        ours.fit(X[train], y[train], qid=qid[train])
        took = (middle - start, time.perf_counter() - middle)
        scores = [ndcg_at_k(y[test], m.predict(X[test]), qid[test]) for m in (peer, ours)]
        lines.append([fold + 1, *scores, *took, took[1] / took[0]])
    lines.append(["mean", *np.mean([line[1:] for line in lines], axis=0).tolist()])
    heads = ["fold", "LightGBM NDCG@5", "costwise NDCG@5", "LightGBM s", "costwise s", "ratio"]
    text = "\n## lambdarank on MQ2007, 100 trees of depth 3, learning rate 0.1, 2 threads\n\n"
    return text + markdown(heads, lines)


def throughput(quick: bool) -> str:
    """Documents a second, in queries of 24."""
    import lightgbm

    rng = np.random.default_rng(0)
    n, d, fit = (100_000 if quick else 1_000_000), 40, 50_000
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.clip((X[:fit] @ rng.normal(size=d) + rng.normal(size=fit)).round(), 0, 4)
    qid = np.arange(n) // 24
    ours = GreedyMiserRegressor(n_rounds=300, max_depth=3).fit(X[:fit], y)
    peer = lightgbm.LGBMRegressor(n_estimators=300, max_depth=3, num_leaves=8, n_jobs=2, verbose=-1)
    peer.fit(X[:fit], y)
    runs = {
        "LightGBM predict": lambda: peer.predict(X),
        "costwise predict": lambda: ours.predict(X),
    }
    trees = {"LightGBM predict": 300.0, "costwise predict": 300.0}
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
    text = f"\n## Scoring {n} documents in queries of 24, 300 trees of depth 3, {d} features\n\n"
    return text + markdown(heads, lines)


def draw(path: str, panels: dict[str, dict[str, list[Point]]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(6 * len(panels), 4.5), squeeze=False)
    for axis, (name, found) in zip(axes[0], panels.items(), strict=True):
        for method, points in found.items():
            line = sorted((p.test[0], p.test[2]) for p in points)
            axis.plot(*zip(*line, strict=True), marker="o", markersize=3, label=method, linewidth=1)
        axis.set(title=name, xlabel="mean bill per document", ylabel="NDCG@5 (test)")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--plot", metavar="FILE", help="draw the panels into this file")
    parser.add_argument("--only", choices=["panel", "lambdarank", "throughput"], help="one part")
    args = parser.parse_args()
    text = f"# Ranking under a budget\n\n{machine()}\n"
    panels = {}
    if args.only in (None, "panel"):
        problems = [yahoo(args.quick, args.seed)]
        if args.data:
            problems.append(
                mq2007(args.data, Costs(np.ones(21)), "MQ2007, unit prices", args.quick)
            )
            problems.append(mq2007(args.data, skewed(21), "MQ2007, skewed prices", args.quick))
        for problem in problems:
            table, panels[problem.name] = panel(problem, args.quick)
            text += table
    if args.only in (None, "lambdarank") and args.data:
        text += lambdarank(args.data, args.quick)
    if args.only in (None, "throughput"):
        text += throughput(args.quick)
    write(args.out, text)
    if args.plot and panels:
        draw(args.plot, panels)


if __name__ == "__main__":
    main()
