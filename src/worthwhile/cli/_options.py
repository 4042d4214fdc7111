"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from worthwhile._messages import some
from worthwhile.costs import Costs, Errors

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
KeyColumn = Annotated[
    str | None,
    typer.Option(
        "--key",
        help="Column that tells the cases from each other: models that mix two toss their coin by it.",
        show_default=False,
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


ErrorPrices = Annotated[
    list[str] | None,
    typer.Option(
        "--errors",
        help="Price of a wrong answer, as true:predicted=price; repeat for more, what is left out costs 0. Without "
        "these options, what the file of --costs says under 'errors:'.",
    ),
]
Worth = Annotated[
    float | None,
    typer.Option(
        help="Price of every wrong answer; for numbers, of one unit of the squared error.",
        show_default=False,
    ),
]
Refer = Annotated[
    float | None,
    typer.Option(
        help="Price of handing a case to a person: 'refer' is then predicted where that costs least.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class GivenErrors:
    """What the options and the file of prices say about prices of errors."""

    file: Path | None
    table: list[str] | None
    worth: float | None
    refer: float | None

    def read(self) -> Errors | None:
        """As far as it is known without the data; options go before the file."""
        if self.table and self.worth is not None:
            raise ValueError("--errors and --worth are both given: --worth is for every error.")
        own = None if self.file is None else Errors.from_yaml(self.file)
        if self.table:
            own = Errors(_table(self.table))
        elif self.worth is not None:
            own = Errors(worth=self.worth)
        if self.refer is None:
            return own
        if own is None:
            raise ValueError("--refer is given without prices of errors: add --worth or --errors.")
        return own.referring(self.refer)

    def fitting(self, y: Any) -> Errors | None:
        """For a target: with its labels, or by unit of the squared error where it is numbers."""
        from sklearn.utils.multiclass import type_of_target

        errors = self.read()
        if errors is None:
            return None
        if type_of_target(y) in ("binary", "multiclass"):
            errors = errors.named(np.unique(y))
            errors.for_classes(np.unique(y))
            return errors
        if errors.worth is not None and errors.refer is None:
            return Errors(squared=errors.worth)
        return Errors.of(errors, "squared")


def _table(lines: list[str]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for line in lines:
        labels, _, amount = line.rpartition("=")
        true, colon, predicted = labels.partition(":")
        try:
            price = float(amount)
        except ValueError:
            colon = ""
        if not colon or not true or not predicted:
            raise ValueError(
                f"--errors is {line!r}: give it as true:predicted=price, such as ill:well=500."
            )
        found.setdefault(true, {})[predicted] = price
    return found


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


def read_names(lines: list[str] | None, y: Any) -> dict[Any, str]:
    """What to call labels, from ``--name``."""
    labels, names = sorted(set(y.tolist())), dict[Any, str]()
    for line in lines or ():
        label, _, name = line.partition("=")
        if not label or not name:
            raise ValueError(f"--name is {line!r}: give it as label=name, such as 1=ill.")
        names[read_label(label, labels, "--name")] = name
    return names


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


def keys_of(frame: Any, name: str, path: Path) -> list[str]:
    """The keys of rows, from a column that was read as text."""
    if name not in frame.columns:
        raise ValueError(
            f"--key is {name!r}, and {path} has no such column: its columns are {some(frame.columns)}."
        )
    if frame[name].isna().any():
        row = int(frame[name].isna().to_numpy().argmax())
        raise ValueError(
            f"--key is {name!r}, which is empty in row {row} of {path}: a key is what a case keeps."
        )
    return [str(key) for key in frame[name]]
