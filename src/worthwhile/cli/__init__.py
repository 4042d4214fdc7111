"""``worthwhile`` on the command line: thin commands that call the library."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from worthwhile._lazy import lazy
from worthwhile.cli._codes import FAILED, INTERRUPTED

__all__ = ["app", "main"]

if TYPE_CHECKING:
    from worthwhile.cli._app import app
else:
    __getattr__, __dir__ = lazy(__name__, {"app": "worthwhile.cli._app"})


def main() -> None:
    """Entry point of the installed command: Ctrl-C at any moment, and readers that leave, end it quietly."""
    try:
        code = _run()
    except KeyboardInterrupt:  # not within a command, which says so itself
        code = INTERRUPTED
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # there is nothing left to interrupt
    sys.exit(code if _flush() else code or FAILED)


def _run() -> Any:
    from worthwhile.cli._app import app  # takes long enough to be interrupted

    try:
        app()
    except SystemExit as end:
        return end.code
    except OSError as error:  # from writing outside a command's own care
        return _complain(error)
    return 0


def _complain(error: OSError) -> int:
    if not isinstance(error, BrokenPipeError):
        print(f"Error: {error.strerror or error}.", file=sys.stderr)
    return FAILED


def _flush() -> bool:
    """Write out what is left for standard output; False if it cannot be written."""
    if sys.__stdout__ is None or sys.__stdout__.closed:
        return True
    try:
        sys.__stdout__.flush()
    except OSError as error:
        _complain(error)
        # The interpreter would try once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
        return False
    return True
