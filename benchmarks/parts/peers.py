"""Against what users have: accuracy over all budgets, and the cost of nearly the best accuracy.

    python -m benchmarks.parts.peers --data FOLDER [--quick] [--keep FOLDER] [--out docs/reproduction/peers.md]

Six data sets, unit and skewed prices (heart and Pima: their published prices instead of skewed ones).
Every method sweeps its own trade-off on the same training rows; each budget takes the point that is
best on validation rows, and its accuracy on test rows is reported. Two figures:

- mean accuracy over 60 budgets, evenly spaced in the logarithm from 0.5 % to 100 % of the full price;
- cost, as a share of the full price, at which the accuracy is within 0.01 of the best of all methods.

Bills are exact and by row for every method: LightGBM's trees are read node by node, CatBoost's symmetric
trees read all features they use. "best of ours" and "best of peers" pick a method for each budget on
validation. Target: 0.03 more in the first figure, at most half the cost in the second. ``--keep`` holds a
journal per case: a run may be done in pieces, and a further method trains nothing but itself.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from benchmarks.common import load, machine, markdown, options, skewed, write
from worthwhile import Costs, compare
from worthwhile.frontier import METHODS, Frontier

SETS = {
    # rows (None: all), share of them for testing and of the rest for validation, random splits
    "letters": (4000, 0.4, 1),
    "segmentation": (None, 0.25, 1),
    "heart": (None, 0.25, 2),
    "pima": (None, 0.25, 2),
    "forest": (4000, 0.4, 1),
    "miniboone_sample": (4000, 0.4, 1),
}
CASES = [
    (name, prices)
    for name in SETS
    for prices in ("unit", "published" if name in ("heart", "pima") else "skewed")
]
EFFORT = 8
SLOW = (
    "dynamic-selection",
    "cost-weighted-l1",
    "adaptive-boosting",
    "submodular-tree",
    "pruned-forest",
)
"""Half of the time on the larger sets, and far from the best there: on small ones only."""
PEERS = [
    "decision-tree", "lightgbm-cegb-coupled-16", "lightgbm-cegb-coupled-64", "lightgbm-cegb-lazy-16",
    "lightgbm-cegb-lazy-64", "lightgbm-static", "catboost",
]  # fmt: skip
OURS = [
    "budget", "greedy-miser", "greedy-miser-row", "greedy-miser-deep", "forward-forest", "budgeted-forest",
    "pruned-forest", "submodular-tree", "cost-weighted-l1", "dynamic-selection", "adaptive-boosting",
]  # fmt: skip

READING = """Accuracies are means over the budgets, chosen on validation rows and measured on test rows. `budget` is
`BudgetClassifier`, which learns from training and validation rows together and chooses by folds of its own, as its
`fit` does: everybody gets the same rows.
"Budgets that buy nothing" is the share of the 60 budgets below the price of the first useful feature: there everybody
answers with the most frequent class. "Room" is how far above the peers a method would be that had the best accuracy of
all methods as soon as it buys anything: where that is little more than 0.03, or less, the first target is out of reach
for any method that is not also more accurate at the full price. In the second figure a split on which the bar is not
reached counts with the full price, in brackets on how many it is; a dash where it never is; the target counts as
reached where ours comes within 0.01 of the best and the peers never do.

