"""Progress bars on stderr, with the time that remains."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console


class Advance(Protocol):
    """Notes finished units, and what to show beside the bar."""

    def __call__(self, units: int, note: str = "") -> None: ...


@contextmanager
def progress(
    what: str, total: int | None, done: int = 0, *, shown: bool = True, transient: bool = False
) -> Iterator[Advance]:
    """Give a function that notes finished units; it shows nothing unless asked to.

    Parameters
    ----------
    what : str
        What is being done.
    total : int or None
        Units in all; None if that is not known.
    done : int, default=0
        Units that were finished before.
    shown : bool, default=True
        Whether to show anything.
    transient : bool, default=False
        Whether the bar goes away at the end.
    """
    if not shown:
        yield lambda units, note="": None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=_console(), transient=transient) as bar:
        task = bar.add_task(what, total=total, completed=done, note="")
        yield lambda units, note="": bar.update(task, advance=units, note=note)


def _console() -> Console:
    """Of stderr; in a notebook without widgets, which rich would want, a line of text will do."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_jupyter and importlib.util.find_spec("ipywidgets") is None:
        return Console(stderr=True, force_jupyter=False, force_terminal=True, width=100)
    return console
