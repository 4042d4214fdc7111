"""Reading CSV files as people have them: what is not as it seems is mended or refused, never guessed."""

from __future__ import annotations

import csv
import importlib
import io
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path
from typing import IO, Any

import pandas as pd

HEAD = 2**16
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
"""First bytes of packed files, and the module that unpacks them."""
MARKS = {
    b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig",
}  # fmt: skip
"""First bytes of text that says its own encoding; the longer marks stand first."""


@dataclass(frozen=True)
class Layout:
    """How a file is to be read."""

    encoding: str
    separator: str


def read_csv(path: Path, rows: int, as_text: Sequence[str]) -> Iterator[pd.DataFrame]:
    """A CSV file in parts of at most ``rows`` rows; ``as_text`` are columns that stay text."""
    try:
        layout = _layout(path)
        names = _header(path, layout)
        refuse_doubles([name for name in names if name], path)
        complete = False
        with _opened(path) as file, pd.read_csv(
            file, sep=layout.separator, encoding=layout.encoding, chunksize=rows, index_col=False,
            low_memory=False, dtype=dict.fromkeys(as_text, str),
        ) as parts:  # fmt: skip
            for frame in parts:
                # pandas fills short lines up; their last cell is empty then.
                if not complete and frame.iloc[:, -1].isna().any():
                    _refuse_short_lines(path, layout, len(names))
                    complete = True
                yield _named(frame, names, path)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty: give a CSV file with a header line and data.") from None
    except UnicodeError:
        raise ValueError(
            f"{path} is not text in UTF-8{_where(path)}: save it as CSV in UTF-8."
        ) from None
    except (pd.errors.ParserError, csv.Error) as error:
        raise ValueError(
            f"{path} is not a CSV file that can be read: {str(error).strip()}. Look at that line for a stray "
            "separator or quote."
        ) from None
    except (EOFError, zlib.error, LZMAError) as error:
        raise _damaged(path, error) from None
    except OSError as error:
        if error.errno is not None:
            raise  # of the system, not of what is in the file
        raise _damaged(path, error) from None


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"{path} is packed and damaged ({error}): pack it again.")


def refuse_doubles(names: Iterable[Any], path: Path) -> None:
    """Refuse two columns of one name."""
    seen: set[Any] = set()
    for name in names:
        if name in seen:
            raise ValueError(f"{path} has two columns named {str(name)!r}: rename one of them.")
        seen.add(name)


def _opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if it is packed."""
    with path.open("rb") as file:
        start = file.read(6)
    for mark, module in PACKED.items():
        if start.startswith(mark):
            unpacked: IO[bytes] = importlib.import_module(module).open(path, "rb")
            return unpacked
    return path.open("rb")


def _layout(path: Path) -> Layout:
    """Encoding and separator, from the beginning of the file."""
    with _opened(path) as file:
        head = file.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path} is a zip archive or a workbook: save the table as CSV.")
    encoding = next((code for mark, code in MARKS.items() if head.startswith(mark)), "utf-8")
    if b"\x00" in head and encoding.startswith("utf-8"):
        raise ValueError(f"{path} has NUL bytes: it is no text. Save the table as CSV in UTF-8.")
    header = re.split("[\r\n]", head.decode(encoding, errors="ignore").strip(), maxsplit=1)[0]
    others = [mark for mark in ";\t|" if mark in header]
    return Layout(encoding, others[0] if others and "," not in header else ",")


def _header(path: Path, layout: Layout) -> list[str]:
    """Names of the columns as they stand in the file: pandas would make up some of them.

    With the line behind it, which must not be longer: pandas would take its first cells as row names.
    """
    with _opened(path) as file:
        lines = pd.read_csv(
            file, sep=layout.separator, encoding=layout.encoding, header=None, nrows=2, dtype=str,
            keep_default_na=False,
        )  # fmt: skip
    return [str(name) for name in lines.iloc[0]]


def _named(frame: pd.DataFrame, names: list[str], path: Path) -> pd.DataFrame:
    """A frame without columns that have neither name nor values, as separators at line ends make them."""
    for number, name in enumerate(names):
        if not name.strip() and frame.iloc[:, number].notna().any():
            raise ValueError(
                f"column {number + 1} of {path} has no name: name it in the header line, or leave it out "
                "(pandas writes its row numbers so, unless told to_csv(index=False))."
            )
    return frame.loc[:, [bool(name.strip()) for name in names]]


def _refuse_short_lines(path: Path, layout: Layout, width: int) -> None:
    csv.field_size_limit(sys.maxsize)
    with _opened(path) as file:
        text = io.TextIOWrapper(file, encoding=layout.encoding, newline="")
        lines = csv.reader(text, delimiter=layout.separator)
        for cells in lines:
            if len(cells) < width and "".join(cells).strip():
                raise ValueError(
                    f"line {lines.line_num} of {path} has {len(cells)} cells, the header has {width}: put "
                    "separators for those that are empty."
                )


def _where(path: Path) -> str:
    """The first line that is not UTF-8, in words."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return f" (line {number})"
    return ""
