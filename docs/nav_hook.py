"""Fills the navigation of folders whose pages come and go: ``folder/`` stands for all of its pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

INDEX = "index"


def on_config(config: Any) -> Any:
    """Put the pages in place of their folder, the index first."""
    root = Path(config["docs_dir"])
    for entry in config["nav"]:
        for title, target in entry.items():
            if isinstance(target, str) and target.endswith("/"):
                entry[title] = pages(root, target)
    return config


def pages(root: Path, folder: str) -> list[str]:
    """Markdown files of a folder, as the navigation wants them."""
    found = sorted((root / folder).glob("*.md"), key=lambda page: (page.stem != INDEX, page.stem))
    return [page.relative_to(root).as_posix() for page in found]
