"""What `frontier_` says of every budget, and what new rows make of it.

    python -m benchmarks.parts.frontier_promise --data FOLDER [--keep FILE] [--out docs/reproduction/frontier.md]

Defaults, nothing set but prices. Of each model every line of its frontier is judged by rows that it has not seen: the
share of right answers that the line states less theirs, and how often both lie within two standard errors of each
other. Of sixty budgets it is said how many the mean bill of new rows is above. The table goes into its place on the
page.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import Kept, load, machine, markdown, options, write_section
from worthwhile import BudgetClassifier, Costs, datasets

BUDGETS = 60
"""Tried of each model, evenly spaced in the logarithm between its cheapest and its dearest line."""

Parts = tuple[Any, Any, Any, Any]


class Case(NamedTuple):
    """Rows to learn from and new ones, of a number of draws, and prices."""

    title: str
    draws: int
    draw: Any
    """From a seed and the folder: X, y, new X, new y, costs."""


def noise(signals: int) -> Any:
    """240 rows of eight columns, of which some say what is true."""

    def draw(seed: int, _: str) -> tuple[Any, ...]:
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(20_240, 8))
        y = (X[:, :signals].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
        return X[:240], y[:240], X[240:], y[240:], Costs(np.arange(1.0, 9.0))

    return draw


def loans(seed: int, _: str) -> tuple[Any, ...]:
    X, y, costs = datasets.make_lender(8_400, seed)
    return X[:400], y[:400], X[400:], y[400:], costs


def credit(seed: int, folder: str) -> tuple[Any, ...]:
    import pandas as pd

    table = pd.read_csv(Path(folder) / "german_credit.csv")
    X, y = table.drop(columns="risk"), table["risk"].to_numpy()
    return *divided(X, y, 600, seed), Costs(np.ones(X.shape[1]))


def heart(seed: int, _: str) -> tuple[Any, ...]:
    X, y, costs = load("heart", None)
    return *divided(X, y, 181, seed), costs


def divided(X: Any, y: Any, n: int, seed: int) -> Parts:
    """So many rows to learn from, and the others."""
    order = np.random.default_rng(seed).permutation(len(y))
    pick = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    return pick(order[:n]), y[order[:n]], pick(order[n:]), y[order[n:]]


CASES = [
    Case("240 rows of noise, 8 columns, judged by 20,000", 12, noise(0)),
    Case("240 rows, three signals in noise, judged by 20,000", 12, noise(3)),
    Case("400 loans (`make_lender`), judged by 8,000", 8, loans),
    Case("German credit, 600 rows, unit prices, judged by 400", 10, credit),
    Case("heart, 181 rows, judged by 116", 20, heart),
]


def judge(case: Case, seed: int, folder: str) -> dict[str, Any]:
    """Every line that buys something: what it states less what is true, and their error; and the budgets passed."""
    X, y, new, truth, costs = case.draw(seed, folder)
    model = BudgetClassifier(costs=costs, n_jobs=1, random_state=0).fit(X, y)
    lines, bills = list[list[float]](), list[float]()
    for stage, line in enumerate(model.frontier_.itertuples()):
        one = model.at(stage=stage)
        bills.append(float(one.cost(new).mean()))
        right = np.asarray(one.predict(new)) == truth
        if line.cost > 0:
            error = np.hypot(line.score_error, right.std() / len(truth) ** 0.5)
            lines.append([line.score - float(right.mean()), float(error)])
    bounds = model.frontier_["bound"].to_numpy()
    budgets = np.geomspace(bounds[bounds > 0].min(), bounds.max(), BUDGETS)
    over = [bills[model.at(budget=budget).point_] > budget * (1 + 1e-9) for budget in budgets]
    return {"lines": lines, "passed": float(np.mean(over))}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what was run, to go on with")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    kept, table = Kept(given.keep), []
    for case in CASES:
        draws = range(given.seed, given.seed + (2 if given.quick else case.draws))
        found = [
            kept.get(f"{case.title} {seed}", lambda s=seed, c=case: judge(c, s, given.data))
            for seed in draws
        ]
        gap, error = np.array([line for each in found for line in each["lines"]]).T
        near = (np.abs(gap) <= 2 * error).mean()
        passed = np.mean([each["passed"] for each in found])
        table.append(
            [case.title, len(draws), len(gap), f"{gap.mean():+.3f}", f"{near:.0%}", f"{passed:.1%}"]
        )
        print(*table[-1], flush=True)
    heads = [
        "rows to learn from", "models", "lines", "stated less true score", "within two errors",
        "budgets passed",
    ]  # fmt: skip
    said = f"`python -m benchmarks.parts.frontier_promise --data FOLDER`, {machine()}.\n\n"
    write_section(given.out, "promise of the frontier", said + markdown(heads, table))


if __name__ == "__main__":
    main()
