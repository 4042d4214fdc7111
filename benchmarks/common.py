"""What the benchmarks share: data from a folder, prices, the machine, Markdown."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import worthwhile
from worthwhile import Costs, datasets


def options(text: str | None) -> argparse.ArgumentParser:
    """A parser with the options that all benchmarks have."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder with the papers' data sets")
    parser.add_argument("--quick", action="store_true", help="minutes instead of hours")
    parser.add_argument(
        "--out", metavar="FILE", help="write the results as Markdown into this file"
    )
    parser.add_argument("--seed", type=int, default=0)
    return parser


def machine() -> str:
    """Where and when a run was made."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        name = lines[0].split(":", 1)[1].strip() if lines else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    today = datetime.datetime.now(datetime.UTC).date()
    return f"{name}, {cores} cores, Python {platform.python_version()}, worthwhile {worthwhile.__version__}, {today}"


def best_within(curve: Sequence[Sequence[float]], costs: np.ndarray) -> np.ndarray:
    """The best score of a curve of (cost, score) at most at these costs; NaN below its cheapest."""
    return np.array(
        [max((score for c, score in curve if c <= cost + 1e-9), default=np.nan) for cost in costs]
    )


def markdown(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """A table."""
    rows = [list(heads), ["---"] + ["---:"] * (len(heads) - 1)]
    rows += [[cell(value) for value in line] for line in lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def cell(value: Any) -> str:
    """A value as text; numbers short, what is missing as a dash."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def heading(title: str, script: str, given: argparse.Namespace, start: float) -> str:
    """Title of a page, the command, the seed, the machine, the date and the time it took."""
    data = " --data FOLDER" if given.data else ""
    quick = " --quick" if given.quick else ""
    took = f"{time.perf_counter() - start:.0f} s"
    return f"# {title}\n\n`python -m benchmarks.{script}{data}{quick}`, seed {given.seed}. {machine()}, {took}.\n\n"


NOTES = "<!-- notes -->"
"""What is written by hand below this line of a page stays when the page is made again."""


def write(out: str | None, text: str) -> None:
    """Print, and keep in a file where one was named."""
    print(text)
    if out:
        write_page(Path(out), text)


def write_page(path: Path, text: str) -> None:
    """Write a page over the old one, whose notes stay."""
    notes = ""
    if path.exists() and NOTES in (old := path.read_text()):
        notes = f"\n{NOTES}{old.split(NOTES, 1)[1]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n" + notes)


def write_section(out: str | None, name: str, text: str) -> None:
    """Print, and keep in a part of a page that has others, too: between two marks, at the end if they are missing."""
    print(text)
    if not out:
        return
    path, marks = Path(out), (f"<!-- {name} -->", f"<!-- end of {name} -->")
    page = path.read_text() if path.exists() else ""
    if marks[0] not in page:
        page = f"{page.rstrip()}\n\n{marks[0]}\n{marks[1]}\n"
    before, rest = page.split(marks[0], 1)
    after = rest.split(marks[1], 1)[1]
    path.write_text(f"{before}{marks[0]}\n{text.rstrip()}\n{marks[1]}{after}")


class Kept:
    """Results in a file as they come, one line of JSON each: a long run may be done in pieces."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        self.found: dict[str, Any] = {}
        if path and Path(path).exists():
            lines = Path(path).read_text().splitlines()
            self.found = dict(json.loads(line) for line in lines if line.endswith("]"))

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """What was kept under a key; made, and kept, where it is missing."""
        if key not in self.found:
            self.found[key] = make()
            if self.path:
                with open(self.path, "a") as file:
                    file.write(json.dumps([key, self.found[key]]) + "\n")
        return self.found[key]


def skewed(n_features: int, seed: int = 0) -> Costs:
    """Prices from 1 to 100, spread evenly in the logarithm over the features at random."""
    prices = np.round(np.geomspace(1, 100, n_features), 2)
    return Costs(np.random.default_rng(seed).permutation(prices))


def load(
    name: str, folder: str | None, rows: int | None = None, seed: int = 0
) -> tuple[Any, Any, Costs | None]:
    """X, y and published prices (None where there are none) of a set, at most ``rows`` of it."""
    shipped = {
        "heart": datasets.load_heart, "letters": datasets.load_letters, "segmentation": datasets.load_segmentation,
        "ionosphere": datasets.load_ionosphere,
    }  # fmt: skip
    bunch = shipped[name]() if name in shipped else datasets.fetch_paper_set(name, folder)
    X, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
    costs = None
    if name in ("heart", "pima"):
        costs = by_position(bunch.costs)
    if rows is not None and len(y) > rows:
        chosen = np.sort(np.random.default_rng(seed).choice(len(y), rows, replace=False))
        X, y = X[chosen], y[chosen]
    return X, y, costs


def by_position(costs: Costs) -> Costs:
    """The same prices without names."""
    groups = {
        name: {"fee": group.fee, "features": [costs.index(f) for f in group.features]}
        for name, group in costs.groups.items()
    }
    return Costs(list(costs.prices.values()), groups=groups, unit=costs.unit)
