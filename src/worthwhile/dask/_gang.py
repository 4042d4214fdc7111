"""One task per worker, all training one model: started together, watched, and started again.

What can go wrong, and what is done: a worker that ends closes its sockets, the others notice and fail, and
the driver starts again with the workers that are left, from the last complete round. A worker that hangs
is noticed by the time-out. Two fits at once would wait for each other's workers, so one goes after the
other.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

from distributed import CancelledError, Client, Future, get_worker, wait
from worthwhile.dask._asking import POLL, asked, one_at_a_time
from worthwhile.distributed import Listener, Mesh, MeshError
from worthwhile.estimators.boosting import RoundRecord

LOCK = "worthwhile-fit"

_LISTENERS: dict[str, Listener] = {}
"""On a worker: where it takes connections, by fit, attempt and rank."""

_MESHES: dict[str, Mesh] = {}
"""On a worker: its connections to others, likewise."""


def workers_of(client: Client) -> dict[str, Any]:
    """What the scheduler knows of its workers, by address.

    ``Client.scheduler_info`` returns what was asked for last, which may have been without workers, by the client's own
    timer: on a busy machine, workers then seem to be gone for a moment.
    """
    found: dict[str, Any] = asked(client, client.scheduler.identity)["workers"]
    return found


def wait_for_a_worker(client: Client, timeout: float) -> None:
    """Refuse a cluster without workers, after waiting for one: clusters that grow do so when there is work."""
    if workers_of(client):
        return
    work = client.submit(bool, pure=False)
    with client.as_current(), suppress(TimeoutError):
        asked(client, partial(wait, [work], timeout=timeout))
    if work.status != "finished":
        raise RuntimeError(
            f"the cluster has no workers, and none came within {timeout:g} s: start some, or raise timeout= where they "
            "take longer."
        )


class Lost(RuntimeError):
    """An attempt that failed for what a worker or its connection did, not for what the data are."""


class Job(Protocol):
    """What is to be trained."""

    work: Callable[..., Any]
    """On a worker: from its share, the mesh, threads, records of rounds, and whom to tell of further ones, to the
    fitted model."""

    def shares(self, n_workers: int) -> list[Any]:
        """What each rank is given; as many ranks as are of use, one at least."""
        ...

    def rows_are_there(self) -> None:
        """Told once all ranks have brought what they need, where they bring it themselves."""
        ...


class Gang:
    """Trains one model on a cluster.

    Parameters
    ----------
    client : Client
        The cluster.
    job : Job
        What is trained; shares follow the workers that are there.
    timeout : float
        Seconds without a word from a worker.
    restarts : int
        How often to start again after a worker was lost.
    """

    def __init__(self, client: Client, job: Job, timeout: float, restarts: int) -> None:
        self._client, self._job = client, job
        self._timeout, self._restarts = timeout, restarts
        self._records: list[RoundRecord] = []
        self._silent: set[str] = set()
        self._topic = f"worthwhile-{secrets.token_hex(8)}"
        self._name = ""  # of the attempt that is under way

    def fit(self) -> Any:
        """Train until it is done, or until workers were lost too often."""
        self._client.subscribe_topic(self._topic, self._note)
        try:
            with one_at_a_time(self._client, LOCK):
                return self._fit()
        finally:
            self._client.unsubscribe_topic(self._topic)

    def _fit(self) -> Any:
        for attempt in range(self._restarts + 1):
            try:
                return self._attempt(attempt)
            except (Lost, MeshError) as error:
                lost: Exception = error
        raise RuntimeError(
            f"training stopped after {self._restarts + 1} attempts, with {len(self._records)} rounds complete. Of the "
            f"last one: {lost} Raise timeout= for slow workers, or restarts= where workers come and go; one that ended "
            "by itself may have run short of memory, which its log says."
        ) from lost

    def _note(self, event: tuple[float, Any]) -> None:
        """Keep what the first rank tells of a round."""
        attempt, record = pickle.loads(event[1])
        if record is None:
            if attempt == self._name:
                self._job.rows_are_there()
        elif record.row["round"] == len(self._records) + 1:
            self._records.append(record)

    def _workers(self) -> dict[str, int]:
        """Addresses of the workers and their threads, in a fixed order."""
        try:
            known = workers_of(self._client)
        except OSError as error:
            raise Lost(f"the scheduler does not answer ({error}).") from error
        return {address: known[address]["nthreads"] for address in sorted(known)}

    def _attempt(self, number: int) -> Any:
        if not self._workers():  # the only one may be started again
            wait_for_a_worker(self._client, self._timeout)
        there = {w: n for w, n in self._workers().items() if w not in self._silent}
        if not there:
            raise Lost("no worker answers.")
        name, secret = f"{self._topic}-{number}", secrets.token_bytes(32)
        self._name = name
        shares = self._job.shares(len(there))
        workers = dict(list(there.items())[: len(shares)])
        addresses = self._open(name, list(workers))
        records = pickle.dumps(self._records)
        tasks = [
            self._client.submit(
                _run_rank, name, rank, addresses, secret, self._job.work, shares[rank], threads,
                self._timeout, records, self._topic, workers=[worker], allow_other_workers=False,
                pure=False, retries=0, key=f"{name}-rank-{rank}",
            )
            for rank, (worker, threads) in enumerate(workers.items())
        ]  # fmt: skip
        try:
            return self._watch(tasks, list(workers))
        finally:
            self._cancel(tasks)

    def _open(self, name: str, workers: Sequence[str]) -> list[tuple[str, int]]:
        """Have every worker listen; those that do not answer are left out next time."""
        opening = [
            self._client.submit(
                _listen, f"{name}-{rank}", workers=[worker], allow_other_workers=False, pure=False
            )
            for rank, worker in enumerate(workers)
        ]
        deadline = time.monotonic() + self._timeout
        while (
            left := [f for f in opening if f.status == "pending"]
        ) and time.monotonic() < deadline:
            self._wait(left)
            if set(workers) - set(self._workers()):
                break
        found: list[Any] = [
            asked(self._client, future.result) if future.status == "finished" else None
            for future in opening
        ]
        missing = {w for w, address in zip(workers, found, strict=True) if address is None}
        if missing:
            self._silent |= missing & set(self._workers())
            self._cancel(opening)
            raise Lost(f"worker {sorted(missing)[0]} does not answer.")
        return found

    def _watch(self, tasks: list[Future], workers: Sequence[str]) -> Any:
        """Wait for the first rank; stop at the first error, or when a worker is gone."""
        while True:
            self._wait(tasks, return_when="FIRST_COMPLETED")
            failed = [task for task in tasks if task.status in ("error", "cancelled", "lost")]
            if failed:
                raise self._cause(failed)
            if tasks[0].status == "finished":
                return asked(self._client, tasks[0].result)
            gone = sorted(set(workers) - set(self._workers()))
            if gone:
                raise Lost(f"worker {gone[0]} has left the cluster.")
            if all(task.status == "finished" for task in tasks[1:]) and len(tasks) > 1:
                self._wait(tasks[:1], timeout=self._timeout)
                if tasks[0].status == "pending":
                    raise Lost(f"worker {workers[0]} does not end, though the others have.")

    def _wait(self, tasks: list[Future], timeout: float = POLL, **until: str) -> None:
        """Wait for tasks, for a while."""
        with suppress(TimeoutError):
            asked(self._client, partial(wait, tasks, timeout=timeout, **until))

    def _cancel(self, tasks: list[Future]) -> None:
        asked(self._client, partial(self._client.cancel, tasks, force=True))

    def _cause(self, failed: list[Future]) -> BaseException:
        """The error to report: what the data or the user did before what connections did."""
        errors: list[BaseException] = []
        for task in failed:
            try:
                error = asked(self._client, partial(task.exception, timeout=self._timeout))
            except (CancelledError, TimeoutError):
                error = None
            errors.append(error or Lost("a worker was lost."))
        kind = ("KilledWorker", "FutureCancelledError", "CommClosedError")
        for error in errors:
            if not isinstance(error, (MeshError, Lost)) and type(error).__name__ not in kind:
                return error
        first = errors[0]
        return first if isinstance(first, (MeshError, Lost)) else Lost(f"{first}.")


# On the workers -----------------------------------------------------------------------------------


def _listen(name: str) -> tuple[str, int]:
    """Take connections; somebody else fetches the listener by its name."""
    host = urlsplit(get_worker().address).hostname or "127.0.0.1"
    for left in [key for key in _LISTENERS if key.rsplit("-", 2)[0] != name.rsplit("-", 2)[0]]:
        _LISTENERS.pop(left).close()  # of a fit that failed: fits go one after the other
    for key, mesh in list(_MESHES.items()):
        if key.rsplit("-", 1)[0] != name.rsplit("-", 1)[0]:
            mesh.abandon()  # of an attempt that was given up, and has not noticed
    _LISTENERS[name] = Listener(host)
    return _LISTENERS[name].address


def _run_rank(
    name: str, rank: int, addresses: Sequence[tuple[str, int]], secret: bytes, work: Callable[..., Any],
    share: Any, threads: int, timeout: float, records: bytes, topic: str,
) -> Any:  # fmt: skip
    """What one worker does."""
    worker = get_worker()

    key = worker.get_current_task()

    def tell(record: RoundRecord | None) -> None:
        state = worker.state.tasks.get(key)
        if state is None or state.state == "cancelled":
            raise MeshError("nobody waits for this model any more: its client is gone.")
        worker.log_event(topic, pickle.dumps((name, record)))

    with Mesh(
        rank, addresses, _LISTENERS.pop(f"{name}-{rank}"), secret, timeout=timeout, contexts=_contexts(worker),
    ) as mesh:  # fmt: skip
        _MESHES[f"{name}-{rank}"] = mesh
        try:
            fitted = work(share, mesh, threads, pickle.loads(records), tell if rank == 0 else None)
        finally:
            del _MESHES[f"{name}-{rank}"]
    return fitted if rank == 0 else None


class _Contexts:
    """Encryption as the cluster has it."""

    def __init__(self, security: Any) -> None:
        self.client = security.get_connection_args("worker").get("ssl_context")
        self.server = security.get_listen_args("worker").get("ssl_context")
        if self.client is not None:
            self.client.check_hostname = False  # as Dask itself: both sides show their certificates


def _contexts(worker: Any) -> _Contexts | None:
    return _Contexts(worker.security) if worker.address.startswith("tls://") else None
