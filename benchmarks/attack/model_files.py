"""Damage model files by the hundred thousand: each is refused, or loads to a model that obeys the laws.

    python -m benchmarks.attack.model_files --files 100000 --resume FILE [--jobs 2] [--samples FOLDER]
        [--keep FOLDER]

The damage is that of ``tests/attack/model_files.py``, which the tests do a small piece of. Prints how many
files were refused, how many obey and how many are wrong, the largest memory of a process and the longest that
a file took; exits with 1 if a file is wrong, and keeps it in FOLDER. What is done is written into FILE, piece
by piece: the same command goes on from there. A file that takes over a minute, or the process with it, counts
as wrong.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import resource
import sys
import tempfile
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attack.options import attack_options
from benchmarks.common import Kept
from tests.attack.model_files import damage, judge, rows, write_samples

PIECE = 500
LIMIT = 60
"""Seconds that a file may take."""


def attack(first: int, samples: list[Path], folder: Path) -> dict[str, Any]:
    """Outcomes of the files from one seed on; those that are wrong stay in the folder."""
    warnings.simplefilter("ignore")
    counts, wrong, slowest = {"refused": 0, "obeys": 0, "wrong": 0}, [], 0.0
    tried = rows()
    for seed in range(first, first + PIECE):
        path = folder / f"{samples[seed % len(samples)].stem}-{seed}.worthwhile"
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        damage(samples, path, seed)
        start = time.perf_counter()
        outcome, problem = judge(path, tried)
        slowest = max(slowest, time.perf_counter() - start)
        faulthandler.cancel_dump_traceback_later()
        counts[outcome] += 1
        if outcome == "wrong":
            wrong.append(f"{path.name}: {problem}")
        else:
            path.unlink()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"counts": counts, "problems": wrong, "memory": memory, "slowest": round(slowest, 1)}


def run(given: argparse.Namespace, kept: Kept, samples: list[Path], folder: Path) -> list[str]:
    """Do the pieces that are not done; names of files with which a process ended."""
    todo = [s for s in range(0, given.files, PIECE) if str(s) not in kept.found]
    spawn = multiprocessing.get_context("spawn")  # compiled kernels and forks do not go together
    with ProcessPoolExecutor(given.jobs, mp_context=spawn) as pool:
        waiting = {pool.submit(attack, s, samples, folder): str(s) for s in todo}
        try:
            for future in as_completed(waiting):
                kept.get(waiting[future], partial(dict, future.result()))
                print(f"from seed {waiting[future]}: {future.result()['counts']}", flush=True)
        except BrokenProcessPool:
            known = {
                line.split(":")[0] for found in kept.found.values() for line in found["problems"]
            }
            return [p.name for p in folder.glob("*.worthwhile") if p.name not in known]
    return []


def samples_in(folder: Path) -> list[Path]:
    """Whole files, written unless they are there already."""
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    if not done.exists():
        write_samples(folder)
        done.touch()
    return sorted(folder.glob("*.worthwhile"))


def main() -> int:
    parser = attack_options(__doc__, "files", 100_000, PIECE)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--samples", metavar="FOLDER", help="keep the whole files between runs")
    parser.add_argument("--keep", metavar="FOLDER", default="wrong_model_files")
    given = parser.parse_args()
    kept, folder, start = Kept(given.resume), Path(given.keep), time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        ended = run(given, kept, samples_in(Path(given.samples or place)), folder)
    found = kept.found.values()
    total = {key: sum(f["counts"][key] for f in found) for key in ("refused", "obeys", "wrong")}
    print(
        f"{sum(total.values()):,} files, {time.perf_counter() - start:.0f} s in this run, "
        f"at most {max((f['memory'] for f in found), default=0):,} MB, "
        f"{max((f['slowest'] for f in found), default=0)} s for a file\n"
        f"refused: {total['refused']:,}   obey: {total['obeys']:,}   wrong: {total['wrong']:,}"
    )
    for line in [problem for f in found for problem in f["problems"]]:
        print(f"  {line}")
    for name in ended:
        print(f"  {name}: one of these ended its process, or took over {LIMIT} s")
    if not any(folder.iterdir()):
        folder.rmdir()
    return 1 if total["wrong"] or ended else 0


if __name__ == "__main__":
    sys.exit(main())
