"""The papers, run again: every experiment that is not kept yet, and all pages from what is kept.

    python -m benchmarks.papers.all --data FOLDER [--only PAPER] [--experiments START] [--quick] [--again]
        [--minutes 8] [--pages] [--list] [--check]

Each experiment is one line of ``benchmarks/papers/results/PAPER.jsonl``: name, settings, seed, figures, seconds,
version and source of the library, machine, date. An experiment whose line is there is skipped unless ``--again``, so a
run may be stopped and gone on with. ``--check`` runs once more what other states of the source gave, and says whether
the present code gives the same figures, times apart; where it does, the line and its page name that state.
``--pages`` runs nothing and writes ``docs/reproduction/index.md``, the long pages and their figures; a test compares
the pages in ``docs`` with what the kept results make. ``--quick`` and real files (``--yahoo FOLDER`` and so on) have
results and pages of their own, a folder for each under ``build/papers``.

How a paper plugs in. Its module has one ``PAPER = Paper(...)`` (see ``frame.py``), which is added to ``PAPERS`` here:

- ``experiments(given)`` lists ``Experiment(name, run, settings, seed, needs)``. It must list without reading data;
  ``run()`` does the work and gives what JSON can hold. Smaller sizes where ``given.quick``; real files where
  ``given.yahoo`` and so on name a folder. Keep one experiment under eight minutes.
- ``claims(records)`` gives its table of claims (``claims.py``), of which the main ones stand at a glance too, from
  ``records[name]`` (figures of one experiment) and ``records.under(start)``; where a figure depends on what is not the
  paper's, ``chosen`` says so.
- ``text(records)`` is the long page, from ``records.heading(PAPER)`` to ``ending(PAPER, records)``; ``draw(records,
  folder)`` makes its figures.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from string import Template

from benchmarks.common import markdown
from benchmarks.papers import (
    adapt_2017,
    astc_2014,
    authors_page,
    budgetrf_2015,
    dynamic_selection_2012,
    greedy_miser_2012,
    ranking_page,
)
from benchmarks.papers.claims import VERDICTS, counts, table
from benchmarks.papers.frame import RESULTS, Records, arguments, places, run

PAPERS = [
    greedy_miser_2012.PAPER,
    astc_2014.PAPER,
    budgetrf_2015.PAPER,
    adapt_2017.PAPER,
    dynamic_selection_2012.PAPER,
]


def index(results: Path = RESULTS) -> str:
    """The page at a glance."""
    parts, lines, minutes = [], [], 0.0
    for paper in PAPERS:
        records = Records(results / f"{paper.name}.jsonl")
        minutes += records.seconds / 60
        text = f"## [{paper.title}]({paper.name}.md)\n"
        if paper.claims and len(records):
            claims = paper.claims(records)
            text += f"\n{table([claim for claim in claims if claim.main])}"
            lines.append([f"[{paper.title}]({paper.name}.md)", *counts(claims)])
        parts.append(text)
    template = Template((Path(__file__).parent / "index_page.md").read_text())
    summary = markdown(["paper", *VERDICTS], lines)
    return template.substitute(papers="\n".join(parts), minutes=f"{minutes:.0f}", summary=summary)


def pages(results: Path = RESULTS) -> dict[str, str]:
    """The pages that are made from kept results, by file name."""
    found = {"index.md": index(results)}
    kept = {paper.name: Records(results / f"{paper.name}.jsonl") for paper in PAPERS}
    for paper in PAPERS:
        records = kept[paper.name]
        if paper.text and len(records):
            found[f"{paper.name}.md"] = paper.text(records).rstrip() + "\n"
    miser, forests, gates = (
        kept[name] for name in ("greedy_miser_2012", "budgetrf_2015", "adapt_2017")
    )
    if miser.under("authors"):
        found["authors.md"] = authors_page.text(miser, forests, gates)
    if "panel yahoo plain" in miser:
        found["ranking.md"] = ranking_page.text(miser)
    return found


def write(results: Path, docs: Path, given: argparse.Namespace) -> None:
    """Pages, and the figures of the papers at hand."""
    for folder in (docs / "reproduction", docs / "figures"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages(results).items():
        (docs / "reproduction" / name).write_text(text)
    for paper in PAPERS:
        records = Records(results / f"{paper.name}.jsonl")
        if paper.draw and len(records) and (not given.only or paper.name in given.only):
            paper.draw(records, docs / "figures")


def main() -> None:
    given = arguments(__doc__, [paper.name for paper in PAPERS]).parse_args()
    results, docs = places(given)
    start, took = time.perf_counter(), 0.0
    end = start + 60 * given.minutes if given.minutes else float("inf")
    for paper in PAPERS:
        if not given.pages and (not given.only or paper.name in given.only):
            took += run(paper, Records(results / f"{paper.name}.jsonl"), given, end)
    if not given.list and not given.check:
        write(results, docs, given)
        kept = sum(Records(results / f"{paper.name}.jsonl").seconds for paper in PAPERS)
        print(f"{took:.0f} s now; what is kept took {kept / 60:.0f} minutes")


if __name__ == "__main__":
    main()
