"""A real service under load, killed at random moments: no acknowledged value lost, none billed twice.

Clients in threads drive cases through ``worthwhile.client``, which repeats what got no answer with the same
idempotency key. A killer ends the service with kill -9 and starts it again. At the end every case must stand where
its client heard that it stands, with the answer and the bill of the batch.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import worthwhile
from worthwhile.client import Client

PATIENCE = 120.0
"""Seconds that a service may take to come up, and clients to end."""


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Service:
    """The command ``worthwhile serve`` as a process of its own, which can be killed and started again."""

    def __init__(self, model: Path, store: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [
            sys.executable, "-m", "worthwhile", "serve", str(model), "--port", str(self.port),
            "--store", store,
        ]  # fmt: skip
        self._log = (folder / "service.log").open("ab")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command, stdout=self._log, stderr=self._log, env={**os.environ}
        )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"{self.url}/v2/health/ready", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None:
                    break
                time.sleep(0.02)
        raise AssertionError("the service did not come up: " + Path(self._log.name).read_text())

    @property
    def pid(self) -> int:
        """Number of the process."""
        assert self._process is not None
        return self._process.pid

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it, by default at once and wherever it is."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(PATIENCE)


@dataclass
class Tally:
    """What clients heard."""

    acknowledged: int = 0
    ended: int = 0
    wrong: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def _drive(url: str, stop: threading.Event, tally: Tally, model: Any, data: Any, seed: int) -> None:
    """One client: case after case, each compared with the batch, until told to stop."""
    rng = random.Random(seed)
    try:
        with Client(url, retries=200, timeout=5.0) as client:
            while not stop.is_set():
                row = rng.randrange(len(data))
                budget = rng.choice([None, 30.0, 110.0, 200.0])
                one_by_one = rng.random() < 0.5
                case = client.open("model", budget, one_by_one=one_by_one)
                while wanted := case.ask:
                    case.tell({name: float(data[name].iloc[row]) for name in wanted})
                    with tally.lock:
                        tally.acknowledged += len(wanted)
                _compare(case, model, data.iloc[[row]], budget, tally)
    except Exception as error:
        with tally.lock:
            tally.wrong.append(f"{type(error).__name__}: {error}")


def _compare(case: Any, model: Any, X: Any, budget: float | None, tally: Tally) -> None:
    spent, answer = model.cost(X, budget=budget)[0], model.predict(X, budget=budget)[0]
    ledger = case.ledger()
    bought = [line["feature"] for line in ledger if line["kind"] == "bought"]
    expected = sorted(X.columns[model.acquired(X, budget=budget)[0]])
    problems = []
    if case.spent != spent or (ledger and float(ledger[-1]["total"]) != spent):
        problems.append(f"billed {case.spent}, ledger {ledger[-1:]}, batch {spent}")
    if case.prediction != answer:
        problems.append(f"answered {case.prediction}, batch {answer}")
    if sorted(bought) != expected:
        problems.append(f"bought {sorted(bought)}, batch {expected}")
    with tally.lock:
        tally.ended += 1
        tally.wrong += [f"{case.id}: {problem}" for problem in problems]


def killed_under_load(
    folder: Path, seed: int, store: str, kills: int = 1, clients: int = 4
) -> Tally:
    """Drive cases while the service is killed ``kills`` times; what was heard, and what was wrong."""
    from sklearn.ensemble import RandomForestClassifier

    heart = worthwhile.datasets.load_heart()
    forest = RandomForestClassifier(6, max_depth=4, random_state=0).fit(heart.data, heart.target)
    model = worthwhile.PricedModel(forest, heart.costs)
    path = folder / "model.worthwhile"
    model.save(path)
    rng, tally, stop = random.Random(seed), Tally(), threading.Event()
    service = Service(path, store, folder)
    service.start()
    threads = [
        threading.Thread(
            target=_drive, args=(service.url, stop, tally, model, heart.data, 100 * seed + n)
        )
        for n in range(clients)
    ]
    for thread in threads:
        thread.start()
    try:
        for _ in range(kills):
            time.sleep(rng.uniform(0.1, 0.8))
            service.kill()
            service.start()
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
        service.kill(signal.SIGTERM)
    if any(thread.is_alive() for thread in threads):
        tally.wrong.append("a client did not end")
    return tally
