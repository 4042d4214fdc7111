"""Which database a store is in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from worthwhile.serve._database import Database
from worthwhile.serve._postgres import Postgres
from worthwhile.serve._sqlite import SQLite


def open_database(url: str, observe: Callable[[float], None] | None = None) -> Database:
    """Open (and create or upgrade) a database: a path, or postgresql://...

    ``observe`` is told how long each commit took, in seconds.
    """
    observe = observe or (lambda seconds: None)
    if url.startswith(("postgresql://", "postgres://")):
        return Postgres(url, observe)
    return SQLite(url, observe)


def store_errors() -> list[type[Exception]]:
    """What a database raises when it fails, of those that are installed."""
    found: list[type[Exception]] = [sqlite3.Error]
    try:
        import psycopg
    except ImportError:
        return found
    return [*found, psycopg.Error]
