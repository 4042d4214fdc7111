"""Exit codes."""

FAILED = 1
"""Something went wrong."""

BAD_INPUT = 2
"""Something to correct."""

INTERRUPTED = 130
"""Ctrl-C, as shells count it."""
