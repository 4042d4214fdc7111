"""How the papers' experiments are run and kept: one line of JSON per experiment, pages made from the lines."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

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


EARLIER = "Not all experiments of earlier states were run again (`--check`); those that were gave the same figures. "
"""To be kept true: what no longer gives its figures is run again."""


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

    def run(self, experiment: Experiment) -> float:
        """Run, keep at once, and say how long it took."""
        start = time.perf_counter()
        figures = experiment.run()
        seconds = time.perf_counter() - start
        self.lines[experiment.name] = {
            "experiment": experiment.name, "settings": _short(experiment.settings), "seed": experiment.seed,
            "figures": _short(figures), "seconds": round(seconds, 1), **_made_by(),
        }  # fmt: skip
        # Another run may have added to the file meanwhile.
        self.lines = Records(self.path).lines | {experiment.name: self.lines[experiment.name]}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        whole = "".join(json.dumps(line) + "\n" for line in self.lines.values())
        new = self.path.with_suffix(".new")
        new.write_text(whole)
        new.replace(self.path)
        return seconds

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
        states = Counter(line["source"] for line in self.lines.values()).most_common()
        source = ", ".join(f"{state} ({count})" for state, count in states)
        return (
            f"# {paper.title}\n\n`python -m benchmarks.papers.all --only {paper.name} {command}`: "
            f"{len(self)} experiments, {self.seconds / 60:.0f} minutes in all. {', '.join(shared)}, {when}; state of "
            f"the source (`git rev-parse HEAD:src/worthwhile`): {source}. {EARLIER if len(states) > 1 else ''}"
            f"[All papers at a glance](index.md).\n\n{self._claims(paper)}"
        )

    def _claims(self, paper: Paper) -> str:
        """All that the paper says, and what is reached of it."""
        claims = paper.claims(self) if paper.claims else []
        about = f"Data: {paper.data}. {paper.rules}"
        return f"## Claims\n\n{about}\n\n{table(claims)}\n" if claims else ""


def _short(value: Any) -> Any:
    """The same with numbers of six digits: files stay small, and a page is the same before and after a reading."""
    if isinstance(value, Mapping):
        return {str(key): _short(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_short(own) for own in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _made_by() -> dict[str, str]:
    """Version, state of the library's source (the identity of its folder in git), machine and date."""
    asked = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD:src/worthwhile"]
    try:
        source = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        source = ""
    return {
        "version": worthwhile.__version__,
        "source": source,
        "machine": ", ".join(machine().split(", ")[:4]),
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
        "--check", action="store_true", help="run what is kept, compare, keep nothing"
    )
    parser.add_argument("--minutes", type=float, help="begin no experiment after so many")
    parser.add_argument("--pages", action="store_true", help="run nothing, write the pages")
    parser.add_argument("--list", action="store_true", help="run nothing, list the experiments")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="of the kept results")
    parser.add_argument("--docs", type=Path, metavar="FOLDER", help="where pages are written")
    return parser


def places(given: argparse.Namespace) -> tuple[Path, Path]:
    """Folders of results and of pages: the repository's only for runs at its own sizes, on its own data."""
    own = not given.quick and not any(getattr(given, name) for name in FILES)
    aside = ROOT / "build/papers"
    return given.results or (RESULTS if own else aside / "results"), given.docs or (
        DOCS if own else aside / "docs"
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
    took = 0.0
    for experiment in paper.experiments(given):
        if given.experiments and not experiment.name.startswith(tuple(given.experiments)):
            continue
        missing = [option for option in experiment.needs if not getattr(given, option)]
        state = "kept" if experiment.name in records else "to run"
        if missing:
            state = f"left out, needs --{missing[0]}"
        elif time.perf_counter() > end:
            state = "left for the next run"
        elif given.check and experiment.name in records:
            count = differences(records[experiment.name], _short(experiment.run()))
            state = f"{count} figures differ" if count else "as kept"
        elif not given.check and not given.list and (given.again or experiment.name not in records):
            took += (seconds := records.run(experiment))
            state = f"{seconds:.0f} s"
        print(f"{paper.name}: {experiment.name}: {state}", flush=True)
    return took
