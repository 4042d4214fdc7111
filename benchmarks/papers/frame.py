"""How the papers' experiments are run and kept: one line of JSON per experiment, pages made from the lines."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info

import worthwhile
from benchmarks.common import machine
from benchmarks.papers.claims import Claim, table

ROOT = Path(__file__).resolve().parents[2]
RESULTS, DOCS = ROOT / "benchmarks/papers/results", ROOT / "docs"
FILES = {
    "yahoo": "Yahoo! LTRC set 1: set1.train.txt, set1.valid.txt, set1.test.txt, costs.txt",
    "mslr": "MSLR-WEB: train.txt, vali.txt, test.txt of one fold",
    "letor": "LETOR: train.txt, vali.txt, test.txt of one fold",
    "miniboone": "the full MiniBooNE: MiniBooNE_PID.txt",
    "forest": "the full Forest cover: covtype.data or covtype.data.gz",
}
"""Options for whoever has the real files, and what their folders hold."""


class Experiment(NamedTuple):
    """One thing to run, whose figures are kept."""

    name: str
    run: Callable[[], Any]
    """Gives what JSON can hold. Data is read here, not before: experiments are listed without it."""
    settings: Mapping[str, Any] = MappingProxyType({})
    """Sizes and parameters, as a reader would want them."""
    seed: int | list[int] = 0
    needs: tuple[str, ...] = ()
    """Options without which it is left out: ``("data",)``."""


class Paper(NamedTuple):
    """A paper as the run of all papers sees it."""

    name: str
    """Of its script, of its file of results and of its page."""
    title: str
    data: str
    experiments: Callable[[argparse.Namespace], Iterable[Experiment]]
    claims: Callable[[Records], list[Claim]] | None = None
    text: Callable[[Records], str] | None = None
    """The long page; None for one that is not made from kept results."""
    draw: Callable[[Records, Path], None] | None = None
    """Puts its figures into a folder."""
    rules: str = ""
    """What holds for many of its claims, said once."""
    counterparts: Mapping[str, str] = MappingProxyType({})
    """Where each figure and table of the paper is found, or why there is none."""


class Records(Mapping[str, Any]):
    """Figures by experiment, from a file of JSON lines, and what is known of how they were made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        for line in path.read_text().splitlines() if path.exists() else []:
            if line.endswith("}"):  # a run that was killed may have left half a line
                record = json.loads(line)
                self.lines[record["experiment"]] = record

    def __getitem__(self, name: str) -> Any:
        return self.lines[name]["figures"]

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def under(self, start: str) -> dict[str, Any]:
        """Figures of experiments by the rest of their names, which begin with ``start`` and a space."""
        start += " "
        return {name[len(start) :]: self[name] for name in self if name.startswith(start)}

    def run(self, experiment: Experiment, files: Sequence[str] = ()) -> float:
        """Run, keep at once with the names of real files that were given, and say how long it took."""
        start = time.perf_counter()
        figures = experiment.run()
        seconds = time.perf_counter() - start
        self._keep({
            "experiment": experiment.name, "settings": _short(experiment.settings), "seed": experiment.seed,
            "figures": _short(figures), "seconds": round(seconds, 1), **made_by(),
            **({"files": list(files)} if files else {}),
        })  # fmt: skip
        return seconds

    def check(self, experiment: Experiment) -> int:
        """Run once more: how many figures differ. Where none does, the line says which state gave them last."""
        line = self.lines[experiment.name]
        count = differences(line["figures"], _short(experiment.run()))
        if not count:
            now = made_by()
            self._keep(line | {"again": {key: now[key] for key in ("source", "blas", "date")}})
        return count

    def last(self, name: str) -> dict[str, str]:
        """State of the source that gave the figures of an experiment last, and the date."""
        line = self.lines[name]
        return line.get("again", line)

    def _keep(self, line: dict[str, Any]) -> None:
        """Write a line at once; another run may have added to the file meanwhile."""
        self.lines = Records(self.path).lines | {line["experiment"]: line}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = "".join(json.dumps(line) + "\n" for line in self.lines.values())
        new = self.path.with_suffix(".new")
        new.write_text(whole)
        new.replace(self.path)

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return float(sum(line["seconds"] for line in self.lines.values()))

    def heading(self, paper: Paper, command: str = "--data FOLDER") -> str:
        """Title, command, machine, dates and duration, then the claims."""
        machines = [line["machine"].split(", ") for line in self.lines.values()]
        shared = [part for part in machines[0] if all(part in own for own in machines)]
        dates = sorted({line["date"] for line in self.lines.values()})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        states = Counter(self.last(name)["source"] for name in self).most_common()
        source = ", ".join(f"{state} ({count})" for state, count in states)
        again = sum("again" in line for line in self.lines.values())
        return (
            f"# {paper.title}\n\n`python -m benchmarks.papers.all --only {paper.name} {command}`: "
            f"{len(self)} experiments, {self.seconds / 60:.0f} minutes in all. {', '.join(shared)}, {when}; "
            f"{f'{again} run again since, with the same figures; ' if again else ''}state of the source that gave them "
            f"last (`git rev-parse HEAD:src/worthwhile`): {source}. "
            f"[All papers at a glance](index.md).\n\n{self._claims(paper)}"
        )

    def _claims(self, paper: Paper) -> str:
        """All that the paper says, and what is reached of it."""
        claims = paper.claims(self) if paper.claims else []
        files = dict.fromkeys(
            name for line in self.lines.values() for name in line.get("files", ())
        )
        real = f"**Real files** stand for these sets here: {', '.join(files)}. " if files else ""
        about = f"Data: {paper.data}. {real}{paper.rules}"
        return f"## Claims\n\n{about}\n\n{table(claims)}\n" if claims else ""


