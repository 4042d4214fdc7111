"""Feature-Cost Sensitive Learning with Submodular Trees of Classifiers (AAAI 2014).

    python -m benchmarks.papers.astc_2014 --data FOLDER [--quick] [--save results.json] [--page FOLDER]

Figure 3 (precision@5 or error against cost for L1, CSTC, ASTC and ASTC soft) and Tables 1 and 2 (how
much faster ASTC is at the node budgets that a trained CSTC used). Parts (``--part``): ``speed`` trains
CSTC and, at its node budgets, ASTC; ``curves`` trains ASTC at budgets of its own and the cost-weighted
lasso; ``tree`` draws a fitted tree. Results are added to the JSON file, so that parts can be run one by
one; ``--page docs`` writes the page and its figures from that file, together with what
``benchmarks/speed/linear_trees.py`` put there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import machine
from benchmarks.papers import astc_2014_page as page
from benchmarks.speed.linear_trees import DEPTH, Problem, arguments, keep, load, timed
from worthwhile import (
    CostSensitiveTreeClassifier,
    CostWeightedL1Regressor,
    SubmodularTreeClassifier,
    datasets,
    metrics,
)

LAMS = {
    "yahoo": [3, 1, 0.25], "forest": [1, 0.7, 0.35, 0.15], "cifar": [0.7, 0.25, 0.1],
    "miniboone": [3, 1.5, 0.7, 0.35, 0.15, 0.07],
}  # fmt: skip
"""Loss that the mean price is worth, for CSTC."""
BUDGETS = {
    "yahoo": [2, 10, 40, 120, 300], "forest": [1, 2, 3, 5, 8, 11], "cifar": [2, 5, 10, 20, 35, 50],
    "miniboone": [1, 2, 3, 5, 8, 10],
}  # fmt: skip
"""Of every node, for ASTC."""
ROUTING: dict[str, dict[str, Any]] = {"ASTC": {}, "ASTC, soft": {"routing": "soft", "tau": "std"}}
MAX_ITER = 30


def measure(problem: Problem, model: Any) -> dict[str, float]:
    """Mean bill and score on validation and test rows: error, or precision@5 where there are queries."""
    found = {}
    for part, (X, y) in (("held", problem.held), ("test", problem.test)):
        found[f"{part}_cost"] = float(model.cost(X).mean())
        score = getattr(model, "decision_function", model.predict)(X)
        if problem.queries is None:
            found[part] = float(np.mean((score > 0) != (y == 1)))
            found["noise"] = float(np.sqrt(found[part] * (1 - found[part]) / len(y)))
            continue
        query = problem.queries[part]
        found[part] = metrics.run_precision_at_k(y, score, query, k=5)
        twentieth = query * 20 // (query[-1] + 1)
        each = [
            metrics.run_precision_at_k(y[own], score[own], query[own], k=5)
            for own in (twentieth == i for i in range(20))
        ]
        found["noise"] = float(np.std(each) / np.sqrt(20))
    return found


def pruned(problem: Problem, model: Any) -> Any:
    """The model without splits that do not help on the validation rows; both trees are treated alike."""
    return model.pruned(*problem.held)


def node_budgets(model: CostSensitiveTreeClassifier) -> list[float]:
    """What a full CSTC tree spends on new features at each node, in level order."""
    bills = model.costs_.price(model.policy_.path_masks())
    parents = model.policy_.tree.parents()
    before = [float(bills[p]) if p >= 0 else 0.0 for p in parents]
    return [round(float(bill) - b, 9) for bill, b in zip(bills, before, strict=True)]


def speed(problem: Problem, lam: float, rows: int, max_iter: int) -> dict[str, Any]:
    """CSTC at one price of money, and ASTC at the budgets that CSTC's nodes used."""
    X, y = (part[:rows] for part in problem.train)
    slow = CostSensitiveTreeClassifier(
        lam / problem.mean_price, costs=problem.costs, max_depth=DEPTH, validation_fraction=None,
        max_iter=max_iter,
    )  # fmt: skip
    seconds, _ = timed(lambda: slow.fit(X, y))
    budgets = node_budgets(slow)
    paths = slow.costs_.price(slow.policy_.path_masks())[-(2 ** (DEPTH - 1)) :]
    found: dict[str, Any] = {
        "lam": lam,
        "rows": len(X),
        "path": float(np.mean(paths)),
        "rounds": slow.n_iter_,
    }
    found["CSTC"] = {"seconds": seconds} | measure(problem, pruned(problem, slow))
    for name, settings in ROUTING.items():
        fast = SubmodularTreeClassifier(
            budgets, costs=problem.costs, max_depth=DEPTH, certify=False, **settings
        )
        seconds, _ = timed(lambda fast=fast: fast.fit(X, y))
        found[name] = {"seconds": seconds} | measure(problem, pruned(problem, fast))
    return found


