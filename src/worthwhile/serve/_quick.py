"""A route for the requests that a service has most of: opening a case and telling it values."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

LONGEST_KEY = 200
"""Letters of an idempotency key."""
LONGEST_CASE = 100
"""Letters of the id of a case."""


class QuickRoute(APIRoute):
    """Reads a plain request by itself: the framework's general way takes as long as the step itself.

    Whatever is not plain (another type, a field that is wrong, a header given twice) goes that general
    way, which knows how to refuse it; so there is one set of rules, and the document of the interface
    is the same. Its endpoints take ``body``, ``key``, the caller ``who``, ``cases`` and what the path names.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The endpoint behind a short way in."""
        usual, endpoint = super().get_route_handler(), self.endpoint
        assert self.body_field is not None, "a quick route takes a body"
        model: Any = self.body_field.field_info.annotation

        async def answer(request: Request) -> Response:
            state, headers = request.app.state, dict(request.scope["headers"])
            body = _plain(model, headers, request, await request.body())
            if body is None:
                return await usual(request)
            key, secret = headers.get(b"idempotency-key"), headers.get(b"authorization")
            who = await state.keys.caller(None if secret is None else secret.decode("latin-1"))
            found: Response = await endpoint(
                body=body, who=who, cases=state.cases,
                key=None if key is None else key.decode("latin-1"), **request.path_params,
            )  # fmt: skip
            return found

        return answer


def _plain(
    model: type[BaseModel], headers: dict[bytes, bytes], request: Request, content: bytes
) -> BaseModel | None:
    """The body of a request that has nothing unusual about it; None otherwise."""
    if (
        headers.get(b"content-type") != b"application/json"
        or len(headers) != len(request.scope["headers"])
        or not 1 <= len(headers.get(b"idempotency-key", b"-")) <= LONGEST_KEY
        or len(request.path_params.get("case", "")) > LONGEST_CASE
    ):
        return None
    try:
        return model.model_validate(json.loads(content))
    except (ValidationError, ValueError, RecursionError):
        return None
