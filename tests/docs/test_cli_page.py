"""The page of the command line is what the commands say of themselves."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

DOCS = Path(__file__).resolve().parents[2] / "docs"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_cli", DOCS / "make_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_up_to_date() -> None:
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert generator().updated(page) == page, "run: python docs/make_cli.py"


def test_every_command_is_there() -> None:
    from worthwhile.cli._app import COMMANDS

    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"## worthwhile {name}" not in page] == []
