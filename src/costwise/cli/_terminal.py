"""Talking to people and machines: messages on stderr, results on stdout, one-paragraph errors."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console

from costwise.exceptions import CostsError

out = Console(highlight=False)
notes = Console(stderr=True, highlight=False)

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130
"""Exit codes: something to correct, something that went wrong, Ctrl-C."""


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """End with one paragraph that says what to do."""
    notes.print(f"[red]Error:[/red] {message}", soft_wrap=True, markup=True)
    raise typer.Exit(code)


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors that a user can mend into one paragraph; others are ours and keep their traceback."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt:
        notes.print("Interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except FileNotFoundError as error:
        fail(
            f"{_plain(error)}"
            if error.filename is None
            else f"no file {error.filename!r}: check the path."
        )
    except MemoryError:
        fail("not enough memory for this: use fewer rows or columns.", FAILED)
    except (CostsError, ValueError, TypeError, OSError, ImportError) as error:
        fail(_plain(error))


def _plain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return (text or type(error).__name__).replace("[", r"\[")


def print_json(value: Any) -> None:
    """Write a result for machines."""
    print(json.dumps(_jsonable(value), indent=1, allow_nan=False))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(v) for v in value]
    if isinstance(value, np.ndarray):
        return _jsonable(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


@contextmanager
def written(path: Path, *, force: bool) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place only if all goes well."""
    if path.exists() and not force:
        fail(f"{str(path)!r} exists already: choose another name, or --force to replace it.")
    if not path.parent.is_dir():
        fail(f"no folder {str(path.parent)!r} to write into.")
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def money(amount: float, unit: str) -> str:
    """An amount with its unit."""
    return f"{amount:,.2f} {unit}".rstrip()
