"""The rules of the source tree that no linter knows."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import worthwhile

SOURCE = Path(worthwhile.__file__).parent
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py"))
FAMILIES = [
    *(SOURCE / "core").glob("*/__init__.py"),
    *(SOURCE / "estimators").glob("*/__init__.py"),
]


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


def imports(path: Path) -> Iterator[str]:
    """Modules of ours that a module imports, wherever it does."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in MODULES else node.module


def outsiders(importer: str, imported: str) -> bool:
    """Whether a private module is imported from outside the package that holds it."""
    parts = imported.split(".")
    for place, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            package = ".".join(parts[:place])
            return not f"{importer}.".startswith(f"{package}.")
    return False


def test_a_private_module_is_imported_only_within_its_package() -> None:
    found = [
        f"{importer} imports {imported}"
        for importer, path in MODULES.items()
        for imported in imports(path)
        if outsiders(importer, imported)
    ]
    assert not found


def test_what_uses_a_private_module_from_outside_would_be_seen() -> None:
    assert outsiders("worthwhile.cli.fit", "worthwhile.costs._money")
    assert outsiders("worthwhile.estimators.gates._base", "worthwhile.estimators.linear._targets")
    assert not outsiders(
        "worthwhile.estimators.gates._base", "worthwhile.estimators._shared.weights"
    )
    assert not outsiders("worthwhile.costs", "worthwhile.costs._money")


def test_the_top_of_core_needs_no_compiler() -> None:
    names = [f"worthwhile.core.{path.stem}" for path in (SOURCE / "core").glob("*.py")]
    light = [name for name in names if not name.endswith(("__init__", ".compile"))]
    code = f"import sys, {', '.join(light)}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_map_of_a_family_names_every_module() -> None:
    missing = [
        f"{module_name(init)}: {path.name}"
        for init in FAMILIES
        for path in sorted(init.parent.glob("*.py"))
        if path.name != "__init__.py"
        and f"``{path.stem}``" not in (ast.get_docstring(ast.parse(init.read_text())) or "")
    ]
    assert not missing
