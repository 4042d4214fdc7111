"""Times as they are stored, and who did what when."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from worthwhile.serve._database import Cursor


def now() -> str:
    """The time as it is stored."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def note(cursor: Cursor, owner: str, action: str, subject: str, **details: Any) -> None:
    """Write a line of the audit."""
    cursor.run(
        "INSERT INTO audit VALUES (?, ?, ?, ?, ?)",
        (now(), owner, action, subject, json.dumps(details)),
    )
