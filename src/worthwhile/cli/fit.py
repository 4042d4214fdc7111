"""``worthwhile fit``: from a file, prices and a budget to a model file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from worthwhile.cli._options import (
    MOST_ROWS,
    Categorical,
    Data,
    Dates,
    MostRows,
    Prices,
    Seed,
    Target,
)
from worthwhile.cli._terminal import check_output, explained, money, notes, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fit)


def fit(
    data: Data,
    target: Target,
    budget: Annotated[float, typer.Option(help="Largest mean bill per row.", show_default=False)],
    costs: Prices = None,
    method: Annotated[
        str, typer.Option(help="Method by name, or 'auto' to compare and take the best.")
    ] = "auto",
    output: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path(
        "model.worthwhile"
    ),
    confidence: Annotated[
        float, typer.Option(help="Certainty that new rows keep the budget on average.")
    ] = 0.95,
    categorical: Categorical = None,
    dates: Dates = None,
    rows: MostRows = MOST_ROWS,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the model file if it exists.")
    ] = False,
) -> None:
    """Find the best model whose mean bill stays within a budget, and store it.

    Example: worthwhile fit heart.csv --target disease --costs costs.yaml --budget 60
    """
    from worthwhile.frontier import BudgetSearchCV, make_method

    with explained():
        check_output(output, force=force)
        X, y, prices = Task(data, target, costs, categorical, dates).read(rows, seed)
        name = _best_method(X, y, prices, budget, seed) if method == "auto" else method
        estimator = make_method(name, X, y, prices, seed)
        search = BudgetSearchCV(estimator, budget, confidence=confidence, verbose=1)
        search.fit(X, y)
        search.save(output)
        summary = {
            "method": name,
            "model": str(output),
            "score": search.best_score_,
            "mean_bill": search.expected_cost_,
            "bound": search.best_bound_,
            "params": search.tuned_params_,
        }
        if as_json:
            print_json(summary)
            return
        bill, bound = (
            money(value, prices.unit) for value in (search.expected_cost_, search.best_bound_)
        )
        notes.print(
            f"Wrote {output}: {name}, validation score {search.best_score_:.4f}, mean bill about {bill} "
            f"(at most {bound} on new rows with {confidence:.0%} confidence)."
        )


@dataclass(frozen=True)
class Task:
    """What the commands that learn are given."""

    data: Path
    target: str
    costs: Path | None = None
    categorical: Sequence[str] | None = None
    dates: Sequence[str] | None = None

    def read(self, rows: int, seed: int) -> tuple[Any, Any, Any]:
        """Features, target and prices, checked against each other; at most so many rows, 0 for all."""
        from worthwhile.cli._tables import Kinds, read_sample, split_target
        from worthwhile.costs import Costs, read_kinds

        if rows < 0:
            raise ValueError(f"--rows is {rows}: give a number of rows, or 0 for all of them.")
        prices = None if self.costs is None else Costs.from_yaml(self.costs)
        said = {} if self.costs is None else read_kinds(self.costs)
        kinds = Kinds(
            tuple(dict.fromkeys([*said.get("categorical", []), *(self.categorical or [])])),
            tuple(dict.fromkeys([*said.get("dates", []), *(self.dates or [])])),
        )
        frame, total = read_sample(self.data, rows, seed, kinds.categorical)
        if len(frame) < total:
            notes.print(
                f"{self.data.name} has {total:,} rows: learning from {len(frame):,} of them, drawn at random "
                "(--rows 0 takes all)."
            )
        X, y = split_target(frame, self.target, self.data, kinds)
        names = [str(name) for name in X.columns]
        return X, y.to_numpy(), Costs.of(prices, len(names), names)


def _best_method(X: Any, y: Any, prices: Any, budget: float, seed: int) -> str:
    from worthwhile.frontier import compare

    notes.print("Comparing methods to choose one.")
    found = compare(
        X, y, prices, "ours", [budget], n_splits=2, effort=5, random_state=seed, verbose=1
    )
    return found.best(budget).method
