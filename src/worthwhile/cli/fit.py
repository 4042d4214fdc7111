"""``worthwhile fit``: from a file, prices and a budget to a model file."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from worthwhile._messages import some
from worthwhile.cli._all_rows import suits, train_on_all
from worthwhile.cli._options import (
    MOST_ROWS,
    Categorical,
    ClassWeight,
    Data,
    Dates,
    ErrorPrices,
    GivenErrors,
    Positive,
    Prices,
    Query,
    Refer,
    Scoring,
    Seed,
    Target,
    Worth,
    queries_of,
    read_class_weight,
    read_label,
)
from worthwhile.cli._terminal import check_output, explained, money, notes, print_json
from worthwhile.costs import Errors


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(fit)


def fit(
    data: Data,
    target: Target,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Largest mean bill per row; without it, the cheapest model that is about the best.",
            show_default=False,
        ),
    ] = None,
    costs: Prices = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="'budget', one training that needs no choice; another method by name; or 'auto' to compare all, "
            "which takes long. Without it 'budget', or 'auto' with --scoring, --positive or --qid."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--out", "-o", help="Model file to write.")] = Path(
        "model.worthwhile"
    ),
    confidence: Annotated[
        float, typer.Option(help="Certainty that new rows keep the budget on average.")
    ] = 0.95,
    mix: Annotated[
        bool,
        typer.Option(
            "--mix",
            help="Meet the budget by two models and a share of the cases: chance then decides who gets a test, by "
            "the --key of predict and ask.",
        ),
    ] = False,
    scoring: Scoring = None,
    positive: Positive = None,
    class_weight: ClassWeight = None,
    qid: Query = None,
    errors: ErrorPrices = None,
    worth: Worth = None,
    refer: Refer = None,
    time: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which training begins no further stage, or tries no further setting.",
            show_default=False,
        ),
    ] = None,
    categorical: Categorical = None,
    dates: Dates = None,
    rows: Annotated[
        int,
        typer.Option(
            "--rows",
            help="Learn from at most this many rows, drawn at random; 0: all. Of a Parquet file, greedy-miser is then "
            "chosen on 200,000 rows and trained on all, which need not fit in memory.",
        ),
    ] = MOST_ROWS,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the model file if it exists.")
    ] = False,
) -> None:
    """Learn the best model whose mean bill stays within a budget, and store it.

    Example: worthwhile fit heart.csv --target disease --costs costs.yaml --budget 60

    A rare class that matters: add --class-weight balanced --scoring f1 --positive sick

    Errors in money: worthwhile fit heart.csv --target disease --costs costs.yaml --errors ill:well=500 --refer 40

    Documents to rank: worthwhile fit pages.csv --target relevance --qid query --budget 3
    """
    with explained():
        check_output(output, force=force)
        special = [
            name
            for name, value in (("--scoring", scoring), ("--positive", positive), ("--qid", qid))
            if value is not None
        ]
        method = method or ("auto" if special else "budget")
        if method == "budget" and special:
            raise ValueError(
                f"{special[0]} is given: --method budget is best in right answers or squared error; name another."
            )
        given = GivenErrors(costs, errors, worth, refer)
        priced = given.read() is not None
        if priced and special:
            raise ValueError(
                f"{special[0]} is given, and errors have prices: what is best is the least total."
            )
        if method != "budget" and budget is None and not priced:
            raise ValueError(f"--budget is missing: --method {method} needs one.")
        if mix and budget is None:
            raise ValueError("--mix is given without --budget: two models are mixed to meet one.")
        whole = not (priced or mix) and suits(data, method, rows, qid)
        task = Task(data, target, costs, categorical, dates, qid, whole)
        X, y, prices = task.read(MOST_ROWS if whole else rows, seed)
        wish = Wish.read(scoring, positive, class_weight, y, task.queries)
        keeps = Keeps(budget, confidence, seed, time, given.fitting(y), mix)
        model, found = (
            keeps.train(X, y, prices, wish)
            if method == "budget"
            else keeps.search(method, X, y, prices, wish)
        )
        if whole and task.left_out:
            notes.print("Training what was chosen on all rows, from the file.")
            model, more = train_on_all(
                model, X, data, target, weights=lambda labels: read_class_weight(class_weight, labels),
                categorical=task.kinds.categorical, seed=seed,
            )  # fmt: skip
            found |= more
        model.save(output)
        if as_json:
            print_json({"model": str(output), **found})
            return
        bill, bound = (money(found[key], prices.unit) for key in ("mean_bill", "bound"))
        said = f"validation score {found['score']:.4f}"
        if "total" in found:
            said = f"total about {money(found['total'], prices.unit)} a case with errors"
        notes.print(
            f"Wrote {output}: {found['method']}, {said}, mean bill about {bill} "
            f"(at most {bound} on new rows with {confidence:.0%} confidence)."
        )
        if "mixed" in found:
            notes.print(
                f"Chance decides which of two models a case follows; {found['mixed']:.0%} get the dearer one. Give "
                "--key to predict and ask."
            )


@dataclass(frozen=True)
class Keeps:
    """What a model has to keep to, and how it is found."""

    budget: Any
    confidence: float
    seed: int
    time: float | None
    errors: Errors | None = None
    mix: bool = False

    def train(self, X: Any, y: Any, prices: Any, wish: Wish) -> tuple[Any, dict[str, Any]]:
        """One training that has the whole frontier, and what it says about the point in use."""
        from worthwhile.frontier import make_method

        model = make_method("budget", X, y, prices, self.seed)
        model.set_params(
            budget=self.budget, confidence=self.confidence, time_limit=self.time,
            verbose=1, errors=self.errors, mix=self.mix,
        )  # fmt: skip
        lines = model.fit(X, y, sample_weight=wish.weight).frontier_
        first, second, share = model.mixture_ or (model.point_, model.point_, 0.0)
        line = (1 - share) * lines.iloc[first] + share * lines.iloc[second]
        return model.set_params(verbose=0), {
            "method": "budget", "score": float(line["score"]), "mean_bill": float(line["cost"]),
            "bound": float(line["bound"]), "params": {"max_stages": model.training_stages_},
            **({"total": float(line["total"])} if "total" in line else {}),
            **({"mixed": share} if share else {}),
        }  # fmt: skip

    def search(
        self, method: str, X: Any, y: Any, prices: Any, wish: Wish
    ) -> tuple[Any, dict[str, Any]]:
        """The best of a sweep, and what was found about it."""
        from worthwhile.frontier import BudgetSearchCV, make_method

        name = method
        if method == "auto":
            name = self._best_method(X, y, prices, wish)
        # Five folds, and as many settings again where bills lie far apart.
        say_time([name], X, y, prices, sweeps=10, effort=16, qid=wish.qid, limit=self.time)
        estimator = make_method(name, X, y, prices, self.seed, qid=wish.qid, weight=wish.weight)
        if name == "budget":  # the search measures on folds of its own
            estimator.set_params(cross_validated=False)
        search = BudgetSearchCV(
            estimator, self.budget, confidence=self.confidence, scoring=wish.scoring, positive=wish.positive, verbose=1,
            errors=self.errors, mix=self.mix, time_limit=self.time,
        )  # fmt: skip
        search.fit(X, y, sample_weight=wish.weight, qid=wish.qid)
        mixed = {} if search.mixture_ is None else {"mixed": search.mixture_[2]}
        return search, {
            "method": name, "score": search.best_score_, "mean_bill": search.expected_cost_,
            "bound": search.best_bound_, "params": search.tuned_params_,
            **mixed, **({} if self.errors is None else {"total": -search.best_score_}),
        }  # fmt: skip

    def _best_method(self, X: Any, y: Any, prices: Any, wish: Wish) -> str:
        from worthwhile.frontier import compare

        notes.print("Comparing methods to choose one.")
        budget = math.inf if self.budget is None else self.budget
        reported = None if self.budget is None else [self.budget]
        say_time("ours", X, y, prices, sweeps=2, effort=5, qid=wish.qid, limit=self.time)
        found = compare(
            X, y, prices, "ours", reported, n_splits=2, effort=5, random_state=self.seed, verbose=1,
            time_limit=self.time,
            errors=self.errors, **wish.options,
        )  # fmt: skip
        return found.best(budget).method


def say_time(
    methods: Any, X: Any, y: Any, prices: Any, *, sweeps: int, effort: int, qid: Any = None, limit: Any = None
) -> None:  # fmt: skip
    """Say how long sweeps will take, before they begin."""
    from worthwhile.frontier import expected_seconds, in_words, named_methods

    names, n_classes = named_methods(methods, X, y, prices, qid=qid)
    seconds = expected_seconds(names, X.shape, n_classes, sweeps=sweeps, effort=effort)
    what = names[0] if len(names) == 1 else f"{len(names)} methods"
    ends = "--time limits it" if limit is None else f"no more is begun after {limit:g} seconds"
    notes.print(f"Sweeping {what} takes {in_words(seconds)}, roughly; {ends}.")


@dataclass
class Task:
    """What the commands that learn are given."""

    data: Path
    target: str
    costs: Path | None = None
    categorical: Sequence[str] | None = None
    dates: Sequence[str] | None = None
    qid: str | None = None
    whole: bool = False
    """Whether what is found will be trained on all rows."""
    queries: Any = field(default=None, init=False)
    """Query of each row that was read."""
    kinds: Any = field(default=None, init=False)
    """What columns are called, in the options and beside the prices."""
    left_out: int = field(default=0, init=False)
    """Rows that were not read."""

    def read(self, rows: int, seed: int) -> tuple[Any, Any, Any]:
        """Features, target and prices, checked against each other; at most so many rows, 0 for all."""
        from worthwhile.cli._tables import Kinds, read_sample, split_target
        from worthwhile.costs import Costs, read_kinds

        if rows < 0:
            raise ValueError(f"--rows is {rows}: give a number of rows, or 0 for all of them.")
        prices = None if self.costs is None else Costs.from_yaml(self.costs)
        said = {} if self.costs is None else read_kinds(self.costs)
        self.kinds = kinds = Kinds(
            tuple(dict.fromkeys([*said.get("categorical", []), *(self.categorical or [])])),
            tuple(dict.fromkeys([*said.get("dates", []), *(self.dates or [])])),
        )
        frame, total = read_sample(self.data, rows, seed, kinds.categorical)
        self.left_out = total - len(frame)
        if self.left_out:
            what = "choosing on" if self.whole else "learning from"
            how = "" if self.whole else " (--rows 0 takes all)"
            notes.print(
                f"{self.data.name} has {total:,} rows: {what} {len(frame):,} of them, drawn at random{how}."
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
