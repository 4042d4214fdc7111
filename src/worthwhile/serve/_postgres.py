"""PostgreSQL by a URL, shared by any number of processes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any

from worthwhile._messages import missing_package
from worthwhile.serve._batches import Job, Outcome, Waiting
from worthwhile.serve._database import Cursor, Result, Rows, Work, migrate


class _PostgresCursor:
    """Begins a transaction with the first statement that needs one; its owner ends it."""

    def __init__(self, cursor: Any, *, reading: bool = False) -> None:
        self._cursor, self._reading = cursor, reading
        self.began = False

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        if not self.began and not self._reading:
            self._cursor.execute("BEGIN; SET LOCAL synchronous_commit = on")
            self.began = True
        return self.run_alone(sql, parameters)

    def run_alone(self, sql: str, parameters: Sequence[Any] = ()) -> Rows:
        self._cursor.execute(_in_words_of_psycopg(sql), parameters)
        return self._cursor.fetchall() if self._cursor.description else []


@cache
def _in_words_of_psycopg(sql: str) -> str:
    return sql.replace("?", "%s")


OF_ONE = ("22", "23", "40")
"""Classes of errors that one of several jobs may have brought upon all: data, integrity, deadlock."""
LOCK = 7_205_759
"""Advisory lock under which tables are upgraded."""


class Postgres:
    """A pool of connections; each job is a transaction of its own, or a part of one with others of its kind."""

    def __init__(self, url: str, observe: Callable[[float], None]) -> None:
        try:
            from psycopg_pool import ConnectionPool
        except ImportError:
            raise missing_package("PostgreSQL needs", "psycopg", "postgres") from None
        self._observe = observe
        self._pool = ConnectionPool(
            url, min_size=1, max_size=8, open=True, kwargs={"autocommit": True}
        )
        self._threads = ThreadPoolExecutor(8, thread_name_prefix="worthwhile-postgres")
        self._waiting = Waiting(self._write_waiting)

        def upgrade(cursor: Cursor) -> None:
            cursor.run("SELECT pg_advisory_xact_lock(?)", (LOCK,))
            migrate(cursor, "BYTEA")

        try:
            self.write_now(upgrade)
        except BaseException:
            self.close()
            raise

    def write_now(self, work: Work[Result]) -> Result:
        with self._pool.connection() as connection, connection.cursor() as raw:
            cursor = _PostgresCursor(raw)
            began = time.perf_counter()
            result = work(cursor)
            if cursor.began:
                began = time.perf_counter()
                connection.commit()
            self._observe(time.perf_counter() - began)
            return result

    def _read(self, work: Work[Result]) -> Result:
        with self._pool.connection() as connection, connection.cursor() as raw:
            return work(_PostgresCursor(raw, reading=True))

    async def write(self, work: Work[Result]) -> Result:
        if hasattr(work, "together"):
            result: Result = await self._waiting.add(work)
            return result
        return await asyncio.get_running_loop().run_in_executor(self._threads, self.write_now, work)

    async def _write_waiting(self, batch: list[Job]) -> list[Outcome]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._write_together, batch)

    def _write_together(self, batch: list[Job]) -> list[Outcome]:
        """Jobs of a kind together, one kind after the other."""
        kinds: dict[type, list[Job]] = {}
        for job in batch:
            kinds.setdefault(type(job.work), []).append(job)
        return [outcome for jobs in kinds.values() for outcome in self._write_alike(jobs)]

    def _write_alike(self, batch: list[Job]) -> list[Outcome]:
        """One statement for all; those that it left out, or all of them if it fails, one by one."""
        from psycopg import Error

        works, done = [job.work for job in batch], [False] * len(batch)
        try:
            done = self.write_now(partial(type(works[0]).together, works=works))
        except Error as error:
            kind = (error.sqlstate or "")[:2]
            if kind not in OF_ONE:  # the server is gone: nobody need ask again
                return [(job.future, None, error) for job in batch]
        return [
            (job.future, None, None) if is_done else self._outcome(job)
            for job, is_done in zip(batch, done, strict=True)
        ]

    def _outcome(self, job: Job) -> Outcome:
        try:
            return job.future, self.write_now(job.work), None
        except BaseException as error:
            return job.future, None, error

    async def read(self, work: Work[Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, work)

    look_up = read

    def backup(self, path: str) -> None:
        raise ValueError(
            "a PostgreSQL store is backed up by its own tools: pg_dump --format=custom URL > FILE."
        )

    def close(self) -> None:
        self._threads.shutdown()
        self._pool.close()
