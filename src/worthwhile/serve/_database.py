"""Databases that say "done" only when it is on disk: SQLite in one file, or PostgreSQL by a URL.

What is done with them (:mod:`worthwhile.serve._operations`) is written once, as functions of a cursor
with ``?`` for parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")
Rows = list[tuple[Any, ...]]


class Cursor(Protocol):
    """What operations are given."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Execute one statement; its rows, [] where it has none."""

    def run_alone(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """The same for a statement that is a whole transaction, if it is the first of its job."""


Work = Callable[[Cursor], Result]


class Database(Protocol):
    """Where the service keeps everything."""

    async def write(self, work: Work[Result]) -> Result:
        """Run it in a transaction; on disk when this returns, undone if it raises."""

    async def read(self, work: Work[Result]) -> Result:
        """Run it without writing."""

    async def look_up(self, work: Work[Result]) -> Result:
        """:meth:`read` for a few rows found by their key."""

    def write_now(self, work: Work[Result]) -> Result:
        """:meth:`write` for commands, which have no event loop."""

    def backup(self, path: str) -> None:
        """Copy everything to a file, while others read and write."""

    def close(self) -> None:
        """Finish what was accepted, and let go."""


def _migrations(blob: str) -> list[tuple[int, str]]:
    """The numbered SQL files, oldest first."""
    folder = resources.files("worthwhile.serve") / "sql"
    files = sorted(f.name for f in folder.iterdir() if f.name.endswith(".sql"))
    return [(int(n[:3]), (folder / n).read_text("utf-8").replace("{blob}", blob)) for n in files]


def migrate(cursor: Cursor, blob: str) -> None:
    """Bring the tables up to date; the caller holds a lock."""
    cursor.run("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)")
    found = cursor.run("SELECT MAX(version) FROM schema_version")[0][0] or 0
    migrations = _migrations(blob)
    if found > migrations[-1][0]:
        raise RuntimeError(
            f"the store has version {found}, this worthwhile knows {migrations[-1][0]}: update worthwhile."
        )
    for version, script in migrations:
        if version > found:
            without_comments = "\n".join(line.split("--")[0] for line in script.splitlines())
            for statement in filter(str.strip, without_comments.split(";")):
                cursor.run(statement)
            cursor.run("INSERT INTO schema_version VALUES (?)", (version,))
