"""Questions to a cluster that end when its client is closed.

Dask's own calls wait for the client's event loop, however long that takes. Another thread may close the client
meanwhile: its loop stops, and what was asked is never answered.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, Lock

POLL = 0.5
"""Seconds between looks at whether somebody is still there."""


def asked(client: Client, question: Callable[..., Any], *given: Any) -> Any:
    """What a call of Dask answers on the client's event loop.

    Parameters
    ----------
    client : Client
        Whose loop it is.
    question : callable
        Called on the loop with ``given``, where Dask returns something to be awaited.

    Raises
    ------
    RuntimeError
        Where the client is closed before the answer is there.
    """

    async def answer() -> Any:
        found = question(*given)
        return await found if inspect.isawaitable(found) else found

    coroutine, loop = answer(), client.loop.asyncio_loop
    try:
        call = asyncio.run_coroutine_threadsafe(coroutine, loop)
    except RuntimeError:  # the loop is closed
        coroutine.close()
        raise
    try:
        while True:
            try:
                return call.result(POLL)
            except TimeoutError:
                if call.done():
                    raise
            if is_closed(client):
                raise RuntimeError("the client is closed.")
    finally:
        call.cancel()
        if not loop.is_running():
            coroutine.close()  # which may never have begun


def is_closed(client: Client) -> bool:
    """Whether a client is closed, or about to be."""
    return client.status in ("closing", "closed")


@contextmanager
def still_open(client: Client) -> Iterator[None]:
    """Within it, what fails for a closed client says so."""
    try:
        yield
    except Exception as error:
        if is_closed(client):
            raise RuntimeError(
                "the client was closed before the model was trained: fit again with one that stays open."
            ) from error
        raise


@contextmanager
def one_at_a_time(client: Client, name: str) -> Iterator[None]:
    """Within it, nobody else on the cluster is within the same name."""
    with client.as_current():
        lock = Lock(name)
        asked(client, lock.__aenter__)
        try:
            yield
        finally:
            asked(client, lock.__aexit__, None, None, None)
