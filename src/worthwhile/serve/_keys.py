"""Who is calling: API keys of 256 random bits, of which only a hash is kept."""

from __future__ import annotations

import hashlib
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from worthwhile.costs import budget_quanta
from worthwhile.serve import _key_operations as operations
from worthwhile.serve._database import Database
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._key_operations import StoredKey

LOOK = 1.0
"""Seconds after which a service without keys looks again whether there are any."""

STAYS = timedelta(hours=12)
"""How long a browser stays signed in."""


@dataclass(frozen=True)
class Caller:
    """Whoever makes a request.

    Attributes
    ----------
    id : str
        Of the API key; '' where the service has none and listens to this machine alone.
    name : str
        Of the key.
    manager : bool
        May see the cases and the spend of all keys.
    left : int or None
        What the key may still set aside, in quanta; None without a limit.
    """

    id: str = ""
    name: str = "local"
    manager: bool = True
    left: int | None = None

    @property
    def sees(self) -> str | None:
        """Whose cases the caller may see; None: everybody's."""
        return None if self.manager else self.id

    def may_see(self, owner: str) -> bool:
        """Whether a case of this owner is the caller's business."""
        return self.manager or owner == self.id

    @classmethod
    def of(cls, key: StoredKey) -> Caller:
        """The caller behind a key."""
        left = None if key.budget is None else max(key.budget - key.spent - key.reserved, 0)
        return cls(key.id, key.name, key.manager, left)


def hash_of(secret: str) -> str:
    """What is kept of a key or a cookie."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_key(database: Database, name: str, budget: Any = None, manager: bool = False) -> str:
    """Make a key; this is the only time that it is shown."""
    if not name.strip():
        raise ValueError("name is empty: give the key a name that says who uses it.")
    secret = f"ww_{secrets.token_urlsafe(32)}"
    key = StoredKey(
        secrets.token_hex(8), name, secret[:10], manager, budget_quanta(budget), 0, 0, None
    )
    database.write_now(lambda cursor: operations.add_key(cursor, key, hash_of(secret)))
    return secret


class Keys:
    """Finds out who is calling.

    Parameters
    ----------
    required : bool
        Whether a request without a key is refused. It is as soon as there is one: one that is added while the
        service runs counts within ``LOOK`` seconds.
    """

    def __init__(self, database: Database, *, required: bool) -> None:
        self._database, self._required = database, required
        self._looked = time.monotonic()

    async def are_required(self) -> bool:
        """Whether nobody is answered without a key."""
        if not self._required and time.monotonic() - self._looked >= LOOK:
            self._looked = time.monotonic()
            self._required = await self._database.look_up(operations.has_keys)
        return self._required

    async def caller(self, authorization: str | None) -> Caller:
        """The caller of a request, by its ``Authorization`` header."""
        if authorization is None and not await self.are_required():
            return Caller()
        scheme, _, secret = (authorization or "").partition(" ")
        key = None
        if scheme.lower() == "bearer" and secret:
            hashed = hash_of(secret.strip())
            key = await self._database.look_up(lambda cursor: operations.find_key(cursor, hashed))
        if key is None:
            raise ServiceError(
                401, "no_key", "send a valid API key: 'Authorization: Bearer ww_...'."
            )
        return Caller.of(key)

    async def sign_in(self, secret: str) -> tuple[str, str]:
        """Cookie and CSRF token for a browser whose user has typed a key."""
        key = await self.caller(f"Bearer {secret}")
        cookie, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(16)
        expires = (datetime.now(UTC) + STAYS).isoformat(timespec="milliseconds")
        await self._database.write(
            lambda cursor: operations.add_sign_in(cursor, hash_of(cookie), key.id, csrf, expires)
        )
        return cookie, csrf

    async def browser(self, cookie: str | None) -> tuple[Caller, str] | None:
        """Caller and CSRF token behind a cookie; None if it is not signed in."""
        if cookie is None:
            return None
        found = await self._database.look_up(
            lambda cursor: operations.find_sign_in(cursor, hash_of(cookie))
        )
        return None if found is None else (Caller.of(found[0]), found[1])

    async def sign_out(self, cookie: str) -> None:
        """Forget a browser."""
        await self._database.write(
            lambda cursor: operations.remove_sign_in(cursor, hash_of(cookie))
        )
