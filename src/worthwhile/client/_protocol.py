"""What is sent, what comes back, and when to try again; nothing here touches the network."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from worthwhile._messages import missing_package
from worthwhile.runtime import UNAVAILABLE

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request, with the same key, may be sent again."""


class ServiceRefusal(RuntimeError):
    """The service has refused a request; nothing of it took effect.

    Attributes
    ----------
    status : int
        HTTP status.
    code : str
        The service's word for the reason.
    details : dict
        What else it said.
    """

    def __init__(self, status: int, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.status, self.code, self.details = status, code, details


class Call(NamedTuple):
    """One request."""

    method: str
    path: str
    body: dict[str, Any] | None
    headers: dict[str, str]


def step(method: str, path: str, body: dict[str, Any] | None = None) -> Call:
    """A request with an idempotency key of its own, which all attempts share."""
    return Call(method, path, body, {"Idempotency-Key": secrets.token_urlsafe(16)})


def read(path: str) -> Call:
    """A request that changes nothing."""
    return Call("GET", path, None, {})


def answer(response: Any) -> Any:
    """The body of an answer; a refusal is raised."""
    if response.status_code == 204:
        return None
    try:
        body = response.json()
    except ValueError:
        body = {}
    if response.status_code < 400:
        return body
    error = body.get("error", {}) if isinstance(body, dict) else {}
    raise ServiceRefusal(
        response.status_code,
        error.get("code", "unknown"),
        error.get("message", f"the service answered {response.status_code}."),
        error.get("details", {}),
    )


def wait_before(attempt: int) -> float:
    """Seconds to wait before this attempt."""
    return min(0.1 * 2.0 ** (attempt - 1), 5.0)


def json_values(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Values as the service takes them.

    Examples
    --------
    >>> json_values({"age": 63, "chol": float("nan"), "thal": UNAVAILABLE})
    {'age': 63, 'chol': None, 'thal': {'unavailable': True}}
    """

    def plain(value: Any) -> Any:
        if value is UNAVAILABLE:
            return {"unavailable": True}
        value = value.item() if hasattr(value, "item") else value
        return None if isinstance(value, float) and math.isnan(value) else value

    return {str(name): plain(value) for name, value in values.items()}


def headers_of(key: str | None) -> dict[str, str]:
    """What goes with every request."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def load_httpx() -> Any:
    """The library that sends requests."""
    try:
        import httpx
    except ImportError:
        raise missing_package("the client needs", "httpx", "client") from None
    return httpx


class Connection:
    """What both clients are made of; their docstrings say what the parameters mean."""

    _kind: ClassVar[str]
    """Name of the class of httpx that sends."""

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        retries: int = 5,
        timeout: float = 10.0,
        **options: Any,
    ) -> None:
        self._httpx = load_httpx()
        self._retries = retries
        self._http = getattr(self._httpx, self._kind)(
            base_url=url, headers=headers_of(key), timeout=timeout, **options
        )


def opening(model: str, options: Mapping[str, Any]) -> Call:
    """The request that opens a case."""
    given = {name: value for name, value in options.items() if value is not None}
    return step("POST", "/v1/sessions", {"model": model, **given})


def telling(
    state: Mapping[str, Any], values: Mapping[Any, Any], price: Mapping[Any, Any] | None
) -> Call:
    """The request that gives values for a step."""
    body: dict[str, Any] = {"seq": state["seq"], "values": json_values(values)}
    if price:
        body["prices"] = {str(name): float(amount) for name, amount in price.items()}
    return step("POST", f"/v1/sessions/{state['id']}/tell", body)


def stopping(state: Mapping[str, Any]) -> Call:
    """The request that ends a case."""
    return step("POST", f"/v1/sessions/{state['id']}/stop", {"seq": state["seq"]})


def came_out(state: Mapping[str, Any], truth: Any) -> Call:
    """The request that says how a case came out; it may be sent as often as one likes."""
    truth = truth.item() if hasattr(truth, "item") else truth
    return Call("PUT", f"/v1/sessions/{state['id']}/truth", {"truth": truth}, {})


class CaseState:
    """A case as it was last heard of."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    @property
    def id(self) -> str:
        """Under which the service keeps it."""
        return str(self.state["id"])

    @property
    def ask(self) -> list[Any]:
        """Features that are wanted now; [] when done."""
        return [item["feature"] for item in self.state["ask"]]

    @property
    def prediction(self) -> Any:
        """The answer with what is known now."""
        return self.state["prediction"]

    @property
    def probabilities(self) -> dict[str, float] | None:
        """Probability of each class."""
        return self.state["probabilities"]  # type: ignore[no-any-return]

    @property
    def spent(self) -> float:
        """The bill so far."""
        return float(self.state["spent"])

    @property
    def done(self) -> bool:
        """Whether nothing more is wanted."""
        return bool(self.state["done"])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.prediction!r}, {self.spent:g} spent>"


Functions = Mapping[Any, Callable[[], Any]]
