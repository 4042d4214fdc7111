"""``worthwhile warmup``: compile ahead of time."""

from __future__ import annotations

import time

import typer

from worthwhile.cli._terminal import explained, notes


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(warmup)


def warmup() -> None:
    """Compile all kernels now, so that the first fit does not: for container images and first starts."""
    with explained():
        from worthwhile.core.compile import warm_up

        start = time.perf_counter()
        with notes.status("compiling"):
            count = warm_up()
        notes.print(
            f"{count} kernels are compiled and cached ({time.perf_counter() - start:.0f} s)."
        )
