"""What the columns of a table hold, in words, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

Series = Any  # pd.Series of anything

SHOWN = 4
LONGEST = 24
MOST_DIGITS = 1e15
ISO = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[-+]\d{2}:?\d{2})?)?"
DOTTED = r"\d{1,2}\.\d{1,2}\.\d{4}"
SLASHED = r"\d{1,2}/\d{1,2}/\d{2,4}"
DECIMAL_COMMA = re.compile(r"[-+]?[0-9.]*,[0-9]+")


@dataclass
class Column:
    """One column: its kind, what it holds, and remarks on it."""

    name: str
    kind: str
    values: int
    empty: int
    detail: str = ""
    problems: list[str] = field(default_factory=list)
    """What keeps it from being learnt from."""
    remarks: list[str] = field(default_factory=list)
    """What its owner may want to know."""

    def describe(self) -> str:
        """One line."""
        count = f"{self.values:,} value{'s' * (self.values != 1)}"
        parts = [self.kind, count + (f": {self.detail}" if self.detail else "")]
        if self.empty:
            parts.append(f"{self.empty:,} empty")
        return ", ".join(parts) + "".join(f"; {text}" for text in [*self.problems, *self.remarks])


def profile(frame: pd.DataFrame, categorical: Collection[str] = ()) -> list[Column]:
    """Describe each column; those that are said to be categories may mix numbers and text."""
    return [_column(str(name), frame[name], str(name) in categorical) for name in frame.columns]


def find_dates(frame: pd.DataFrame, but: Collection[str] = ()) -> pd.DataFrame:
    """Columns of text that are dates throughout, 2021-12-31 or 31.12.2021, as dates."""
    found = {}
    for name in frame.columns:
        if (
            name not in but
            and is_text(frame[name])
            and (dates := as_dates(frame[name])) is not None
        ):
            found[name] = dates
    return frame.assign(**found) if found else frame


def is_text(column: Series) -> bool:
    """Whether a column holds text and nothing else, beside empty cells."""
    if column.dtype.kind in "biufcmM" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    present = column.dropna()
    return len(present) > 0 and bool(present.map(type).eq(str).all())


def as_dates(column: Series) -> Series | None:
    """Text as dates if all of it is; None else."""
    text = column.str.strip()
    for pattern, how in ((ISO, "ISO8601"), (DOTTED, "%d.%m.%Y")):
        if text.dropna().str.fullmatch(pattern).all():
            try:
                dates = pd.to_datetime(text, format=how)
            except ValueError:  # 31.02.2021, or clocks of several zones
                return None
            return dates if dates.dtype.kind == "M" else None
    return None


def _column(name: str, column: Series, said: bool) -> Column:
    present = column.dropna()
    empty = int(len(column) - len(present))
    if not len(present):
        return Column(name, "empty", 0, empty, remarks=["there is nothing in it"])
    kind = _kind(column)
    if kind == "other":
        shown = _short(present.iloc[0])
        problem = f"values such as {shown}: give a number, text or a date in each row"
        return Column(name, type(present.iloc[0]).__name__, len(present), empty, problems=[problem])
    values = int(present.nunique())
    found = Column(name, kind, values, empty, _detail(kind, present))
    if kind == "number" and np.isinf(present.to_numpy(dtype=np.float64)).any():
        found.problems.append("an infinite value: leave the cell empty if it is missing")
    if kind == "text" and not said:
        found.problems += _text_problems(present)
    if values == 1:
        found.remarks.append("always the same")
    elif kind == "text" and values == len(present) > SHOWN and not found.problems:
        found.remarks.append("different in every row: is it an id?")
    return found


def _kind(column: Series) -> str:
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    kinds = {
        "b": "true or false",
        "i": "number",
        "u": "number",
        "f": "number",
        "M": "date",
        "m": "span of time",
    }
    if column.dtype.kind in kinds:
        return kinds[column.dtype.kind]
    return "text" if is_text(column) else "other"


def _detail(kind: str, present: Series) -> str:
    if kind == "number":
        return f"{_plain(present.min())} to {_plain(present.max())}"
    if kind in ("date", "span of time"):
        return f"{present.min()} to {present.max()}".replace(" 00:00:00", "")
    counts = present.astype(str).value_counts()
    # The most common first; equals in the order of their text.
    levels = sorted(counts.index, key=lambda level: (-counts[level], level))
    shown = ", ".join(_short(level) for level in levels[:SHOWN])
    return shown + (", ..." if len(levels) > SHOWN else "")


def _text_problems(present: Series) -> list[str]:
    """What speaks against a column of text being meant as text."""
    text = present.str.strip()
    if text.str.fullmatch(SLASHED).all():
        return [
            f"dates such as {_short(text.iloc[0])}, of which day and month cannot be told apart: write them as "
            "2021-12-31, or call them a category"
        ]
    other = text[pd.to_numeric(text, errors="coerce").isna()]
    comma = other[other.map(lambda cell: DECIMAL_COMMA.fullmatch(cell) is not None)]
    if len(comma) and len(other) == len(comma):
        return [
            f"{_short(comma.iloc[0])} beside numbers with a decimal point: write all of them with a decimal point"
        ]
    if 0 < len(other) < len(text) and len(other) <= len(text) / 2:
        return [
            f"text such as {_short(other.iloc[0])} in {len(other):,} of {len(text):,} rows and numbers in the others: "
            "leave those cells empty if they are missing, or call it a category"
        ]
    return []


def _plain(number: Any) -> str:
    return (
        str(int(number)) if abs(number) < MOST_DIGITS and number == int(number) else f"{number:g}"
    )


def _short(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
