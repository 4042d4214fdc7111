"""Arguments and options that several commands share."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

from worthwhile._messages import some
from worthwhile.costs import Costs

MOST_ROWS = 200_000

Model = Annotated[Path, typer.Argument(help="Model file.", show_default=False)]
Data = Annotated[Path, typer.Argument(help="CSV, Parquet or Arrow file.", show_default=False)]
Target = Annotated[str, typer.Option(help="Column to predict.", show_default=False)]
Prices = Annotated[
    Path | None, typer.Option(help="YAML of prices; without it every feature costs 1.")
]
MostRows = Annotated[
    int, typer.Option("--rows", help="Learn from at most this many rows, drawn at random; 0: all.")
]
Today = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        help="Price of today of a feature or group, as name=amount; may be given several times.",
    ),
]
Unavailable = Annotated[
    list[str] | None,
    typer.Option(
        "--unavailable", help="A feature that is not to be had; may be given several times."
    ),
]
Seed = Annotated[int, typer.Option(help="Seed.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(help="Column of numbers that are codes of categories; repeat for more."),
]
Dates = Annotated[list[str] | None, typer.Option(help="Column of dates; repeat for more.")]

Query = Annotated[
    str | None,
    typer.Option(
        "--qid",
        help="Column with the query of each row, to rank: the target is then relevance, queries stay whole, and "
        "the score is NDCG@5 unless --scoring says otherwise.",
    ),
]
Scoring = Annotated[
    str | None,
    typer.Option(
        help="What to be best in: a score of scikit-learn by name (accuracy, balanced_accuracy, f1, roc_auc, "
        "neg_log_loss, r2, ...), or ndcg or precision@5 with --qid. Accuracy for labels, R2 for numbers.",
        show_default=False,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        help="Label that scores such as f1, precision and recall are about; the second of two in order.",
        show_default=False,
    ),
]
ClassWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--class-weight",
        help="'balanced': all classes count the same in training, however rare; or label=weight, repeated, 1 for "
        "labels left out. Methods that know no weights are left out.",
    ),
]


def read_request(
    costs: Costs, prices: list[str] | None, unavailable: list[str] | None
) -> dict[str, Any]:
    """What ``--price`` and ``--unavailable`` say about a request."""
    today: dict[Any, Decimal] = {}
    for line in prices or ():
        name, equals, amount = line.rpartition("=")
        try:
            today[_key(costs, name)] = Decimal(amount)
        except InvalidOperation:
            equals = ""
        if not equals or not name:
            raise ValueError(f"--price is {line!r}: give it as name=amount, such as chol=4.50.")
    missing = [_key(costs, name) for name in unavailable or ()]
    return {"prices": today or None, "unavailable": missing}


def _key(costs: Costs, name: str) -> str | int:
    """How the model calls a feature: by column where the data had no names."""
    return int(name) if costs.feature_names is None and name.isdecimal() else name


def read_label(text: str, labels: Any, option: str) -> Any:
    """The label that a word on the command line means."""
    found = [label for label in labels if str(label) == text]
    if not found:
        raise ValueError(f"{option} is {text!r}: the labels are {some(labels)}.")
    return found[0]


def read_class_weight(lines: list[str] | None, y: Any) -> Any:
    """Weight of each row from ``--class-weight``; None without."""
    from sklearn.utils import compute_sample_weight

    if not lines:
        return None
    if "balanced" in lines:
        if len(lines) > 1:
            raise ValueError("--class-weight is 'balanced' and more: give it alone.")
        return compute_sample_weight("balanced", y)
    labels = sorted(set(y.tolist()))
    weights = dict.fromkeys(labels, 1.0)
    for line in lines:
        name, _, number = line.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not name or not 0 <= weight < float("inf"):
            raise ValueError(
                f"--class-weight is {line!r}: give 'balanced', or label=weight with a number of 0 or more."
            )
        weights[read_label(name, labels, "--class-weight")] = weight
    return compute_sample_weight(weights, y)


def queries_of(frame: Any, name: str, path: Path) -> Any:
    """The column of queries of a table; complete."""
    if name not in frame.columns:
        raise ValueError(
            f"--qid is {name!r}, and {path} has no such column: its columns are {some(frame.columns)}."
        )
    if frame[name].isna().any():
        raise ValueError(
            f"column {name!r} has {int(frame[name].isna().sum())} empty cells: every row has a query."
        )
    return frame[name]
