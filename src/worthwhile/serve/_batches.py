"""Jobs that wait for the disk: whatever comes while some are written shares the next commit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

MOST_IN_ONE_COMMIT = 64


class Job(NamedTuple):
    """Something to be written, and who waits for it."""

    work: Any
    future: Any


Outcome = tuple[Any, Any, BaseException | None]
"""A future with its result, or with what went wrong."""


def tell_all(outcomes: list[Outcome]) -> None:
    """Let those who wait know."""
    for future, result, problem in outcomes:
        if not future.done():  # whoever waited for it may have been cancelled
            future.set_exception(problem) if problem else future.set_result(result)


class Waiting:
    """Jobs of each event loop, written batch after batch.

    Parameters
    ----------
    write : async function
        Writes some jobs; says what became of each.
    """

    def __init__(self, write: Callable[[list[Job]], Awaitable[list[Outcome]]]) -> None:
        self._write = write
        self._jobs: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        self._tasks: dict[asyncio.AbstractEventLoop, asyncio.Task[None]] = {}  # held, or lost

    async def add(self, work: Any) -> Any:
        """Have it written; its result."""
        loop = asyncio.get_running_loop()
        job = Job(work, loop.create_future())
        if loop in self._jobs:
            self._jobs[loop].append(job)
        else:
            self._jobs[loop] = [job]
            self._tasks[loop] = loop.create_task(self._drain(loop))
        return await job.future

    async def _drain(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            while waiting := self._jobs[loop]:
                batch = waiting[:MOST_IN_ONE_COMMIT]
                del waiting[:MOST_IN_ONE_COMMIT]
                try:
                    outcomes = await self._write(batch)
                except Exception as error:
                    outcomes = [(job.future, None, error) for job in batch]
                tell_all(outcomes)
        finally:
            del self._jobs[loop], self._tasks[loop]
