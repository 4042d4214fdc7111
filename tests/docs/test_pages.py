"""The examples of the guide and of the method pages run, and show what they say."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = [DOCS / "index.md", *sorted(DOCS.glob("guide/*.md")), *sorted(DOCS.glob("methods/*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def python_lines(text: str) -> str:
    """The text with everything but its Python blocks blanked out: line numbers stay true."""
    lines, inside = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line.strip() == "```python"
            lines.append("")
        else:
            lines.append(line if inside else "")
    return "\n".join(lines) + "\n"


def identifier(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=identifier)
def test_examples_show_what_they_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # examples may write files
    source = python_lines(page.read_text(encoding="utf-8"))
    example = doctest.DocTestParser().get_doctest(source, {}, page.name, str(page), 0)
    report: list[str] = []
    failed, _ = doctest.DocTestRunner(optionflags=FLAGS).run(example, out=report.append)
    assert not failed, "".join(report)


@pytest.mark.parametrize("page", PAGES, ids=identifier)
def test_no_python_stands_outside_an_example(page: Path) -> None:
    source = python_lines(page.read_text(encoding="utf-8"))
    blocks = [block for block in re.split(r"\n{2,}", source) if block.strip()]
    assert all(block.lstrip().startswith(">>>") for block in blocks)


@pytest.mark.parametrize("page", sorted(DOCS.glob("methods/*.md")), ids=identifier)
def test_a_method_page_has_its_parts(page: Path) -> None:
    if page.stem == "index":
        return
    text = page.read_text(encoding="utf-8")
    for part in ("## The idea", "## Paper", "## Knobs", "## Limits", "## Example", ">>> "):
        assert part in text, f"{page.name} has no {part!r}"
    picture = re.search(r"!\[[^\]]+\]\((\S+\.svg)\)", text)
    assert picture, f"{page.name} has no picture"
    assert (page.parent / picture.group(1)).is_file()


def test_every_method_of_a_comparison_is_in_the_guide() -> None:
    from worthwhile.frontier import METHODS

    text = (DOCS / "guide/choose.md").read_text(encoding="utf-8")
    assert [
        name for name, method in METHODS.items() if not method.peer and f"`{name}`" not in text
    ] == []


def test_pages_speak_of_the_project_alone() -> None:
    for page in DOCS.rglob("*.md"):
        for place in ("/work", "/root", "/tmp", os.sep + "home"):
            assert place not in page.read_text(encoding="utf-8"), f"{page.name} names {place}"


def test_nobody_is_told_to_install_what_is_not_published() -> None:
    """Until then, whoever follows the advice gets a stranger's package, or none."""
    root = DOCS.parent
    files = [root / "README.md", *DOCS.rglob("*.md"), *(root / "src").rglob("*.py")]
    advice = re.compile(r"pip install\s+(?:-\S+\s+)*['\"]?worthwhile")
    assert [str(file) for file in files if advice.search(file.read_text(encoding="utf-8"))] == []