Heart and Pima have 56 and 144 validation rows. Choosing among hundreds of models on them is mostly chance, and a
difference of 0.02 between two of these means is within the noise.
"""


def figures(comparison, names):
    """Both figures of a choice among some methods, means over the splits, and where the bar is reached.

    A split on which it is not counts with the full price.
    """
    mean, cost, hits = [], [], 0
    for split, run in enumerate(comparison.runs):
        frontier = Frontier.join({name: comparison.frontier(name, split) for name in names})
        mean.append(frontier.mean_score(60, 0.005))
        bar = max(float(one.score.max()) for one in run.frontiers.values()) - 0.01
        reached = bool((frontier.score >= bar).any())
        hits += reached
        cost.append(frontier.cheapest(bar).test_cost / comparison.full_cost if reached else 1.0)
    return float(np.mean(mean)), float(np.mean(cost)), hits


def price(figure, splits):
    """The second figure in words."""
    if not figure[2]:
        return "-"
    return f"{figure[1]:.3f}" + (f" ({figure[2]} of {splits})" if figure[2] < splits else "")


def idle(comparison):
    """Share of the 60 budgets at which not even the best of all methods buys anything."""
    budgets = comparison.full_cost * np.geomspace(0.005, 1, 60)
    shares = []
    for run in comparison.runs:
        frontier = Frontier.join(run.frontiers)
        shares.append(float((frontier.cost[frontier.choices(budgets)] == 0).mean()))
    return float(np.mean(shares))


def ceiling(comparison):
    """Mean over the budgets if the best accuracy of all were had as soon as anything is bought."""
    found = []
    for run in comparison.runs:
        frontier = Frontier.join(run.frontiers)
        budgets = comparison.full_cost * np.geomspace(0.005, 1, 60)
        chosen = [frontier[i] for i in frontier.choices(budgets)]
        best = frontier.best().test_score
        found.append(np.mean([best if point.cost else point.test_score for point in chosen]))
    return float(np.mean(found))


def run(name, prices, given):
    """The comparison of one case."""
    rows, share, splits = SETS[name]
    most = min(rows or 2000, 2000) if given.quick else rows
    X, y, published = load(name, given.data, most, given.seed)
    costs = Costs(np.ones(X.shape[1])) if prices == "unit" else published or skewed(X.shape[1])
    skipped = {*given.without, *(SLOW if len(y) > 1000 else ())}
    if given.ours:
        skipped |= set(OURS) - set(given.ours)
    asked = [m for m in PEERS + OURS if METHODS[m].installed() and m not in skipped]
    journal = None
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
        journal = Path(given.keep, f"{name}-{prices}.jsonl")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = compare(
            X, y, costs, asked, n_splits=1 if given.quick else splits, effort=4 if given.quick else EFFORT,
            test_size=share, random_state=given.seed, n_jobs=given.jobs, resume=journal,
        )  # fmt: skip
    return comparison, len(y)


def summary(case, comparison, rows):
    """The line of a case in the first table."""
    ours = figures(comparison, [m for m in comparison.methods if m in OURS])
    peers = figures(comparison, [m for m in comparison.methods if m in PEERS])
    more = ours[0] - peers[0]
    splits = len(comparison.runs)
    cheaper = bool(ours[2]) and (ours[1] <= 0.5 * peers[1] or (ours[2] == splits and not peers[2]))
    words = ["yes" if good else "no" for good in (more >= 0.03, cheaper)]
    room = ceiling(comparison) - peers[0]
    return [case, rows, splits, ours[0], peers[0], f"{more:+.3f}", words[0], f"{room:+.3f}",
            f"{idle(comparison):.0%}", price(ours, splits), price(peers, splits), words[1]]  # fmt: skip


def at_budgets(case, comparison):
    """The best of ours and of the peers at some budgets, and which method that was on the first split."""
    shares = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
    lines = []
    for side, names in (("ours", OURS), ("peers", PEERS)):
        found = []
        for split in range(len(comparison.runs)):
            own = {m: comparison.frontier(m, split) for m in comparison.methods if m in names}
            found.append(Frontier.join(own))
        chosen = [
            "prior" if not point.cost else point.method
            for point in (found[0].best(comparison.full_cost * share) for share in shares)
        ]
        scores = np.mean(
            [one.step(comparison.full_cost * np.array(shares), part="test") for one in found],
            axis=0,
        )
        cells = [
            f"{score:.3f} {method}" for score, method in zip(scores, chosen, strict=True)
        ]  # fmt: skip
        lines.append([f"{case}: {side}", *cells])
    return lines


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", action="append", help="data set, or data:prices; may be repeated")
    parser.add_argument("--without", action="append", default=[], help="method to leave out")
    parser.add_argument("--ours", nargs="*", help="methods of the library; all of them without it")
    parser.add_argument("--keep", metavar="FOLDER", help="where finished sweeps are kept")
    parser.add_argument("--jobs", type=int, default=None, help="methods at a time")
    given = parser.parse_args()
    lines, singles, choices, failures = [], {}, [], {}
    for name, prices in CASES:
        if given.only and not {name, f"{name}:{prices}"} & set(given.only):
            continue
        case = f"{name}, {prices}"
        comparison, rows = run(name, prices, given)
        lines.append(summary(case, comparison, rows))
        alone = {m: figures(comparison, [m]) for m in comparison.methods}
        singles[case] = {m: (own[0], price(own, len(comparison.runs))) for m, own in alone.items()}
        choices += at_budgets(case, comparison)
        failures |= {f"{m} on {case}": why for m, why in comparison.failures.items()}
        print(lines[-1], flush=True)
    write(given.out, page(given, lines, singles, choices, failures))


def page(given, lines, singles, choices, failures):
    """The results as Markdown."""
    heads = [
        "data, prices", "rows", "splits", "mean accuracy: best of ours", "best of peers", "difference",
        ">= 0.03", "room", "budgets that buy nothing", "cost within 0.01: ours", "peers", "<= half",
    ]  # fmt: skip
    names = [
        m + (" (peer)" if m in PEERS else "")
        for m in OURS + PEERS
        if any(m in s for s in singles.values())
    ]
    tables = []
    for figure in (0, 1):
        rows = [
            [label] + [single.get(label.split(" ")[0], (None, None))[figure] for single in singles.values()]
            for label in names
        ]  # fmt: skip
        tables.append(markdown(["method", *singles], rows))
    quick = " --quick" if given.quick else ""
    some = " --ours " + " ".join(given.ours) if given.ours else ""
    text = (
        "# Against what users have\n\n"
        f"`python -m benchmarks.parts.peers --data FOLDER --seed {given.seed}{quick}{some}`, "
        f"{4 if given.quick else EFFORT} models per method and split. {machine()}.\n\n"
        f"{markdown(heads, lines)}\n{READING}\n"
        f"Mean accuracy over 60 budgets, each method alone:\n\n{tables[0]}\n"
        f"Cost within 0.01 of the best of all methods, as a share of the full price, each method alone (a dash where "
        f"it is not reached on every split):\n\n{tables[1]}\n"
        "Accuracy on test rows at budgets in shares of the full price, with the method that validation chose (on the "
        "first split):\n\n"
        f"{markdown(['data', '1 %', '2 %', '5 %', '10 %', '20 %', '40 %', '70 %'], choices)}"
    )
    if not given.ours:
        text += f"\nLeft out of sets of more than 1000 rows, for their time: {', '.join(SLOW)}.\n"
    left = [f"{name}, {prices}" for name, prices in CASES if f"{name}, {prices}" not in singles]
    if left:
        text += f"\nNot run here: {'; '.join(left)}.\n"
    missing = [m for m in OURS + PEERS if not METHODS[m].installed()]
    if missing:
        text += f"\nNot installed where this ran: {', '.join(missing)}.\n"
    for what, why in failures.items():
        text += f"\n{what} could not be run: {why}\n"
    return text


if __name__ == "__main__":
    main()
