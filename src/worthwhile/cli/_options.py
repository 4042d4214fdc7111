"""Arguments and options that several commands share."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, Any

import typer

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
