"""Writes the help of every command into ``cli.md``: ``python docs/make_cli.py``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from worthwhile.cli import app

PAGE = Path(__file__).with_name("cli.md")
BEGIN, END = "<!-- generated: python docs/make_cli.py -->", "<!-- end of what is generated -->"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that can be run, with its full name, in the order of the help."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    for name, inner in command.commands.items():
        yield from commands(inner, f"{path} {name}")


def plain(text: str) -> str:
    """Help text without the terminal's marks."""
    return re.sub(r"\[/?bold\]", "**", text)


def section(path: str, command: Any) -> str:
    """One command: what it does, how it is called, what it takes."""
    paragraphs = plain(inspect.cleandoc(command.help or "")).split("\n\n")
    usage = [path]
    lines = ["| | | default |", "|---|---|---|"]
    for option in command.params:
        if option.name == "help":
            continue
        if option.param_type_name == "argument":
            usage.append(option.name.upper())
            lines.append(f"| `{option.name.upper()}` | {plain(option.help or '')} | |")
            continue
        if option.required:
            usage.append(f"{option.opts[0]} {option.name.upper()}")
        lines.append(
            f"| {', '.join(f'`{name}`' for name in option.opts)} | {plain(option.help or '')} | {default(option)} |"
        )
    text = [f"## {path}", "", "\n\n".join(" ".join(part.split()) for part in paragraphs), ""]
    text += ["```sh", f"{' '.join(usage)} [OPTIONS]", "```", ""]
    return "\n".join([*text, *(lines if len(lines) > 2 else [])]).rstrip() + "\n"


def default(option: Any) -> str:
    """What is taken where an option is left out."""
    if option.required:
        return "required"
    if option.is_flag or option.default is None or option.default == "":
        return ""
    return f"`{option.default}`"


def generate() -> str:
    """The part of the page between the marks."""
    return "\n".join(section(*item) for item in commands(get_command(app), "worthwhile"))


def updated(page: str) -> str:
    """A page with its generated part made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{generate()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
