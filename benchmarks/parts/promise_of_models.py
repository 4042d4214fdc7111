"""The promise of BudgetClassifier: how often the mean bill of new rows exceeds the budget.

    python -m benchmarks.parts.promise_of_models --data FOLDER [--quick] [--keep FILE]
        [--out docs/reproduction/budget_promise.md]

A model is trained on some hundred rows of a set and judged by thousands of others, for many draws of the rows. Of each
model eight budgets are asked for, from 2 % to 80 % of the price of everything, of one line of the frontier and of a
mixture of two; for a mixture the bill is its mean over the coin. Confidence is the default, 0.95: of a hundred draws at
most five may be over a budget, in the mean over budgets. The section goes into the page of searches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from benchmarks.common import Kept, load, machine, markdown, options, skewed, write_section
from worthwhile import BudgetClassifier, Costs

SETS = ("segmentation", "letters", "miniboone_sample", "usps", "forest")
ROWS = (150, 300, 1000)
"""For training."""

MOST_NEW = 5000
"""Rows that judge."""

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8)
"""Budgets, of the price of everything."""


def one_draw(X: Any, y: Any, costs: Costs, rows: int, seed: int) -> list[list[float]]:
    """For every budget the mean bill of the new rows in budgets: of one line, and of two."""
    seen, new, y_seen, _ = train_test_split(X, y, train_size=rows, random_state=seed)
    model = BudgetClassifier(costs=costs, random_state=seed, n_jobs=1).fit(seen, y_seen)
    bills: dict[int, float] = {}

    def bill(line: int) -> float:
        if line not in bills:
            bills[line] = float(model.at(stage=line).cost(new[:MOST_NEW]).mean())
        return bills[line]

    found = []
    for share in SHARES:
        budget = share * costs.total
        mixed = model.at(budget=budget, mix=True)
        first, second, part = mixed.mixture_ or (mixed.point_, mixed.point_, 0.0)
        one = bill(model.at(budget=budget).point_)
        found.append([one / budget, ((1 - part) * bill(first) + part * bill(second)) / budget])
    return found


def run_case(name: str, rows: int, prices: str, draws: range, folder: str, kept: Kept) -> list[Any]:
    """A line of the table."""
    X, y, _ = load(name, folder)
    costs = skewed(X.shape[1]) if prices == "skewed" else Costs(np.ones(X.shape[1]))
    found = np.array(
        [
            kept.get(
                f"{name} {rows} {prices} {seed}",
                lambda seed=seed: one_draw(X, y, costs, rows, seed),
            )
            for seed in draws
        ]
    )
    line: list[Any] = [f"{name}, {prices} prices", rows, len(found)]
    for way in (0, 1):
        over = (found[:, :, way] > 1 + 1e-12).mean(axis=1)  # of the budgets of a draw
        error = over.std(ddof=1) / np.sqrt(len(over))
        used = found[:, :, way].mean()
        line += [
            f"{over.mean():.1%} +- {error:.1%}",
            f"{used:.0%}",
            f"{found[:, :, way].max():.0%}",
        ]
    return line


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--keep", metavar="FILE", help="where finished draws are kept")
    given = parser.parse_args()
    draws = given.draws or (2 if given.quick else 20)
    kept, seeds = Kept(given.keep), range(given.seed, given.seed + draws)
    lines = []
    for name in SETS:
        for rows in ROWS:
            for prices in ("unit", "skewed"):
                lines.append(run_case(name, rows, prices, seeds, given.data, kept))
                print(lines[-1], flush=True)
    heads = [
        "set", "rows for training", "draws", "one line: over budget", "used", "most",
        "mixed: over budget", "used", "most",
    ]  # fmt: skip
    text = (
        "## Budget models\n\n`python -m benchmarks.parts.promise_of_models --data FOLDER`, "
        f"{draws} draws from seed {given.seed}, budgets of {SHARES[0]:.0%} to {SHARES[-1]:.0%} of everything. "
        f"{machine()}.\n\n{markdown(heads, lines)}"
    )
    write_section(given.out, "budget models", text)


if __name__ == "__main__":
    main()
