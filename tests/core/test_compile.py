"""One way to compile: what `core/compile.py` decides holds for every kernel."""

from __future__ import annotations

import ast
from pathlib import Path

import costwise

SOURCE = Path(costwise.__file__).parent


def names_of_numba(path):
    """Lines on which a module takes something from numba by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        if any(module.split(".")[0] == "numba" for module in modules):
            yield node.lineno


def kernels_below_module_level(path):
    """Lines on which a function or class creates a kernel of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for outer in ast.walk(tree):
        if not isinstance(outer, ast.FunctionDef | ast.ClassDef):
            continue
        for inner in ast.walk(outer):
            if isinstance(inner, ast.FunctionDef) and inner is not outer:
                for call in inner.decorator_list:
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "kernel":
                        yield call.lineno


def test_only_two_modules_speak_to_numba():
    # compile.py declares kernels, team.py has the atomic instructions they use.
    own = {SOURCE / "core" / "compile.py", SOURCE / "core" / "team.py"}
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in names_of_numba(path)
        if path not in own
    }
    assert not found, "declare kernels with costwise.core.compile.kernel"


def test_no_kernel_is_created_within_a_function():
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in kernels_below_module_level(path)
    }
    assert not found, "it would be compiled again in every call"
