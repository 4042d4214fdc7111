"""The application: what is needed is opened at the start and closed at the end; refusals have one shape."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import worthwhile
from worthwhile.serve import _api as api
from worthwhile.serve import _pages as pages
from worthwhile.serve._cases import Cases
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._key_operations import list_keys
from worthwhile.serve._keys import Keys
from worthwhile.serve._metrics import Metrics
from worthwhile.serve._models import Models
from worthwhile.serve._openapi import describe
from worthwhile.serve._rows import load_extractors
from worthwhile.serve._settings import Settings
from worthwhile.serve._stores import open_database, store_errors
from worthwhile.serve._text import check_text, host_of, is_storable


def create_app(settings: Settings) -> FastAPI:
    """The service as an ASGI application, for uvicorn or any other server.

    The store is opened and the models are read here, so that what is wrong with them is said before
    anything listens.
    """
    metrics = Metrics()
    database = open_database(settings.store, metrics.commits.observe)
    try:
        models = Models(database)
        for path in settings.models:
            models.add(path)
        keys = database.write_now(list_keys)
        active = [key for key in keys if key.revoked is None]
        if not settings.is_local and not active:
            raise ValueError(
                f"host is {settings.host!r}, which others can reach, and there are no API keys: make one with "
                "`worthwhile serve keys add NAME`, or listen on 127.0.0.1."
            )
        extractors = load_extractors(settings.extractors)
    except BaseException:
        database.close()
        raise

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        database.close()

    app = FastAPI(
        title="worthwhile",
        version=worthwhile.__version__,
        description="Predictions on demand: a case asks for the next value, keeps the bill and has an answer at any "
        "time. Every step is on disk before it is answered; sent again with the same Idempotency-Key, it is answered "
        "alike and billed once.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # served by a route of ours, which asks for a key
    )
    app.state.settings, app.state.database, app.state.metrics = settings, database, metrics
    app.state.models, app.state.extractors = models, extractors
    app.state.keys = Keys(database, required=bool(keys))
    app.state.cases = Cases(database, models, settings.limits, metrics)
    app.include_router(api.quick)
    app.include_router(api.router)
    app.include_router(api.public)
    # Where tools look for it unless they are told otherwise.
    app.add_api_route("/openapi.json", api.document, include_in_schema=False)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(packages=[("worthwhile.serve", "static")]), name="static")
    _answer_errors(app)
    describe(app, models)
    app.add_middleware(_Bounds, settings=settings, metrics=metrics)
    return app


def _answer_errors(app: FastAPI) -> None:
    """Every refusal in the one shape; pages get a page."""

    @app.exception_handler(ServiceError)
    async def refused(request: Request, error: ServiceError) -> Response:
        if _is_page(request):
            if error.status == 401:
                return RedirectResponse("/sign-in", status_code=303)
            return pages.problem(request, error)
        return JSONResponse(error.to_dict(), status_code=error.status)

    async def unstored(request: Request, error: Exception) -> Response:
        text = (
            "the store has failed, and the request may have been kept or not: send it again with the same "
            "Idempotency-Key."
        )
        return await refused(request, ServiceError(503, "store_failed", text))

    for kind in store_errors():
        app.add_exception_handler(kind, unstored)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        text = "something went wrong here; the operator's log says what."
        return await refused(request, ServiceError(500, "internal", text))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        problems = [
            {"at": ".".join(map(str, item["loc"])), "problem": item["msg"]}
            for item in _plainly(error.errors())
        ]
        first = problems[0]
        text = f"{first['at']}: {first['problem']}. Nothing was recorded."
        return await refused(
            request, ServiceError(422, "bad_request", text, problems=problems[:20])
        )

    @app.exception_handler(HTTPException)
    async def other(request: Request, error: HTTPException) -> Response:
        code = {404: "not_found", 405: "not_allowed"}.get(error.status_code, "bad_request")
        answer = await refused(request, ServiceError(error.status_code, code, str(error.detail)))
        answer.headers.update(error.headers or {})
        return answer


def _plainly(problems: Sequence[Any]) -> list[dict[str, Any]]:
    """Problems of requests; a value that fits none of many types has one, not one for each type."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for problem in problems:
        where = problem["loc"]
        depth = {"values": 3, "rows": 4}.get(where[1] if len(where) > 1 else "", len(where))
        if len(where) > depth:
            problem = {"loc": where[:depth], "msg": ANY_VALUE}
        found.setdefault(problem["loc"], problem)
    return list(found.values())


ANY_VALUE = 'Give a finite number, text, true, false, null or {"unavailable": true}'


def _is_page(request: Request) -> bool:
    path = request.url.path
    return not path.startswith(("/v1", "/v2", "/metrics", "/openapi.json"))


BODY_SECONDS = 60.0
"""How long a request may take to arrive."""

HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class _Bounds:
    """Refuses what should not get further, adds headers of caution, counts answers."""

    def __init__(self, app: ASGIApp, *, settings: Settings, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._most = settings.limits.body_bytes
        self._hosts = (
            {"localhost", "127.0.0.1", "::1", settings.host} if settings.is_local else None
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.requests(str(message["status"])).inc()
                static = scope["path"].startswith("/static/")
                message["headers"] = [*message["headers"], *(HEADERS[:-1] if static else HEADERS)]
            await send(message)

        headers = dict(scope["headers"])
        try:
            self._check_host(headers.get(b"host", b""))
            if not is_storable(scope["path"]):
                raise ServiceError(404, "not_found", "there is nothing here.")
            body = await self._read(headers, receive)
            check_text(body)
        except ServiceError as error:
            answer = JSONResponse(error.to_dict(), status_code=error.status)
            await answer(scope, receive, send_on)
            return
        parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again() -> Message:
            return parts.pop() if parts else await receive()

        await self._app(scope, receive_again, send_on)

    def _check_host(self, host: bytes) -> None:
        """Refuse names that are not this machine's, where only this machine may call.

        Otherwise a page elsewhere, whose name is made to point here, could call us by a browser.
        """
        name = host_of(f"//{host.decode('latin-1')}")
        if self._hosts is not None and name not in self._hosts:
            raise ServiceError(
                421, "wrong_host", f"the service is not called {name!r}: use http://127.0.0.1."
            )

    async def _read(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """The whole body, unless it is larger than it may be."""
        error = ServiceError(
            413, "too_large", f"the request is over {self._most} bytes: send less at a time."
        )
        declared = headers.get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._most:
            raise error
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > self._most:
                        raise error
        except TimeoutError:
            text = f"the request took over {BODY_SECONDS:g} seconds to arrive: send it again."
            raise ServiceError(408, "too_slow", text) from None
        return bytes(body)
