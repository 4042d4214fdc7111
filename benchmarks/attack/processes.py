"""Kill processes by the hundred while they write: files are old or new and whole, work is gone on with.

    python -m benchmarks.attack.processes --kills 200 --resume FILE

The attacks are those of ``tests/attack/processes.py``, which the tests do a few of. For every ten kills there
are races on one path, a full disk, a folder that is closed, a broken pipe and three interrupts of the command
line. Prints how many of each were made and how many went wrong, and exits with 1 if one did. What is done is
written into FILE: the same command goes on from there.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

from benchmarks.attack.options import attack_options
from benchmarks.common import Kept
from tests.attack.processes import KILLS, LINES, RACES, REFUSALS, Attack, interrupted

BESIDE = (*RACES, *REFUSALS, *LINES, interrupted, interrupted)
"""Made once for every ten kills."""


def attacks(kills: int) -> list[tuple[Attack, int]]:
    """What is to be done, each with its seed."""
    plan = []
    for number in range(kills):
        plan.append((KILLS[number % len(KILLS)], number))
        if number % 10 == 9:
            plan += [(attack, 10 * number + place) for place, attack in enumerate(BESIDE)]
    return plan


def try_once(attack: Attack, seed: int) -> str:
    """What went wrong, "" if nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # one attack comes from another user
        try:
            attack(folder, seed)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def main() -> int:
    parser = attack_options(__doc__, "kills", 200)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept, start = Kept(given.resume), time.perf_counter()
    for attack, seed in attacks(given.kills):
        key = f"{attack.__name__} {seed}"
        if problem := kept.get(key, partial(try_once, attack, seed)):
            print(f"{key}: {problem}", flush=True)
    done = Counter(key.split()[0] for key in kept.found)
    wrong = Counter(key.split()[0] for key, problem in kept.found.items() if problem)
    print(f"{time.perf_counter() - start:.0f} s in this run")
    for name, count in done.items():
        print(f"{name:<18} {count:>6,}   wrong: {wrong[name]:,}")
    kills = sum(done[attack.__name__] for attack in KILLS)
    print(f"{kills:,} kills, {sum(done.values()) - kills:,} others, wrong: {wrong.total():,}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
