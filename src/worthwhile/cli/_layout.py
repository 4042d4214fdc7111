"""How a CSV file is written: noticed from its content, and said."""

from __future__ import annotations

import codecs
import csv
import importlib
import io
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

HEAD = 2**20
"""Bytes from which separator and numbers are known."""
LINES = 1000
PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\xfd7zXZ\x00": "lzma"}
"""First bytes of packed files, and the module that unpacks them."""
MARKS = {
    b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig",
}  # fmt: skip
"""First bytes of text that says its own encoding; the longer marks stand first."""
WESTERN = bytes({9, 10, 12, 13, *range(32, 256)} - {0x7F, 0x81, 0x8D, 0x8F, 0x90, 0x9D})
"""Bytes that are text in cp1252, which holds Latin-1 but for control characters."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

NUMBERS = {
    ",": re.compile(r"[-+]?\d[\d. '\u00a0\u202f]*,\d+([eE][-+]?\d+)?"),
    ".": re.compile(r"[-+]?\d[\d, '\u00a0\u202f]*\.\d+([eE][-+]?\d+)?"),
}
"""Numbers with decimals, by their mark."""
OTHER = {",": ".", ".": ","}
GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(([., '\u00a0\u202f])\d{3})(\2\d{3})*([.,]\d+)?")
"""A number whose thousands are set apart, such as 1.234.567,8."""


@dataclass(frozen=True)
class Layout:
    """How a file is to be read."""

    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    grouping: str = ""
    """What sets thousands apart, if anything does."""
    spaced: bool = False
    """Whether spaces follow the separators."""
    packed: str = ""
    foreign_line: int = 0
    """First line that is not UTF-8, where the file does not say its encoding."""

    @property
    def number(self) -> re.Pattern[str]:
        """What a number with thousands set apart looks like here."""
        mark, decimal = re.escape(self.grouping), re.escape(self.decimal)
        return re.compile(rf"[-+]?(\d{{1,3}}({mark}\d{{3}})+|\d+)({decimal}\d+)?([eE][-+]?\d+)?")

    def remarks(self) -> list[str]:
        """In words, what is not as in a plain CSV file."""
        said = []
        if self.packed:
            said.append({"bz2": "bzip2", "lzma": "xz"}.get(self.packed, self.packed))
        if self.foreign_line:
            said.append(
                f"not UTF-8 (line {self.foreign_line}), read as cp1252, the Latin-1 of Windows"
            )
        elif self.encoding != "utf-8":
            said.append(self.encoding.removesuffix("-sig").upper())
        if self.separator != ",":
            said.append(f"separated by {SEPARATORS[self.separator]}")
        if self.spaced:
            said.append("spaces behind separators left out")
        if self.decimal == ",":
            said.append("decimal commas")
        if self.grouping:
            said.append(f"thousands set apart by {self.grouping!r}")
        return said


def opened(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked if it is packed."""
    if module := _packing(path):
        unpacked: IO[bytes] = importlib.import_module(module).open(path, "rb")
        return unpacked
    return path.open("rb")


def _packing(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(6)
    return next((module for mark, module in PACKED.items() if start.startswith(mark)), "")


def notice(path: Path) -> Layout:
    """Look at a file and say how it is written; refuses what is no text."""
    with opened(path) as file:
        head = file.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        raise ValueError(f"{path} is a zip archive or a workbook: save the table as CSV.")
    encoding = next((code for mark, code in MARKS.items() if head.startswith(mark)), "")
    line = 0
    if not encoding or encoding == "utf-8-sig":
        line = _first_foreign_line(path, marked=bool(encoding))
        encoding = encoding or ("cp1252" if line else "utf-8")
    rows = _rows(head.decode(encoding, errors="ignore"), whole=len(head) < HEAD)
    separator = _separator(rows)
    table = rows[separator]
    cells = [cell.strip() for row in table[1:] for cell in row]
    decimal, grouping = _numbers(cells, separator)
    names = table[0][1:] if table else []
    return Layout(
        encoding,
        separator,
        decimal,
        grouping,
        spaced=bool(names) and separator != "\t" and all(name.startswith(" ") for name in names),
        packed=_packing(path),
        foreign_line=line,
    )


def _first_foreign_line(path: Path, *, marked: bool) -> int:
    """The first line that is not UTF-8, 0 if all are; refuses what is no text in any way known here."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    foreign, lines, bad = 0, 1, 0
    with opened(path) as file:
        while block := file.read(HEAD):
            if b"\x00" in block:
                raise ValueError(
                    f"{path} has NUL bytes: it is no text. Save the table as CSV in UTF-8."
                )
            if not foreign:
                try:
                    decoder.decode(block)
                except UnicodeDecodeError as error:
                    # Counted in what the decoder saw, which may begin with the end of the last block.
                    foreign = lines + bytes(error.object)[: error.start].count(b"\n")
            if not bad and (other := block.translate(None, WESTERN)):
                bad = lines + block[: block.index(other[:1])].count(b"\n")
            lines += block.count(b"\n")
    if not foreign:
        try:
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            foreign = lines
    if foreign and (bad or marked):
        raise ValueError(
            f"{path} is not text in UTF-8 (line {foreign}) or cp1252: save it as CSV in UTF-8."
        )
    return foreign


def _rows(text: str, *, whole: bool) -> dict[str, list[list[str]]]:
    """The first lines that are not blank, cut by each separator."""
    csv.field_size_limit(sys.maxsize)
    found = {}
    for separator in SEPARATORS:
        lines = csv.reader(io.StringIO(text.lstrip("\ufeff"), newline=""), delimiter=separator)
        rows: list[list[str]] = []
        with suppress(csv.Error):  # said when the table is read
            rows.extend(islice((row for row in lines if any(cell.strip() for cell in row)), LINES))
        if not whole and 1 < len(rows) < LINES:
            rows.pop()  # cut in the middle
        found[separator] = rows
    return found


def _separator(rows: dict[str, list[list[str]]]) -> str:
    """The one that gives most lines the width of the header, and of those the widest."""

    def fit(separator: str) -> tuple[float, int]:
        width, *widths = [len(row) for row in rows[separator]] or [0]
        if width < 2:
            return 0.0, 0
        return sum(other == width for other in widths) / len(widths) if widths else 1.0, width

    return max(SEPARATORS, key=fit)


def _numbers(cells: list[str], separator: str) -> tuple[str, str]:
    """The decimal mark, and what sets thousands apart.

    A comma or a point before three digits may be either. Other cells decide; without any, a point is
    a decimal point, and a comma is a decimal comma unless commas stand between cells too.
    """
    decimals: set[str] = set()
    groups: list[str] = []
    either: set[str] = set()
    for cell in cells:
        found = GROUPS.fullmatch(cell)
        if found is None:
            decimals.update(mark for mark, kind in NUMBERS.items() if kind.fullmatch(cell))
        elif found[2] == (found[4] or "")[:1]:
            continue  # 1.234.5 is no number
        elif found[4] or found[3]:
            groups.append(found[2])
            decimals.update(found[4][:1] if found[4] else OTHER.get(found[2], ""))
        else:
            (either.add if found[2] in OTHER else groups.append)(found[2])
    if len(decimals) > 1:
        return ".", ""  # which of them is meant differs from cell to cell: such columns stay text
    decimal = "".join(decimals) or ("," if "," in either and separator != "," else ".")
    groups += [mark for mark in either if mark != decimal]
    return decimal, next(iter(groups), "")
