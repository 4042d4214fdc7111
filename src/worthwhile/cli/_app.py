"""The command ``worthwhile`` and its subcommands."""

from __future__ import annotations

import importlib
from typing import Annotated

import typer

import worthwhile

app = typer.Typer(
    name="worthwhile",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Predict when features cost money or time: learn what is worth buying, buy only what each case "
    "needs, get an exact bill.\n\nStart with [bold]worthwhile demo[/bold], then "
    "[bold]worthwhile costs new data.csv --target y[/bold] for your own data.",
)

COMMANDS = (
    "demo",
    "costs",
    "fit",
    "compare",
    "predict",
    "ask",
    "report",
    "info",
    "check",
    "serve",
    "warmup",
)


def _version(asked: bool) -> None:
    if asked:
        print(f"worthwhile {worthwhile.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Options of all commands."""


for _name in COMMANDS:
    importlib.import_module(f"worthwhile.cli.{_name}").register(app)
