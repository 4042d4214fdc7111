"""What is done with models and cases in the database, each as one function of a cursor.

All of it happens, or nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from worthwhile.serve._audit import note, now
from worthwhile.serve._database import Cursor
from worthwhile.serve._errors import ServiceError


class StoredCase(NamedTuple):
    """A row of ``cases``."""

    id: str
    owner: str
    label: str
    model: str
    version: str
    options: dict[str, Any]
    seq: int
    spent: int
    reserved: int
    state: str
    truth: Any
    opened: str
    changed: str


CASE = (
    "id, owner, label, model, version, options, seq, spent, reserved, state, truth, opened, changed"
)


def _case(row: tuple[Any, ...]) -> StoredCase:
    case = StoredCase(*row)
    truth = None if case.truth is None else json.loads(case.truth)
    return case._replace(options=json.loads(row[5]), truth=truth)


class Step(NamedTuple):
    """One step of a case, as it is written down."""

    seq: int
    key: str | None
    hash: str
    calls: list[Any]
    answer: str
    """JSON, as it is kept and as it is sent."""
    amount: int
    lines: list[tuple[int, str, str, int]]
    """New lines of the ledger: place, feature, kind, amount."""
    state: str


# Models ------------------------------------------------------------------------------------------


def add_model(
    cursor: Cursor, name: str, version: str, sha256: str, fingerprint: str, content: bytes
) -> None:
    """Keep a model's file, if it is new."""
    new = cursor.run(
        "INSERT INTO models (name, version, sha256, fingerprint, content, added) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING name",
        (name, version, sha256, fingerprint, content, now()),
    )
    if new:
        note(cursor, "", "add model", name, version=version)


def model_content(cursor: Cursor, name: str, version: str) -> bytes | None:
    """The file of a model."""
    rows = cursor.run("SELECT content FROM models WHERE name = ? AND version = ?", (name, version))
    return bytes(rows[0][0]) if rows else None


def open_counts(cursor: Cursor) -> dict[tuple[str, str], int]:
    """Number of open cases of each model and version."""
    rows = cursor.run(
        "SELECT model, version, COUNT(*) FROM cases WHERE state = 'open' GROUP BY model, version"
    )
    return {(model, version): int(count) for model, version, count in rows}


# Cases -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Advance:
    """Write one more step; gives the stored answer instead, if this key has made it before."""

    case: StoredCase
    step: Step

    def __call__(self, cursor: Cursor) -> str | None:
        """Of two that race, one wins: the case must stand before the step, and its key must be new."""
        case, step = self.case, self.step
        moved = cursor.run(
            "UPDATE cases SET seq = ?, spent = spent + ?, reserved = ?, state = ?, changed = ? "
            "WHERE id = ? AND seq = ? AND state = 'open' "
            "AND NOT EXISTS (SELECT 1 FROM events WHERE case_id = ? AND key = ?) RETURNING id",
            (
                step.seq, step.amount, left_aside(case, step), step.state, now(), case.id, step.seq - 1,
                case.id, step.key,
            ),
        )  # fmt: skip
        if not moved:
            return stored_answer(cursor, case.id, step)
        write_step(cursor, case, step)
        settle(cursor, case, step)
        return None

    @staticmethod
    def together(cursor: Cursor, works: list[Advance]) -> list[bool]:
        """Several at once, where a round trip costs more than the work; which of them are done."""
        at, first = now(), {work.case.id: work for work in reversed(works)}
        moved = cursor.run_alone(_ADVANCE, (json.dumps([w._to_dict(at) for w in first.values()]),))
        done = {case_id for case_id, _ in moved}
        return [first[work.case.id] is work and work.case.id in done for work in works]

    def _to_dict(self, at: str) -> dict[str, Any]:
        case, step = self.case, self.step
        left = left_aside(case, step)
        return {
            "case_id": case.id, "seq": step.seq, "owner": case.owner, "key": step.key, "hash": step.hash,
            "calls": json.dumps(step.calls), "answer": step.answer, "amount": step.amount, "at": at,
            "left_aside": left, "released": case.reserved - left, "state": step.state, "model": case.model,
            "lines": step.lines,
        }  # fmt: skip


# Rows are locked in the order of their names, so that two processes cannot wait for each other.
_ADVANCE = """
WITH steps AS (
    SELECT * FROM json_to_recordset(?::json) AS step (
        case_id text, seq bigint, owner text, key text, hash text, calls text, answer text, amount bigint, at text,
        left_aside bigint, released bigint, state text, model text, lines json
    )
),
locked AS MATERIALIZED (
    SELECT id FROM cases WHERE id IN (SELECT case_id FROM steps) ORDER BY id FOR UPDATE
),
moved AS (
    UPDATE cases
    SET seq = step.seq, spent = cases.spent + step.amount, reserved = step.left_aside, state = step.state,
        changed = step.at
    FROM steps AS step JOIN locked ON locked.id = step.case_id
    WHERE cases.id = step.case_id AND cases.seq = step.seq - 1 AND cases.state = 'open'
        AND NOT EXISTS (SELECT 1 FROM events WHERE case_id = step.case_id AND key = step.key)
    RETURNING step.*
),
event AS (
    INSERT INTO events SELECT case_id, seq, owner, key, hash, calls, answer, amount, at FROM moved
),
bought AS (
    INSERT INTO purchases
    SELECT case_id, seq, (line->>0)::bigint, owner, model, line->>1, line->>2, (line->>3)::bigint, left(at, 10)
    FROM moved, json_array_elements(lines) AS line
),
due AS (
    SELECT owner, SUM(amount)::bigint AS amount, SUM(released)::bigint AS released
    FROM moved WHERE owner <> '' GROUP BY owner
),
payers AS MATERIALIZED (
    SELECT id FROM api_keys WHERE id IN (SELECT owner FROM due) ORDER BY id FOR UPDATE
),
charged AS (
    UPDATE api_keys SET spent = spent + due.amount, reserved = reserved - due.released
    FROM due JOIN payers ON payers.id = due.owner WHERE api_keys.id = due.owner
)
SELECT case_id, set_config('synchronous_commit', 'on', true) FROM moved
"""


