"""The values of one column as a numpy array, whatever library holds them, or one by one."""

from __future__ import annotations

import datetime
import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

DAY = 86_400_000
"""Milliseconds of a day. Instants are read to the millisecond: as a float64 of days, every one of the
calendar's comes back from its number."""

EMPTY = ("NAType", "NaTType")
"""Names of the types that stand for nothing in pandas."""


def as_array(series: Any) -> Array:
    """A column as numpy holds it: numbers, booleans, datetime64, timedelta64, or objects."""
    if isinstance(series, np.ndarray):
        return series.astype(object) if series.dtype.kind in "US" else series
    if hasattr(series, "iloc"):
        return _from_pandas(series)
    array = np.asarray(series.to_numpy() if hasattr(series, "to_numpy") else series)
    return array.astype(object) if array.dtype.kind in "US" else array


def _from_pandas(series: Any) -> Array:
    dtype = series.dtype
    if isinstance(dtype, np.dtype):
        found: Array = series.to_numpy()
        return found
    if getattr(dtype, "kind", "O") == "M":  # with a time zone: instants, as UTC has them
        series = series.dt.tz_convert("UTC").dt.tz_localize(None) if _zone(dtype) else series
        return np.asarray(series.to_numpy(dtype="datetime64[ms]"))
    if getattr(dtype, "kind", "O") == "m":
        return np.asarray(series.to_numpy(dtype="timedelta64[ms]"))
    if getattr(dtype, "kind", "O") in "iuf":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if getattr(dtype, "kind", "O") == "b" and not series.isna().any():
        return np.asarray(series.to_numpy(dtype=bool))
    return np.asarray(series.to_numpy(dtype=object, na_value=None))


def _zone(dtype: Any) -> Any:
    if hasattr(dtype, "tz"):
        return dtype.tz
    return getattr(getattr(dtype, "pyarrow_dtype", None), "tz", None)


def cells(series: Any) -> list[Any]:
    """The values of a column one by one, None where there is none."""
    if hasattr(series, "to_pylist"):
        return list(series.to_pylist())
    if hasattr(series, "isna"):
        return list(series.to_numpy(dtype=object, na_value=None))
    return list(series)


def is_empty(value: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, NaT, NA."""
    if value is None or type(value).__name__ in EMPTY:
        return True
    if isinstance(value, (float, np.floating)):
        return bool(value != value)
    return isinstance(value, (np.datetime64, np.timedelta64)) and bool(np.isnat(value))


def factorized(series: Any) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """A number for each row, -1 where it is empty, and the distinct values that the numbers stand for."""
    if hasattr(series, "cat") and hasattr(series.cat, "categories"):  # pandas
        return series.cat.codes.to_numpy().astype(np.intp), series.cat.categories.tolist()
    if hasattr(series, "iloc") or isinstance(series, np.ndarray):
        array = as_array(series)
        if hasattr(series, "iloc") and (found := _hashed(array)) is not None:
            return found
        series = array
    values = series.tolist() if isinstance(series, np.ndarray) else cells(series)
    number: dict[Any, int] = {}
    codes = np.empty(len(values), dtype=np.intp)
    unhashable: list[Any] = []
    for row, value in enumerate(values):
        try:
            found_at = number.get(value)
        except TypeError:  # a list, a dict: no level of anything, but nobody may ever look at it
            codes[row] = -2 - len(unhashable)
            unhashable.append(value)
            continue
        if found_at is None:
            found_at = number[value] = -1 if is_empty(value) else len(number)
        codes[row] = found_at
    return _renumbered(codes, number, unhashable)


def _renumbered(
    codes: npt.NDArray[np.intp], number: dict[Any, int], unhashable: list[Any]
) -> tuple[npt.NDArray[np.intp], list[Any]]:
    """Numbers without gaps: what is empty took part in the count."""
    distinct = [value for value, code in number.items() if code >= 0] + unhashable
    place = np.full(len(number) + 1 + len(unhashable), -1, dtype=np.intp)
    known = [code for code in number.values() if code >= 0]
    place[known] = np.arange(len(known))
    for extra in range(len(unhashable)):
        place[-2 - extra] = len(known) + extra
    return place[codes], distinct


def _hashed(array: Array) -> tuple[npt.NDArray[np.intp], list[Any]] | None:
    """The same by pandas' hash table, which is there if the data came in a frame of pandas."""
    import pandas as pd

    try:
        codes, distinct = pd.factorize(array, use_na_sentinel=True)
    except TypeError:
        return None
    return np.asarray(codes, dtype=np.intp), np.asarray(distinct, dtype=object).tolist()


# Numbers ------------------------------------------------------------------------------------------


def to_float(value: Any) -> float | None:
    """A cell as a float, NaN where it is empty; None if it is no number."""
    if is_empty(value):
        return math.nan
    if isinstance(value, (np.timedelta64, np.datetime64)):
        return None  # numpy would count the ticks of its clock
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def as_numbers(series: Any) -> Floats:
    """A column as float64; what is no number becomes infinity, which is refused where it is bought."""
    array = as_array(series)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    found = map(to_float, array.tolist() if array.dtype.kind == "O" else list(array))
    return np.array([math.inf if number is None else number for number in found])


def is_number(value: Any) -> bool:
    """Whether a cell is a number by its type."""
    return isinstance(value, (numbers.Real, np.bool_, Decimal)) and not isinstance(
        value, np.timedelta64
    )


# Dates, times, spans ------------------------------------------------------------------------------


def as_days(array: Array) -> Floats:
    """datetime64 (days since 1970-01-01, UTC) or timedelta64 as days; NaT is NaN."""
    unit = f"{array.dtype.kind}8[ms]"
    ticks = array.astype(unit).astype(np.int64)
    days: Floats = ticks.astype(np.float64) / DAY
    days[np.isnat(array)] = np.nan
    return days


def date_to_days(value: Any) -> float | None:
    """One date or time stamp, or its text in ISO form, as days since 1970-01-01; None if it is neither."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if isinstance(value, np.datetime64):
        return float(as_days(np.array([value]))[0])
    if isinstance(value, datetime.datetime):
        zone = datetime.UTC
        moment = value.astimezone(zone) if value.tzinfo else value.replace(tzinfo=zone)
        return span_to_days(moment.replace(tzinfo=None) - datetime.datetime(1970, 1, 1))
    if isinstance(value, datetime.date):
        return float((value - datetime.date(1970, 1, 1)).days)
    return None


def span_to_days(value: Any) -> float | None:
    """One span of time as days; a number is days already."""
    if isinstance(value, np.timedelta64):
        return float(as_days(np.array([value]))[0])
    if isinstance(value, datetime.timedelta):
        return float(value // datetime.timedelta(milliseconds=1)) / DAY
    return float(value) if is_number(value) else None


def time_to_days(value: Any) -> float | None:
    """One time of day, or its text in ISO form, as a share of a day."""
    if isinstance(value, str):
        try:
            value = datetime.time.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, datetime.time):
        return None
    seconds = (value.hour * 60 + value.minute) * 60 + value.second
    return float(seconds * 1000 + value.microsecond // 1000) / DAY


def moment_of(days: float) -> datetime.datetime:
    """The instant of a number of days since 1970-01-01, to the millisecond."""
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=round(days * DAY))
