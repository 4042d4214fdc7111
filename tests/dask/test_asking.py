"""Fits whose client is closed: an error soon, whatever they wait for."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from worthwhile.dask import DaskGreedyMiserRegressor  # noqa: E402
from worthwhile.dask._asking import asked, one_at_a_time, still_open  # noqa: E402
from worthwhile.dask._gang import LOCK  # noqa: E402

MOST = 30.0
"""Seconds after which a test has hung."""

CLOSED = "the client was closed before the model was trained"


@pytest.fixture(scope="module")
def cluster():
    how = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    # A lock of a client that is gone is given back after this long.
    locks = {
        f"distributed.scheduler.locks.lease-{name}": "2s"
        for name in ("timeout", "validation-interval")
    }
    with dask.config.set(locks), distributed.LocalCluster(**how) as cluster:
        yield cluster


@pytest.fixture(params=["own loop", "the cluster's loop"])
def leaving(cluster, request):
    where = cluster.scheduler_address if request.param == "own loop" else cluster
    with distributed.Client(where, set_as_default=False) as client:
        yield client


def error_after_closing(client, work):
    """What ``work`` raises once it has begun and the client is closed."""
    begun, errors = threading.Event(), []

    def run():
        try:
            work(begun)
        except RuntimeError as error:
            errors.append(str(error))

    running = threading.Thread(
        target=run, daemon=True
    )  # where it hangs, the test ends all the same
    running.start()
    assert begun.wait(MOST)
    client.close()
    running.join(MOST)
    assert errors
    return errors[0]


def test_a_question_that_nobody_answers_ends(leaving):
    def wait_forever(begun):
        async def ask():
            begun.set()
            await asyncio.sleep(3600)

        with still_open(leaving):
            return asked(leaving, ask)

    assert CLOSED in error_after_closing(leaving, wait_forever)


def test_an_error_of_the_question_is_the_answer(leaving):
    def refuse():
        raise TimeoutError("of its own")

    with pytest.raises(TimeoutError, match="of its own"):
        asked(leaving, refuse)
    assert asked(leaving, lambda: 7) == 7


READING, READ = threading.Event(), threading.Event()


def read_slowly(block):
    READING.set()
    READ.wait(MOST)
    return block


def test_a_fit_that_reads_its_rows_ends(leaving):
    READING.clear()
    READ.clear()
    rows = da.zeros((100, 2), chunks=50).map_blocks(read_slowly, dtype=float, meta=np.empty((0, 0)))

    def fit(begun):
        threading.Thread(target=lambda: READING.wait(MOST) and begun.set(), daemon=True).start()
        return DaskGreedyMiserRegressor(client=leaving, n_rounds=1).fit(rows, np.zeros(100))

    try:
        assert CLOSED in error_after_closing(leaving, fit)
    finally:
        READ.set()


def test_a_fit_that_waits_for_its_turn_ends(cluster, leaving):
    taken, ended = threading.Event(), threading.Event()

    def hold():
        with (
            distributed.Client(cluster, set_as_default=False) as other,
            one_at_a_time(other, LOCK),
        ):
            taken.set()
            ended.wait(MOST)

    def fit(begun):
        assert taken.wait(MOST)
        threading.Timer(2.0, begun.set).start()
        return DaskGreedyMiserRegressor(client=leaving, n_rounds=1).fit(
            da.zeros((100, 2), chunks=50), np.zeros(100)
        )

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        try:
            assert CLOSED in error_after_closing(leaving, fit)
        finally:
            ended.set()
        holding.result(timeout=MOST)


def test_a_client_that_is_closed_already(leaving):
    leaving.close()
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=CLOSED):
        DaskGreedyMiserRegressor(client=leaving).fit(da.zeros((100, 2)), np.zeros(100))
    assert time.monotonic() - start < MOST
