"""Kill a service under load by the hundred: no acknowledged value lost, none billed twice.

    python -m benchmarks.attack.service --kills 100 [--store postgresql://...] --resume FILE

The attack is that of ``tests/attack/service.py``: five kills a piece, four clients, cases compared with the batch.
Prints what was acknowledged and what was wrong, and exits with 1 if anything was. What is done is written into FILE:
the same command goes on from there.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attack.options import attack_options
from benchmarks.common import Kept
from tests.attack.service import killed_under_load

PIECE = 5
"""Kills of one service."""


def piece(seed: int, store: str | None) -> dict[str, Any]:
    """One service, killed a few times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tally = killed_under_load(folder, seed, store or str(folder / "cases.db"), kills=PIECE)
    return {"acknowledged": tally.acknowledged, "ended": tally.ended, "wrong": tally.wrong}


def main() -> int:
    parser = attack_options(__doc__, "kills", 100)
    parser.add_argument("--store", help="postgresql://...; without it, SQLite")
    given = parser.parse_args()
    kept, kind = Kept(given.resume), "postgres" if given.store else "sqlite"
    found = [
        kept.get(f"{kind} {seed}", partial(piece, seed, given.store))
        for seed in range(-(-given.kills // PIECE))
    ]
    wrong = [problem for done in found for problem in done["wrong"]]
    acknowledged, ended = (sum(done[name] for done in found) for name in ("acknowledged", "ended"))
    print("\n".join(wrong))
    print(
        f"{kind}: {PIECE * len(found):,} kills, {acknowledged:,} values acknowledged, {ended:,} cases ended and "
        f"compared, wrong: {len(wrong):,}"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
