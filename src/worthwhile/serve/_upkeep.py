"""Looking after a store: would open cases still give the same answers, and what may be forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from worthwhile.exceptions import BadModelFile, SessionError
from worthwhile.serve import _history as history
from worthwhile.serve import _operations as operations
from worthwhile.serve._cases import answer_of, replay
from worthwhile.serve._database import Cursor, Database
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._models import Model, stored_model

MANY = 1_000_000


def check_cases(database: Database) -> dict[str, Any]:
    """Make the stored calls of every open case again with the present code, and compare the answers.

    Run it with the new version of worthwhile before an upgrade. Nothing is written.
    """
    same, differ = 0, []
    models: dict[tuple[str, str], Model] = {}
    for case in database.write_now(lambda c: operations.list_cases(c, None, "open", MANY)):
        problem = _difference(database, case, models)
        if problem is None:
            same += 1
        else:
            differ.append({"case": case.id, "model": case.model, "problem": problem})
    return {"open": same + len(differ), "same": same, "differ": differ}


def _difference(database: Database, case: Any, models: dict[tuple[str, str], Model]) -> str | None:
    """What is different about a case now; None if nothing is."""

    def read(cursor: Cursor) -> tuple[bytes | None, list[list[Any]], dict[str, Any]]:
        return (
            operations.model_content(cursor, case.model, case.version),
            operations.read_calls(cursor, case.id),
            operations.last_answer(cursor, case),
        )

    try:
        content, steps, stored = database.write_now(read)
        key = case.model, case.version
        if key not in models:
            models[key] = stored_model(case.model, content or b"")
        session = replay(models[key], case, steps)
        now = answer_of(session, case)
    except (ServiceError, SessionError, BadModelFile, ValueError) as error:
        return str(error)
    changed = sorted(name for name in now if now[name] != stored.get(name))
    return f"{', '.join(changed)} would change" if changed else None


def retain(database: Database, days: int) -> int:
    """Remove the values of cases that ended more than ``days`` ago; amounts stay. Gives their number."""
    if days < 0:
        raise ValueError(f"days is {days}: give a number >= 0.")
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
    return database.write_now(lambda cursor: history.anonymise(cursor, before))
