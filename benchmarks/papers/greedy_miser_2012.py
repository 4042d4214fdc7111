"""The Greedy Miser (ICML 2012): ranking under test-time budgets, on data of Yahoo's shape.

    python -m benchmarks.papers.greedy_miser_2012 [--quick] [--figures FOLDER] [--out FILE]

The paper's data is licensed, so documents come from ``make_yahoo_like``, which has its 519 features, its
prices and its proportions of grades: relations can be compared, absolute figures cannot. As in the paper a
cost is that of every feature in the ensemble (equation 3); bills by row, of what lies on the paths of a
document, stand beside it. Irrelevant documents count once, and not ten times as in the paper: weights take
several times as long (``parts/ranking.py`` has them). Rounds, and the models that "match" stage-wise
regression, are chosen on validation documents; test documents are reported.
"""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.common import heading, markdown, options, write
from benchmarks.parts.ranking_methods import Documents, best_round
from worthwhile import EarlyExitRegressor, FeatureSubsets, GreedyMiserRegressor, datasets

DEPTH = 4
"""The paper's example of a limited depth."""

CLOSE = 0.99
"""Share of the NDCG@5 of stage-wise regression that counts as matching it."""


@dataclass
class Line:
    """A model in figures."""

    name: str
    by_model: float
    by_row: float
    held: float
    test: float
    groups: np.ndarray
    """NDCG@5 in groups of test queries."""
    rounds: int | None = None

    def cells(self, first: Line) -> list:
        """As a line of the table."""
        return [
            self.name, self.by_model, self.by_model / first.by_model, self.by_row, self.by_row / first.by_row,
            self.test, f"{self.test / first.test - 1:+.1%}", self.rounds,
        ]  # fmt: skip


def draw_documents(sizes: tuple[int, int, int], seed: int):
    drawn = [datasets.make_yahoo_like(n, seed=10 * seed + part) for part, n in enumerate(sizes)]
    return [Documents(X, y, qid) for X, y, qid, _ in drawn], drawn[0][3]


def measured(
    name: str, model, held: Documents, test: Documents
) -> tuple[Line, GreedyMiserRegressor]:
    """The model cut to its best round on validation documents."""
    cut, best = best_round(model, held)
    score = cut.predict(test.X)
    by_model = float(cut.cost(test.X[:1], accounting="model")[0])
    line = Line(
        name, by_model, float(cut.cost(test.X).mean()), best, test.ndcg(score),
        np.array(test.by_group(score)), cut.n_rounds_,
    )  # fmt: skip
    return line, cut


def exits(model, share: float, held: Documents, test: Documents) -> Line:
    """Early Exit around a model; ``share`` is in standard deviations of its scores."""
    spread = float(np.std(model.predict(held.X)))
    leaving = EarlyExitRegressor(model, threshold=share * spread).fit(held.X[:50], held.y[:50])
    score = leaving.predict(test.X, qid=test.qid)
    return Line(
        f"Early Exit, s = {share:g} sd",
        float(leaving.cost(test.X, qid=test.qid, accounting="model").mean()),
        float(leaving.cost(test.X, qid=test.qid).mean()),
        held.ndcg(leaving.predict(held.X, qid=held.qid)),
        test.ndcg(score),
        np.array(test.by_group(score)),
    )


