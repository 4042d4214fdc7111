"""Opening cases in the database: one as a function of a cursor, or several by one statement."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from worthwhile.serve._audit import note, now
from worthwhile.serve._database import Cursor
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._key_operations import reserve
from worthwhile.serve._operations import (
    CASE,
    Step,
    StoredCase,
    left_aside,
    same_answer,
    settle,
    write_step,
)


class Room:
    """How many cases a key may have open.

    They are counted only as often as it must be: an eighth of what was free may be opened unseen, so
    that eight processes together stay below the limit; close to it, every opening counts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._unseen: dict[str, int] = {}

    def is_free(self, owner: str) -> bool:
        """Whether one more case may be opened without counting; it is then opened."""
        left = self._unseen.get(owner, 0)
        self._unseen[owner] = max(left - 1, 0)
        return left > 0

    def check(self, cursor: Cursor, owner: str) -> None:
        """Refuse one more case if there are too many."""
        if self.is_free(owner):
            return
        (count,) = cursor.run(
            "SELECT COUNT(*) FROM cases WHERE owner = ? AND state = 'open'", (owner,)
        )[0]
        if count >= self._most:
            text = f"{count} cases are open, the limit is {self._most}: finish or stop some."
            raise ServiceError(429, "too_many_cases", text)
        self._unseen[owner] = (self._most - count - 1) // 8


@dataclass(frozen=True)
class Open:
    """Write a new case; gives the stored answer instead, if this key has opened one before."""

    case: StoredCase
    step: Step
    room: Room

    def __call__(self, cursor: Cursor) -> str | None:
        """By itself."""
        case, step = self.case, self.step
        if step.key is not None:
            again = cursor.run(
                "SELECT e.hash, e.answer FROM openings o JOIN events e ON e.case_id = o.case_id AND e.seq = 0 "
                "WHERE o.owner = ? AND o.key = ?",
                (case.owner, step.key),
            )
            if again:
                return same_answer(again[0], step.hash)
        self.room.check(cursor, case.owner)
        reserve(cursor, case.owner, case.reserved)
        cursor.run(
            f"INSERT INTO cases ({CASE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *case[:5], json.dumps(case.options), 0, step.amount, left_aside(case, step), step.state,
                None, case.opened, case.changed,
            ),
        )  # fmt: skip
        settle(cursor, case, step)
        if step.key is not None:
            cursor.run("INSERT INTO openings VALUES (?, ?, ?)", (case.owner, step.key, case.id))
        write_step(cursor, case, step)
        note(cursor, case.owner, "open", case.id, model=case.model, version=case.version)
        return None

    @staticmethod
    def together(cursor: Cursor, works: list[Open]) -> list[bool]:
        """Several at once, where a round trip costs more than the work; which of them are done.

        Those whose key has a budget set money aside, which each does by itself; so does what would be the last
        that its key may open.
        """
        at = now()
        first = {(w.case.owner, w.step.key or w.case.id): w for w in reversed(works)}
        ready = [w for w in first.values() if not w.case.reserved and w.room.is_free(w.case.owner)]
        made = (
            cursor.run_alone(_OPEN, (json.dumps([w._to_dict(at) for w in ready]),)) if ready else []
        )
        done = {case_id for case_id, _ in made}
        return [work.case.id in done for work in works]

    def _to_dict(self, at: str) -> dict[str, Any]:
        case, step = self.case, self.step
        return {
            "id": case.id, "owner": case.owner, "label": case.label, "model": case.model, "version": case.version,
            "options": json.dumps(case.options), "state": step.state, "opened": case.opened, "key": step.key,
            "hash": step.hash, "calls": json.dumps(step.calls), "answer": step.answer, "amount": step.amount,
            "at": at, "lines": step.lines, "details": json.dumps({"model": case.model, "version": case.version}),
        }  # fmt: skip


_OPEN = f"""
WITH given AS (
    SELECT * FROM json_to_recordset(?::json) AS step (
        id text, owner text, label text, model text, version text, options text, state text, opened text, key text,
        hash text, calls text, answer text, amount bigint, at text, lines json, details text
    )
),
payers AS MATERIALIZED (
    SELECT id FROM api_keys
    WHERE id IN (SELECT owner FROM given) AND revoked IS NULL AND budget IS NULL ORDER BY id FOR UPDATE
),
fresh AS MATERIALIZED (
    SELECT * FROM given AS step
    WHERE (owner = '' OR owner IN (SELECT id FROM payers))
        AND NOT EXISTS (SELECT 1 FROM openings AS o WHERE o.owner = step.owner AND o.key = step.key)
),
made AS (
    INSERT INTO cases ({CASE})
    SELECT id, owner, label, model, version, options, 0, amount, 0, state, NULL, opened, opened FROM fresh
),
keyed AS (
    INSERT INTO openings SELECT owner, key, id FROM fresh WHERE key IS NOT NULL
),
event AS (
    INSERT INTO events SELECT id, 0, owner, key, hash, calls, answer, amount, at FROM fresh
),
bought AS (
    INSERT INTO purchases
    SELECT id, 0, (line->>0)::bigint, owner, model, line->>1, line->>2, (line->>3)::bigint, left(at, 10)
    FROM fresh, json_array_elements(lines) AS line
),
noted AS (
    INSERT INTO audit SELECT at, owner, 'open', id, details FROM fresh
),
charged AS (
    UPDATE api_keys SET spent = spent + due.amount
    FROM (SELECT owner, SUM(amount)::bigint AS amount FROM fresh WHERE owner <> '' GROUP BY owner) AS due
    WHERE api_keys.id = due.owner
)
SELECT id, set_config('synchronous_commit', 'on', true) FROM fresh
"""
