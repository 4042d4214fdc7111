"""The client for programs that do something else meanwhile."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from worthwhile.client import _protocol as protocol
from worthwhile.client._protocol import Call, CaseState, Connection, Functions


class AsyncClient(Connection):
    """Talks to a service; as :class:`~worthwhile.client.Client`, awaited."""

    _kind = "AsyncClient"

    async def send(self, call: Call) -> Any:
        """Send a request until it is answered; a refusal is raised."""
        for attempt in range(self._retries + 1):
            if attempt:
                await asyncio.sleep(protocol.wait_before(attempt))
            try:
                response = await self._http.request(
                    call.method, call.path, json=call.body, headers=call.headers
                )
            except self._httpx.TransportError:
                if attempt == self._retries:
                    raise
                continue
            if response.status_code not in protocol.AGAIN or attempt == self._retries:
                return protocol.answer(response)
        raise AssertionError("unreachable")

    async def open(self, model: str, budget: Any = None, **options: Any) -> AsyncCase:
        """Begin a case; options are ``label``, ``one_by_one``, ``prices`` of today, ``unavailable``, ``key``."""
        call = protocol.opening(model, {"budget": budget, **options})
        return AsyncCase(self, await self.send(call))

    async def case(self, case_id: str) -> AsyncCase:
        """A case that was opened before."""
        return AsyncCase(self, await self.send(protocol.read(f"/v1/sessions/{case_id}")))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncCase(CaseState):
    """A case of the service, driven from here."""

    def __init__(self, client: AsyncClient, state: dict[str, Any]) -> None:
        super().__init__(state)
        self._client = client

    async def tell(self, values: Mapping[Any, Any], price: Mapping[Any, Any] | None = None) -> None:
        """Give values: NaN or None came back empty, ``UNAVAILABLE`` cannot be had."""
        self.state = await self._client.send(protocol.telling(self.state, values, price))

    async def stop(self) -> None:
        """End it with the answer that it has."""
        self.state = await self._client.send(protocol.stopping(self.state))

    async def set_truth(self, truth: Any) -> None:
        """Say how it came out, so that the model's promise can be checked."""
        await self._client.send(protocol.came_out(self.state, truth))

    async def ledger(self) -> list[dict[str, Any]]:
        """Every purchase with its exact amount, as text."""
        found = await self._client.send(protocol.read(f"/v1/sessions/{self.id}/ledger"))
        return list(found["entries"])

    async def drive(self, functions: Functions) -> Self:
        """Call (or await) the functions of all features that are wanted, at once, until none is.

        If one fails, what the others brought is told before the error is raised: it is paid for.
        """

        async def fetch(name: Any) -> Any:
            value = functions[name]()
            return await value if inspect.isawaitable(value) else value

        while wanted := self.ask:
            found = await asyncio.gather(*map(fetch, wanted), return_exceptions=True)
            values = dict(zip(wanted, found, strict=True))
            if told := {n: v for n, v in values.items() if not isinstance(v, BaseException)}:
                await self.tell(told)
            if failed := [v for v in found if isinstance(v, BaseException)]:
                raise failed[0]
        return self
