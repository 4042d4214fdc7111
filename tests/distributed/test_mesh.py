from __future__ import annotations

import socket
import threading
import time

import numpy as np
import pytest

from tests.distributed.ranks import run_ranks
from worthwhile.distributed import Listener, Mesh, MeshError


def test_arrays_of_any_type_and_shape_arrive():
    sent = [
        np.arange(6, dtype=np.int64).reshape(2, 3), np.empty((0, 4)), np.array(["a", "bc"]),
        np.array([True, False]), np.arange(9)[::3],
    ]  # fmt: skip
    for array in sent:
        for got in run_ranks(3, lambda mesh, array=array: mesh.gather(array)):
            assert all(part.dtype == array.dtype and part.shape == array.shape for part in got)
            assert all((part == array).all() for part in got)


def test_every_rank_gets_what_was_meant_for_it():
    found = run_ranks(
        4, lambda mesh: mesh.exchange([np.array([10 * mesh.rank + r]) for r in range(4)])
    )
    for rank, got in enumerate(found):
        assert [int(part[0]) for part in got] == [10 * r + rank for r in range(4)]


def test_packets_larger_than_any_buffer_cross():
    big = np.arange(3_000_000)
    sums = run_ranks(2, lambda mesh: mesh.sum(big + mesh.rank))
    assert all((total == 2 * big + 1).all() for total in sums)


def test_whoever_leaves_ends_all_ranks_at_once():
    def work(mesh):
        mesh.sum(np.arange(3))
        if mesh.rank == 1:
            raise ZeroDivisionError
        with pytest.raises(MeshError, match="closed its connection: its worker ended or failed"):
            mesh.sum(np.arange(3))
        return True

    start = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        run_ranks(4, work)
    assert time.monotonic() - start < 15  # the time-out is longer


def test_a_mesh_that_is_abandoned_ends_all_ranks_at_once():
    """By another thread, while its own waits."""

    def work(mesh):
        if mesh.rank == 1:
            time.sleep(0.3)
            mesh.abandon()
        with pytest.raises(MeshError, match="closed its connection"):
            mesh.sum(np.arange(3))
        return True

    start = time.monotonic()
    assert run_ranks(3, work) == [True] * 3
    assert time.monotonic() - start < 15  # the time-out is longer


def test_silence_ends_with_the_time_out():
    quiet = threading.Event()

    def work(mesh):
        if mesh.rank == 1:
            quiet.wait(10)
            return None
        with pytest.raises(MeshError, match=r"rank 1 of 2 has not answered rank 0 for 0\.5 s"):
            mesh.sum(np.arange(3))
        quiet.set()
        return None

    run_ranks(2, work, timeout=0.5)


def test_another_decision_is_noticed():
    def work(mesh):
        mesh.note(b"alike")
        mesh.sum(np.arange(3))
        mesh.note(b"left" if mesh.rank else b"right")
        with pytest.raises(MeshError, match=r"has taken another decision|closed its connection"):
            mesh.sum(np.arange(3))
        return True

    assert run_ranks(2, work) == [True, True]


def test_strangers_are_not_let_in():
    """Neither somebody without the secret nor somebody who says nothing keeps the ranks from meeting."""
    listeners = [Listener(), Listener()]
    addresses = [listener.address for listener in listeners]
    strangers = [socket.create_connection(addresses[0]) for _ in range(2)]
    strangers[0].sendall(b"\x01\x00\x00\x00" + b"x" * 32)
    strangers[1].close()
    found = []

    def rank_of(rank):
        with Mesh(rank, addresses, listeners[rank], b"secret", timeout=10) as mesh:
            found.append(int(mesh.sum(np.array([rank + 1]))[0]))

    ranks = [threading.Thread(target=rank_of, args=(rank,)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(20)
    strangers[0].close()
    assert found == [3, 3]


def test_a_rank_that_never_comes_is_named():
    listeners = [Listener(), Listener()]
    addresses = [listener.address for listener in listeners]
    listeners[0].close()
    with pytest.raises(MeshError, match="rank 1 found no connection to rank 0 of 2"):
        Mesh(1, addresses, listeners[1], b"secret", timeout=1)
    late = Listener()
    with pytest.raises(MeshError, match="rank 0 found no connection to rank 1 of 2"):
        Mesh(0, [late.address, ("127.0.0.1", 9)], late, b"secret", timeout=0.5)
