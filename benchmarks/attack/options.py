"""The options that all long attacks have."""

from __future__ import annotations

import argparse


def attack_options(
    text: str | None, what: str, count: int, piece: int = 1
) -> argparse.ArgumentParser:
    """A parser: how much of what is attacked, and where what is done is kept."""
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pieces = f"in pieces of {piece:,}" if piece > 1 else None
    parser.add_argument(f"--{what}", type=int, default=count, help=pieces)
    parser.add_argument("--resume", metavar="FILE", help="what is done, one line of JSON per piece")
    return parser
