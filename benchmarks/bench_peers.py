"""Against what users have: accuracy over all budgets, and the cost of nearly the best accuracy.

    python benchmarks/bench_peers.py --data FOLDER [--quick] [--out docs/reproduction/peers.md]

Six data sets, unit and skewed prices (heart and Pima: their published prices instead of skewed ones).
Every method sweeps its own trade-off on the same training rows; each budget takes the point that is
best on validation rows, and its accuracy on test rows is reported. Two figures:

- mean accuracy over 60 budgets, evenly spaced in the logarithm from 0.5 % to 100 % of the full price;
- cost, as a share of the full price, at which the accuracy is within 0.01 of the best of all methods.

Bills are exact and by row for every method: LightGBM's trees are read node by node, CatBoost's symmetric
trees read all features they use. "best of ours" and "best of peers" pick a method for each budget on
validation. Target: 0.03 more in the first figure, at most half the cost in the second.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import load, machine, markdown, options, skewed, write

from costwise import Costs, compare
from costwise.frontier import METHODS, Frontier

SETS = {
    "heart": None,
    "pima": None,
    "segmentation": None,
    "miniboone_sample": None,
    "letters": 12000,
    "forest": 12000,
}
PEERS = [
    "decision-tree", "lightgbm-cegb-coupled-16", "lightgbm-cegb-coupled-64", "lightgbm-cegb-lazy-16",
    "lightgbm-cegb-lazy-64", "lightgbm-static", "catboost",
]  # fmt: skip
OURS = [
    "greedy-miser", "greedy-miser-row", "greedy-miser-deep", "budgeted-forest", "pruned-forest", "submodular-tree",
    "cost-weighted-l1", "dynamic-selection", "adaptive-boosting",
]  # fmt: skip


def joined(comparison, names, split):
    return Frontier.join({name: comparison.frontier(name, split) for name in names})


def figures(comparison, names):
    """Both figures of a choice among some methods, over the splits."""
    mean, cost = [], []
    for split, run in enumerate(comparison.runs):
        frontier = joined(comparison, names, split)
        mean.append(frontier.mean_score(60, 0.005))
        bar = max(float(one.score.max()) for one in run.frontiers.values()) - 0.01
        reached = (frontier.score >= bar).any()
        cost.append(frontier.cheapest(bar).test_cost / comparison.full_cost if reached else np.nan)
    return float(np.mean(mean)), float(np.mean(cost))


def run(name, prices, given):
    X, y, published = load(name, given.data, SETS[name])
    if given.quick and len(y) > 2000:
        X, y, published = load(name, given.data, 2000)
    costs = Costs(np.ones(X.shape[1])) if prices == "unit" else published or skewed(X.shape[1])
    asked = [m for m in OURS + PEERS if METHODS[m].installed()]
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = compare(
            X, y, costs, asked, n_splits=1 if given.quick else 3, effort=5 if given.quick else 13,
            random_state=given.seed, n_jobs=given.jobs,
        )  # fmt: skip
    ours = [m for m in comparison.methods if m in OURS]
    peers = [m for m in comparison.methods if m in PEERS]
    best = {"ours": figures(comparison, ours), "peers": figures(comparison, peers)}
    line = [
        f"{name}, {prices}", best["ours"][0], best["peers"][0], best["ours"][0] - best["peers"][0],
        best["ours"][1], best["peers"][1], "yes" if reached(best) else "no", f"{time.perf_counter() - start:.0f}",
    ]  # fmt: skip
    single = {m: figures(comparison, [m]) for m in comparison.methods}
    return line, single, comparison.failures


def reached(best):
    more = best["ours"][0] - best["peers"][0] >= 0.03
    return more and not best["ours"][1] > 0.5 * best["peers"][1]


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", help="name of a data set; may be repeated")
    parser.add_argument("--jobs", type=int, default=None, help="methods at a time")
    given = parser.parse_args()
    lines, singles, failures = [], {}, {}
    for name in given.only or SETS:
        kinds = ("unit", "published") if name in ("heart", "pima") else ("unit", "skewed")
        for prices in kinds:
            line, single, failed = run(name, prices, given)
            lines.append(line)
            singles[line[0]] = single
            failures |= failed
            print(line, flush=True)
    heads = [
        "data, prices", "mean accuracy: best of ours", "best of peers", "difference",
        "cost within 0.01: ours", "peers", "target reached", "seconds",
    ]  # fmt: skip
    names = sorted(
        {m for single in singles.values() for m in single}, key=lambda m: (m in PEERS, m)
    )
    each = [[m + (" (peer)" if m in PEERS else "")] + [single.get(m, (None,))[0] for single in singles.values()]
            for m in names]  # fmt: skip
    missing = [m for m in OURS + PEERS if not METHODS[m].installed()]
    quick = " --quick" if given.quick else ""
    text = (
        f"# Against what users have\n\n`python benchmarks/bench_peers.py --data FOLDER{quick}`, "
        f"seed {given.seed}. {machine()}.\n\n{markdown(heads, lines)}\n"
        f"Mean accuracy over 60 budgets, each method alone:\n\n{markdown(['method', *singles], each)}"
    )
    if missing:
        text += f"\nNot installed where this ran: {', '.join(missing)}.\n"
    for method, reason in failures.items():
        text += f"\n{method} could not be run: {reason}\n"
    write(given.out, text)


if __name__ == "__main__":
    main()