def verdicts(curve: list[Line]) -> str:
    """What the relations of the paper come to; ``curve`` is from lam = 0 up."""
    full = curve[0]
    lines = []
    for kind, name in (("by_model", "by model"), ("by_row", "by row")):
        close = [line for line in curve if line.held >= CLOSE * full.held]
        best = min(close, key=lambda line: getattr(line, kind))
        gap = best.groups - full.groups
        error = gap.std(ddof=1) / np.sqrt(len(gap)) / full.test
        lines.append(
            f"- Within 1 % of the unconstrained NDCG@5 (chosen on validation), {name}: "
            f"{getattr(best, kind):.0f} of {getattr(full, kind):.0f}, a share of "
            f"**{getattr(best, kind) / getattr(full, kind):.3f}** ({best.name}; on test documents "
            f"{best.test / full.test - 1:+.1%}, standard error {error:.1%}). The paper has about 1/10."
        )
    worst = 0.0
    for dear, cheap in itertools.pairwise(curve):
        gap = cheap.groups - dear.groups
        worst = max(worst, float(gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap)) + 1e-12)))
    falls = all(a.by_model >= b.by_model for a, b in itertools.pairwise(curve))
    lines.append(
        f"- Over rising lam the cost {'never rises' if falls else 'rises somewhere'}; the largest rise of NDCG@5 from "
        f"one to the next is {worst:.1f} standard errors of the difference (monotone within noise: below about 2)."
    )
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--figures", metavar="FOLDER", help="draw figures 1 and 2 into this folder")
    given = parser.parse_args()
    sizes, rounds, points = (80000, 72000, 72000), 500, 11
    if given.quick:
        sizes, rounds, points = (2000, 2000, 2000), 60, 4
    start = time.perf_counter()
    (train, held, test), costs = draw_documents(sizes, given.seed + 1)
    miser = GreedyMiserRegressor(
        costs=costs, preset="paper", n_rounds=rounds, learning_rate=0.1, max_depth=DEPTH
    )
    top = miser.lam_max(train.X, train.y)
    lams = [0.0, *(top * np.logspace(-4, -0.5, points))]
    models, curve = miser.fit_path(train.X, train.y, lams), []
    cuts = []
    for lam, model in zip(lams, models, strict=True):
        name = "stage-wise (lam 0)" if lam == 0 else f"Greedy Miser, lam {lam / top:.2g} of most"
        line, cut = measured(name, model, held, test)
        curve.append(line)
        cuts.append(cut)
    others = []
    for cap in (1, 20, 100):
        model = FeatureSubsets(clone(miser), cap=cap).fit(train.X, train.y).model_
        others.append(measured(f"feature subset, price at most {cap}", model, held, test)[0])
    others += [exits(cuts[0], share, held, test) for share in (0.3, 0.6, 1.0)]
    heads = [
        "model",
        "cost by model",
        "share",
        "cost by row",
        "share ",
        "NDCG@5 (test)",
        "to stage-wise",
        "trees",
    ]
    lines = [line.cells(curve[0]) for line in [*curve, *others]]
    queries = " / ".join(str(len(np.unique(part.qid))) for part in (train, held, test))
    text = (
        heading("The Greedy Miser (ICML 2012)", "papers.greedy_miser_2012", given, start)
        + f"{' / '.join(map(str, sizes))} documents of {queries} queries of Yahoo's shape for training / validation / "
        f"test, at most {rounds} trees of depth {DEPTH} (the paper: 473134 documents, 3000 trees).\n\n"
        f"{markdown(heads, lines)}\n{verdicts(curve)}\n"
        f"- The single feature of price 200 is {'' if 200 in prices_bought(models, costs) else 'not '}bought by "
        "every Greedy Miser that buys at least ten features; in the paper it always is.\n"
    )
    write(given.out, text)
    if given.figures:
        draw(models, curve, Path(given.figures))


def prices_bought(models, costs):
    """Prices that all models with at least ten features have bought."""
    price = [float(p) for p in costs.prices.values()]
    sets = [{price[f] for f in m.purchase_order_} for m in models if len(m.purchase_order_) >= 10]
    return set.intersection(*sets) if sets else set()


def draw(models, curve, folder):
    from worthwhile import plots

    folder.mkdir(parents=True, exist_ok=True)
    plots.PurchasesDisplay.from_estimator(models[len(models) // 2]).figure_.savefig(
        folder / "purchases.png"
    )
    display = plots.TraceDisplay(
        [line.by_model for line in curve], [line.test for line in curve], score_name="NDCG@5 (test)"
    )
    display.plot(linestyle="").figure_.savefig(folder / "ndcg.png")


if __name__ == "__main__":
    main()
