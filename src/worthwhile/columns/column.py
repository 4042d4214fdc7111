"""One column: what it is, and how its values become one number each, and words again."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._messages import some
from worthwhile.columns.cells import (
    DAY,
    Floats,
    as_array,
    as_days,
    as_numbers,
    date_to_days,
    factorized,
    is_empty,
    is_number,
    moment_of,
    span_to_days,
    time_to_days,
)

KINDS = ("number", "boolean", "category", "ordered", "date", "time", "duration")
"""What a column can be. "ordered" is a category whose values have an order."""

MOST_LEVELS = 254
"""Values that a category keeps; with "other" they fill the 255 bins of a kernel."""

YES = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
"""Words for booleans."""

WANTED = {
    "number": "a number",
    "boolean": "True or False",
    "date": "a date such as '1980-05-01' or '1980-05-01T13:30', or a datetime",
    "time": "a time of day such as '13:30', or a datetime.time",
    "duration": "a number of days, or a timedelta",
}
"""What a refusal asks for."""

ENDLESS = (math.inf, -math.inf)
"""No value of anything."""

Level = str | int | float | bool


class UnknownValue(ValueError):
    """A value that a column cannot be read from, told by somebody who can correct it."""


@dataclass(frozen=True)
class Column:
    """What a column is.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    levels : tuple
        Values of a category, in the order of their codes 0, 1, ...
    other : bool
        Whether values that are none of the levels have a code of their own, the last one. Without
        it, they count as empty in a batch, and are refused where somebody tells them.

    Examples
    --------
    >>> column = Column("category", ("A11", "A12"))
    >>> column.read(["A12", None, "A99"]).tolist()
    [1.0, nan, nan]
    >>> Column("date").read(["1970-01-02T12:00"]).tolist()
    [1.5]
    >>> column.told("A99")
    Traceback (most recent call last):
    worthwhile.columns.column.UnknownValue: is 'A99', which is not known: give one of 'A11', 'A12'
    """

    kind: str = "number"
    levels: tuple[Level, ...] = ()
    other: bool = False
    _by_value: dict[Any, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._by_value.update((level, float(code)) for code, level in enumerate(self.levels))

    @property
    def is_category(self) -> bool:
        """Whether the numbers are codes of levels without an order."""
        return self.kind == "category"

    @property
    def n_codes(self) -> int:
        """Number of codes of a category, "other" included."""
        return len(self.levels) + self.other

    # Values to numbers ---------------------------------------------------------------------------

    def read(self, series: Any) -> Floats:
        """One float64 per row: NaN where it is empty, infinity where it cannot be read."""
        if self.kind == "number":
            return as_numbers(series)
        if self.levels or self.kind in ("category", "ordered"):
            codes, distinct = factorized(series)
            return np.array([*map(self._code, distinct), math.nan])[codes]
        array = as_array(series)
        if array.dtype.kind in (
            "M" if self.kind == "date" else "m" if self.kind == "duration" else ""
        ):
            return as_days(array)
        if self.kind in ("boolean", "duration") and array.dtype.kind in "biuf":
            return self._checked(array.astype(np.float64))
        return np.array([self._cell(value) for value in list(array)], dtype=np.float64)

    def _checked(self, found: Floats) -> Floats:
        if self.kind == "boolean":
            found[~((found == 0) | (found == 1) | np.isnan(found))] = math.inf
        return found

    def _cell(self, value: Any) -> float:
        number = math.nan if is_empty(value) else self._number(value)
        return math.inf if number is None else number

    def _number(self, value: Any) -> float | None:
        """A value that is there, of a column without levels; None if it cannot be read."""
        if self.kind == "boolean":
            if isinstance(value, str):
                return YES.get(value.strip().lower())
            return float(value) if is_number(value) and value in (0, 1) else None
        if self.kind == "date":
            return date_to_days(value)
        return time_to_days(value) if self.kind == "time" else span_to_days(value)

    def _code(self, value: Any) -> float:
        """The code of a value of a category in a batch."""
        code = self.known_code(value)
        if code is None:
            return float(len(self.levels)) if self.other else math.nan
        return code

    def known_code(self, value: Any) -> float | None:
        """The code of a level, given as it is or as its text; None if there is none."""
        try:
            code = self._by_value.get(value)
        except TypeError:  # a list or a dict
            return None
        if code is None and isinstance(value, str):
            return self._by_text.get(value)
        return code

    @cached_property
    def _by_text(self) -> dict[str, float]:
        """Codes by the text of levels that are no text: a terminal knows nothing else."""
        return {
            str(level): code for level, code in self._by_value.items() if type(level) is not str
        }

    def told(self, value: Any) -> float:
        """The number of one value that somebody tells, who can correct it.

        Raises
        ------
        UnknownValue
            With what is known, or what form is read.
        """
        if is_empty(value):
            return math.nan
        if self.kind in ("category", "ordered"):
            code = self.known_code(value)
            plain = isinstance(value, (str, int, float, np.generic)) and value not in ENDLESS
            if code is None and self.other and plain:
                return float(len(self.levels))
            if code is None:
                raise UnknownValue(
                    f"is {value!r}, which is not known: give one of {some(self.levels, 20)}"
                )
            return code
        number = self._number(value)
        if number is None or math.isinf(number):
            raise UnknownValue(f"is {value!r}, a {type(value).__name__}: give {WANTED[self.kind]}")
        return number

    # Numbers to words ----------------------------------------------------------------------------

    def shown(self, number: float) -> Any:
        """What a number stands for, as JSON holds it: a level, True, the text of a date."""
        if self.kind == "number" or math.isnan(number):
            return number
        if self.kind in ("category", "ordered"):
            return self.levels[int(number)] if number < len(self.levels) else "other"
        if self.kind == "boolean":
            return bool(number)
        if self.kind == "duration":
            return number
        moment = moment_of(number)
        if self.kind == "time":
            return moment.time().isoformat()
        return moment.date().isoformat() if number == math.floor(number) else moment.isoformat()

    def values(self, numbers: Floats) -> npt.NDArray[Any]:
        """What numbers stand for, as numpy holds it: objects for text, datetime64, timedelta64."""
        if self.kind == "number":
            return np.asarray(numbers, dtype=np.float64)
        if self.kind in ("date", "duration"):
            ticks = np.where(np.isnan(numbers), 0, numbers * DAY).round().astype(np.int64)
            kind = "M" if self.kind == "date" else "m"
            found = ticks.astype(f"{kind}8[ms]")
            found[np.isnan(numbers)] = "NaT"
            return found
        words = [None if math.isnan(number) else self.shown(number) for number in numbers.tolist()]
        return np.array([*words, None], dtype=object)[:-1]

    # Learning what a column is -------------------------------------------------------------------

    @classmethod
    def learn(cls, series: Any, kind: str | None = None) -> Column | str:
        """What a column is by its type and values, or the levels of what it is said to be.

        Gives the name of the type of a value that fits nothing, where there is one.
        """
        kind = kind_of(series) if kind is None else kind
        if kind == "ordered":
            return cls(kind, _ordered_levels(series))
        if kind == "category":
            return _learn_levels(series)
        return cls(kind) if kind in KINDS else kind

    # Model files ---------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        if not self.levels and not self.other:
            return {"kind": self.kind}
        return {"kind": self.kind, "levels": list(self.levels), "other": self.other}

    @classmethod
    def from_dict(cls, data: Any) -> Column:
        """Read what :meth:`to_dict` wrote; ValueError for anything it would not write."""
        if not isinstance(data, Mapping) or set(data) not in (
            {"kind"},
            {"kind", "levels", "other"},
        ):
            raise ValueError("a column is not {kind} or {kind, levels, other}")
        kind, levels, other = data["kind"], data.get("levels", []), data.get("other", False)
        if kind not in KINDS:
            raise ValueError(f"a column is of kind {str(kind)[:20]!r}")
        if not isinstance(levels, list) or type(other) is not bool:
            raise ValueError("levels of a column are not a list")
        if kind not in ("category", "ordered") and (levels or other):
            raise ValueError(f"a {kind} has no levels")
        if len(levels) > MOST_LEVELS or any(type(v) not in (str, int, float, bool) for v in levels):
            raise ValueError(f"a column has not at most {MOST_LEVELS} levels of text or numbers")
        if any(type(v) is float and not math.isfinite(v) for v in levels):
            raise ValueError("a level is not a finite number")
        if len(set(levels)) < len(levels):
            raise ValueError("a column has a level twice")
        if kind == "category" and levels != sorted(levels, key=_order):
            raise ValueError("levels of a column are not in order")
        return cls(kind, tuple(levels), other)


def kind_of(series: Any) -> str:
    """What a column is by its type, or by its values where the type does not say."""
    if hasattr(series, "cat") and hasattr(series.cat, "categories"):
        return "ordered" if series.cat.ordered else "category"
    if type(getattr(series, "dtype", None)).__name__ in ("Categorical", "Enum"):  # polars
        return "category"
    if hasattr(getattr(series, "type", None), "index_type"):  # Arrow
        return "ordered" if series.type.ordered else "category"
    array = as_array(series)
    by_type = {
        "b": "boolean",
        "i": "number",
        "u": "number",
        "f": "number",
        "M": "date",
        "m": "duration",
    }
    if array.dtype.kind != "O":
        return by_type.get(array.dtype.kind, array.dtype.name)
    return _kind_of_objects(array.tolist())


def _kind_of_objects(values: list[Any]) -> str:
    kinds = {kind: value for value in values for kind in [type(value)] if not is_empty(value)}
    if not kinds:
        return "number"
    samples = list(kinds.values())
    if any(isinstance(value, str) for value in samples):
        odd = [v for v in samples if not isinstance(v, str) and not is_number(v)]
        if odd:
            return type(odd[0]).__name__
        return "number" if all(_is_numeral(v) for v in values) else "category"
    if all(isinstance(value, (bool, np.bool_)) for value in samples):
        return "boolean"
    if all(map(is_number, samples)):
        return "number"
    for kind, read in (("date", date_to_days), ("time", time_to_days), ("duration", span_to_days)):
        if all(read(value) is not None for value in samples):
            return kind
    return type(samples[0]).__name__


def _is_numeral(value: Any) -> bool:
    """Whether a cell is empty, a number, or the text of one: '0123' is a code, not a number."""
    if not isinstance(value, str):
        return True
    text = value.strip().lstrip("+-")
    if not text[:1].isdigit() and text[:1] != ".":
        return False
    if len(text) > 1 and text[0] == "0" and text[1].isdigit():
        return False
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _order(level: Any) -> tuple[int, float, str]:
    """Numbers by size, then text."""
    return (1, 0.0, level) if isinstance(level, str) else (0, float(level), "")


def _plain(value: Any) -> Any:
    """A level as JSON holds it."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return str(value)
    if type(value) in (int, float, bool):
        return value
    return float(value) if is_number(value) else value


