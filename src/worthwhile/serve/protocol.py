"""HTTP with limits on what comes before a request is known: the size of its head, and the time it takes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from worthwhile.serve._errors import ServiceError

MOST_HEAD = 65_536
"""Bytes of a request before its body."""
HEAD_SECONDS = 20.0
"""How long they may take."""


class LimitedProtocol(HttpToolsProtocol):
    """Hangs up on heads without an end: the parser would keep all of it, for as long as somebody sends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head, self._head = True, 0
        self._in_request = False  # whether some of what came last belongs to a request
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Count what belongs to no request yet."""
        self._in_request = False
        super().data_received(data)
        if not self._in_head or self._in_request:
            return
        self._head += len(data)
        if self._head > MOST_HEAD:
            self.transport.close()
        elif self._patience is None:
            self._wait_for_head()

    def on_headers_complete(self) -> None:
        """The request is known; its body has limits of its own."""
        self._in_head, self._head = False, 0
        self._be_patient()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next request may come."""
        super().on_message_complete()
        self._in_head, self._in_request = True, True

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing to wait for any more."""
        self._be_patient()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP in the shape of all refusals."""
        error = ServiceError(400, "bad_http", "this is no request of HTTP/1.1.")
        content = json.dumps(error.to_dict()).encode()
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(content), content)
        )
        self.transport.close()

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    def _be_patient(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
