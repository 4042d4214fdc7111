"""``worthwhile report``: one HTML page that opens offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from worthwhile.cli._options import (
    MOST_ROWS,
    Categorical,
    Data,
    Dates,
    ErrorPrices,
    GivenErrors,
    MostRows,
    Prices,
    Refer,
    Seed,
    Target,
    Worth,
    read_names,
)
from worthwhile.cli._terminal import check_output, explained, notes
from worthwhile.cli.fit import Task, say_time


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(report)


def report(
    data: Data,
    target: Target,
    costs: Prices = None,
    comparison: Annotated[
        Path | None,
        typer.Option(
            "--from", help="JSON of 'worthwhile compare -o'; without it the methods are run now."
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "What accuracy costs",
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            help="What to call a label on the page, as label=name, such as 1=ill; repeat for more.",
        ),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            "--method", help="Without --from: method to run; repeat for more. All by default."
        ),
    ] = None,
    time: Annotated[
        float | None,
        typer.Option(
            help="Without --from: seconds after which no further method begins.", show_default=False
        ),
    ] = None,
    errors: ErrorPrices = None,
    worth: Worth = None,
    refer: Refer = None,
    categorical: Categorical = None,
    dates: Dates = None,
    rows: MostRows = MOST_ROWS,
    seed: Seed = 0,
    force: Annotated[bool, typer.Option("--force", help="Replace the page if it exists.")] = False,
) -> None:
    """Write a page with the frontier, a budget slider, what is bought, and single cases.

    Example: worthwhile report heart.csv --target disease --costs costs.yaml --from heart.json
    """
    from worthwhile.frontier import Comparison, compare
    from worthwhile.metrics import TotalCost
    from worthwhile.report import check_ready, summarise, write_report

    with explained():
        check_ready()
        check_output(output, force=force)
        X, y, prices = Task(data, target, costs, categorical, dates).read(rows, seed)
        own = GivenErrors(costs, errors, worth, refer).fitting(y)
        classes = read_names(names, y)
        if comparison is None:
            asked: Any = methods or "all"
            say_time(asked, X, y, prices, sweeps=3, effort=8, limit=time)
            found = compare(
                X, y, prices, asked, n_splits=3, effort=8, random_state=seed, time_limit=time, verbose=1, errors=own
            )  # fmt: skip
        else:
            try:
                found = Comparison.from_dict(json.loads(comparison.read_text(encoding="utf-8")))
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"{comparison} is not the output of 'worthwhile compare -o'."
                ) from None
        summary = summarise(
            found, X, y, prices, title=title, classes=classes, settings={"data": data.name, "seed": seed},
            scoring=TotalCost(own) if own is not None and found.in_money else None,
        )  # fmt: skip
        write_report(summary, output)
        notes.print(f"Wrote {output}: open it in a browser.")
