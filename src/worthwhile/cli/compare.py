"""``worthwhile compare``: all methods side by side on one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from worthwhile._writing import write_whole
from worthwhile.cli._options import (
    MOST_ROWS,
    Categorical,
    ClassWeight,
    Data,
    Dates,
    ErrorPrices,
    GivenErrors,
    MostRows,
    Positive,
    Prices,
    Query,
    Refer,
    Scoring,
    Seed,
    Target,
    Worth,
)
from worthwhile.cli._terminal import check_output, explained, notes, out, print_json
from worthwhile.cli.fit import Task, Wish, say_time


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    data: Data,
    target: Target,
    costs: Prices = None,
    methods: Annotated[
        list[str] | None, typer.Option("--method", help="Method by name; repeat for more.")
    ] = None,
    budgets: Annotated[
        list[float] | None, typer.Option("--budget", help="Mean bill; repeat for more.")
    ] = None,
    splits: Annotated[int, typer.Option(help="Random splits.")] = 3,
    effort: Annotated[int, typer.Option(help="Models trained per method and split.")] = 8,
    time: Annotated[
        float | None,
        typer.Option(help="Seconds after which no further method begins.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--out", "-o", help="Keep everything in this JSON file.")
    ] = None,
    mix: Annotated[
        bool,
        typer.Option("--mix", help="Let every method meet a budget by two models and a share."),
    ] = False,
    scoring: Scoring = None,
    positive: Positive = None,
    class_weight: ClassWeight = None,
    qid: Query = None,
    errors: ErrorPrices = None,
    worth: Worth = None,
    refer: Refer = None,
    categorical: Categorical = None,
    dates: Dates = None,
    rows: MostRows = MOST_ROWS,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the output if it exists.")
    ] = False,
) -> None:
    """Sweep every method on the same splits and show what accuracy costs.

    The JSON file of --out is what 'worthwhile report' turns into a page.

    Example: worthwhile compare heart.csv --target disease --costs costs.yaml -o heart.json
    """
    from worthwhile.frontier import compare as run

    with explained():
        if output is not None:
            check_output(output, force=force)
        task = Task(data, target, costs, categorical, dates, qid)
        X, y, prices = task.read(rows, seed)
        wish = Wish.read(scoring, positive, class_weight, y, task.queries)
        asked: Any = methods or "all"
        say_time(asked, X, y, prices, sweeps=splits, effort=effort, qid=task.queries, limit=time)
        found = run(
            X,
            y,
            prices,
            asked,
            budgets,
            n_splits=splits,
            effort=effort,
            mix=mix,
            random_state=seed,
            time_limit=time,
            verbose=1,
            errors=GivenErrors(costs, errors, worth, refer).fitting(y),
            **wish.options,
        )
        if output is not None:
            write_whole(output, json.dumps(found.to_dict()))
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
    score = "total" if found.in_money else found.score_name
    table = Table(
        title=f"{'total per case' if found.in_money else score} at a mean bill of at most ...",
        caption="chosen on validation, shown on test rows",
    )
    table.add_column("method", no_wrap=True)
    for budget in found.budgets:
        table.add_column(f"{budget:.4g}", justify="right")
    table.add_column("at any" if found.in_money else "cost within 1 %", justify="right")
    figures = found.table()
    best = figures.min() if found.in_money else figures.max()
    for name, row in figures.iterrows():
        cells = []
        for budget in found.budgets:
            column = (f"budget {budget:g}", score)
            text = f"{row[column]:.4g}" if found.in_money else f"{row[column]:.3f}"
            cells.append(Text(text, style="bold" if row[column] == best[column] else ""))
        last = ("any budget", "total") if found.in_money else ("all budgets", "cost within 0.01")
        within = row[last]
        cells.append(Text("-" if within != within else f"{within:.4g}"))
        table.add_row(f"{name} (peer)" if name in found.peers else str(name), *cells)
    out.print(table)