def _short(value: Any) -> Any:
    """The same with numbers of six digits: files stay small, and a page is the same before and after a reading."""
    if isinstance(value, Mapping):
        return {str(key): _short(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_short(own) for own in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _git(*words: str) -> str:
    """What git says of this repository; nothing without git."""
    asked = ["git", "-C", str(ROOT), *words]
    try:
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def state() -> str:
    """The identity of the library's folder in git; a plus where files differ from it."""
    changed = "+" if _git("status", "--porcelain", "--", "src/worthwhile") else ""
    return _git("rev-parse", "--short", "HEAD:src/worthwhile") + changed


def kernels() -> str:
    """For which processors BLAS has chosen its kernels: last bits differ, and fits that hang on them."""
    found = (own.get("architecture") for own in threadpool_info() if own["user_api"] == "blas")
    return next((own for own in found if own), "")


def made_by() -> dict[str, str]:
    """Version, state of the library's source, machine, kernels of BLAS and date."""
    return {
        "version": worthwhile.__version__,
        "source": state(),
        "machine": ", ".join(machine().split(", ")[:4]),
        "blas": kernels(),
        "date": str(datetime.datetime.now(datetime.UTC).date()),
    }


def differences(kept: Any, now: Any) -> int:
    """How many figures are not what they were, times apart."""
    if isinstance(kept, Mapping) and isinstance(now, Mapping):
        names = (set(kept) | set(now)) - {"seconds"}
        return sum(differences(kept.get(name), now.get(name)) for name in names)
    if isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        return sum(differences(a, b) for a, b in zip(kept, now, strict=True))
    return int(kept != now)


def arguments(text: str | None, papers: Iterable[str]) -> argparse.ArgumentParser:
    """The options of a run of papers."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder with the papers' data sets")
    for name, files in FILES.items():
        parser.add_argument(f"--{name}", metavar="FOLDER", help=f"{files}")
    parser.add_argument("--only", nargs="+", metavar="PAPER", choices=list(papers))
    parser.add_argument("--experiments", nargs="+", metavar="START", help="whose names begin so")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--again", action="store_true", help="also what is kept already")
    parser.add_argument(
        "--check", action="store_true", help="run once more what earlier states gave, compare"
    )
    parser.add_argument("--minutes", type=float, help="begin no experiment after so many")
    parser.add_argument("--pages", action="store_true", help="run nothing, write the pages")
    parser.add_argument("--list", action="store_true", help="run nothing, list the experiments")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="of the kept results")
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="where pages are written")
    return parser


def places(given: argparse.Namespace) -> tuple[Path, Path]:
    """Folders of results and of pages: the repository's only for runs at its own sizes, on its own data."""
    other = [name for name in ("quick", *FILES) if getattr(given, name)]
    # A folder for each: what is kept of small sizes must not stand for what real files give.
    aside = ROOT / "build/papers" / "-".join(other)
    return given.results or (aside / "results" if other else RESULTS), given.docs or (
        aside / "docs" if other else DOCS
    )


def ending(paper: Paper, records: Records) -> str:
    """The end of a page: the paper's figures and tables one by one, and which experiments have not been run yet."""
    rows = "".join(f"| {name} | {place} |\n" for name, place in paper.counterparts.items())
    text = f"\n## Its figures and tables\n\n| in the paper | here |\n| --- | --- |\n{rows}"
    given = arguments(None, []).parse_args([])
    names = [own.name for own in paper.experiments(given) if own.name not in records]
    left = f"\nNot run yet, left for the same command: {'; '.join(names)}.\n" if names else ""
    return text + left


def run(paper: Paper, records: Records, given: argparse.Namespace, end: float) -> float:
    """Run what is missing of a paper, until the end; the seconds that it took."""
    took, now = 0.0, state()
    for experiment in paper.experiments(given):
        if given.experiments and not experiment.name.startswith(tuple(given.experiments)):
            continue
        missing = [option for option in experiment.needs if not getattr(given, option)]
        kept = experiment.name in records
        last = records.last(experiment.name)["source"] if kept else ""
        said = f"kept, of {last}" if kept else "to run"
        if missing:
            said = f"left out, needs --{missing[0]}"
        elif time.perf_counter() > end:
            said = "left for the next run"
        elif given.check and kept and (given.again or last != now):
            count = records.check(experiment)
            said = f"{count} figures differ, with BLAS for {kernels()}" if count else "as kept"
        elif not (given.check or given.list) and (given.again or not kept):
            files = [name for name in FILES if getattr(given, name)]
            took += (seconds := records.run(experiment, files))
            said = f"{seconds:.0f} s"
        print(f"{paper.name}: {experiment.name}: {said}", flush=True)
    return took
