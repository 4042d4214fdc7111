"""Threads: how many ``n_jobs`` stands for, and the one pool for everything that runs side by side.

Kernels, numpy and BLAS release the interpreter lock, so plain threads run them side by side. Which
thread takes which task is left open: tasks write to places of their own, add integers, or hand back
results that are taken in order.
"""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from numbers import Integral
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from types import TracebackType
from typing import Any

from worthwhile.core.collective import ALONE, Collective
from worthwhile.core.interrupts import raise_interrupt

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]
"""A map whose results come in order: the built-in one, or :meth:`Threads.map`."""

_ALLOWED = "use a whole number of threads, -1 or None for all cores, -2 for all but one"


def count_threads(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` stands for: None is all cores, -2 all cores but one.

    Examples
    --------
    >>> count_threads(3)
    3
    """
    if n_jobs is None:
        return count_cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs is {n_jobs!r}: {_ALLOWED}.")
    number = int(n_jobs)
    if number == 0:
        raise ValueError(f"n_jobs is 0: {_ALLOWED}.")
    return number if number > 0 else max(1, count_cores() + 1 + number)


def count_cores(system: Path = Path("/")) -> int:
    """Cores that this process may use: those it is bound to, within the quota of its container.

    ``system`` is where ``proc`` and ``sys`` are.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, math.ceil(min(cores, _quota(system))))


@cache  # every prediction asks
def _quota(system: Path) -> float:
    """Cores' worth of time that control groups (cgroups, Linux) grant; infinite without a limit.

    A group is bound by those above it too. Within a container its own group is often mounted as the
    root, and what ``/proc`` calls it is not there: then the root counts.
    """
    try:
        lines = (system / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return math.inf
    least = math.inf
    for line in lines:
        _, kinds, name = line.split(":", 2)
        if kinds and "cpu" not in kinds.split(","):
            continue
        # Version 2 has one tree (no kinds), version 1 a folder per kind, or per set of kinds.
        for folder in ("", "unified") if not kinds else ("cpu", kinds):
            group = PurePosixPath(name.lstrip("/"))
            for part in (group, *group.parents):
                least = min(least, _limit(system / "sys/fs/cgroup" / folder / part))
    return least


def _limit(group: Path) -> float:
    """Cores' worth of time of one control group."""
    try:
        if (both := group / "cpu.max").exists():
            quota, period = both.read_text(encoding="utf-8").split()
        else:
            quota, period = (
                (group / name).read_text(encoding="utf-8").strip()
                for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            )
        granted = int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return math.inf  # no such file, or "max"
    return granted if granted > 0 else math.inf


class _Round:
    """One call of :meth:`Threads.run`: the tasks still to take, and who takes part."""

    def __init__(
        self, tasks: int, work: Callable[[int], Any], abandon: Callable[[], Any] | None
    ) -> None:
        self._numbers: Iterator[int] = itertools.count()
        self._tasks = tasks
        self._work = work
        self._abandon = abandon
        self._lock = threading.Lock()
        self._open = True
        self._helpers = 0
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()

    def take_part(self) -> None:
        # next() on a count is one step under the interpreter lock: no task is taken twice.
        for number in self._numbers:
            if number >= self._tasks:
                return
            self._work(number)

    def help(self) -> None:
        """Take part, as one of the pool, unless all is over already."""
        with self._lock:
            if not self._open:
                return
            self._helpers += 1
        try:
            self.take_part()
        except BaseException as error:
            self.give_up()
            self._done.put(error)
        else:
            self._done.put(None)

    def give_up(self) -> None:
        """Start nothing more, and let nobody wait for what failed."""
        self._tasks = 0
        if self._abandon is not None:
            self._abandon()

    def close(self) -> list[BaseException]:
        """Wait for the helpers that came, on a busy machine not for those that did not: their errors."""
        with self._lock:
            self._open = False
        found = [self._done.get() for _ in range(self._helpers)]
        return [error for error in found if error is not None]


class _Call:
    """One call of :meth:`Threads.map`, made by whoever comes first: the pool, or who wants the result."""

    def __init__(self, function: Callable[[Any], Any], item: Any) -> None:
        self._function, self._item = function, item
        self._claims: Iterator[int] = itertools.count()
        self._outcome: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def claim(self) -> bool:
        """Whether nobody came before."""
        return next(self._claims) == 0

    def help(self) -> bool:
        """Make the call, unless somebody else does; say which."""
        if not self.claim():
            return False
        try:
            self._outcome.put((self._function(self._item), None))
        except BaseException as error:
            self._outcome.put((None, error))
        return True

    @property
    def is_done(self) -> bool:
        """Whether there is a result, or an error."""
        return not self._outcome.empty()

    def result(self) -> Any:
        """What the function returned, or its error."""
        result, error = self._outcome.get()
        if error is not None:
            raise error
        return result


class Threads:
    """Run numbered tasks on a fixed number of threads; the caller is one of them.

    Parameters
    ----------
    count : int
        Number of threads.
    collective : Collective
        The processes that train together with this one, each with threads of its own.

    Examples
    --------
    >>> found = [0] * 5
    >>> with Threads(2) as threads:
    ...     threads.run(5, lambda task: found.__setitem__(task, task * task))
    >>> found
    [0, 1, 4, 9, 16]
    """

    def __init__(self, count: int, collective: Collective = ALONE) -> None:
        self.count = count
        self.collective = collective
        self._calls: SimpleQueue[_Round | _Call | None] = SimpleQueue()
        self._workers = [
            threading.Thread(target=self._serve, name=f"worthwhile-{number}", daemon=True)
            for number in range(1, count)
        ]
        for worker in self._workers:
            worker.start()

    def _serve(self) -> None:
        while (current := self._calls.get()) is not None:
            current.help()

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
            self._calls.put(current)
        errors: list[BaseException] = []
        try:
            current.take_part()
        except BaseException:
            # Helpers may still write into the caller's arrays: stop them before unwinding.
            current.give_up()
            raise
        finally:
            errors = current.close()
        if errors:
            raise errors[0]

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Yield ``function(item)`` of all items, in their order, like the built-in ``map``.

        Only a few items are under way at a time, so that results waiting for their turn stay few.
        The order of the results, and with it every sum made from them, does not depend on the threads.

        Examples
        --------
        >>> with Threads(2) as threads:
        ...     list(threads.map(abs, [-3, 2, -1]))
        [3, 2, 1]
        """
        items = list(items)
        if not self._workers or len(items) <= 1:
            yield from map(function, items)
            return
        waiting, left = deque[_Call](), iter(items)
        try:
            while True:
                for item in itertools.islice(left, 2 * self.count + 2 - len(waiting)):
                    waiting.append(_Call(function, item))
                    self._calls.put(waiting[-1])
                if not waiting:
                    return
                if not waiting[0].is_done:
                    any(call.help() for call in waiting)  # make one that nobody has begun
                # All that are done: what stays would take the place of calls for the other threads.
                yield waiting.popleft().result()
                while waiting and waiting[0].is_done:
                    yield waiting.popleft().result()
        finally:
            for call in waiting:
                call.claim()  # nobody wants it any more

    def close(self) -> None:
        """End the threads."""
        for _ in self._workers:
            self._calls.put(None)
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
        if error is not None:
            raise_interrupt(error)
