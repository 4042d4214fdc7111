"""The page: a template that knows only the summary."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worthwhile._messages import missing_package
from worthwhile._writing import write_whole


def check_ready() -> None:
    """Refuse where what reports need is not installed: before the work, not after it."""
    if importlib.util.find_spec("jinja2") is None:
        raise missing_package("reports need", "jinja2", "report")


def render(summary: Mapping[str, Any]) -> str:
    """The summary as one HTML page that opens offline."""
    check_ready()
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("worthwhile.report", "template"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
    )
    # "<" cannot end the script element early when it is written as an escape.
    data = json.dumps(summary, allow_nan=False).replace("<", "\\u003c")
    folder = Path(__file__).parent / "template"
    return environment.get_template("page.html").render(
        summary=summary,
        data=data,
        style=(folder / "page.css").read_text(encoding="utf-8"),
        script=(folder / "page.js").read_text(encoding="utf-8"),
    )


def write_report(summary: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page; the file appears whole or not at all."""
    write_whole(path, render(summary))
