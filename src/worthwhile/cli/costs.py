"""``worthwhile costs``: start a price list from a file's columns, or check one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from worthwhile.cli._options import Data
from worthwhile.cli._terminal import check_output, explained, money, notes, out, print_json

commands = typer.Typer(
    no_args_is_help=True, help="Start a YAML of prices from a file's columns, or check one."
)


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

    Example: worthwhile costs new heart.csv --target disease --unit CAD
    """
    from worthwhile.costs import Costs

    with explained():
        check_output(output, force=force)
        columns = _features(data, target)
        Costs(dict.fromkeys(columns, 1), unit=unit).to_yaml(output)
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

    Example: worthwhile costs check costs.yaml --data heart.csv --target disease
    """
    from worthwhile.costs import Costs

    with explained():
        prices = Costs.from_yaml(costs)
        if data is not None:
            columns = _features(data, target)
            prices = prices.resolve(len(columns), columns)
        if as_json:
            print_json(prices.to_dict() | {"total": prices.total})
            return
        table = Table("feature", "price", "group", "alone", title=f"{costs}: {prices!r}")
        for feature, price in prices.prices.items():
            alone = money(prices.price([feature]), prices.unit)
            table.add_row(str(feature), str(price), " + ".join(prices.fees_of(feature)), alone)
        out.print(table)


def _features(data: Path, target: str | None) -> list[str]:
    """Names of the columns of a file, without what is predicted."""
    from worthwhile.cli._tables import check_target, read_chunks

    frame = next(read_chunks(data, 1000))
    if target is not None:
        check_target(target, frame, data)
    return [str(name) for name in frame.columns if str(name) != target]
