"""The client for programs that wait."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from worthwhile.client import _protocol as protocol
from worthwhile.client._protocol import Call, CaseState, Connection, Functions


class Client(Connection):
    """Talks to a service.

    Parameters
    ----------
    url : str
        Such as "http://127.0.0.1:8642".
    key : str, optional
        API key.
    retries : int, default=5
        How often a request that got no answer is sent again, with the same idempotency key.
    timeout : float, default=10.0
        Seconds to wait for an answer.

    Examples
    --------
    ::

        with Client("http://127.0.0.1:8642") as client:
            case = client.open("heart", budget=60)
            case.drive({"age": lambda: 63, "chol": order_blood_test, ...})
            print(case.prediction, case.spent)
    """

    _kind = "Client"

    def send(self, call: Call) -> Any:
        """Send a request until it is answered; a refusal is raised."""
        for attempt in range(self._retries + 1):
            if attempt:
                time.sleep(protocol.wait_before(attempt))
            try:
                response = self._http.request(
                    call.method, call.path, json=call.body, headers=call.headers
                )
            except self._httpx.TransportError:
                if attempt == self._retries:
                    raise
                continue
            if response.status_code not in protocol.AGAIN or attempt == self._retries:
                return protocol.answer(response)
        raise AssertionError("unreachable")

    def open(self, model: str, budget: Any = None, **options: Any) -> Case:
        """Begin a case; options are ``label``, ``one_by_one``, ``prices`` of today, ``unavailable``, ``key``."""
        call = protocol.opening(model, {"budget": budget, **options})
        return Case(self, self.send(call))

    def case(self, case_id: str) -> Case:
        """A case that was opened before."""
        return Case(self, self.send(protocol.read(f"/v1/sessions/{case_id}")))

    def models(self) -> list[dict[str, Any]]:
        """What is served."""
        return list(self.send(protocol.read("/v1/models"))["models"])

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Case(CaseState):
    """A case of the service, driven from here."""

    def __init__(self, client: Client, state: dict[str, Any]) -> None:
        super().__init__(state)
        self._client = client

    def tell(self, values: Mapping[Any, Any], price: Mapping[Any, Any] | None = None) -> None:
        """Give values: NaN or None came back empty, ``UNAVAILABLE`` cannot be had."""
        self.state = self._client.send(protocol.telling(self.state, values, price))

    def stop(self) -> None:
        """End it with the answer that it has."""
        self.state = self._client.send(protocol.stopping(self.state))

    def set_truth(self, truth: Any) -> None:
        """Say how it came out, so that the model's promise can be checked."""
        self._client.send(protocol.came_out(self.state, truth))

    def refresh(self) -> None:
        """Read it anew; another program may have moved it on."""
        self.state = self._client.send(protocol.read(f"/v1/sessions/{self.id}"))

    def ledger(self) -> list[dict[str, Any]]:
        """Every purchase with its exact amount, as text."""
        return list(self._client.send(protocol.read(f"/v1/sessions/{self.id}/ledger"))["entries"])

    def drive(self, functions: Functions) -> Self:
        """Call the function of each feature that is wanted, until nothing more is.

        If one fails, what the others brought is told before the error is raised: it is paid for.
        """
        while wanted := self.ask:
            told: dict[Any, Any] = {}
            try:
                for name in wanted:
                    told[name] = functions[name]()
            finally:
                if told:
                    self.tell(told)
        return self
