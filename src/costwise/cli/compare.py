"""``costwise compare``: all methods side by side on one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from costwise.cli._terminal import explained, notes, out, print_json, written
from costwise.cli.fit import MOST_ROWS, Rows, read_task


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    data: Annotated[Path, typer.Argument(help="CSV or Parquet file.", show_default=False)],
    target: Annotated[str, typer.Option(help="Column to predict.", show_default=False)],
    costs: Annotated[
        Path | None, typer.Option(help="YAML of prices; without it every feature costs 1.")
    ] = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Method by name; repeat for more.")
    ] = None,
    budgets: Annotated[
        list[float] | None, typer.Option("--budget", help="Mean bill; repeat for more.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits.")] = 3,
    effort: Annotated[int, typer.Option(help="Models trained per method and split.")] = 8,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep everything in this JSON file.")
    ] = None,
    rows: Rows = MOST_ROWS,
    seed: Annotated[int, typer.Option(help="Seed.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output if it exists.")
    ] = False,
) -> None:
    """Sweep every method on the same splits and show what accuracy costs.

    The JSON file of --out is what 'costwise report' turns into a page.

    Example: costwise compare heart.csv --target disease --costs costs.yaml -o heart.json
    """
    from costwise.frontier import compare as run

    with explained():
        X, y, prices = read_task(data, target, costs, rows, seed)
        asked: Any = methods or "all"
        found = run(
            X,
            y,
            prices,
            asked,
            budgets,
            n_splits=splits,
            effort=effort,
            random_state=seed,
            verbose=1,
        )
        if output is not None:
            with written(output, force=force) as part:
                part.write_text(json.dumps(found.to_dict()), encoding="utf-8")
            notes.print(f"Wrote {output}.")
        if as_json:
            table = found.table()
            print_json(
                {
                    name: {" ".join(column): row[column] for column in table.columns}
                    for name, row in table.iterrows()
                }
            )
        else:
            show(found)


def show(found: Any) -> None:
    """The table at the terminal's width: score at each budget, and where the best is nearly reached."""
    table = Table(
        title=f"{found.score_name} at a mean bill of at most ...",
        caption="chosen on validation, shown on test rows",
    )
    table.add_column("method", no_wrap=True)
    for budget in found.budgets:
        table.add_column(f"{budget:.4g}", justify="right")
    table.add_column("cost within 1 %", justify="right")
    figures = found.table()
    best = figures.max()
    for name, row in figures.iterrows():
        cells = []
        for budget in found.budgets:
            column = (f"budget {budget:g}", found.score_name)
            text = f"{row[column]:.3f}"
            cells.append(f"[bold]{text}[/bold]" if row[column] >= best[column] else text)
        within = row["all budgets", "cost within 0.01"]
        cells.append("-" if within != within else f"{within:.4g}")
        table.add_row(f"{name} (peer)" if name in found.peers else str(name), *cells)
    out.print(table)
