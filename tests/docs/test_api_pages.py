"""The API reference covers what is public, and what it names exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import worthwhile

API = Path(__file__).resolve().parents[2] / "docs" / "api"
TEXT = "\n".join(page.read_text(encoding="utf-8") for page in sorted(API.glob("*.md")))
ENTRIES = re.findall(r"^::: (\S+)$", TEXT, flags=re.MULTILINE)


@pytest.mark.parametrize("name", worthwhile._HOME)
def test_every_public_name_has_an_entry(name: str) -> None:
    assert f"{worthwhile._HOME[name]}.{name}" in ENTRIES


@pytest.mark.parametrize("module", worthwhile._MODULES)
def test_every_public_module_has_all_its_names(module: str) -> None:
    assert f"worthwhile.{module}" in TEXT
    if f"worthwhile.{module}" in ENTRIES and module == "exceptions":
        return  # the entry shows the whole module
    for name in importlib.import_module(f"worthwhile.{module}").__all__:
        assert re.search(rf"worthwhile\.{module}\S*\.{name}\b|`{name}`", TEXT), name


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_exists(entry: str) -> None:
    try:
        importlib.import_module(entry)
    except ModuleNotFoundError:
        home, _, name = entry.rpartition(".")
        assert hasattr(importlib.import_module(home), name)


def test_all_is_what_the_tests_above_cover() -> None:
    assert set(worthwhile.__all__) == {"__version__", *worthwhile._HOME, *worthwhile._MODULES}
    assert "`worthwhile.__version__`" in TEXT
