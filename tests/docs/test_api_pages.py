"""The API reference covers what is public, and what it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import costwise

API = Path(__file__).resolve().parents[2] / "docs" / "api"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")))
ENTRIES = re.findall(r"^::: (\S+)$", TEXT, flags=re.MULTILINE)


@pytest.mark.parametrize("name", costwise._HOME)
def test_every_public_name_has_an_entry(name: str) -> None:
    assert f"{costwise._HOME[name]}.{name}" in ENTRIES


@pytest.mark.parametrize("module", costwise._MODULES)
def test_every_public_module_has_all_its_names(module: str) -> None:
    assert f"costwise.{module}" in TEXT
    if f"costwise.{module}" in ENTRIES and module == "exceptions":
        return  # the entry shows the whole module
    for name in importlib.import_module(f"costwise.{module}").__all__:
        assert re.search(rf"costwise\.{module}\S*\.{name}\b|`{name}`", TEXT), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_exists(entry: str) -> None:
    try:
        importlib.import_module(entry)
    except ModuleNotFoundError:
        home, _, name = entry.rpartition(".")
        assert hasattr(importlib.import_module(home), name)


def test_all_is_what_the_tests_above_cover() -> None:
    assert set(costwise.__all__) == {"__version__", *costwise._HOME, *costwise._MODULES}
    assert "`costwise.__version__`" in TEXT
