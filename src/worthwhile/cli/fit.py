"""``worthwhile fit``: from a file, prices and a budget to a model file."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from worthwhile._messages import some
from worthwhile.cli._options import (
    MOST_ROWS,
    Categorical,
    ClassWeight,
    Data,
    Dates,
    MostRows,
    Positive,
    Prices,
    Query,
    Scoring,
    Seed,
    Target,
    queries_of,
    read_class_weight,
    read_label,
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
    scoring: Scoring = None,
    positive: Positive = None,
    class_weight: ClassWeight = None,
    qid: Query = None,
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

    A rare class that matters: add --class-weight balanced --scoring f1 --positive sick

    Documents to rank: worthwhile fit pages.csv --target relevance --qid query --budget 3
    """
    from worthwhile.frontier import BudgetSearchCV, make_method

    with explained():
        check_output(output, force=force)
        task = Task(data, target, costs, categorical, dates, qid)
        X, y, prices = task.read(rows, seed)
        wish = Wish.read(scoring, positive, class_weight, y, task.queries)
        name = _best_method(X, y, prices, budget, seed, wish) if method == "auto" else method
        estimator = make_method(name, X, y, prices, seed, qid=wish.qid, weight=wish.weight)
        search = BudgetSearchCV(
            estimator, budget, confidence=confidence, scoring=wish.scoring, positive=wish.positive, verbose=1
        )  # fmt: skip
        search.fit(X, y, sample_weight=wish.weight, qid=wish.qid)
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


@dataclass
class Task:
    """What the commands that learn are given."""

    data: Path
    target: str
    costs: Path | None = None
    categorical: Sequence[str] | None = None
    dates: Sequence[str] | None = None
    qid: str | None = None
    queries: Any = field(default=None, init=False)
    """Query of each row that was read."""

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
        if self.qid is not None:
            self.queries = queries_of(frame, self.qid, self.data).to_numpy()
            frame = frame.drop(columns=[self.qid])
        X, y = split_target(frame, self.target, self.data, kinds)
        names = [str(name) for name in X.columns]
        return X, y.to_numpy(), Costs.of(prices, len(names), names)


@dataclass(frozen=True)
class Wish:
    """What to be best in, and what counts how much."""

    scoring: str | None = None
    positive: Any = None
    weight: Any = None
    qid: Any = None

    @classmethod
    def read(
        cls, scoring: str | None, positive: str | None, weights: list[str] | None, y: Any, qid: Any
    ) -> Wish:
        """Check the options against the target, before anything is trained."""
        from sklearn.metrics import get_scorer_names

        from worthwhile.frontier import RANKINGS

        if qid is not None and (positive is not None or weights):
            raise ValueError("--qid is about relevance: leave out --positive and --class-weight.")
        if scoring is not None and scoring not in {*get_scorer_names(), *RANKINGS}:
            near = difflib.get_close_matches(scoring, [*get_scorer_names(), *RANKINGS], 3, 0.4)
            raise ValueError(
                f"--scoring is {scoring!r}: give a score of scikit-learn by name, or one of {some(RANKINGS)} with "
                f"--qid{'; close to it are ' + some(near) if near else ''}."
            )
        if scoring in RANKINGS and qid is None:
            raise ValueError(
                f"--scoring is {scoring!r}, which ranks: name the column of queries with --qid."
            )
        label = (
            None
            if positive is None
            else read_label(positive, sorted(set(y.tolist())), "--positive")
        )
        if qid is not None and scoring is None:
            scoring = "ndcg"
        return cls(scoring, label, read_class_weight(weights, y), qid)

    @property
    def options(self) -> dict[str, Any]:
        """For :func:`~worthwhile.compare`."""
        return {
            "scoring": self.scoring, "positive": self.positive, "sample_weight": self.weight, "qid": self.qid,
        }  # fmt: skip


def _best_method(X: Any, y: Any, prices: Any, budget: float, seed: int, wish: Wish) -> str:
    from worthwhile.frontier import compare

    notes.print("Comparing methods to choose one.")
    found = compare(
        X, y, prices, "ours", [budget], n_splits=2, effort=5, random_state=seed, verbose=1, **wish.options
    )  # fmt: skip
    return found.best(budget).method
