"""The promise of BudgetSearchCV: how often the mean bill of new rows exceeds the budget.

    python benchmarks/bench_budget_promise.py --data FOLDER [--quick] [--out docs/reproduction/budget_promise.md]

Real data is split at random into training and test rows, many times. Each time a budget is given, a
model is found on the training rows, and its bills of the test rows are averaged. The share of splits
in which that mean is over the budget must not be above 1 - confidence (one-sided binomial test at
1 %), and on average at least 85 % of the budget must be used: caution must not be bought by waste.
Budgets are chosen where they bind, below the bill at which more money stops to help, and the score is
the log-loss, which money always improves a little.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from common import load, machine, markdown, options, write
from scipy import stats
from sklearn.model_selection import train_test_split

from costwise import BudgetSearchCV, Costs, GreedyMiserClassifier
from costwise.exceptions import CostwiseWarning

CASES = [
    # data, rows, share of the full price as budget
    ("segmentation", 1200, 0.2),
    ("letters", 1600, 0.4),
    ("miniboone_sample", 1600, 0.1),
]


def one_split(X, y, costs, budget, confidence, seed):
    X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.5, random_state=seed)
    model = GreedyMiserClassifier(
        costs=costs, penalty="row", n_rounds=20, learning_rate=0.3, n_jobs=1
    )
    search = BudgetSearchCV(
        model, budget, cv=5, scoring="neg_log_loss", confidence=confidence, horizon=len(X_test),
        trade_off=model.trade_off_grid(X_train, y_train)[::3], refine=4,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CostwiseWarning)
        search.fit(X_train, y_train)
    return float(search.cost(X_test).mean()), search.best_cost_, search.n_refits_


def run_case(case, splits, confidence, folder, seed):
    name, rows, share = case
    X, y, _ = load(name, folder, rows)
    costs = Costs(np.ones(X.shape[1]))
    budget = share * costs.total
    start = time.perf_counter()
    found = np.array([one_split(X, y, costs, budget, confidence, seed + i) for i in range(splits)])
    over = int((found[:, 0] > budget).sum())
    p = stats.binomtest(over, splits, 1 - confidence, alternative="greater").pvalue
    use = float(found[:, 0].mean() / budget)
    kept = "yes" if p > 0.01 and use >= 0.85 else "no"
    return [
        f"{name}, {rows} rows", f"{budget:.4g}", splits, over, f"{p:.3f}", f"{use:.1%}",
        f"{found[:, 2].mean():.2f}", f"{time.perf_counter() - start:.0f}", kept,
    ]  # fmt: skip


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--only", action="append", help="name of a data set; may be repeated")
    given = parser.parse_args()
    splits = given.splits or (10 if given.quick else 200)
    names = given.only or [case[0] for case in CASES]
    cases = [case for case in CASES if case[0] in names]
    lines = []
    for case in cases:
        lines.append(run_case(case, splits, given.confidence, given.data, given.seed))
        print(lines[-1], flush=True)
    heads = [
        "data (half for training)", "budget", "splits", "over budget", "p (share <= 1 - confidence)",
        "use of the budget", "refits", "seconds", "kept",
    ]  # fmt: skip
    text = (
        "# The promise of a budget\n\n`python benchmarks/bench_budget_promise.py --data FOLDER`, "
        f"confidence {given.confidence:g}, {splits} random splits from seed {given.seed}; every feature costs 1; "
        f"Greedy Miser with log-loss as score. {machine()}.\n\n{markdown(heads, lines)}"
    )
    write(given.out, text)


if __name__ == "__main__":
    main()
