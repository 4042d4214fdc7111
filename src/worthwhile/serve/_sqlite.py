"""SQLite in one file, written by one connection per process."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from worthwhile.serve._batches import Job, Outcome, Waiting, tell_all
from worthwhile.serve._database import Result, Rows, Work, migrate


class _SQLiteCursor:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        return self._connection.execute(sql, parameters).fetchall()

    run_alone = run


PATIENCE = 30
"""Seconds to wait for another process that writes."""


class SQLite:
    """One writer per process: whatever waits while the disk works shares the next commit.

    Statements run where the requests run, and only the commit, which waits for the disk, in a thread of
    its own: two threads that both need the interpreter all the time cost each other more than the
    statements do.
    """

    def __init__(self, path: str, observe: Callable[[float], None]) -> None:
        self._path, self._observe = path, observe
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="worthwhile-read")
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="worthwhile-write")
        self._local = threading.local()
        self._lock = threading.Lock()  # of the writer, from the begin of a transaction to its end
        self._waiting = Waiting(self._write_waiting)
        self._writer = writer = self._connect()
        writer.execute("PRAGMA journal_mode=WAL")
        writer.execute("BEGIN IMMEDIATE")
        try:
            migrate(_SQLiteCursor(writer), "BLOB")
        except BaseException:
            writer.execute("ROLLBACK")
            raise
        writer.execute("COMMIT")

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=PATIENCE
        )
        connection.execute("PRAGMA synchronous=FULL")  # an answer is given when it is on disk
        connection.execute("PRAGMA foreign_keys=ON")
        return connection

    # Writing -------------------------------------------------------------------------------------

    async def write(self, work: Work[Result]) -> Result:
        result: Result = await self._waiting.add(work)
        return result

    async def _write_waiting(self, batch: list[Job]) -> list[Outcome]:
        """Write some jobs here if nobody else writes; otherwise wait for that in the thread."""
        is_ours = self._begin_at_once()
        finish = (
            partial(self._finish, self._run(batch))
            if is_ours
            else partial(self._write_batch, batch)
        )
        return await asyncio.get_running_loop().run_in_executor(self._disk, finish)

    def write_now(self, work: Work[Result]) -> Result:
        future: Future[Result] = Future()
        tell_all(self._write_batch([Job(work, future)]))
        return future.result()

    def _begin_at_once(self) -> bool:
        """Begin to write, if that needs no waiting."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            self._writer.execute("PRAGMA busy_timeout=0")
            self._writer.execute("BEGIN IMMEDIATE")
            return True
        except sqlite3.Error:
            self._lock.release()
            return False

    def _write_batch(self, batch: list[Job]) -> list[Outcome]:
        """All of it, waiting for others as long as need be."""
        self._lock.acquire()
        try:
            self._writer.execute(f"PRAGMA busy_timeout={1000 * PATIENCE}")
            self._writer.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._lock.release()
            return [(job.future, None, error) for job in batch]
        return self._finish(self._run(batch))

    def _run(self, batch: list[Job]) -> list[Outcome]:
        """Run several jobs in one transaction; one that fails is undone alone."""
        outcomes: list[Outcome] = []
        cursor, execute = _SQLiteCursor(self._writer), self._writer.execute
        try:
            for job in batch:
                execute("SAVEPOINT job")
                try:
                    outcomes.append((job.future, job.work(cursor), None))
                except BaseException as error:
                    execute("ROLLBACK TO job")
                    outcomes.append((job.future, None, error))
                execute("RELEASE job")
        except BaseException as error:  # a full disk may have undone all of it by itself
            if self._writer.in_transaction:
                execute("ROLLBACK")
            return [(job.future, None, error) for job in batch]
        return outcomes

    def _finish(self, outcomes: list[Outcome]) -> list[Outcome]:
        """Commit; if that fails, nobody may believe that anything was kept."""
        try:
            if self._writer.in_transaction:
                began = time.perf_counter()
                self._writer.execute("COMMIT")
                self._observe(time.perf_counter() - began)
            return outcomes
        except BaseException as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            return [(future, None, error) for future, _, _ in outcomes]
        finally:
            self._lock.release()

    # Reading -------------------------------------------------------------------------------------

    async def read(self, work: Work[Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, work)

    async def look_up(self, work: Work[Result]) -> Result:
        return self._read(work)

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
        self._disk.shutdown()
        self._readers.shutdown()
        with self._lock:
            self._writer.close()
