"""One training of BudgetClassifier against nine tuned peers, over all budgets.

    python -m benchmarks.parts.frontier --data FOLDER [--keep FILE] [--cases heart,pima] [--out PAGE]

Sixteen public cases. AUC is the mean test accuracy over 60 budgets, evenly spaced in the logarithm from 0.5 % to 100 %
of the price of everything; at each budget the model with the best validation accuracy among those whose mean
validation bill fits (the most frequent class is free). "Any peer" chooses among all models of all peers; "mixed" puts
every budget on the hull of the validation points, two models and a share. Bills are exact and by row. ``--keep`` holds
what was run, split by split: a run may be done in pieces, and the page shows what is there.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.common import Kept, machine, markdown, options, write
from benchmarks.parts._frontier_cases import CASES, SMALL, Case, load_case
from worthwhile import BudgetClassifier, PricedModel
from worthwhile.policy.base import Policy
from worthwhile.policy.trees import TreePolicy

STAGES = (1, 3, 10, 30, 100, 300)
SHARES = np.geomspace(0.005, 1, 60)
TRADE_OFFS = np.geomspace(0.01, 31.6, 11)
FEWER_TREES = ("usps", "letters", "covtype")

Line = list[float]
"""Validation bill and accuracy, test bill and accuracy of one model."""


def measure(policy: Policy, case: Case) -> Line:
    """What a model costs and gets right on the rows to choose on and on those to report."""
    line = []
    for X, y in (case.choose, case.test):
        outcome = policy.batch(X)
        right = policy.output.predict(outcome.raw) == y
        bill = policy.bills(outcome) * 1e-9
        line += [float(bill.mean()), float(right.mean())]
    return line


def staged(model: Any, case: Case) -> Iterator[Line]:
    """The same for the first trees of a fitted ensemble, ever more of them."""
    policy = PricedModel(model, case.costs).policy_
    if not isinstance(policy, TreePolicy):
        yield measure(policy, case)
        return
    rounds = policy.trees.n_trees // policy.trees.per_round
    for stage in sorted({min(stage, rounds) for stage in STAGES}):
        trees = policy.trees.first(stage * policy.trees.per_round)
        yield measure(TreePolicy(policy.costs, policy.output, trees), case)


# Peers --------------------------------------------------------------------------------------------


def lightgbm(name: str, case: Case, leaves: int = 16, **more: Any) -> Any:
    """LightGBM as the peers use it."""
    import lightgbm as library

    n = len(case.train[1])
    return library.LGBMClassifier(
        n_estimators=100 if name in FEWER_TREES else 300, num_leaves=leaves, max_depth=4 if leaves == 16 else -1,
        learning_rate=0.1, min_child_samples=5 if n < 2000 else 20, n_jobs=1, random_state=0, verbose=-1, **more,
    )  # fmt: skip


def penalised(name: str, case: Case, leaves: int, kind: str) -> Iterator[Line]:
    """Coupled or lazy penalties: 1 means that everything for every row costs one unit of gain per row."""
    flat = case.costs.flat
    prices = flat.alone / max(flat.total, 1)
    scale = len(case.train[1]) if kind == "coupled" else 1.0
    values = np.append(TRADE_OFFS, np.geomspace(60, max(3 * len(prices), 61), 3))
    for value in values if leaves == 16 else values[::2]:
        penalty = {f"cegb_penalty_feature_{kind}": prices.tolist(), "cegb_tradeoff": value * scale}
        yield from staged(lightgbm(name, case, leaves, **penalty).fit(*case.train), case)


def static(name: str, case: Case) -> Iterator[Line]:
    """Plain models on the features of the highest gain per price."""
    X, y = case.train
    first = lightgbm(name, case).fit(X, y)
    worth = first.booster_.feature_importance("gain") / np.maximum(case.costs.flat.alone, 1)
    order = np.argsort(-worth, kind="stable")
    k = 1
    while True:
        masked = X.copy()
        masked[:, order[k:]] = 0.0
        yield from staged(lightgbm(name, case).fit(masked, y), case)
        if k >= X.shape[1]:
            return
        k = min(k + 1 if k < 4 else round(1.5 * k), X.shape[1])


def catboost(name: str, case: Case) -> Iterator[Line]:
    """Penalties for the first use of a feature."""
    import catboost as library

    prices = case.costs.flat.alone / max(case.costs.flat.total, 1)
    for value in np.geomspace(0.01, 31.6, 7):
        model = library.CatBoostClassifier(
            iterations=100, depth=4, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False,
            first_feature_use_penalties=prices.tolist(), penalties_coefficient=value * len(case.train[1]),
        )  # fmt: skip
        yield measure(PricedModel(model.fit(*case.train), case.costs).policy_, case)


def forests(name: str, case: Case) -> Iterator[Line]:
    """Forests of three depths."""
    from sklearn.ensemble import RandomForestClassifier

    for depth in (4, 8, None):
        yield from staged(
            RandomForestClassifier(100, max_depth=depth, random_state=0).fit(*case.train), case
        )


def trees(name: str, case: Case) -> Iterator[Line]:
    """Trees of all depths up to 12."""
    from sklearn.tree import DecisionTreeClassifier

    for depth in range(1, 13):
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(*case.train)
        yield measure(PricedModel(tree, case.costs).policy_, case)


PEERS = {
    "coupled 16": lambda name, case: penalised(name, case, 16, "coupled"),
    "lazy 16": lambda name, case: penalised(name, case, 16, "lazy"),
    "coupled 64": lambda name, case: penalised(name, case, 64, "coupled"),
    "lazy 64": lambda name, case: penalised(name, case, 64, "lazy"),
    "static": static,
    "catboost": catboost,
    "forests": forests,
    "trees": trees,
}


def ours(name: str, case: Case) -> list[Line]:
    """Every point of one training."""
    model = BudgetClassifier(costs=case.costs, n_jobs=1, random_state=0).fit(*case.train)
    return [measure(model.at(stage=stage).policy_, case) for stage in range(model.n_stages_)]


# Curves -------------------------------------------------------------------------------------------


def with_nothing(lines: list[Line], case: Case) -> Any:
    """The models, and the most frequent class for nothing."""
    labels, counts = np.unique(case.train[1], return_counts=True)
    common = labels[np.argmax(counts)]
    free = [0.0, float((case.choose[1] == common).mean())]
    free += [0.0, float((case.test[1] == common).mean())]
    return np.array([free, *lines])


def chosen(lines: Any, budgets: Any) -> list[float]:
    """Test accuracy at each budget of the model that is best on validation."""
    found = []
    for budget in budgets:
        fits = np.flatnonzero(lines[:, 0] <= budget * (1 + 1e-9))
        found.append(float(lines[fits[np.argmax(lines[fits, 1])], 3]))
    return found


def mixed(lines: Any, budgets: Any) -> list[float]:
    """The same for two models and a share: the upper hull of the validation points."""
    hull: list[int] = []
    for i in np.lexsort((-lines[:, 1], lines[:, 0])).tolist():
        if hull and lines[i, 1] <= lines[hull[-1], 1]:
            continue
        while len(hull) > 1:
            a, b = lines[hull[-2]], lines[hull[-1]]
            if (b[1] - a[1]) * (lines[i, 0] - a[0]) > (lines[i, 1] - a[1]) * (b[0] - a[0]):
                break
            hull.pop()
        hull.append(i)
    found: list[float] = np.interp(budgets, lines[hull, 0], lines[hull, 3]).tolist()
    return found


def run(name: str, prices: str, folder: str, seed: int, kept: Kept) -> dict[str, Any]:
    """Curves of a split, from what was kept or made now."""
    case = load_case(name, prices, folder, seed)
    key = f"{name} {prices} {seed}"
    models: dict[str, Any] = {
        peer: kept.get(f"{key} {peer}", lambda make=make: timed(list, make(name, case)))
        for peer, make in PEERS.items()
    }
    models["ours"] = kept.get(f"{key} ours", lambda: timed(ours, name, case))
    one = kept.get(f"{key} one fit", lambda: timed(_one_fit, name, case))
    lines = {who: with_nothing(found["result"], case) for who, found in models.items()}
    lines["any peer"] = np.vstack([lines[peer] for peer in PEERS])
    budgets = SHARES * case.costs.total
    return {
        "one": {who: chosen(found, budgets) for who, found in lines.items()},
        "mixed": {who: mixed(found, budgets) for who, found in lines.items()},
        "fits": models["ours"]["seconds"] / max(one["seconds"], 1e-9),
    }


def _one_fit(name: str, case: Case) -> int:
    lightgbm(name, case).fit(*case.train)
    return 1


def timed(function: Any, *given: Any) -> dict[str, Any]:
    """A result and the CPU time that it took."""
    start = time.process_time()
    return {"result": function(*given), "seconds": time.process_time() - start}


def page(results: dict[tuple[str, str], list[dict[str, Any]]]) -> str:
    """Tables of all cases that were run."""
    heads = [
        "case", "splits", "any peer", "ours", "lead", "any peer, mixed", "ours, mixed", "lead, mixed",
        "best single peer", "LightGBM fits",
    ]  # fmt: skip
    table = []
    for (name, prices), splits in results.items():
        means = {
            how: {who: float(np.mean([s[how][who] for s in splits])) for who in splits[0][how]}
            for how in ("one", "mixed")
        }
        single = max(PEERS, key=lambda peer, one=means["one"]: one[peer])
        one, both = means["one"], means["mixed"]
        table.append([
            f"{name}, {prices}", len(splits), one["any peer"], one["ours"], one["ours"] - one["any peer"],
            both["any peer"], both["ours"], both["ours"] - both["any peer"],
            f"{single} {one[single]:.4f}", float(np.mean([s["fits"] for s in splits])),
        ])  # fmt: skip
    numbers = [[line[i] for line in table] for i in range(2, 8)]
    table.append(["mean", "", *(float(np.mean(column)) for column in numbers), "", None])
    shown = [
        [f"{c:.4f}" if isinstance(c, float) and i < 9 else c for i, c in enumerate(line)]
        for line in table
    ]
    return markdown(heads, shown)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what was run, to go on with")
    parser.add_argument("--cases", default="", help="names of sets, comma between; all if left out")
    parser.add_argument("--splits", type=int, default=5, help="splits of the small sets")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    BudgetClassifier(n_trees=2).fit(rng.normal(size=(50, 3)), np.arange(50) % 2)  # compiles
    kept, wanted = Kept(given.keep), [name for name in given.cases.split(",") if name]
    results: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for name, prices in CASES:
        if wanted and name not in wanted:
            continue
        seeds = range(given.seed, given.seed + (given.splits if name in SMALL else 1))
        results[name, prices] = [run(name, prices, given.data, seed, kept) for seed in seeds]
        print(name, prices, flush=True)
    text = (
        f"# The frontier, against peers\n\n`python -m benchmarks.parts.frontier --data FOLDER`, "
        f"splits from seed {given.seed} on. {machine()}.\n\n{page(results)}"
    )
    write(given.out, text)


if __name__ == "__main__":
    main()
