"""Every benchmark starts: its imports exist and its options can be printed."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

import pytest

import benchmarks

pytest.importorskip("lightgbm")

ROOT = Path(benchmarks.__file__).parent
SCRIPTS = [path for path in sorted(ROOT.rglob("*.py")) if "__main__" in path.read_text()]


def module(path: Path) -> str:
    return ".".join(("benchmarks", *path.relative_to(ROOT).with_suffix("").parts))


def test_every_folder_has_scripts():
    assert {path.parent.name for path in SCRIPTS} == {"attack", "papers", "parts", "speed"}


@pytest.mark.parametrize("name", [module(path) for path in SCRIPTS])
def test_prints_its_options(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_module(name, run_name="__main__")
    assert "usage:" in capsys.readouterr().out


@pytest.mark.parametrize("path", sorted(set(ROOT.rglob("*.py")) - set(SCRIPTS)), ids=module)
def test_what_scripts_share_is_no_script(path):
    assert not hasattr(importlib.import_module(module(path)), "main")
