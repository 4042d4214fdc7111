"""Databases that say "done" only when it is on disk: SQLite in one file, or PostgreSQL by a URL.

What is done with them (:mod:`worthwhile.serve._operations`) is written once, as functions of a cursor
with ``?`` for parameters.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import resources
from typing import Any, Protocol, TypeVar

from worthwhile._messages import missing_package

Result = TypeVar("Result")
Rows = list[tuple[Any, ...]]


class Cursor(Protocol):
    """What operations are given."""

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        """Execute one statement; its rows, [] where it has none."""


Work = Callable[[Cursor], Result]


class Database(Protocol):
    """Where the service keeps everything."""

    async def write(self, work: Work[Result]) -> Result:
        """Run it in a transaction; on disk when this returns, undone if it raises."""

    async def read(self, work: Work[Result]) -> Result:
        """Run it without writing."""

    def write_now(self, work: Work[Result]) -> Result:
        """:meth:`write` for commands, which have no event loop."""

    def backup(self, path: str) -> None:
        """Copy everything to a file, while others read and write."""

    def close(self) -> None:
        """Finish what was accepted, and let go."""


def open_database(url: str, observe: Callable[[float], None] | None = None) -> Database:
    """Open (and create or upgrade) a database: a path, or postgresql://...

    ``observe`` is told how long each commit took, in seconds.
    """
    observe = observe or (lambda seconds: None)
    if url.startswith(("postgresql://", "postgres://")):
        return _Postgres(url, observe)
    return _SQLite(url, observe)


def store_errors() -> list[type[Exception]]:
    """What a database raises when it fails, of those that are installed."""
    found: list[type[Exception]] = [sqlite3.Error]
    try:
        import psycopg
    except ImportError:
        return found
    return [*found, psycopg.Error]


def _migrations(blob: str) -> list[tuple[int, str]]:
    """The numbered SQL files, oldest first."""
    folder = resources.files("worthwhile.serve") / "sql"
    files = sorted(f.name for f in folder.iterdir() if f.name.endswith(".sql"))
    return [(int(n[:3]), (folder / n).read_text("utf-8").replace("{blob}", blob)) for n in files]


def _migrate(cursor: Cursor, blob: str) -> None:
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


# SQLite ------------------------------------------------------------------------------------------


class _SQLiteCursor:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        return self._connection.execute(sql, parameters).fetchall()


MOST_IN_ONE_COMMIT = 64


class _SQLite:
    """One writer thread per process: whatever waits while the disk works shares the next commit."""

    def __init__(self, path: str, observe: Callable[[float], None]) -> None:
        self._path, self._observe = path, observe
        self._jobs: queue.SimpleQueue[tuple[Work[Any], Future[Any]] | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="worthwhile-read")
        self._local = threading.local()
        writer = self._connect()
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("BEGIN IMMEDIATE")
        try:
            _migrate(_SQLiteCursor(writer), "BLOB")
        except BaseException:
            writer.execute("ROLLBACK")
            raise
        writer.execute("COMMIT")
        self._thread = threading.Thread(
            target=self._write_all, args=(writer,), name="worthwhile-write", daemon=True
        )
        self._thread.start()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=30
        )
        connection.execute("PRAGMA synchronous=FULL")  # an answer is given when it is on disk
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    def _write_all(self, connection: sqlite3.Connection) -> None:
        while (first := self._jobs.get()) is not None:
            batch = [first]
            while len(batch) < MOST_IN_ONE_COMMIT:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    self._jobs.put(None)
                    break
                batch.append(job)
            self._commit(connection, batch)
        connection.close()

    def _commit(
        self, connection: sqlite3.Connection, batch: list[tuple[Work[Any], Future[Any]]]
    ) -> None:
        """Run several jobs in one transaction; one that fails is undone alone."""
        cursor = _SQLiteCursor(connection)
        results: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            connection.execute("BEGIN IMMEDIATE")
            for work, future in batch:
                connection.execute("SAVEPOINT job")
                try:
                    results.append((future, work(cursor), None))
                except BaseException as error:
                    connection.execute("ROLLBACK TO job")
                    results.append((future, None, error))
                connection.execute("RELEASE job")
            began = time.perf_counter()
            connection.execute("COMMIT")
            self._observe(time.perf_counter() - began)
        except BaseException as error:  # a full disk, a lock: nobody may believe that it was kept
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            results = [(future, None, error) for _, future in batch]
        for future, result, problem in results:
            future.set_exception(problem) if problem else future.set_result(result)

    def _submit(self, work: Work[Result]) -> Future[Result]:
        future: Future[Result] = Future()
        self._jobs.put((work, future))
        return future

    async def write(self, work: Work[Result]) -> Result:
        return await asyncio.wrap_future(self._submit(work))

    def write_now(self, work: Work[Result]) -> Result:
        return self._submit(work).result()

    async def read(self, work: Work[Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    def _read(self, work: Work[Result]) -> Result:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._connect()
        return work(_SQLiteCursor(self._local.connection))

    def backup(self, path: str) -> None:
        source, target = self._connect(), sqlite3.connect(path)
        try:
            source.backup(target)
        finally:
            source.close()
            target.close()

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()
        self._readers.shutdown()


# PostgreSQL --------------------------------------------------------------------------------------


class _PostgresCursor:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        self._cursor.execute(sql.replace("?", "%s"), parameters)
        return self._cursor.fetchall() if self._cursor.description else []


LOCK = 7_205_759
"""Advisory lock under which tables are upgraded."""


class _Postgres:
    """A pool of connections; each job is a transaction of its own."""

    def __init__(self, url: str, observe: Callable[[float], None]) -> None:
        try:
            from psycopg_pool import ConnectionPool
        except ImportError:
            raise missing_package("PostgreSQL needs", "psycopg", "postgres") from None
        self._observe = observe
        self._pool = ConnectionPool(url, min_size=1, max_size=8, open=True)
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="worthwhile-postgres")

        def upgrade(cursor: Cursor) -> None:
            cursor.run("SELECT pg_advisory_xact_lock(?)", (LOCK,))
            _migrate(cursor, "BYTEA")

        try:
            self.write_now(upgrade)
        except BaseException:
            self.close()
            raise

    def write_now(self, work: Work[Result]) -> Result:
        with self._pool.connection() as connection:
            connection.execute("SET LOCAL synchronous_commit = on")
            with connection.cursor() as cursor:
                result = work(_PostgresCursor(cursor))
            began = time.perf_counter()
            connection.commit()
            self._observe(time.perf_counter() - began)
            return result

    async def write(self, work: Work[Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.write_now, work)

    read = write

    def backup(self, path: str) -> None:
        raise ValueError(
            "a PostgreSQL store is backed up by its own tools: pg_dump --format=custom URL > FILE."
        )

    def close(self) -> None:
        self._threads.shutdown()
        self._pool.close()
