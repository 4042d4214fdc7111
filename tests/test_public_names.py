"""Public names: what type checkers are told is what a program gets."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

PACKAGES = ("worthwhile", "worthwhile.datasets", "worthwhile.plots")


def told_to_checkers(package):
    """The imports under ``if TYPE_CHECKING:``, as {name: module}."""
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert all(isinstance(node, ast.ImportFrom) and not node.level for node in block.body)
    names = [(alias.asname or alias.name, node) for node in block.body for alias in node.names]
    assert len(dict(names)) == len(names)
    return {name: node.module for name, node in names}


@pytest.mark.parametrize("name", PACKAGES)
def test_checkers_are_told_the_table_of_lazy_names(name):
    package = importlib.import_module(name)
    home = {
        public: importlib.util.resolve_name(module, name)
        for public, module in package._HOME.items()
    }
    modules = dict.fromkeys(getattr(package, "_MODULES", ()), name)
    assert told_to_checkers(package) == home | modules


@pytest.mark.parametrize("name", PACKAGES)
def test_all_is_a_plain_list_of_the_lazy_names(name):
    # A list that is computed is none to a type checker, and names outside of it are private.
    package = importlib.import_module(name)
    tree = ast.parse(Path(package.__file__).read_text())
    (stated,) = [
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    assert len(set(stated)) == len(stated)
    lazy = {*package._HOME, *getattr(package, "_MODULES", ())}
    assert set(stated) - {"__version__"} == lazy
    assert dir(package) == sorted(stated)


@pytest.mark.parametrize("name", PACKAGES)
def test_every_lazy_name_is_what_its_home_has(name):
    package = importlib.import_module(name)
    for public, module in package._HOME.items():
        home = importlib.import_module(module, name)
        assert getattr(package, public) is getattr(home, public)
    for module in getattr(package, "_MODULES", ()):
        assert getattr(package, module) is importlib.import_module(f"{name}.{module}")


@pytest.mark.parametrize("name", PACKAGES)
def test_a_name_that_does_not_exist_is_refused_by_its_package(name):
    package = importlib.import_module(name)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nonsense'"):
        _ = package.nonsense
