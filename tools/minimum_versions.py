"""The oldest versions that ``pyproject.toml`` allows, as constraints for pip.

    python -m tools.minimum_versions test >constraints.txt
    pip install -c constraints.txt -e ".[test]"

Prints ``name==version`` for every ``name>=version`` of the dependencies and of the extras named, and of
the extras that those name in turn.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,]+)\])?(>=(?P<version>[\w.]+))?")


def minimums(project: dict[str, Any], extras: Iterable[str]) -> dict[str, str]:
    """The oldest version of each package; refuses a requirement that states none."""
    known = project["optional-dependencies"]
    todo, found = [*project["dependencies"]], {}
    for extra in extras:
        if extra not in known:
            raise SystemExit(f"extra {extra!r}: not in pyproject.toml, which has {sorted(known)}")
        todo += known[extra]
    while todo:
        text = todo.pop()
        parts = REQUIREMENT.fullmatch(text.partition(";")[0])  # wherever it is needed
        if parts and parts["name"] == project["name"]:
            todo += [line for extra in parts["extras"].split(",") for line in known[extra]]
        elif parts and parts["version"]:
            found[parts["name"]] = parts["version"]
        else:
            raise SystemExit(f"{text!r} in pyproject.toml: write it as name>=version")
    return dict(sorted(found.items()))


def main() -> None:
    """Print the constraints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", help="extras of pyproject.toml")
    given = parser.parse_args()
    project = tomllib.loads(PROJECT.read_text())["project"]
    for name, version in minimums(project, given.extras).items():
        sys.stdout.write(f"{name}=={version}\n")


if __name__ == "__main__":
    main()
