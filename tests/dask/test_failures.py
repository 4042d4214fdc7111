"""Workers that die, hang or are wanted by others: the same model or a clear error, never a hang."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from tests.distributed.ranks import content, local, table
from tests.distributed.test_equality import N, regressor

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from worthwhile.dask import DaskGreedyMiserRegressor, _base, _gang  # noqa: E402
from worthwhile.dask._gang import Gang, Lost, workers_of  # noqa: E402
from worthwhile.distributed import MeshError  # noqa: E402

MOST = 240.0
"""Seconds after which a test has hung."""


@pytest.fixture(scope="module", autouse=True)
def patience():
    """A LocalCluster lets go of workers that take 15 s to start again; on a busy machine all of them do."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": f"{MOST}s"}):
        yield


@pytest.fixture(scope="module")
def client():
    how = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        fit(client, regressor(n_rounds=1))  # kernels are compiled
        yield client


def fit(client, model, **how):
    X, y, _ = table(0, N)
    settings = {"timeout": 60.0, **how}
    fitted = DaskGreedyMiserRegressor(client=client, **settings, **model.get_params())
    return fitted.fit(da.from_array(X, chunks=(9_000, 6)), y)


def expected(model, folder):
    X, y, _ = table(0, N)
    return content(local(model, X, y), folder)


def pids(client):
    """Processes of the workers; one that was just killed may still be on the list, and is asked again."""
    while True:
        client.wait_for_workers(3, timeout=MOST)
        with contextlib.suppress(OSError):
            return sorted(client.run(os.getpid).values())
        time.sleep(0.2)


@pytest.fixture
def at_round(monkeypatch):
    """Do something once a round is complete; how many rounds were told of is counted."""
    told = []

    def arrange(number, act):
        keep = Gang._note

        def note(self, event):
            keep(self, event)
            told.append(len(self._records))
            if len(self._records) == number and told.count(number) == 1:
                threading.Thread(target=act, daemon=True).start()

        monkeypatch.setattr(Gang, "_note", note)
        return told

    return arrange


