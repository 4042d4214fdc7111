"""One training of BudgetClassifier against eight tuned peers, over all budgets.

    python -m benchmarks.parts.frontier --data FOLDER [--keep FILE] [--cases heart,pima] [--out PAGE]

Sixteen public cases. AUC is the mean test accuracy over 60 budgets, evenly spaced in the logarithm from 0.5 % to 100 %
of the price of everything; at each budget the model with the best validation accuracy among those whose mean
validation bill fits (the most frequent class is free). "Any peer" chooses among all models of all peers; "mixed" puts
every budget on the hull of the validation points, two models and a share. Bills are exact and by row. ``--keep`` holds
what was run, split by split: a run may be done in pieces, and the page shows what is there. The peers of heart, Pima,
ionosphere and MiniBooNE are in ``frontier_peers.jsonl``: a copy of it is a FILE to begin with.
"""

from __future__ import annotations

import base64
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.common import Kept, options, write
from benchmarks.parts._frontier_cases import CASES, SMALL, Case, load_case
from benchmarks.parts._frontier_page import Split, draw, page
from worthwhile import BudgetClassifier, PricedModel
from worthwhile.policy.base import Policy
from worthwhile.policy.trees import TreePolicy

STAGES = (1, 3, 10, 30, 100, 300)
TRADE_OFFS = np.geomspace(0.01, 31.6, 11)
FEWER_TREES = ("usps", "letters", "covtype")

Line = list[Any]
"""Validation bill and accuracy, test bill and accuracy of one model, and which test rows it got right, as text."""


def measure(policy: Policy, case: Case) -> Line:
    """What a model costs and gets right on the rows to choose on and on those to report."""
    line: Line = []
    for X, y in (case.choose, case.test):
        outcome = policy.batch(X)
        right = policy.output.predict(outcome.raw) == y
        bill = policy.bills(outcome) * 1e-9
        line += [float(bill.mean()), float(right.mean())]
    return [*line, base64.b64encode(np.packbits(right).tobytes()).decode()]


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

    n, n_trees = len(case.train[1]), 100 if name in FEWER_TREES else 300
    usual = {
        "n_estimators": n_trees, "num_leaves": leaves, "max_depth": 4 if leaves == 16 else -1, "learning_rate": 0.1,
        "min_child_samples": 5 if n < 2000 else 20, "n_jobs": 1, "random_state": 0, "verbose": -1,
    }  # fmt: skip
    return library.LGBMClassifier(**usual | more)


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


def ours(name: str, case: Case) -> dict[str, Any]:
    """Every point of one training, and the CPU time of it."""
    model = BudgetClassifier(costs=case.costs, n_jobs=1, random_state=0)
    seconds = timed(model.fit, *case.train)["seconds"]
    lines = [measure(model.at(stage=stage).policy_, case) for stage in range(model.n_stages_)]
    return {"result": lines, "seconds": seconds}


def one_fit(name: str, case: Case) -> dict[str, Any]:
    """CPU time of LightGBM with 300 trees; of a short one the mean of several."""
    times, model = list[float](), lightgbm(name, case, n_estimators=300)
    while not times or (sum(times) < 1 and len(times) < 10):
        times.append(timed(model.fit, *case.train)["seconds"])
    return {"result": len(times), "seconds": float(np.mean(times))}


def timed(function: Any, *given: Any) -> dict[str, Any]:
    """A result and the CPU time that it took."""
    start = time.process_time()
    return {"result": function(*given), "seconds": time.process_time() - start}


def make(case: Case, name: str, who: str) -> dict[str, Any]:
    """What is kept of a peer, of ours, or of the unit of time."""
    if who in PEERS:
        return timed(list, PEERS[who](name, case))
    return ours(name, case) if who == "ours" else one_fit(name, case)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what was run, to go on with")
    parser.add_argument("--cases", default="", help="names of sets, comma between; all if left out")
    parser.add_argument("--splits", type=int, default=5, help="splits of the small sets")
    parser.add_argument("--who", default="", help="peers, ours, or names; all if left out")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after that")
    parser.add_argument("--figure", metavar="FILE", help="curves of all cases that were run")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    wanted = [name for name in given.cases.split(",") if name]
    groups = {"": [*PEERS, "ours", "one fit"], "peers": [*PEERS, "one fit"]}
    who = groups.get(given.who, given.who.split(","))
    kept, end = Kept(given.keep), time.monotonic() + 60 * given.minutes
    if "ours" in who:
        rng = np.random.default_rng(0)
        # Compiles, boosted trees of a wide set among the rest.
        BudgetClassifier(n_trees=2).fit(rng.normal(size=(120, 9)), np.arange(120) % 2)
    results: dict[tuple[str, str], list[Split]] = {}
    for name, prices in CASES:
        if wanted and name not in wanted:
            continue
        for seed in range(given.seed, given.seed + (given.splits if name in SMALL else 1)):
            case, key = load_case(name, prices, given.data, seed), f"{name} {prices} {seed}"
            for one in who:
                if f"{key} {one}" in kept.found or time.monotonic() > end:
                    continue
                kept.get(f"{key} {one}", lambda: make(case, name, one))  # noqa: B023
                print(key, one, f"{kept.found[f'{key} {one}']['seconds']:.1f} s", flush=True)
            models = {one: kept.found.get(f"{key} {one}") for one in groups[""]}
            if all(models.values()):
                results.setdefault((name, prices), []).append(Split(case, models, PEERS))
    if results:
        write(given.out, page(results, given))
        if given.figure:
            draw(results, given.figure)


if __name__ == "__main__":
    main()
