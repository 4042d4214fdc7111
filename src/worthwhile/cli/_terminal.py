"""Talking to people and machines: messages on stderr, results on stdout, one-paragraph errors."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from worthwhile._writing import check_target, is_stream
from worthwhile.cli._codes import BAD_INPUT, FAILED, INTERRUPTED
from worthwhile.exceptions import CostsError, WorthwhileWarning

# What users call their columns and files may hold brackets: nothing is read as markup.
out = Console(highlight=False, markup=False)
notes = Console(stderr=True, highlight=False, markup=False)

LONGEST = 1000
"""Characters of a message."""


def fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    """End with one paragraph that says what to do."""
    notes.print(Text("Error:", style="red"), message, soft_wrap=True)
    raise typer.Exit(code)


@contextmanager
def explained() -> Iterator[None]:
    """Turn errors that a user can mend into one paragraph, and our warnings into another.

    Other errors are ours and keep their traceback.
    """
    try:
        with _told():
            yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise  # whoever read what we write has seen enough: no error
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


@contextmanager
def _told() -> Iterator[None]:
    """Warnings of this library as text: nobody at a terminal is helped by a line of its source."""
    with warnings.catch_warnings():
        usual = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, WorthwhileWarning):
                notes.print(Text("Warning:", style="yellow"), _plain(message), soft_wrap=True)
            else:
                usual(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _plain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if len(text) > LONGEST:  # a name or a cell may be a megabyte; what to do stands at the end
        text = f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"
    return text or type(error).__name__


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


def check_output(path: Path, *, force: bool) -> None:
    """Refuse, before any work, a file that exists unless it is to be replaced, or cannot be written."""
    if path.is_file() and not force and not is_stream(path):
        fail(f"{str(path)!r} exists already: choose another name, or --force to replace it.")
    check_target(path)


def money(amount: float, unit: str) -> str:
    """An amount with its unit."""
    return f"{amount:,.2f} {unit}".rstrip()
