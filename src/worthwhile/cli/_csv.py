"""Reading CSV files as people have them: what is not as it seems is mended and said, or refused."""

from __future__ import annotations

import csv
import io
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Any

import pandas as pd

from worthwhile.cli._layout import Layout, notice, opened
from worthwhile.cli._profile import is_text
from worthwhile.cli._terminal import notes

EXACT: dict[str, Any] = (
    {}
    if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    else {"float_precision": "round_trip"}
)
"""What makes pandas read numbers as Python does, and so as 'ask' does, to the last bit."""


def read_csv(
    path: Path, rows: int, as_text: Sequence[str], *, say: bool = True
) -> Iterator[pd.DataFrame]:
    """A CSV file in parts of at most ``rows`` rows; ``as_text`` are columns that stay text."""
    try:
        layout = notice(path)
        if say and (remarks := layout.remarks()):
            notes.print(f"{path.name}: {'; '.join(remarks)}.", soft_wrap=True)
        names = _header(path, layout)
        refuse_doubles([name for name in names if name], path)
        complete = False
        with opened(path) as file, pd.read_csv(
            file, sep=layout.separator, encoding=layout.encoding, chunksize=rows, index_col=False,
            low_memory=False, dtype=dict.fromkeys(as_text, str), decimal=layout.decimal,
            skipinitialspace=layout.spaced,
            **EXACT,
        ) as parts:  # fmt: skip
            for frame in parts:
                # pandas fills short lines up; their last cell is empty then.
                if not complete and frame.iloc[:, -1].isna().any():
                    _refuse_short_lines(path, layout, len(names))
                    complete = True
                yield _typed(_named(frame, names, path), layout, as_text)
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty: give a CSV file with a header line and data.") from None
    except UnicodeError as error:
        raise ValueError(
            f"{path} is not text in {layout.encoding.upper()}, though it begins so ({error}): save it as CSV in UTF-8."
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


def _header(path: Path, layout: Layout) -> list[str]:
    """Names of the columns as they stand in the file: pandas would make up some of them.

    With the line behind it, which must not be longer: pandas would take its first cells as row names.
    """
    with opened(path) as file:
        lines = pd.read_csv(
            file, sep=layout.separator, encoding=layout.encoding, header=None, nrows=2, dtype=str,
            keep_default_na=False, skipinitialspace=layout.spaced,
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


def _typed(frame: pd.DataFrame, layout: Layout, as_text: Sequence[str]) -> pd.DataFrame:
    """What pandas leaves as objects, as what it is: numbers in groups of thousands, yes or no or empty."""
    changed: dict[str, Any] = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.kind in "biufM" or name in as_text:
            continue
        present = column.dropna()
        if {type(cell) for cell in present} == {bool}:
            changed[name] = column.astype("boolean")
        elif layout.grouping and is_text(column):
            text = present.str.strip()
            if text.str.fullmatch(layout.number).all():
                plain = text.str.replace(layout.grouping, "").str.replace(layout.decimal, ".")
                changed[name] = plain.astype(float).reindex(column.index)
    return frame.assign(**changed) if changed else frame


def _refuse_short_lines(path: Path, layout: Layout, width: int) -> None:
    csv.field_size_limit(sys.maxsize)
    with opened(path) as file:
        text = io.TextIOWrapper(file, encoding=layout.encoding, newline="")
        lines = csv.reader(text, delimiter=layout.separator)
        for cells in lines:
            if len(cells) < width and "".join(cells).strip():
                raise ValueError(
                    f"line {lines.line_num} of {path} has {len(cells)} cells, the header has {width}: put "
                    "separators for those that are empty."
                )
