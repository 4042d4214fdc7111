"""``worthwhile costs``: start a price list from a file's columns, or check one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from worthwhile.cli._options import MOST_ROWS, Data
from worthwhile.cli._terminal import check_output, explained, fail, money, notes, out, print_json

if TYPE_CHECKING:
    from worthwhile.cli._profile import Column
    from worthwhile.costs import Costs

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
    """Write a YAML with every column at price 1 and what it holds as a comment, to be edited.

    Example: worthwhile costs new heart.csv --target disease --unit CAD
    """
    from worthwhile.costs import Costs

    with explained():
        check_output(output, force=force)
        found = _profile(data, target)
        costs = Costs(dict.fromkeys((column.name for column in found), 1), unit=unit)
        costs.to_yaml(output, {column.name: column.describe() for column in found})
        wrong = sum(bool(column.problems) for column in found)
        notes.print(
            f"Wrote {output} with {len(found)} features at price 1: edit the prices, add groups with a fee."
            + (f" {wrong} of them need mending first; the comments say why." if wrong else ""),
            soft_wrap=True,
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

    With --data, every problem of every column is listed at once.

    Example: worthwhile costs check costs.yaml --data heart.csv --target disease
    """
    from worthwhile.costs import Costs, read_kinds

    with explained():
        prices = Costs.from_yaml(costs)
        said = read_kinds(costs)["categorical"]
        found = [] if data is None else _profile(data, target, said)
        if data is not None:
            _refuse_problems(_problems(prices, found, costs, data))
            prices = prices.resolve(len(found), [column.name for column in found])
        if as_json:
            print_json(prices.to_dict() | {"total": prices.total})
            return
        out.print(_table(prices, {c.name: c.describe() for c in found}, f"{costs}: {prices!r}"))


def _table(prices: Any, found: dict[str, str], title: str) -> Table:
    """Prices, and what the data has."""
    table = Table("feature", "price", "group", "alone", title=Text(title))
    if found:
        table.add_column("in the data")
    for feature, price in prices.prices.items():
        alone = money(prices.price([feature]), prices.unit)
        cells = [str(feature), str(price), " + ".join(prices.fees_of(feature)), alone]
        table.add_row(*map(Text, [*cells, found[feature]] if found else cells))
    return table


def _profile(data: Path, target: str | None, said: Sequence[str] = ()) -> list[Column]:
    """What the columns of a file hold, without what is predicted."""
    from worthwhile.cli._profile import profile
    from worthwhile.cli._tables import check_target, read_sample

    frame, _ = read_sample(data, MOST_ROWS, 0, said)
    if target is not None:
        check_target(target, frame, data)
        frame = frame.drop(columns=target)
    return profile(frame, said)


def _problems(prices: Costs, found: list[Column], costs: Path, data: Path) -> list[str]:
    """All that keeps a price list and a table from being used together."""
    names = {column.name for column in found}
    listed = [
        f"{name!r}: has a price, but {data} has no such column{_meant(str(name), names)}"
        for name in prices.features
        if name not in names
    ]
    for column in found:
        if column.name not in prices.features:
            listed.append(f"{column.name!r}: no price in {costs}; 0 if it is free")
        listed += [f"{column.name!r}: {problem}" for problem in column.problems]
    return listed


def _meant(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, names, 1)
    return f"; is {near[0]!r} meant?" if near else ""


def _refuse_problems(problems: list[str]) -> None:
    """Say all problems, one a line."""
    if not problems:
        return
    for problem in problems:
        notes.print(problem, soft_wrap=True)
    fail(f"{len(problems)} problem{'s' * (len(problems) > 1)} to mend, listed above.")
