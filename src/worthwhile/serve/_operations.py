"""What is done with models and cases in the database, each as one function of a cursor.

All of it happens, or nothing.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from worthwhile.serve._audit import note, now
from worthwhile.serve._database import Cursor, Rows
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._key_operations import reserve


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


_CASE = (
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
    answer: dict[str, Any]
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


def open_case(
    cursor: Cursor, case: StoredCase, step: Step, most_open: int
) -> dict[str, Any] | None:
    """Write a new case; the stored answer instead, if this key has opened one before."""
    if step.key is not None:
        again = cursor.run(
            "SELECT e.hash, e.answer FROM openings o JOIN events e ON e.case_id = o.case_id AND e.seq = 0 "
            "WHERE o.owner = ? AND o.key = ?",
            (case.owner, step.key),
        )
        if again:
            return same_answer(again[0], step.hash)
    (count,) = cursor.run(
        "SELECT COUNT(*) FROM cases WHERE owner = ? AND state = 'open'", (case.owner,)
    )[0]
    if count >= most_open:
        raise ServiceError(
            429,
            "too_many_cases",
            f"{count} cases are open, the limit is {most_open}: finish or stop some.",
        )
    reserve(cursor, case.owner, case.reserved)
    cursor.run(
        f"INSERT INTO cases ({_CASE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *case[:5], json.dumps(case.options), 0, step.amount, left_aside(case, step), step.state,
            None, case.opened, case.changed,
        ),
    )  # fmt: skip
    _settle(cursor, case, step)
    if step.key is not None:
        cursor.run("INSERT INTO openings VALUES (?, ?, ?)", (case.owner, step.key, case.id))
    _write_step(cursor, case, step)
    note(cursor, case.owner, "open", case.id, model=case.model, version=case.version)
    return None


def advance(cursor: Cursor, case: StoredCase, step: Step) -> dict[str, Any] | None:
    """Write one more step; the stored answer instead, if this key has made it before."""
    moved = cursor.run(
        "UPDATE cases SET seq = ?, spent = spent + ?, reserved = ?, state = ?, changed = ? "
        "WHERE id = ? AND seq = ? AND state = 'open' RETURNING id",
        (step.seq, step.amount, left_aside(case, step), step.state, now(), case.id, step.seq - 1),
    )
    if not moved:
        return stored_answer(cursor, case.id, step)
    used = cursor.run(
        "SELECT hash, answer FROM events WHERE case_id = ? AND key = ?", (case.id, step.key)
    )
    if used:  # the key of an earlier step: refused, and the update undone with it
        same_answer(used[0], step.hash)
        raise ServiceError(
            422, "key_reused", "this Idempotency-Key belongs to an earlier step: take a new one."
        )
    _write_step(cursor, case, step)
    _settle(cursor, case, step)
    return None


def left_aside(case: StoredCase, step: Step) -> int:
    """What stays set aside for a case after a step."""
    return max(case.reserved - step.amount, 0) if step.state == "open" else 0


def _settle(cursor: Cursor, case: StoredCase, step: Step) -> None:
    """Charge a step to its key, and give back what need not be set aside any more."""
    if case.owner:
        cursor.run(
            "UPDATE api_keys SET spent = spent + ?, reserved = reserved - ? WHERE id = ?",
            (step.amount, case.reserved - left_aside(case, step), case.owner),
        )


def _write_step(cursor: Cursor, case: StoredCase, step: Step) -> None:
    at = now()
    cursor.run(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            case.id, step.seq, case.owner, step.key, step.hash, json.dumps(step.calls),
            json.dumps(step.answer), step.amount, at,
        ),
    )  # fmt: skip
    for place, feature, kind, amount in step.lines:
        cursor.run(
            "INSERT INTO purchases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (case.id, step.seq, place, case.owner, case.model, feature, kind, amount, at[:10]),
        )


def stored_answer(cursor: Cursor, case_id: str, step: Step) -> dict[str, Any]:
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


def same_answer(row: tuple[Any, ...], request_hash: str) -> dict[str, Any]:
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
    found: dict[str, Any] = json.loads(answer)
    return found


def read_case(cursor: Cursor, case_id: str, owner: str | None) -> StoredCase:
    """A case of this owner (None: anybody's)."""
    rows = cursor.run(f"SELECT {_CASE} FROM cases WHERE id = ?", (case_id,))
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
        f"SELECT {_CASE} FROM cases {where} ORDER BY changed DESC, id LIMIT ?",
        (*(value for _, value in wanted), most),
    )
    return [_case(row) for row in rows]


def set_truth(cursor: Cursor, case_id: str, owner: str | None, truth: Any) -> None:
    """Write down how a case came out."""
    read_case(cursor, case_id, owner)
    cursor.run("UPDATE cases SET truth = ? WHERE id = ?", (json.dumps(truth), case_id))
    note(cursor, owner or "", "truth", case_id)


# Looking back ------------------------------------------------------------------------------------


def spend_by(cursor: Cursor, what: str, owner: str | None, since: str) -> Rows:
    """Amounts by "day", "model" or "feature" since a day, and the number of purchases."""
    if what not in ("day", "model", "feature"):
        raise ValueError(f"spend by {what!r}: it is by day, model or feature.")
    mine = "" if owner is None else "AND owner = ?"
    order = "1" if what == "day" else "2 DESC, 1"
    return cursor.run(
        f"SELECT {what}, SUM(amount), COUNT(*) FROM purchases WHERE day >= ? {mine} "
        f"GROUP BY {what} ORDER BY {order}",
        (since,) if owner is None else (since, owner),
    )


def anonymise(cursor: Cursor, before: str) -> int:
    """Remove the values of closed cases that were last changed before a time; amounts stay."""
    rows = cursor.run(
        "UPDATE events SET calls = NULL, answer = NULL WHERE calls IS NOT NULL AND case_id IN "
        "(SELECT id FROM cases WHERE state <> 'open' AND changed < ?) RETURNING case_id",
        (before,),
    )
    cursor.run("UPDATE cases SET label = '' WHERE state <> 'open' AND changed < ?", (before,))
    cases = len({case_id for (case_id,) in rows})
    note(cursor, "", "anonymise", before, cases=cases)
    return cases


class Judged(NamedTuple):
    """A case that has ended and whose truth is known."""

    options: dict[str, Any]
    state: str
    spent: int
    truth: Any
    answer: dict[str, Any]
    calls: list[list[list[Any]]]
    """The calls of its session, step by step."""


def judged(cursor: Cursor, model: str, version: str, owner: str | None, most: int) -> list[Judged]:
    """Closed cases of a model whose truth is known and whose values were not removed, the latest first."""
    mine = "" if owner is None else "AND owner = ?"
    rows = cursor.run(
        "SELECT id, options, state, spent, truth FROM cases WHERE model = ? AND version = ? AND state <> 'open' "
        f"AND truth IS NOT NULL {mine} ORDER BY changed DESC, id LIMIT ?",
        (model, version, *([] if owner is None else [owner]), most),
    )
    found = []
    for case_id, options, state, spent, truth in rows:
        steps = cursor.run(
            "SELECT calls, answer FROM events WHERE case_id = ? ORDER BY seq", (case_id,)
        )
        if all(calls is not None for calls, _ in steps):
            answer = json.loads(steps[-1][1])
            calls = [json.loads(calls) for calls, _ in steps]
            found.append(
                Judged(json.loads(options), state, spent, json.loads(truth), answer, calls)
            )
    return found
