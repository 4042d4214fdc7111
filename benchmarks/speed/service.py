"""Requests per second of the service, their latency at half of that, open loop, and its memory over many cases.

    python -m benchmarks.speed.service [--seconds 20] [--store postgresql://...] [--sessions 100000]

A process of its own serves; this one opens cases of the heart data and tells values. First a closed loop of 32 clients
finds the capacity. Then requests start at fixed times, at half of it, whether or not earlier ones were answered: a
closed loop would hide waiting. Prints requests per second, CPU of the service per request, the median, 95th and 99th
percentile of the latency, the CPU of a tell alone (all cases opened before), and that of reviving a long case. With
``--sessions`` cases are opened and told once instead, and the memory of the service is printed on the way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import worthwhile
from tests.attack.service import Service

CLIENTS = 32


class Connections:
    """Connections that are kept, and as little of HTTP as it takes: the load must not cost more than the service."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: dict[str, Any], key: str) -> Any:
        """The answer to a request, by another connection if the service has closed an idle one."""
        while True:
            try:
                return await self._post(path, body, key)
            except (asyncio.IncompleteReadError, ConnectionError):
                self._free.clear()

    async def _post(self, path: str, body: dict[str, Any], key: str) -> Any:
        reader, writer = (
            self._free.pop()
            if self._free
            else await asyncio.open_connection("127.0.0.1", self._port)
        )
        content = json.dumps(body).encode()
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n"
            f"Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = (
            int(line[15:])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        )
        answer = await reader.readexactly(length)
        self._free.append((reader, writer))
        if not head.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(answer.decode())
        return json.loads(answer)


class Load:
    """Steps of cases, one request each."""

    def __init__(self, service: Connections, data: Any) -> None:
        self._service, self._rows, self._open = service, data.to_dict("records"), []
        self._count = 0

    async def step(self) -> None:
        """Advance a case that waits, or open one."""
        self._count += 1
        key = f"{os.getpid()}-{self._count}"
        if not self._open:
            case = await self._service.post("/v1/sessions", {"model": "model"}, key)
        else:
            case, row = self._open.pop()
            values = {item["feature"]: float(row[item["feature"]]) for item in case["ask"]}
            path = f"/v1/sessions/{case['id']}/tell"
            case = await self._service.post(path, {"seq": case["seq"], "values": values}, key)
        if case["ask"]:
            self._open.append((case, self._rows[self._count % len(self._rows)]))

    async def open_many(self, count: int) -> None:
        """Open cases, so that there is nothing to do but to tell."""
        waiting, self._open = self._open, []

        async def client() -> None:
            while len(waiting) < count:
                await self.step()
                waiting.extend(self._open)
                self._open.clear()

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        self._open = waiting

    async def tell_all(self) -> int:
        """Tell the cases that are open until none is; the number of requests."""
        before = self._count

        async def client() -> None:
            while self._open:
                await self.step()

        await asyncio.gather(*(client() for _ in range(CLIENTS)))
        return self._count - before


async def closed_loop(load: Load, seconds: float) -> float:
    """Requests per second of clients that wait for their answers."""
    end, done = time.perf_counter() + seconds, 0

    async def client() -> None:
        nonlocal done
        while time.perf_counter() < end:
            await load.step()
            done += 1

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return done / seconds


async def open_loop(load: Load, rate: float, seconds: float) -> np.ndarray:
    """Latencies in ms of requests that start on time."""
    latencies: list[float] = []

    async def one(due: float) -> None:
        await load.step()
        latencies.append(1000 * (time.perf_counter() - due))

    start = time.perf_counter()
    tasks = []
    for n in range(int(rate * seconds)):
        due = start + n / rate
        if (wait := due - time.perf_counter()) > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(due)))
    await asyncio.gather(*tasks)
    return np.array(latencies)


async def many_cases(service: Service, data: Any, count: int) -> None:
    """Open cases and tell each once; print the memory of the service on the way."""
    rows, numbers, began = data.to_dict("records"), iter(range(count)), time.perf_counter()
    connections = Connections(service.port)
    print(f"at the start: {resident(service.pid):.0f} MB", flush=True)

    async def drive() -> None:
        for n in numbers:
            case = await connections.post("/v1/sessions", {"model": "model"}, f"{n}")
            values = {a["feature"]: float(rows[n % len(rows)][a["feature"]]) for a in case["ask"]}
            path = f"/v1/sessions/{case['id']}/tell"
            await connections.post(path, {"seq": 0, "values": values}, "t")
            if (n + 1) % max(count // 20, 1) == 0:
                seconds = time.perf_counter() - began
                print(
                    f"{n + 1:,} cases: {resident(service.pid):.0f} MB, {seconds:.0f} s", flush=True
                )

    await asyncio.gather(*(drive() for _ in range(CLIENTS)))


def revival(folder: Path) -> str:
    """How long a case of 300 steps, one value each, takes to be made anew from its stored calls."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 519))
    y = X[:, :60].sum(axis=1) > 0
    forest = RandomForestClassifier(100, max_depth=7, random_state=0).fit(X, y)
    worthwhile.PricedModel(forest, np.ones(519)).save(folder / "wide.worthwhile")
    policy = worthwhile.load_policy(folder / "wide.worthwhile")
    first = worthwhile.Session(policy, one_by_one=True)
    for _ in range(300):
        first.tell({name: X[0, name] for name in first.ask()})
    calls, times = first.events_since(0), []
    for _ in range(20):
        began = time.process_time()
        again = worthwhile.Session(policy, one_by_one=True)
        again.apply(calls)
        again.ask()
        times.append(1000 * (time.process_time() - began))
    return f"a case of 300 steps revived: CPU {np.median(times):.1f} ms"


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(service: Service, data: Any, seconds: float) -> None:
    """Capacity, processor time of a request and of a tell, latency at half of the capacity."""
    load = Load(Connections(service.port), data)
    await closed_loop(load, 2.0)
    before = cpu_seconds(service.pid)
    rate = await closed_loop(load, seconds)
    cpu = 1000 * (cpu_seconds(service.pid) - before) / (rate * seconds)
    print(f"closed loop, {CLIENTS} clients: {rate:,.0f} requests/s, CPU {cpu:.2f} ms each")
    half = await open_loop(load, rate / 2, seconds)
    shown = ", ".join(f"p{q} {np.percentile(half, q):.1f} ms" for q in (50, 95, 99))
    print(f"open loop at {rate / 2:,.0f}/s: {shown}")
    await load.open_many(int(rate * seconds / 4))
    before = cpu_seconds(service.pid)
    told = await load.tell_all()
    print(f"{told:,} tells: CPU {1000 * (cpu_seconds(service.pid) - before) / told:.2f} ms each")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--store", help="postgresql://...; without it, SQLite")
    parser.add_argument("--sessions", type=int, help="cases to go through, to see the memory")
    given = parser.parse_args()
    heart = worthwhile.datasets.load_heart()
    forest = RandomForestClassifier(6, max_depth=4, random_state=0).fit(heart.data, heart.target)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        worthwhile.PricedModel(forest, heart.costs).save(folder / "model.worthwhile")
        store = given.store or str(folder / "c.db")
        os.environ["WORTHWHILE_SERVE_OPEN_CASES"] = str(10**9)
        service = Service(folder / "model.worthwhile", store, folder)
        service.start()
        try:
            if given.sessions:
                asyncio.run(many_cases(service, heart.data, given.sessions))
            else:
                asyncio.run(measure(service, heart.data, given.seconds))
                print(revival(folder))
        finally:
            service.kill(signal.SIGTERM)
    return 0


if __name__ == "__main__":
    sys.exit(main())
