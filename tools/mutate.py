"""Change lines of the package at random and see whether the tests that belong to them notice.

    python -m tools.mutate --count 40 --seed 0 [--package estimators policy] [--skip core] [--results FILE]

Works in a copy of the tree, never in the tree itself. A mutant is tried first on the doctests of its module
and the test file of the same name, then on the folder of that file; the first test that fails kills it, and
so does a run over ``--timeout`` seconds. A test that fails without the mutant as well does not count: such
mutants are "broken". Kernels are compiled anew for each mutant of ``core``, a minute or two; ``--skip core``
leaves them out. Results go into FILE, one line of JSON each, and are not done again. Exits with 0 whatever
survives: survivors are for reading.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutants import Mutant, mutants

PACKAGE = Path("src/worthwhile")
LEFT_BEHIND = shutil.ignore_patterns(
    ".git", "__pycache__", ".*_cache", "build", "dist", "*.nbi", "*.nbc"
)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?\.(?:py|md)(?:::\S+(?: \S+)*?)?)(?: - .*)?$", re.M)


@dataclass(frozen=True)
class Change:
    """A mutant of a file."""

    path: str
    mutant: Mutant

    @property
    def key(self) -> str:
        """Name in the file of results."""
        one = self.mutant
        digest = hashlib.sha256(f"{one.begin} {one.end} {one.text}".encode()).hexdigest()[:8]
        return f"{self.path}:{one.line}:{one.operator}:{digest}"


def find(root: Path, packages: list[str], skip: list[str], count: int, seed: int) -> list[Change]:
    """Lines drawn at random over the package, and one mutant of each."""
    chance, lines = random.Random(seed), {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root / PACKAGE).with_suffix("").parts
        if (packages and parts[0] not in packages) or parts[0] in skip:
            continue
        for mutant in mutants(path.read_text()):
            place = (path.relative_to(root).as_posix(), mutant.line)
            lines.setdefault(place, []).append(mutant)
    drawn = chance.sample(sorted(lines), min(count, len(lines)))
    return [Change(path, chance.choice(lines[path, line])) for path, line in drawn]


def related_tests(root: Path, path: str) -> list[list[str]]:
    """What to run for a module: its doctests and its own test file, then the folder of its tests."""
    inside = Path(path).relative_to(PACKAGE)
    own = Path("tests") / inside.parent / f"test_{inside.stem.strip('_')}.py"
    folder = own.parent
    while folder != Path("tests") and not any((root / folder).glob("**/test_*.py")):
        folder = folder.parent
    first = [path, own.as_posix()] if (root / own).exists() else [path]
    return [first, [folder.as_posix()]]


class Copy:
    """A copy of the tree in which mutants are tried one after the other."""

    def __init__(self, root: Path, place: Path, timeout: float) -> None:
        self.root, self.timeout = place / "tree", timeout
        self.kernels = place / "kernels"
        shutil.copytree(root, self.root, ignore=LEFT_BEHIND)

    def test(self, what: list[str], kernels: Path) -> tuple[str, list[str]]:
        """Run tests: "passed", "failed" or "timed out", and what failed."""
        environment = os.environ | {
            "PYTHONPATH": f"{self.root / 'src'}{os.pathsep}{self.root}", "NUMBA_CACHE_DIR": str(kernels),
            "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-rfE",
            "--tb=no",
            "-p",
            "no:cacheprovider",
        ]
        try:
            done = subprocess.run(
                [*command, *what], cwd=self.root, env=environment, timeout=self.timeout,
                capture_output=True, text=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timed out", []
        passed = done.returncode in (0, 5)  # 5: nothing to run
        return ("passed" if passed else "failed"), FAILED.findall(done.stdout)

    def judge(self, change: Change) -> dict[str, Any]:
        """Try one mutant: what became of it, by which test."""
        file, start = self.root / change.path, time.perf_counter()
        original, stat = file.read_bytes(), file.stat()
        in_core = Path(change.path).relative_to(PACKAGE).parts[0] == "core"
        outcome, by = "survived", ""
        # Compiled code of a mutant must not be taken for that of the original.
        kernels = Path(tempfile.mkdtemp(dir=self.root.parent)) if in_core else self.kernels
        for what in related_tests(self.root, change.path):
            file.write_text(change.mutant.applied(original.decode()))
            try:
                found, failed = self.test(what, kernels)
            finally:
                file.write_bytes(original)
                os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
            if found != "passed":
                by = failed[0] if failed else " ".join(what)
                outcome = "killed" if found == "failed" else found
                break
        if in_core:
            shutil.rmtree(kernels)
        if (
            outcome == "killed"
            and self.test([by] if "::" in by else what, self.kernels)[0] != "passed"
        ):
            outcome = "broken"
        seconds = round(time.perf_counter() - start)
        diff = change.mutant.diff(original.decode(), change.path)
        return {"outcome": outcome, "by": by, "seconds": seconds, "diff": diff}


def main() -> None:
    """Draw, try, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--package", nargs="+", default=[], help="only these, such as policy costs")
    parser.add_argument("--skip", nargs="+", default=[], help="packages to leave out, such as core")
    parser.add_argument("--results", metavar="FILE", help="what is done, one line of JSON each")
    parser.add_argument("--timeout", type=float, default=900, help="seconds per run of tests")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    given = parser.parse_args()
    known: dict[str, Any] = {}
    if given.results and Path(given.results).exists():
        known = dict(map(json.loads, Path(given.results).read_text().splitlines()))
    drawn, results = find(given.root, given.package, given.skip, given.count, given.seed), {}
    with tempfile.TemporaryDirectory() as place:
        copy = Copy(given.root, Path(place), given.timeout)
        for change in drawn:
            if change.key not in known:
                known[change.key] = copy.judge(change)
                if given.results:
                    with open(given.results, "a") as file:
                        file.write(json.dumps([change.key, known[change.key]]) + "\n")
            result = results[change.key] = known[change.key]
            print(f"{result['outcome']:9s} {result['seconds']:4d} s  {change.key}", flush=True)
    report(results)


def report(results: dict[str, Any]) -> None:
    """Survivors with their change, and the share that was killed, in core and elsewhere."""
    for outcome in ("survived", "broken"):
        for result in [one for one in results.values() if one["outcome"] == outcome]:
            print(f"\n{outcome}\n{result['diff']}")
    print()
    for title, core in (("core", True), ("elsewhere", False)):
        found = [
            result["outcome"] for key, result in results.items()
            if key.startswith(f"{PACKAGE.as_posix()}/core/") == core and result["outcome"] != "broken"
        ]  # fmt: skip
        if found:
            killed = len(found) - found.count("survived")
            print(f"{title}: {killed} of {len(found)} killed ({killed / len(found):.0%})")


if __name__ == "__main__":
    main()
