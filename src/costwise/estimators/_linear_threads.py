"""Threads over fixed blocks of rows, with BLAS kept to one thread each."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from threadpoolctl import threadpool_limits

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]


def n_threads(n_jobs: int | None) -> int:
    """Number of threads: None and -1 mean all cores, -2 all but one."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(cores + 1 + n_jobs, 1)


@contextmanager
def workers(n_jobs: int | None) -> Iterator[Run]:
    """A ``run`` that maps in order over a thread pool, for the length of a fit.

    Only a few items are under way at a time, so that results waiting for their turn stay few. The
    order of the results, and with it every sum made from them, does not depend on the threads.
    """
    threads = n_threads(n_jobs)
    with threadpool_limits(1):
        if threads == 1:
            yield map
            return
        with ThreadPoolExecutor(threads) as pool:

            def run(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
                items = list(items)
                if len(items) == 1:
                    yield function(items[0])
                    return
                waiting: deque[Future[Any]] = deque()
                for item in items:
                    waiting.append(pool.submit(function, item))
                    if len(waiting) > threads + 1:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()

            yield run
