"""What is read of many cases at once, and what is forgotten of them; each as one function of a cursor."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from worthwhile.serve._audit import note
from worthwhile.serve._database import Cursor, Rows


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
