"""A client of the service: idempotency keys and retries by itself, with and without ``await``.

``_protocol`` says what is sent and what comes back, and when to try again; ``_sync`` and ``_async``
send it. Needs the extra ``client`` (httpx), and nothing else of worthwhile.
"""

from worthwhile.client._async import AsyncCase, AsyncClient
from worthwhile.client._protocol import ServiceRefusal
from worthwhile.client._sync import Case, Client

__all__ = ["AsyncCase", "AsyncClient", "Case", "Client", "ServiceRefusal"]
