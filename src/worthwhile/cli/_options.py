"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Seed = Annotated[int, typer.Option(help="Seed.")]