def within(seconds, work):
    """What ``work`` gives; fails where it takes longer."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result(timeout=seconds)


@pytest.mark.parametrize(("moment", "room"), [(1, 0.3), (9, 0.3), (5, 1e-9)])
def test_a_worker_that_is_killed_changes_nothing(
    client, at_round, moment, room, tmp_path, monkeypatch
):
    """Neither where rows are in memory nor where they are in files, and its partitions are made again."""
    monkeypatch.setattr(_base, "ROOM", room)
    model = regressor(n_rounds=20)
    victim = pids(client)[moment % 3]
    told = at_round(moment, lambda: os.kill(victim, signal.SIGKILL))
    fitted = within(MOST, lambda: fit(client, model))
    assert content(fitted, tmp_path) == expected(model, tmp_path)
    assert told[-1] == 20
    client.wait_for_workers(3, timeout=MOST)
    assert victim not in pids(client)


def test_rounds_that_were_complete_are_not_run_again(client, at_round, monkeypatch):
    sent = []
    attempt = Gang._attempt

    def note(self, number):
        sent.append(len(self._records))
        return attempt(self, number)

    monkeypatch.setattr(Gang, "_attempt", note)
    victim = pids(client)[0]
    at_round(10, lambda: os.kill(victim, signal.SIGKILL))
    within(MOST, lambda: fit(client, regressor(n_rounds=30)))
    assert sent[0] == 0
    assert len(sent) >= 2
    assert sent[-1] >= 10
    client.wait_for_workers(3, timeout=MOST)


def test_a_worker_that_hangs_is_named_or_done_without(client, at_round, tmp_path):
    model = regressor(n_rounds=20)
    victim = pids(client)[1]
    at_round(3, lambda: os.kill(victim, signal.SIGSTOP))
    start = time.monotonic()
    try:
        fitted = within(MOST, lambda: fit(client, model, timeout=3.0, restarts=1))
    except RuntimeError as error:
        text = str(error)
        assert "training stopped after 2 attempts" in text
        assert "does not answer" in text or "has not answered" in text or "no connection" in text
    else:
        assert content(fitted, tmp_path) == expected(model, tmp_path)
    finally:
        os.kill(victim, signal.SIGCONT)
    assert time.monotonic() - start < MOST
    client.wait_for_workers(3, timeout=MOST)


def test_fits_at_the_same_time_go_one_after_the_other(client, tmp_path):
    models = [regressor(n_rounds=n) for n in (5, 6, 7)]
    with ThreadPoolExecutor(3) as pool:
        calls = [pool.submit(fit, client, model) for model in models]
        fitted = [call.result(timeout=MOST) for call in calls]
    for model, found in zip(models, fitted, strict=True):
        assert content(found, tmp_path) == expected(model, tmp_path)


def test_a_client_that_has_asked_for_no_workers_does_not_take_them_for_gone(
    client, tmp_path, monkeypatch
):
    """Its own timer asks the scheduler for everything but the workers."""
    attempts = []
    attempt = Gang._attempt

    def note(self, number):
        attempts.append(number)
        return attempt(self, number)

    async def without_workers(self, n_workers=0):
        self._scheduler_identity = {"workers": {}}

    monkeypatch.setattr(Gang, "_attempt", note)
    monkeypatch.setattr(distributed.Client, "_update_scheduler_info", without_workers)
    model = regressor(n_rounds=3)
    fitted = within(MOST, lambda: fit(client, model))
    assert content(fitted, tmp_path) == expected(model, tmp_path)
    assert attempts == [0]


def test_what_an_attempt_left_running_ends_when_the_next_one_begins(client, tmp_path, monkeypatch):
    """The first one is given up for nothing, while its workers go on, with rows in files."""
    monkeypatch.setattr(_base, "ROOM", 1e-9)
    watch, errors = Gang._watch, []

    def impatient(self, tasks, workers):
        if not errors:
            while not self._records:
                time.sleep(0.01)
            errors.append(tasks)
            raise Lost("nothing was lost.")
        return watch(self, tasks, workers)

    monkeypatch.setattr(Gang, "_watch", impatient)
    monkeypatch.setattr(client, "cancel", lambda *tasks, **how: None)
    model = regressor(n_rounds=1_000, validation_fraction=None)
    assert within(MOST, lambda: fit(client, model)).n_rounds_ == 1_000
    for task in errors[0]:
        assert isinstance(task.exception(timeout=10), MeshError)


def test_the_only_worker_is_waited_for_until_it_is_started_again(at_round, tmp_path):
    how = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**how) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        model = regressor(n_rounds=20)
        victim = client.submit(os.getpid, pure=False).result(timeout=MOST)
        at_round(3, lambda: os.kill(victim, signal.SIGKILL))
        fitted = within(MOST, lambda: fit(client, model, restarts=1))
        assert content(fitted, tmp_path) == expected(model, tmp_path)
        assert client.submit(os.getpid, pure=False).result(timeout=MOST) != victim


def test_a_scheduler_that_does_not_answer_ends_an_attempt_not_the_fit(monkeypatch):
    def busy(client):
        raise OSError("timed out")

    monkeypatch.setattr(_gang, "workers_of", busy)
    with pytest.raises(Lost, match=r"scheduler does not answer \(timed out\)"):
        Gang(SimpleNamespace(), None, 1.0, 0)._attempt(0)


@pytest.mark.slow
def test_twenty_kills_at_random_moments(client, tmp_path):
    rng, model = np.random.default_rng(0), regressor(n_rounds=40)
    wanted = expected(model, tmp_path)
    for _ in range(20):
        client.wait_for_workers(3, timeout=MOST)
        victim = pids(client)[rng.integers(3)]
        killer = threading.Timer(rng.uniform(0, 2), os.kill, (victim, signal.SIGKILL))
        killer.start()
        fitted = within(MOST, lambda: fit(client, model, restarts=5))
        killer.join()
        assert content(fitted, tmp_path) == wanted


def test_a_worker_that_is_gone_for_good_is_done_without(client, at_round, tmp_path):
    """The last test here: the cluster is smaller afterwards."""
    client.wait_for_workers(3, timeout=MOST)
    model = regressor(n_rounds=20)
    nanny = next(iter(client.cluster.workers.values()))
    victim = nanny.pid
    nanny.close_gracefully()  # so the process is not started again
    at_round(5, lambda: os.kill(victim, signal.SIGKILL))
    fitted = within(MOST, lambda: fit(client, model))
    assert content(fitted, tmp_path) == expected(model, tmp_path)
    assert len(workers_of(client)) == 2