def curves(problem: Problem, budgets: list[float]) -> dict[str, Any]:
    """ASTC at one budget for all nodes, and the cost-weighted lasso on +-1 targets."""
    X, y = problem.train
    found: dict[str, Any] = {"rows": len(X)}
    for name, settings in ROUTING.items():
        found[name] = []
        for budget in budgets:
            model = SubmodularTreeClassifier(
                budget, costs=problem.costs, max_depth=DEPTH, certify=False, **settings
            )
            seconds, _ = timed(lambda model=model: model.fit(X, y))
            found[name].append(
                {"budget": budget, "seconds": seconds} | measure(problem, pruned(problem, model))
            )
            print(f"  {problem.name} {name} {found[name][-1]}", flush=True)
    targets = np.where(y == 1, 1.0, -1.0)
    grid = CostWeightedL1Regressor(costs=problem.costs).trade_off_grid(X[:20000], targets[:20000])
    found["L1"] = []
    for params in grid[1::2]:
        model = CostWeightedL1Regressor(costs=problem.costs, tol=1e-9, **params)
        seconds, _ = timed(lambda model=model: model.fit(X, targets))
        found["L1"].append(params | {"seconds": seconds} | measure(problem, model))
        print(f"  {problem.name} L1 {found['L1'][-1]}", flush=True)
    return found


def draw_tree(path: Path) -> None:
    """A tree on the heart data with its real prices in dollars."""
    from worthwhile.plots import draw_linear_tree

    heart = datasets.load_heart()
    model = SubmodularTreeClassifier(
        [4, 25, 120], costs=heart.costs, max_depth=3, validation_fraction=None
    ).fit(heart.data, heart.target)
    draw_linear_tree(model).figure.savefig(path, dpi=80)


def main() -> None:
    parser = arguments(__doc__, ["speed", "curves"])
    parser.add_argument(
        "--lams", nargs="*", type=float, help="instead of the five or six of the page"
    )
    parser.add_argument(
        "--page", metavar="FOLDER", help="write the page and its figures under here"
    )
    given = parser.parse_args()
    print(machine())
    for problem in load(given.only, given.data, given.quick) if given.part else []:
        name = problem.name
        if "speed" in given.part:
            for lam in given.lams or (LAMS[name][::3] if given.quick else LAMS[name]):
                found = speed(problem, lam, given.rows, 5 if given.quick else MAX_ITER)
                print(f"  {name} {found}", flush=True)
                keep(given.save, f"speed {name} {found['rows']} {lam:g}", found)
        if "curves" in given.part:
            found = curves(problem, BUDGETS[name][::3] if given.quick else BUDGETS[name])
            keep(given.save, f"curves {name}", found)
    if given.page:
        results = json.loads(Path(given.save).read_text())
        figures = Path(given.page) / "figures"
        page.draw(results, figures / "astc-comparison.png")
        draw_tree(figures / "astc-tree.png")
        (Path(given.page) / "reproduction" / "astc_2014.md").write_text(page.text(results))


if __name__ == "__main__":
    main()
