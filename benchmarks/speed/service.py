"""Requests per second of the service, their latency at half of that, open loop, and its memory over many cases.

    python -m benchmarks.speed.service [--seconds 20] [--store postgresql://...] [--sessions 100000]

A process of its own serves; this one opens cases of the heart data and tells values. First a closed loop of 32 clients
finds the capacity. Then requests start at fixed times, at half of it, whether or not earlier ones were answered: a
closed loop would hide waiting. Prints requests per second, CPU of the service per request, and the median, 95th and
99th percentile of the latency. With ``--sessions`` cases are opened, told once and stopped instead, and the memory of
the service is printed on the way.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from sklearn.ensemble import RandomForestClassifier

import worthwhile
from tests.attack.service import Service

CLIENTS = 32


class Load:
    """Steps of cases, one request each."""

    def __init__(self, client: httpx.AsyncClient, data: Any) -> None:
        self._client, self._rows, self._open = client, data.to_dict("records"), []
        self._count = 0

    async def step(self) -> None:
        """Advance a case that waits, or open one."""
        self._count += 1
        key = {"Idempotency-Key": f"{os.getpid()}-{self._count}"}
        if not self._open:
            response = await self._client.post("/v1/sessions", json={"model": "model"}, headers=key)
        else:
            case, row = self._open.pop()
            values = {item["feature"]: float(row[item["feature"]]) for item in case["ask"]}
            response = await self._client.post(
                f"/v1/sessions/{case['id']}/tell",
                json={"seq": case["seq"], "values": values},
                headers=key,
            )
        response.raise_for_status()
        case = response.json()
        if case["ask"]:
            self._open.append((case, self._rows[self._count % len(self._rows)]))


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
    """Open cases, tell each once and stop it; print the service's memory at every tenth."""
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    rows, numbers, began = data.to_dict("records"), iter(range(count)), time.perf_counter()
    async with httpx.AsyncClient(base_url=service.url, limits=limits, timeout=60) as client:

        async def post(path: str, body: dict[str, Any], key: str) -> Any:
            response = await client.post(path, json=body, headers={"Idempotency-Key": key})
            response.raise_for_status()
            return response.json()

        async def drive() -> None:
            for n in numbers:
                case = await post("/v1/sessions", {"model": "model"}, f"{n}")
                path, row = f"/v1/sessions/{case['id']}", rows[n % len(rows)]
                values = {item["feature"]: float(row[item["feature"]]) for item in case["ask"]}
                case = await post(f"{path}/tell", {"seq": 0, "values": values}, "t")
                if not case["done"]:
                    await post(f"{path}/stop", {"seq": case["seq"]}, "s")
                if (n + 1) % max(count // 10, 1) == 0:
                    seconds = time.perf_counter() - began
                    print(
                        f"{n + 1:,} cases: {resident(service.pid):.0f} MB, {seconds:.0f} s",
                        flush=True,
                    )

        await asyncio.gather(*(drive() for _ in range(CLIENTS)))


def resident(pid: int) -> float:
    """Memory of a process in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def cpu_seconds(pid: int) -> float:
    """CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure(service: Service, data: Any, seconds: float) -> None:
    limits = httpx.Limits(max_connections=256, max_keepalive_connections=256)
    async with httpx.AsyncClient(base_url=service.url, limits=limits, timeout=60) as client:
        load = Load(client, data)
        await closed_loop(load, 2.0)
        before = cpu_seconds(service.pid)
        rate = await closed_loop(load, seconds)
        cpu = 1000 * (cpu_seconds(service.pid) - before) / (rate * seconds)
        print(f"closed loop, {CLIENTS} clients: {rate:,.0f} requests/s, CPU {cpu:.2f} ms each")
        half = await open_loop(load, rate / 2, seconds)
        shown = ", ".join(f"p{q} {np.percentile(half, q):.1f} ms" for q in (50, 95, 99))
        print(f"open loop at {rate / 2:,.0f}/s: {shown}")


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
        service = Service(folder / "model.worthwhile", given.store or str(folder / "c.db"), folder)
        service.start()
        try:
            if given.sessions:
                asyncio.run(many_cases(service, heart.data, given.sessions))
            else:
                asyncio.run(measure(service, heart.data, given.seconds))
        finally:
            service.kill(signal.SIGTERM)
    return 0


if __name__ == "__main__":
    sys.exit(main())
