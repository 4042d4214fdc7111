"""Progress bars on stderr, with the time that remains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


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
    from rich.console import Console
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
    with Progress(*columns, console=Console(stderr=True), transient=transient) as bar:
        task = bar.add_task(what, total=total, completed=done, note="")
        yield lambda units, note="": bar.update(task, advance=units, note=note)