def _learn_levels(series: Any) -> Column | str:
    """The levels that training rows have, the most frequent ones where there are too many."""
    codes, distinct = factorized(series)
    counts = np.bincount(codes[codes >= 0], minlength=len(distinct))
    seen: dict[Any, int] = {}
    for value, count in zip(distinct, counts.tolist(), strict=True):
        value = _plain(value)
        if type(value) not in (str, int, float, bool):
            return type(value).__name__
        if type(value) is float and not math.isfinite(value):
            return "infinite number"
        if count:
            seen[value] = seen.get(value, 0) + count
    levels = sorted(seen, key=_order)
    if len(levels) <= MOST_LEVELS:
        return Column("category", tuple(levels))
    frequent = sorted(levels, key=lambda level: -seen[level])[:MOST_LEVELS]  # stable: ties in order
    return Column("category", tuple(sorted(frequent, key=_order)), other=True)


def _ordered_levels(series: Any) -> tuple[Level, ...]:
    if hasattr(series, "cat"):
        known = series.cat.categories.tolist()
    else:  # Arrow, in one piece or several
        known = (
            series.combine_chunks() if hasattr(series, "chunks") else series
        ).dictionary.to_pylist()
    levels: Sequence[Any] = [_plain(value) for value in known]
    if len(levels) > MOST_LEVELS or any(type(v) not in (str, int, float, bool) for v in levels):
        raise ValueError(
            f"an ordered category has {len(levels)} levels: up to {MOST_LEVELS} of text or numbers are read. Give "
            "its rank as a number."
        )
    return tuple(levels)
