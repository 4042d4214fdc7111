"""``worthwhile serve``: predictions on demand over HTTP, with a page for people; and what looks after its store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from worthwhile._messages import missing_package
from worthwhile.cli._terminal import explained, fail, notes, out, print_json
from worthwhile.costs import as_float

COMMANDS = ("run", "check", "backup", "retain", "keys")


class _RunByDefault(TyperGroup):
    """A group whose first argument may be a model file: then ``run`` is meant."""

    def parse_args(self, context: Any, args: list[str]) -> list[str]:
        asks_help = bool(args) and args[0] in ("-h", "--help")
        if args and args[0] not in COMMANDS and not asks_help:
            args = ["run", *args]
        return super().parse_args(context, args)


serving = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Serve predictions on demand: a case asks for the next value, every paid value is on disk before it is "
    "answered, nothing is billed twice.\n\n[bold]worthwhile serve MODEL...[/bold] starts it; then open the page that "
    "it prints.",
)
keys = typer.Typer(
    no_args_is_help=True, help="API keys: who may use the service, with budgets of their own."
)
serving.add_typer(keys, name="keys")

Store = Annotated[
    str | None, typer.Option(help="A file for SQLite, or postgresql://...", show_default=False)
]
Config = Annotated[
    Path | None,
    typer.Option(help="YAML file with settings; options weigh more.", show_default=False),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(serving, name="serve")


def _service() -> Any:
    try:
        import fastapi
        import jinja2
        import prometheus_client
        import uvicorn
    except ImportError as error:
        raise missing_package("the service needs", str(error.name), "serve") from None
    del fastapi, jinja2, prometheus_client, uvicorn
    from worthwhile import serve

    return serve


@contextmanager
def _opened(config: Path | None, store: str | None, *, new: bool = False) -> Iterator[Any]:
    """The store of the settings, closed at the end; a ``new`` one may be made."""
    service = _service()
    url = service.Settings.read(config, {"store": store}).store
    if not new and "://" not in url and not os.path.exists(url):
        fail(f"no store at {url!r}: give --store, or start the service once.")
    database = service.open_database(url)
    try:
        yield service, database
    finally:
        database.close()


@serving.command()
def run(
    models: Annotated[
        list[Path] | None,
        typer.Argument(help="Model files; a model's name is its file's stem.", show_default=False),
    ] = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen; default 127.0.0.1.", show_default=False)
    ] = None,
    port: Annotated[int | None, typer.Option(help="Default 8642.", show_default=False)] = None,
    store: Store = None,
    extractors: Annotated[
        str | None,
        typer.Option(help="module:name of functions that fetch values here.", show_default=False),
    ] = None,
    config: Config = None,
) -> None:
    """Serve models (the word run may be left out).

    Settings come from --config, from WORTHWHILE_SERVE_... in the environment, and from options, in
    rising order of weight. On any address but this machine's own, keys are needed: see
    [bold]worthwhile serve keys[/bold].

    Example: worthwhile serve heart.worthwhile --store cases.db
    """
    with explained():
        service = _service()
        options = {
            "models": tuple(map(str, models or ())),
            "host": host,
            "port": port,
            "store": store,
            "extractors": extractors,
        }
        settings = service.Settings.read(config, options)
        if not settings.models:
            fail("no model is given: worthwhile serve MODEL..., or 'models:' in the configuration.")
        app = service.create_app(settings)
        for name, value in settings.shown().items():
            notes.print(f"{name}: {value}", style="dim")
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        notes.print(f"Listening on http://{shown}:{settings.port} (Ctrl-C stops it).")
        _listen(app, settings)


def _listen(app: Any, settings: Any) -> None:
    import uvicorn

    uvicorn.run(
        app,
        http=_protocol(),
        host=settings.host,
        port=settings.port,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=10,
    )


def _protocol() -> Any:
    try:
        from worthwhile.serve.protocol import LimitedProtocol
    except ImportError:  # without httptools, whose parser has no limits, uvicorn takes one that has
        return "auto"
    return LimitedProtocol


@serving.command()
def check(store: Store = None, config: Config = None) -> None:
    """Make all open cases again with this version, and say whether any answer would change.

    Run it with the new version before an upgrade; nothing is written.
    """
    with explained():
        with _opened(config, store) as (service, database):
            found = service.check_cases(database)
        print_json(found)
        if found["differ"]:
            raise typer.Exit(1)


@serving.command()
def backup(
    target: Annotated[Path, typer.Argument(help="Where to write the copy.", show_default=False)],
    store: Store = None,
    config: Config = None,
) -> None:
    """Copy a SQLite store while the service runs; for PostgreSQL use pg_dump."""
    with explained():
        if target.exists():
            fail(f"{str(target)!r} exists already: choose another name.")
        with _opened(config, store) as (_, database):
            database.backup(str(target))
        notes.print(f"Copied to {target}.")


@serving.command()
def retain(
    days: Annotated[
        int, typer.Option(help="Keep values this long after a case has ended.", show_default=False)
    ],
    store: Store = None,
    config: Config = None,
) -> None:
    """Remove the values of cases that ended long ago; amounts stay."""
    with explained():
        with _opened(config, store) as (service, database):
            count = service.retain(database, days)
        notes.print(f"Removed the values of {count} cases.")


@keys.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="Who uses it.", show_default=False)],
    budget: Annotated[
        float | None, typer.Option(help="What all its cases together may spend.")
    ] = None,
    manager: Annotated[
        bool, typer.Option("--manager", help="May see all cases and all spend.")
    ] = False,
    store: Store = None,
    config: Config = None,
) -> None:
    """Make a key and print it, once: only its hash is kept."""
    with explained():
        with _opened(config, store, new=True) as (service, database):
            secret = service.new_key(database, name, budget, manager)
        print(secret)


@keys.command("list")
def list_keys(store: Store = None, config: Config = None) -> None:
    """List the keys with what they have spent."""
    with explained():
        with _opened(config, store) as (service, database):
            rows = database.write_now(service.list_keys)
        table = Table("name", "begins with", "budget", "spent", "set aside", "")
        for key in rows:
            table.add_row(
                key.name, key.prefix, "-" if key.budget is None else f"{as_float(key.budget):g}",
                f"{as_float(key.spent):g}", f"{as_float(key.reserved):g}",
                "revoked" if key.revoked else "manager" if key.manager else "",
            )  # fmt: skip
        out.print(table)


@keys.command("revoke")
def revoke(
    name: Annotated[str, typer.Argument(help="Its name.", show_default=False)],
    store: Store = None,
    config: Config = None,
) -> None:
    """Make a key useless, at once."""
    with explained():
        with _opened(config, store) as (service, database):
            database.write_now(lambda cursor: service.revoke_key(cursor, name))
        notes.print(f"Revoked {name}.")
