"""BudgetClassifier on answers of commercial APIs with their real prices, beside a plain cascade of models.

    python -m benchmarks.parts.api_cascade --data FOLDER [--keep FILE] [--out PAGE] [--splits 5] [--seed 0]

What is bought is a call: its label and confidence come together, for one fee. Half of the rows train. The peer is what
people write by hand: one LightGBM model for every subset of the APIs, every order of calls, and one sureness at which a
case leaves; the order and the sureness of a budget are those that are best on a fifth of the training rows. Ours is
``fit(X, y)`` with the prices, then ``at(budget=b)``. CPU is that of one thread.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import Kept, machine, markdown, options, write
from benchmarks.parts._frontier_cases import Case, stratified
from benchmarks.parts._frontier_page import with_nothing
from benchmarks.parts.frontier import measure, timed
from worthwhile import BudgetClassifier, Costs

SETS = ("expw", "yelp")
SHARES = np.geomspace(0.02, 1, 24)
"""Budgets, as shares of the price of all calls."""

SURENESS = (
    0.0,
    0.35,
    0.5,
    0.6,
    0.65,
    0.7,
    0.75,
    0.8,
    0.85,
    0.9,
    0.925,
    0.95,
    0.97,
    0.98,
    0.99,
    0.995,
)


class Apis(NamedTuple):
    """Rows of a set, and the columns and the price of each call."""

    X: Any
    y: Any
    columns: list[list[int]]
    prices: list[float]


def load_apis(name: str, folder: str) -> Apis:
    """A set of answers; those of one API are the columns that begin with its name."""
    data = np.load(Path(folder) / f"api_{name}.npz", allow_pickle=False)
    columns = [
        [i for i, column in enumerate(data["columns"]) if column.startswith(f"{api}_")]
        for api in data["apis"]
    ]
    return Apis(data["X"].astype(np.float64), data["y"], columns, data["price"].tolist())


def costs_of(apis: Apis) -> Costs:
    """A fee for each call; its answers cost nothing more."""
    groups = {
        f"call {i}": {"fee": price, "features": columns}
        for i, (price, columns) in enumerate(zip(apis.prices, apis.columns, strict=True))
    }
    return Costs(np.zeros(apis.X.shape[1]), groups=groups, unit="USD per 10,000")


def divide(apis: Apis, seed: int) -> Case:
    """Half of the rows to train on (four fifths of them, and a fifth to choose on), half to test."""
    parts = stratified(apis.y, (0.4, 0.5), seed)
    pairs = [(apis.X[rows], apis.y[rows]) for rows in parts]
    return Case(pairs[0], pairs[1], pairs[2], costs_of(apis))


def cascades(apis: Apis, case: Case) -> Iterator[list[float]]:
    """Every order of calls at every sureness: bill and accuracy on the rows to choose on and to test."""
    import lightgbm

    calls = range(len(apis.prices))
    answers: dict[frozenset[int], list[Any]] = {}
    for k in range(1, len(calls) + 1):
        for subset in itertools.combinations(calls, k):
            read = [column for call in subset for column in apis.columns[call]]
            model = lightgbm.LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
            model.fit(case.train[0][:, read], case.train[1])
            answers[frozenset(subset)] = [
                (model.predict_proba(X[:, read]), model.classes_)
                for X, _ in (case.choose, case.test)
            ]
    for k in range(1, len(calls) + 1):
        for order in itertools.permutations(calls, k):
            for sure in SURENESS if k > 1 else SURENESS[:1]:
                line = []
                for part, (_, y) in enumerate((case.choose, case.test)):
                    line += _leave_when_sure(apis, answers, order, sure, part, y)
                yield line


def _leave_when_sure(
    apis: Apis, answers: Any, order: tuple[int, ...], sure: float, part: int, y: Any
) -> list[float]:
    """Mean bill and accuracy of a cascade."""
    bill, right = np.zeros(len(y)), np.zeros(len(y), dtype=bool)
    inside = np.ones(len(y), dtype=bool)
    for step, call in enumerate(order):
        bill[inside] += apis.prices[call]
        probabilities, classes = answers[frozenset(order[: step + 1])][part]
        right[inside] = (classes[probabilities.argmax(axis=1)] == y)[inside]
        inside = inside & (probabilities.max(axis=1) < sure)
    return [float(bill.mean()), float(right.mean())]


def peer(apis: Apis, case: Case) -> list[list[float]]:
    """Bill and accuracy on test rows at each budget, chosen on the rows to choose on."""
    lines = with_nothing(list(cascades(apis, case)), case)
    found = []
    for budget in SHARES * case.costs.total:
        fits = np.flatnonzero(lines[:, 0] <= budget)
        found.append(lines[fits[np.argmax(lines[fits, 1])], 2:].tolist())
    return found


def ours(case: Case) -> list[list[float]]:
    """The same by one training on all rows but those of the test."""
    X, y = (np.concatenate([case.train[i], case.choose[i]]) for i in range(2))
    model = BudgetClassifier(costs=case.costs, n_jobs=1, random_state=0).fit(X, y)
    budgets = SHARES * case.costs.total
    return [measure(model.at(budget=budget).policy_, case)[2:4] for budget in budgets]


def page(results: dict[str, list[dict[str, Any]]]) -> str:
    """A table for each set."""
    text = ""
    for name, splits in results.items():
        gaps = np.array([s["ours"]["result"] for s in splits]) - np.array(
            [s["peer"]["result"] for s in splits]
        )
        means = {
            who: np.mean([s[who]["result"] for s in splits], axis=0) for who in ("ours", "peer")
        }
        error = (
            gaps[:, :, 1].std(axis=0, ddof=1) / np.sqrt(len(splits)) if len(splits) > 1 else None
        )
        total = splits[0]["total"]
        lines = [
            [
                f"{share * total:.3g}", *(f"{means[who][i, 0]:.3g}" for who in ("peer", "ours")),
                *(f"{100 * means[who][i, 1]:.2f}" for who in ("peer", "ours")),
                f"{100 * gaps[:, i, 1].mean():+.2f}", "-" if error is None else f"{100 * error[i]:.2f}",
            ]
            for i, share in enumerate(SHARES)
        ]  # fmt: skip
        cpu = [np.mean([s[who]["seconds"] for s in splits]) for who in ("peer", "ours")]
        behind = sum(gap < 0 for gap in gaps[:, :, 1].mean(axis=0))
        text += (
            f"## {name}\n\n{len(splits)} splits. Mean over budgets: cascade {100 * means['peer'][:, 1].mean():.2f}, "
            f"ours {100 * means['ours'][:, 1].mean():.2f}; behind at {behind} of {len(SHARES)} budgets. CPU of the "
            f"cascade {cpu[0]:.1f} s, of ours {cpu[1]:.1f} s: {cpu[1] / cpu[0]:.2f} of it.\n\n"
        )
        heads = [
            "budget",
            "bill, cascade",
            "bill, ours",
            "cascade, %",
            "ours, %",
            "lead",
            "standard error",
        ]
        text += markdown(heads, lines) + "\n"
    return text


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FILE", help="what was run, to go on with")
    parser.add_argument("--sets", default=",".join(SETS), help="names of sets, comma between")
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    BudgetClassifier(n_trees=2).fit(rng.normal(size=(50, 3)), np.arange(50) % 2)  # compiles
    kept, results = Kept(given.keep), dict[str, list[dict[str, Any]]]()
    for name in given.sets.split(","):
        apis, found = load_apis(name, given.data), []
        for seed in range(given.seed, given.seed + given.splits):
            case = divide(apis, seed)
            found.append({
                "total": case.costs.total,
                "peer": kept.get(f"{name} {seed} peer", lambda a=apis, c=case: timed(peer, a, c)),
                "ours": kept.get(f"{name} {seed} ours", lambda c=case: timed(ours, c)),
            })  # fmt: skip
            print(name, seed, flush=True)
        results[name] = found
    text = (
        f"# Calls of APIs at their prices\n\n`python -m benchmarks.parts.api_cascade --data FOLDER`, splits from seed "
        f"{given.seed} on. {machine()}.\n\n{page(results)}"
    )
    write(given.out, text)


if __name__ == "__main__":
    main()
