"""``costwise report``: one HTML page that opens offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from costwise.cli._terminal import explained, notes, written
from costwise.cli.fit import MOST_ROWS, Rows, read_task


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.", show_default=False)],
    target: Annotated[str, typer.Option(help="Column to predict.", show_default=False)],
    costs: Annotated[
        Path | None, typer.Option(help="YAML of prices; without it every feature costs 1.")
    ] = None,
    comparison: Annotated[
        Path | None,
        typer.Option(
            "--from", help="JSON of 'costwise compare -o'; without it the methods are run now."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "What accuracy costs",
    rows: Rows = MOST_ROWS,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
) -> None:
    """Write a page with the frontier, a budget slider, what is bought, and single cases.

    Example: costwise report heart.csv --target disease --costs costs.yaml --from heart.json
    """
    from costwise.frontier import Comparison, compare
    from costwise.report import summarise, write_report

    with explained():
        X, y, prices = read_task(data, target, costs, rows, seed)
        if comparison is None:
            found = compare(X, y, prices, random_state=seed, verbose=1)
        else:
            try:
                found = Comparison.from_dict(json.loads(comparison.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"{comparison} is not the output of 'costwise compare -o'."
                ) from None
        summary = summarise(
            found, X, y, prices, title=title, settings={"data": data.name, "seed": seed}
        )
        with written(output, force=force) as part:
            write_report(summary, part)
        notes.print(f"Wrote {output}: open it in a browser.")