def left_aside(case: StoredCase, step: Step) -> int:
    """What stays set aside for a case after a step."""
    return max(case.reserved - step.amount, 0) if step.state == "open" else 0


def settle(cursor: Cursor, case: StoredCase, step: Step) -> None:
    """Charge a step to its key, and give back what need not be set aside any more."""
    if case.owner:
        cursor.run(
            "UPDATE api_keys SET spent = spent + ?, reserved = reserved - ? WHERE id = ?",
            (step.amount, case.reserved - left_aside(case, step), case.owner),
        )


def write_step(cursor: Cursor, case: StoredCase, step: Step) -> None:
    at = now()
    cursor.run(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            case.id, step.seq, case.owner, step.key, step.hash, json.dumps(step.calls), step.answer,
            step.amount, at,
        ),
    )  # fmt: skip
    for place, feature, kind, amount in step.lines:
        cursor.run(
            "INSERT INTO purchases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (case.id, step.seq, place, case.owner, case.model, feature, kind, amount, at[:10]),
        )


def stored_answer(cursor: Cursor, case_id: str, step: Step) -> str:
    """What was answered to this key before; a refusal if nothing was."""
    rows = cursor.run(
        "SELECT hash, answer FROM events WHERE case_id = ? AND key = ?", (case_id, step.key)
    )
    if rows:
        return same_answer(rows[0], step.hash)
    seq, state = cursor.run("SELECT seq, state FROM cases WHERE id = ?", (case_id,))[0]
    if state != "open":
        raise ServiceError(409, "case_closed", f"the case is {state}: open a new one.", state=state)
    raise ServiceError(
        409,
        "wrong_seq",
        f"the case stands at step {seq}, not at {step.seq - 1}: read it again, and tell what it asks for.",
        seq=seq,
    )


def same_answer(row: tuple[Any, ...], request_hash: str) -> str:
    """The stored answer, if the request is the same, too."""
    stored_hash, answer = row
    if stored_hash != request_hash:
        raise ServiceError(
            422,
            "key_reused",
            "this Idempotency-Key came with another request before: take a new key for each step.",
        )
    if answer is None:
        raise ServiceError(410, "anonymised", "the answer was removed after the time of retention.")
    return str(answer)


def read_case(cursor: Cursor, case_id: str, owner: str | None) -> StoredCase:
    """A case of this owner (None: anybody's)."""
    rows = cursor.run(f"SELECT {CASE} FROM cases WHERE id = ?", (case_id,))
    if not rows or owner not in (None, rows[0][1]):
        raise ServiceError(404, "unknown_case", "there is no such case for this key.")
    return _case(rows[0])


def read_calls(cursor: Cursor, case_id: str) -> list[list[Any]]:
    """The calls of a session, step by step."""
    rows = cursor.run("SELECT calls FROM events WHERE case_id = ? ORDER BY seq", (case_id,))
    if any(calls is None for (calls,) in rows):
        raise ServiceError(
            410, "anonymised", "the values were removed after the time of retention."
        )
    return [json.loads(calls) for (calls,) in rows]


def last_answer(cursor: Cursor, case: StoredCase) -> dict[str, Any]:
    """The answer to the last step of a case."""
    rows = cursor.run(
        "SELECT answer FROM events WHERE case_id = ? AND seq = ?", (case.id, case.seq)
    )
    found: dict[str, Any] = json.loads(rows[0][0])
    return found


def list_cases(cursor: Cursor, owner: str | None, state: str | None, most: int) -> list[StoredCase]:
    """Cases, the last changed first; None: of everybody, in any state."""
    wanted = [
        (f"{name} = ?", value)
        for name, value in (("owner", owner), ("state", state))
        if value is not None
    ]
    where = f"WHERE {' AND '.join(text for text, _ in wanted)}" if wanted else ""
    rows = cursor.run(
        f"SELECT {CASE} FROM cases {where} ORDER BY changed DESC, id LIMIT ?",
        (*(value for _, value in wanted), most),
    )
    return [_case(row) for row in rows]


def set_truth(cursor: Cursor, case_id: str, owner: str | None, truth: Any) -> None:
    """Write down how a case came out."""
    read_case(cursor, case_id, owner)
    cursor.run("UPDATE cases SET truth = ? WHERE id = ?", (json.dumps(truth), case_id))
    note(cursor, owner or "", "truth", case_id)
