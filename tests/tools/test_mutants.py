"""The mutation tool changes what it says, and never the tree that it is run in."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.mutants import OPERATORS, mutants
from tools.mutate import find, related_tests

ROOT = Path(__file__).resolve().parents[2]

SOURCE = '''"""A module."""
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    limit = 1 + 1


def price(found: "list[int]", bought: bool = True) -> float:
    """What is paid for 3 things."""
    if not found or len(found) > 2:
        raise ValueError(f"too {1 + 1} many")
    found[1:3] = max(found) + 4
    found.append(5)
    return found[0]
'''


def changes(operator):
    found = [one for one in mutants(SOURCE) if one.operator == operator]
    return {
        new.strip()
        for one in found
        for new in one.diff(SOURCE, "x").splitlines()[3:]
        if new.startswith("+")
    }


@pytest.mark.parametrize(
    ("operator", "line"),
    [
        ("compare", "+    if not found or (len(found) >= 2):"),
        ("arithmetic", "+    found[1:3] = (max(found) - 4)"),
        ("logic", "+    if (not found and len(found) > 2):"),
        ("logic", "+    if (found) or len(found) > 2:"),
        ("constant", '+def price(found: "list[int]", bought: bool = (False)) -> float:'),
        ("constant", "+    return found[(1)]"),
        ("opposite", "+    found[1:3] = (min(found)) + 4"),
        ("bounds", "+    found[1:3 - 1] = max(found) + 4"),
        ("nothing", "+    return None"),
        ("nothing", "+    pass"),
    ],
)
def test_operators(operator, line):
    assert line in changes(operator)


def test_every_operator_is_tried():
    assert {one.operator for one in mutants(SOURCE)} == {one.__name__ for one in OPERATORS}


def test_mutants_compile_and_differ():
    same = ast.dump(ast.parse(SOURCE))
    for one in mutants(SOURCE):
        assert ast.dump(ast.parse(one.applied(SOURCE))) != same


def test_messages_types_and_docstrings_stay():
    for text in [one.applied(SOURCE) for one in mutants(SOURCE)]:
        assert "limit = 1 + 1" in text
        assert "What is paid for 3 things." in text
        assert "{1 + 1}" in text or "raise" not in text


def test_the_same_seed_finds_the_same_places():
    first, again = (find(ROOT, ["costs", "metrics"], [], 5, seed) for seed in (3, 3))
    assert first == again
    assert len({(one.path, one.mutant.line) for one in first}) == 5
    assert first != find(ROOT, ["costs", "metrics"], [], 5, 4)
    assert not [one for one in find(ROOT, [], ["core"], 50, 0) if "/core/" in one.path]


def test_tests_mirror_the_package():
    assert related_tests(ROOT, "src/worthwhile/runtime/ledger.py") == [
        ["src/worthwhile/runtime/ledger.py", "tests/runtime/test_ledger.py"],
        ["tests/runtime"],
    ]
    assert related_tests(ROOT, "src/worthwhile/costs/_money.py")[-1] == ["tests/costs"]


def test_mutants_are_tried_in_a_copy(tmp_path):
    """One that the test notices and one that it does not; nothing is tried twice."""
    tree, results = tmp_path / "tree", tmp_path / "results.jsonl"
    module, test = tree / "src/worthwhile/toy/sums.py", tree / "tests/toy/test_sums.py"
    for path, text in (
        (module, "def double(x):\n    return x + x\n\n\ndef half(x):\n    return x // 2\n"),
        (
            test,
            "from worthwhile.toy.sums import double\n\n\ndef test_it():\n    assert double(2) == 4\n",
        ),
    ):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (tree / "src/worthwhile/__init__.py").touch()  # not the package that is installed
    before, changed = module.read_bytes(), module.stat().st_mtime_ns
    command = [
        sys.executable, "-m", "tools.mutate", "--root", str(tree), "--count", "9", "--results", str(results),
    ]  # fmt: skip
    first, again = (
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert first == again
    found = [json.loads(line) for line in results.read_text().splitlines()]
    assert [(key.split(":")[1], one["outcome"]) for key, one in sorted(found)] == [
        ("2", "killed"), ("6", "survived"),
    ]  # fmt: skip
    assert "elsewhere: 1 of 2 killed (50%)" in first
    assert "+    return" in first
    assert (module.read_bytes(), module.stat().st_mtime_ns) == (before, changed)
