"""``worthwhile info``: what is in a model file."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from worthwhile.cli._options import Model
from worthwhile.cli._terminal import explained, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(info)


def info(
    model: Model,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a model file holds: method, settings, features with prices, what it may read.

    Nothing of the file is run. Example: worthwhile info model.worthwhile
    """
    from worthwhile.persist import describe

    with explained():
        summary = describe(model)
        if as_json:
            print_json(summary)
        else:
            _show(summary)


def _show(summary: dict[str, Any]) -> None:
    table = Table(title=f"{summary['class']} ({summary['bytes']:,} bytes)", show_header=False)
    for name in (
        "kind",
        "output",
        "classes",
        "features",
        "may_read",
        "total",
        "unit",
        "evaluation",
    ):
        value = summary[name]
        table.add_row(
            name.replace("_", " "),
            ", ".join(map(str, value)) if isinstance(value, list) else str(value),
        )
    if promised := summary["promised"]:
        table.add_row("promised", ", ".join(f"{k} {v:.4g}" for k, v in promised.items()))
    for name, value in summary["parameters"].items():
        table.add_row(f"parameter {name}", str(value))
    out.print(table)
