"""A small pool of threads for kernels that hold no lock.

Kernels release the interpreter lock, so plain threads run them side by side. Which thread takes
which task is left open: tasks write to places of their own, or add integers.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from types import TracebackType
from typing import Any


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` stands for: None is all cores, -2 all cores but one."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: use a number of threads, -1 or None for all cores.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


class _Round:
    """One call of :meth:`Threads.run`: the tasks still to take, and who has finished."""

    def __init__(
        self, tasks: int, work: Callable[[int], Any], abandon: Callable[[], Any] | None
    ) -> None:
        self.numbers: Iterator[int] = itertools.count()
        self.tasks = tasks
        self.work = work
        self.abandon = abandon
        self.done: SimpleQueue[BaseException | None] = SimpleQueue()

    def take_part(self) -> None:
        # next() on a count is one step under the interpreter lock: no task is taken twice.
        for number in self.numbers:
            if number >= self.tasks:
                return
            self.work(number)

    def give_up(self) -> None:
        """Start nothing more, and let nobody wait for what failed."""
        self.tasks = 0
        if self.abandon is not None:
            self.abandon()


class Threads:
    """Run numbered tasks on a fixed number of threads; the caller is one of them.

    Examples
    --------
    >>> found = [0] * 5
    >>> with Threads(2) as threads:
    ...     threads.run(5, lambda task: found.__setitem__(task, task * task))
    >>> found
    [0, 1, 4, 9, 16]
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._rounds: SimpleQueue[_Round | None] = SimpleQueue()
        self._workers = [
            threading.Thread(target=self._serve, name=f"costwise-{number}", daemon=True)
            for number in range(1, count)
        ]
        for worker in self._workers:
            worker.start()

    def _serve(self) -> None:
        while (current := self._rounds.get()) is not None:
            try:
                current.take_part()
            except BaseException as error:
                current.give_up()
                current.done.put(error)
            else:
                current.done.put(None)

    def run(
        self, tasks: int, work: Callable[[int], Any], abandon: Callable[[], Any] | None = None
    ) -> None:
        """Call ``work(0)`` ... ``work(tasks - 1)``, in any order, and return when all are done.

        Tasks that wait for each other need ``abandon``, called when one of them fails or is
        interrupted, and at most as many of them as there are threads.
        """
        helpers = min(len(self._workers), tasks - 1)
        if helpers <= 0:
            for task in range(tasks):
                work(task)
            return
        current = _Round(tasks, work, abandon)
        for _ in range(helpers):
            self._rounds.put(current)
        errors: list[BaseException | None] = []
        try:
            current.take_part()
        except BaseException:
            # Helpers may still write into the caller's arrays: stop them before unwinding.
            current.give_up()
            raise
        finally:
            errors = [current.done.get() for _ in range(helpers)]
        for error in errors:
            if error is not None:
                raise error

    def close(self) -> None:
        """End the threads."""
        for _ in self._workers:
            self._rounds.put(None)
        for worker in self._workers:
            worker.join()
        self._workers = []

    def __enter__(self) -> Threads:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
