"""Drive sessions through a million random calls: nothing told is lost, every bill is exact.

    python -m benchmarks.attack.sessions --steps 1000000 --resume FILE [--jobs 2]

The sequences are those of ``tests/attack/sessions.py``, which the tests do a small piece of. Prints how
many sequences and steps were made and how many sequences went wrong, each with its seed, and exits with 1
if one did; ``tests.attack.sessions.replay(seed)`` shows its steps. What is done is written into FILE, piece
by piece: the same command goes on from there.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from typing import Any

from benchmarks.attack.options import attack_options
from benchmarks.common import Kept
from tests.attack.sessions import Wrong, attack

PIECE = 10_000
"""Steps; the seeds of a piece begin at its first step, and no sequence has no steps."""


def run_piece(first: int) -> dict[str, Any]:
    """Sequences from one seed on, until they make a piece."""
    warnings.simplefilter("ignore")
    steps, seed, problems = 0, first, []
    while steps < PIECE:
        try:
            steps += attack(seed)
        except Wrong as wrong:
            steps += 1
            problems.append(str(wrong))
        seed += 1
    return {"steps": steps, "sequences": seed - first, "problems": problems}


def main() -> int:
    parser = attack_options(__doc__, "steps", 1_000_000, PIECE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    kept, start = Kept(given.resume), time.perf_counter()
    todo = [s for s in range(0, given.steps, PIECE) if str(s) not in kept.found]
    spawn = multiprocessing.get_context("spawn")  # compiled kernels and forks do not go together
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
        waiting = {pool.submit(run_piece, s): str(s) for s in todo}
        for future in as_completed(waiting):
            kept.get(waiting[future], partial(dict, future.result()))
            wrong = len(future.result()["problems"])
            print(f"from seed {waiting[future]}: {wrong} wrong", flush=True)
    found = kept.found.values()
    problems = [problem for f in found for problem in f["problems"]]
    print(
        f"{sum(f['steps'] for f in found):,} steps in {sum(f['sequences'] for f in found):,} sequences, "
        f"{time.perf_counter() - start:.0f} s in this run\nwrong: {len(problems):,}"
    )
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
