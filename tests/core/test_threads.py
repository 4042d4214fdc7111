"""One home for threads: what `n_jobs` means, how many cores there are, and the pool."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from worthwhile.core import threads as module
from worthwhile.core.threads import Threads, count_cores, count_threads


def test_n_jobs_counts_cores(monkeypatch):
    monkeypatch.setattr(module, "count_cores", lambda: 6)
    assert count_threads(3) == 3
    assert count_threads(np.int64(9)) == 9
    assert count_threads(None) == count_threads(-1) == 6
    assert count_threads(-2) == 5
    assert count_threads(-1000) == 1


@pytest.mark.parametrize("wrong", [True, False, 2.0, "2", np.array([1, 2])])
def test_n_jobs_is_a_whole_number(wrong):
    with pytest.raises(TypeError, match=r"n_jobs is .*: use a whole number of threads, -1 or None"):
        count_threads(wrong)


def test_n_jobs_of_zero_is_refused_with_what_to_do():
    with pytest.raises(ValueError, match="n_jobs is 0: use a whole number of threads, -1 or None"):
        count_threads(0)


V2, V1 = "0::{}\n", "5:memory:/other\n4:cpu,cpuacct:{}\n1:name=systemd:/here\n"
QUOTAS = {
    "no control groups": (None, {}, 16),
    "version 2 without a limit": (V2.format("/"), {"cpu.max": "max 100000\n"}, 16),
    "version 2 in a container": (V2.format("/"), {"cpu.max": "300000 100000\n"}, 3),
    "rounded up": (V2.format("/"), {"cpu.max": "150000 100000\n"}, 2),
    "at least one": (V2.format("/"), {"cpu.max": "20000 100000\n"}, 1),
    "not more than there are": (V2.format("/"), {"cpu.max": "9900000 100000\n"}, 16),
    "a group of its own": (V2.format("/a/b"), {"a/b/cpu.max": "400000 100000"}, 4),
    "bound by the group above": (
        V2.format("/a/b"), {"a/b/cpu.max": "400000 100000", "a/cpu.max": "200000 100000"}, 2
    ),
    "another group's limit": (V2.format("/a"), {"b/cpu.max": "200000 100000"}, 16),
    "seen from outside the container": (V2.format("/a/b"), {"cpu.max": "200000 100000"}, 2),
    "both versions": (V2.format("/") + V1.format("/"), {"unified/cpu.max": "200000 100000"}, 2),
    "version 1": (
        V1.format("/a"),
        {"cpu,cpuacct/a/cpu.cfs_quota_us": "500000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
        5,
    ),
    "version 1 in a container": (
        V1.format("/docker/123"), {"cpu/cpu.cfs_quota_us": "250000", "cpu/cpu.cfs_period_us": "100000"}, 3
    ),
    "version 1 without a limit": (
        V1.format("/"), {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 16
    ),
    "nonsense": (V2.format("/"), {"cpu.max": "what\n"}, 16),
    "a period of nothing": (V2.format("/"), {"cpu.max": "100 0\n"}, 16),
}  # fmt: skip


@pytest.mark.parametrize("case", QUOTAS)
def test_cores_are_those_of_the_container(case, tmp_path, monkeypatch):
    groups, files, expected = QUOTAS[case]
    monkeypatch.setattr(module.os, "cpu_count", lambda: 64)
    monkeypatch.setattr(
        module.os, "sched_getaffinity", lambda process: set(range(99 if process else 16)), raising=False
    )  # fmt: skip
    if groups is not None:
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(groups)
    for name, text in files.items():
        path = tmp_path / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert count_cores(tmp_path) == expected


def test_cores_where_processes_are_not_bound_to_any(tmp_path, monkeypatch):
    monkeypatch.delattr(module.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(module.os, "cpu_count", lambda: 12)
    assert count_cores(tmp_path) == 12
    monkeypatch.setattr(module.os, "cpu_count", lambda: None)
    assert count_cores(tmp_path) == 1


def test_every_task_is_done_once_and_errors_come_back():
    done = []
    with Threads(3) as threads:
        threads.run(100, done.append)
        assert sorted(done) == list(range(100))
        with pytest.raises(ZeroDivisionError):
            threads.run(4, lambda task: 1 // (task - 2))
        threads.run(0, done.append)
    assert threading.active_count() < 50


def test_an_error_of_the_caller_stops_the_helpers_first():
    started = []
    main = threading.current_thread()

    def work(task):
        started.append(task)
        if threading.current_thread() is main:
            raise KeyboardInterrupt
        time.sleep(0.05)

    with Threads(2) as threads:
        with pytest.raises(KeyboardInterrupt):
            threads.run(1000, work)
        count = len(started)
        time.sleep(0.1)
        assert len(started) == count < 1000


class Busy:
    """A pool whose only thread beside the caller is held up elsewhere."""

    def __init__(self, threads):
        self._end, both = threading.Event(), threading.Barrier(3)

        def hold(task):
            both.wait()
            self._end.wait()

        self._other = threading.Thread(target=lambda: threads.run(2, hold), daemon=True)
        self._other.start()
        both.wait()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._end.set()
        self._other.join()


def in_time(function):
    """What a function returns, which may hang if something is broken."""
    found = []
    runner = threading.Thread(target=lambda: found.append(function()), daemon=True)
    runner.start()
    runner.join(60)
    assert found, "it hangs"
    return found[0]


def test_nobody_waits_for_a_thread_that_does_not_come():
    threads, done = Threads(2), []
    with Busy(threads):
        in_time(lambda: threads.run(5, done.append))
        assert sorted(done) == [0, 1, 2, 3, 4]
        assert in_time(lambda: list(threads.map(abs, range(-9, 0)))) == list(range(9, 0, -1))
    threads.run(5, done.append)  # what came too late does not disturb what comes next
    threads.close()
    assert sorted(done) == sorted([0, 1, 2, 3, 4] * 2)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_map_keeps_the_order_of_its_items(count):
    def slow_first(item):
        time.sleep(0.02 if item % 5 == 0 else 0.0)
        return item * item

    with Threads(count) as threads:
        assert list(threads.map(slow_first, range(23))) == [item * item for item in range(23)]
        assert list(threads.map(abs, iter([-1]))) == [1]
        assert list(threads.map(abs, [])) == []


def test_a_map_uses_the_threads_and_keeps_few_results_waiting():
    begun, names = [], set()
    meeting = threading.Barrier(3, timeout=60)

    def work(item):
        begun.append(item)
        names.add(threading.current_thread().name)
        if item < 3:
            meeting.wait()  # three at a time, or never
        return item

    with Threads(3) as threads:
        results = threads.map(work, range(1000))
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        time.sleep(0.1)
        assert len(begun) < 20
        results.close()  # what is left is not begun
        count = len(begun)
    assert len(names) == 3
    assert len(begun) <= count + 3


def test_a_map_shares_its_items_to_the_end():
    """Results that wait for their turn must not keep the other thread from getting more to do."""
    meeting = threading.Barrier(2, timeout=20)

    def work(item):
        meeting.wait()  # two at a time, or never
        return item

    with Threads(2) as threads:
        assert list(threads.map(work, range(60))) == list(range(60))


def test_an_error_in_a_map_comes_in_its_turn():
    with Threads(2) as threads:
        results = threads.map(lambda item: 1 // (item - 2), range(100))
        assert [next(results), next(results)] == [-1, -1]
        with pytest.raises(ZeroDivisionError):
            next(results)
        threads.run(2, lambda task: None)


def test_a_map_within_a_map_ends():
    with Threads(2) as threads:
        found = in_time(
            lambda: list(
                threads.map(lambda i: sum(threads.map(lambda j: i * j, range(10))), range(20))
            )
        )
    assert found == [45 * i for i in range(20)]
