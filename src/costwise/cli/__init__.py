"""``costwise`` on the command line: thin commands that call the library."""

from costwise.cli._app import app, main

__all__ = ["app", "main"]
