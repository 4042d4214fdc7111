"""``costwise costs``: start a price list from a file's columns, or check one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from costwise.cli._terminal import explained, money, notes, out, print_json, written

commands = typer.Typer(
    no_args_is_help=True, help="Start a YAML of prices from a file's columns, or check one."
)

Data = Annotated[Path, typer.Argument(help="CSV or Parquet file.", show_default=False)]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.add_typer(commands, name="costs")


@commands.command("new")
def new(
    data: Data,
    target: Annotated[
        str | None, typer.Option(help="Column to leave out: what is predicted.")
    ] = None,
    output: Annotated[Path, typer.Option("--out", "-o", help="File to write.")] = Path(
        "costs.yaml"
    ),
    unit: Annotated[str, typer.Option(help="Unit of the prices, such as EUR or ms.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write a YAML with every column at price 1, to be edited.

    Example: costwise costs new heart.csv --target disease --unit CAD
    """
    from costwise.cli._tables import read_chunks
    from costwise.costs import Costs

    with explained():
        columns = [
            str(name) for name in next(read_chunks(data, 1000)).columns if str(name) != target
        ]
        with written(output, force=force) as part:
            Costs(dict.fromkeys(columns, 1), unit=unit).to_yaml(part)
        notes.print(
            f"Wrote {output} with {len(columns)} features at price 1: edit the prices, add groups with a fee."
        )


@commands.command("check")
def check(
    costs: Annotated[Path, typer.Argument(help="YAML file of prices.", show_default=False)],
    data: Annotated[
        Path | None, typer.Option(help="Check against the columns of this file.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Column of the file that is predicted.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read a YAML of prices, say what is in it, or what is wrong and in which line.

    Example: costwise costs check costs.yaml --data heart.csv --target disease
    """
    from costwise.cli._tables import read_chunks
    from costwise.costs import Costs

    with explained():
        prices = Costs.from_yaml(costs)
        if data is not None:
            columns = [
                str(name) for name in next(read_chunks(data, 1000)).columns if str(name) != target
            ]
            prices = prices.resolve(len(columns), columns)
        if as_json:
            print_json(prices.to_dict() | {"total": prices.total})
            return
        table = Table("feature", "price", "group", "alone", title=f"{costs}: {prices!r}")
        group_of = {
            feature: name for name, group in prices.groups.items() for feature in group.features
        }
        for feature, price in prices.prices.items():
            alone = money(prices.price([feature]), prices.unit)
            table.add_row(str(feature), str(price), group_of.get(feature, ""), alone)
        out.print(table)
