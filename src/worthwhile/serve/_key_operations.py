"""What is done with keys and sign-ins in the database, each as one function of a cursor."""

from __future__ import annotations

from typing import Any, NamedTuple

from worthwhile.costs import as_decimal
from worthwhile.serve._audit import note, now
from worthwhile.serve._database import Cursor
from worthwhile.serve._errors import ServiceError


class StoredKey(NamedTuple):
    """A row of ``api_keys``."""

    id: str
    name: str
    prefix: str
    manager: bool
    budget: int | None
    spent: int
    reserved: int
    revoked: str | None


_KEY = "id, name, prefix, manager, budget, spent, reserved, revoked"


def _key(row: tuple[Any, ...]) -> StoredKey:
    key = StoredKey(*row)
    return key._replace(manager=bool(key.manager))


def add_key(cursor: Cursor, key: StoredKey, hashed: str) -> None:
    """Write a new key."""
    new = cursor.run(
        "INSERT INTO api_keys (id, name, hash, prefix, manager, budget, spent, reserved, created) "
        "VALUES (?, ?, ?, ?, ?, ?, 0, 0, ?) ON CONFLICT DO NOTHING RETURNING id",
        (key.id, key.name, hashed, key.prefix, int(key.manager), key.budget, now()),
    )
    if not new:
        raise ValueError(f"there is a key called {key.name!r} already: choose another name.")
    note(cursor, "", "add key", key.name)


def revoke_key(cursor: Cursor, name: str) -> None:
    """Make a key useless; what it spent stays on record."""
    done = cursor.run("UPDATE api_keys SET revoked = ? WHERE name = ? RETURNING id", (now(), name))
    if not done:
        raise ValueError(f"there is no key called {name!r}: `worthwhile serve keys` lists them.")
    cursor.run("DELETE FROM sign_ins WHERE owner = ?", (done[0][0],))
    note(cursor, "", "revoke key", name)


def list_keys(cursor: Cursor) -> list[StoredKey]:
    """All keys, by name."""
    return [_key(row) for row in cursor.run(f"SELECT {_KEY} FROM api_keys ORDER BY name")]


def has_keys(cursor: Cursor) -> bool:
    """Whether a key was ever made; those that were revoked count, too."""
    return bool(cursor.run("SELECT 1 FROM api_keys LIMIT 1"))


def find_key(cursor: Cursor, hashed: str) -> StoredKey | None:
    """The key with this hash, unless it was revoked."""
    rows = cursor.run(f"SELECT {_KEY} FROM api_keys WHERE hash = ? AND revoked IS NULL", (hashed,))
    return _key(rows[0]) if rows else None


def reserve(cursor: Cursor, owner: str, amount: int) -> None:
    """Set money of a key aside for a case, in one conditional step."""
    if not owner:
        return
    done = cursor.run(
        "UPDATE api_keys SET reserved = reserved + ? WHERE id = ? AND revoked IS NULL "
        "AND (budget IS NULL OR spent + reserved + ? <= budget) RETURNING id",
        (amount, owner, amount),
    )
    if not done:
        left = cursor.run("SELECT budget - spent - reserved FROM api_keys WHERE id = ?", (owner,))
        rest = as_decimal(max(int(left[0][0] or 0), 0)) if left else 0
        raise ServiceError(
            402,
            "key_budget",
            f"the key has {rest} left beside what open cases may spend: give the case a smaller budget, finish or "
            "stop others, or ask for a larger budget of the key.",
        )


# Signing in --------------------------------------------------------------------------------------


def add_sign_in(cursor: Cursor, hashed: str, owner: str, csrf: str, expires: str) -> None:
    """Remember a browser."""
    cursor.run("DELETE FROM sign_ins WHERE expires < ?", (now(),))
    cursor.run("INSERT INTO sign_ins VALUES (?, ?, ?, ?)", (hashed, owner, csrf, expires))
    note(cursor, owner, "sign in", "")


def find_sign_in(cursor: Cursor, hashed: str) -> tuple[StoredKey, str] | None:
    """Key and CSRF token of a browser."""
    keys = ", ".join(f"k.{name}" for name in _KEY.split(", "))
    rows = cursor.run(
        f"SELECT {keys}, s.csrf FROM sign_ins s JOIN api_keys k ON k.id = s.owner "
        "WHERE s.hash = ? AND s.expires >= ? AND k.revoked IS NULL",
        (hashed, now()),
    )
    return (_key(rows[0][:-1]), rows[0][-1]) if rows else None


def remove_sign_in(cursor: Cursor, hashed: str) -> None:
    """Forget a browser."""
    cursor.run("DELETE FROM sign_ins WHERE hash = ?", (hashed,))
