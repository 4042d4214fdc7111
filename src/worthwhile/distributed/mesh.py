"""Sockets between the processes that train together.

Every rank has a connection to every other. An exchange sends and receives at once, so that no rank waits
for another to listen. When a process ends, its sockets close; whoever then waits for it raises an error
and closes its own, so that all ranks end within moments. Nobody waits longer than the time-out without
hearing anything.

A packet is a number (which exchange it is), a digest of all decisions taken so far, the type and shape of
one array, and its bytes: there is no code in it, and nothing to execute. Who connects must know the secret
of the fit.
"""

from __future__ import annotations

import hmac
import selectors
import socket
import ssl
import struct
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import Collective

Array = npt.NDArray[Any]
Address = tuple[str, int]

HEAD = struct.Struct("<QIIQ")
"""Exchange number, digest, bytes of the type and shape, bytes of the data."""

CHUNK = 1 << 20
MOST_DIMENSIONS = 8


class MeshError(RuntimeError):
    """A process that trains along is gone, does not answer, or has decided differently."""


class Contexts(Protocol):
    """Encryption of the connections: a context for those made, and one for those taken."""

    client: ssl.SSLContext | None
    server: ssl.SSLContext | None


class Listener:
    """Where a rank takes connections; it is open before anybody knows its address.

    Parameters
    ----------
    host : str
        Address of this machine by which the others reach it.
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, 0), family=family, backlog=128)
        self.address: Address = (host, self._socket.getsockname()[1])

    def accept(self, deadline: float) -> socket.socket:
        """Take a connection."""
        self._socket.settimeout(max(0.01, deadline - time.monotonic()))
        return self._socket.accept()[0]

    def close(self) -> None:
        """Take no more."""
        self._socket.close()


class Mesh(Collective):
    """The connections of one rank to all others.

    Parameters
    ----------
    rank : int
        Number of this rank.
    addresses : sequence of (host, port)
        Where each rank listens.
    listener : Listener
        That of this rank.
    secret : bytes
        What all ranks of this fit know, and nobody else.
    timeout : float
        Seconds without a byte from somebody who is waited for, after which the mesh gives up.
    contexts : optional
        Encryption, where the cluster has it.

    Examples
    --------
    Two ranks, here in two threads:

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> listeners = [Listener(), Listener()]
    >>> addresses = [listener.address for listener in listeners]
    >>> def work(rank):
    ...     with Mesh(rank, addresses, listeners[rank], b"secret") as mesh:
    ...         return mesh.sum(np.array([rank, 10])).tolist()
    >>> with ThreadPoolExecutor() as pool:
    ...     list(pool.map(work, [0, 1]))
    [[1, 20], [1, 20]]
    """

    def __init__(
        self,
        rank: int,
        addresses: Sequence[Address],
        listener: Listener,
        secret: bytes,
        *,
        timeout: float = 60.0,
        contexts: Contexts | None = None,
    ) -> None:
        self.rank, self.size, self.timeout = rank, len(addresses), timeout
        self._count, self._digest = 0, 0
        self._peers: dict[int, socket.socket] = {}
        self.sent = 0
        try:
            self._connect(addresses, listener, secret, contexts)
        except BaseException:
            self.close()
            raise
        finally:
            listener.close()

    # Meeting --------------------------------------------------------------------------------------

    def _connect(
        self, addresses: Sequence[Address], listener: Listener, secret: bytes, contexts: Any
    ) -> None:
        """Connect to all ranks below, take connections of all above."""
        deadline = time.monotonic() + self.timeout
        try:
            for rank in range(self.rank):
                peer = socket.create_connection(addresses[rank], timeout=self.timeout)
                if contexts is not None and contexts.client is not None:
                    peer = contexts.client.wrap_socket(peer, server_hostname=addresses[rank][0])
                peer.sendall(struct.pack("<I", self.rank) + _proof(secret, self.rank, rank))
                self._add(rank, peer)
            while len(self._peers) < self.size - 1:
                self._take(listener, secret, contexts, deadline)
        except (OSError, ssl.SSLError) as error:
            missing = [r for r in range(self.size) if r != self.rank and r not in self._peers]
            raise MeshError(
                f"rank {self.rank} found no connection to rank {missing[0]} of {self.size} ({error}): its worker "
                "ended, or a firewall closes ports between workers."
            ) from error

    def _take(self, listener: Listener, secret: bytes, contexts: Any, deadline: float) -> None:
        peer = listener.accept(deadline)
        peer.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            if contexts is not None and contexts.server is not None:
                peer = contexts.server.wrap_socket(peer, server_side=True)
            greeting = _read_exactly(peer, 4 + 32)
        except OSError:  # somebody else: not one of ours
            peer.close()
            return
        rank = struct.unpack("<I", greeting[:4])[0]
        fits = self.rank < rank < self.size and rank not in self._peers
        if fits and hmac.compare_digest(greeting[4:], _proof(secret, rank, self.rank)):
            self._add(rank, peer)
        else:
            peer.close()

    def _add(self, rank: int, peer: socket.socket) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.setblocking(False)
        self._peers[rank] = peer

    # Exchanging -----------------------------------------------------------------------------------

    def note(self, what: bytes) -> None:
        """Note a decision: the digest travels with the next packets."""
        self._digest = zlib.crc32(what, self._digest)

    def exchange(self, arrays: Sequence[Array]) -> list[Array]:
        """Send ``arrays[r]`` to each rank r; return what each rank sent here, by rank."""
        talks = {
            rank: _Talk(rank, peer, self._packet(arrays[rank]))
            for rank, peer in self._peers.items()
        }
        try:
            self._talk(talks)
            found = [
                np.asarray(arrays[rank]) if rank == self.rank else self._array(talks[rank])
                for rank in range(self.size)
            ]
        except BaseException:
            self.close()
            raise
        self._count += 1
        return found

    def _packet(self, array: Array) -> list[memoryview]:
        array = np.ascontiguousarray(array)
        kind = f"{array.dtype.str} {','.join(map(str, array.shape))}".encode()
        head = HEAD.pack(self._count, self._digest, len(kind), array.nbytes) + kind
        self.sent += len(head) + array.nbytes
        return (
            [memoryview(head), array.reshape(-1).view(np.uint8).data]
            if array.size
            else [memoryview(head)]
        )

    def _talk(self, talks: dict[int, _Talk]) -> None:
        """Send and receive until all is done, as sockets allow."""
        with selectors.DefaultSelector() as waiting:
            for talk in talks.values():
                talk.send()
                talk.receive()  # what an encrypted socket has read already, no selector tells
                if talk.wanted:
                    waiting.register(talk.peer, talk.wanted, talk)
            heard = time.monotonic()
            while waiting.get_map():
                ready = waiting.select(1.0)
                for key, events in ready:
                    talk = key.data
                    if events & selectors.EVENT_WRITE:
                        talk.send()
                    if events & selectors.EVENT_READ:
                        talk.receive()
                    wanted = talk.wanted
                    if wanted == 0:
                        waiting.unregister(talk.peer)
                    elif wanted != key.events:
                        waiting.modify(talk.peer, wanted, talk)
                    heard = time.monotonic()
                if time.monotonic() - heard > self.timeout:
                    silent = sorted(key.data.rank for key in waiting.get_map().values())
                    raise MeshError(
                        f"rank {silent[0]} of {self.size} has not answered rank {self.rank} for {self.timeout:g} s: "
                        "its worker hangs or is overloaded. Raise timeout= where that is to be expected."
                    )

    def _array(self, talk: _Talk) -> Array:
        count, digest, _, _ = talk.head
        if count != self._count or digest != self._digest:
            raise MeshError(
                f"rank {talk.rank} has taken another decision than rank {self.rank}: workers must run the same "
                "versions of worthwhile, numpy and numba on the same kind of processor."
            )
        name, shape = bytes(talk.kind).decode().split(" ")
        lengths = tuple(int(n) for n in shape.split(",") if n)
        kind = np.dtype(name)
        if kind.hasobject or len(lengths) > MOST_DIMENSIONS:
            raise MeshError(f"rank {talk.rank} sent something that is no array of numbers.")
        if not talk.data:
            return np.empty(lengths, dtype=kind)
        return np.frombuffer(talk.data, dtype=kind).reshape(lengths)

    def close(self) -> None:
        """Close all connections: whoever waits for this rank learns it at once."""
        for peer in self._peers.values():
            peer.close()
        self._peers = {}

    def abandon(self) -> None:
        """From another thread: have the exchange that is under way, or the next one, fail on all ranks."""
        for peer in list(self._peers.values()):
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Mesh:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


class _Talk:
    """One packet out and one in, to and from one rank, a piece at a time."""

    def __init__(self, rank: int, peer: socket.socket, out: list[memoryview]) -> None:
        self.rank, self.peer, self._out = rank, peer, out
        self._in = bytearray(HEAD.size)
        self._got = 0
        self._part = 0  # 0: head, 1: type and shape, 2: data, 3: done
        self.head: tuple[int, int, int, int] = (0, 0, 0, 0)
        self.kind = b""
        self.data: bytes | bytearray = b""

    @property
    def wanted(self) -> int:
        """Events to wait for."""
        events = selectors.EVENT_WRITE if self._out else 0
        return events | (selectors.EVENT_READ if self._part < 3 else 0)

    def send(self) -> None:
        while self._out:
            try:
                done = self.peer.send(self._out[0][:CHUNK])
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return
            except OSError as error:
                raise self._gone() from error
            self._out[0] = self._out[0][done:]
            if not len(self._out[0]):
                del self._out[0]

    def receive(self) -> None:
        while self._part < 3:
            if self._got < len(self._in):
                try:
                    got = self.peer.recv_into(memoryview(self._in)[self._got :])
                except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                    return
                except OSError as error:
                    raise self._gone() from error
                if got == 0:
                    raise self._gone()
                self._got += got
            if self._got == len(self._in):
                self._next()

    def _next(self) -> None:
        """Go on to the next part of the packet."""
        if self._part == 0:
            self.head = HEAD.unpack(self._in)
            self._in = bytearray(self.head[2])
        elif self._part == 1:
            self.kind = bytes(self._in)
            self._in = bytearray(self.head[3])
        else:
            self.data = self._in
        self._got = 0
        self._part += 1

    def _gone(self) -> MeshError:
        return MeshError(
            f"rank {self.rank} has closed its connection: its worker ended or failed, see its log."
        )


def _proof(secret: bytes, who: int, to: int) -> bytes:
    """What a rank says to show that it knows the secret."""
    return hmac.digest(secret, struct.pack("<II", who, to), "sha256")


def _read_exactly(peer: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        if not (got := peer.recv(count - len(found))):
            raise ConnectionError("closed")
        found += got
    return found
