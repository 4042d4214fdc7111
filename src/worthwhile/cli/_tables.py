"""Reading tables: CSV or Parquet, whole or in chunks, with errors that name the column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, time
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd

from worthwhile._messages import missing_package, some
from worthwhile.cli._csv import read_csv, refuse_doubles

CHUNK = 200_000
NO_LABELS = (list, dict, np.ndarray, date, time)
DECIMAL_COMMA = re.compile(r"[-+]?[0-9.]*,[0-9]+")


def read_sample(path: Path, most: int, seed: int) -> tuple[pd.DataFrame, int]:
    """At most so many rows of a table, drawn at random, in their order (0: all); and how many it has.

    Every row draws a number and the lowest are kept, so one pass is enough and what is held in
    memory does not grow with the file. Columns that are numbers in some chunks and text in others
    are read once more, as text: the label 1 is not the label '1'.
    """
    sample, total, kinds = _draw(path, most, seed, ())
    if apart := [name for name, found in kinds.items() if len(found) > 1]:
        sample, total, _ = _draw(path, most, seed, apart)
    return sample, total


def _draw(
    path: Path, most: int, seed: int, as_text: Sequence[str]
) -> tuple[pd.DataFrame, int, dict[str, set[bool]]]:
    """The sample, the number of rows, and for each column whether its chunks were numbers or not."""
    rng = np.random.default_rng(seed)
    kept, draws, total = pd.DataFrame(), np.empty(0), 0
    kinds: dict[str, set[bool]] = {}
    for frame in read_chunks(path, as_text=as_text):
        total += len(frame)
        for name in frame.columns[frame.notna().any()]:
            kinds.setdefault(name, set()).add(pd.api.types.is_numeric_dtype(frame[name]))
        kept = frame if kept.empty else pd.concat([kept, frame], ignore_index=True)
        draws = np.append(draws, rng.random(len(frame)))
        if most and len(kept) > most:
            lowest = np.sort(np.argpartition(draws, most)[:most])
            kept, draws = kept.iloc[lowest].reset_index(drop=True), draws[lowest]
    return kept, total, kinds


def read_chunks(
    path: Path, rows: int = CHUNK, *, as_text: Sequence[str] = ()
) -> Iterator[pd.DataFrame]:
    """A table in parts of at most ``rows`` rows; refuses one without rows.

    ``as_text`` are columns of a CSV file that are not to become numbers.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a CSV or Parquet file.")
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}: check the path.")
    empty = True
    for frame in _parquet(path, rows) if _is_parquet(path) else read_csv(path, rows, as_text):
        empty = empty and frame.empty
        if not frame.empty:
            yield frame
    if empty:
        raise ValueError(f"{path} has no rows: give a file with a header line and data.")


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return path.suffix == ".parquet" or file.read(4) == b"PAR1"


def _parquet(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowException, parquet, types
    except ImportError:
        raise missing_package("Parquet files need", "pyarrow", "files") from None
    try:
        file = parquet.ParquetFile(path)
        refuse_doubles(file.schema_arrow.names, path)
        for batch in file.iter_batches(rows):
            frame = batch.to_pandas()
            for field in batch.schema:
                if types.is_decimal(field.type) and field.name in frame.columns:
                    frame[field.name] = pd.to_numeric(frame[field.name])
            yield frame
    except (ArrowException, OSError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} is not a Parquet file that can be read ({str(error).strip(' .')}): write it again, or name it "
            ".csv if it is CSV."
        ) from None


def check_target(target: str, frame: pd.DataFrame, path: Path) -> None:
    """Refuse a target that is no column."""
    if target not in frame.columns:
        raise ValueError(f"{path} has no column {target!r}: its columns are {some(frame.columns)}.")


def split_target(
    frame: pd.DataFrame, target: str, path: Path
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Features and target; the target must be there, complete, and have something to learn."""
    check_target(target, frame, path)
    y = frame[target]
    if y.isna().any():
        raise ValueError(
            f"column {target!r} has {int(y.isna().sum())} empty cells: drop those rows first."
        )
    if _is_time(y) or isinstance(y.iloc[0], NO_LABELS):
        raise ValueError(
            f"column {target!r} has values such as {y.iloc[0]!r}: what is predicted is a label or a number in each row."
        )
    if y.nunique() < 2:
        raise ValueError(
            f"column {target!r} has the single value {str(y.iloc[0])!r}: there is nothing to learn."
        )
    return numbers(frame.drop(columns=[target]), path), y


def numbers(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """All columns as float64; refuses text, naming the column and a value."""
    if frame.shape[1] == 0:
        raise ValueError(f"{path} has no feature columns beside the target.")
    result = {}
    for name in frame.columns:
        column = frame[name]
        if _is_time(column):
            raise ValueError(
                f"column {name!r} has dates or times: give them as numbers, such as days since a date, or drop it."
            )
        values = pd.to_numeric(column, errors="coerce")
        if (other := values.isna() & column.notna()).any():
            _refuse_value(name, column[other].iloc[0])
        if np.isinf(values.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise ValueError(
                f"column {name!r} has an infinite value: leave the cell empty if it is missing."
            )
        result[str(name)] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(result)


def _refuse_value(name: str, value: Any) -> NoReturn:
    if not isinstance(value, str):
        raise ValueError(
            f"column {name!r} has values such as {value!r}: give a number in each row, or drop it."
        )
    if DECIMAL_COMMA.fullmatch(value.strip()):
        raise ValueError(f"column {name!r} has {value!r}: write numbers with a decimal point.")
    raise ValueError(
        f"column {name!r} has text such as {value!r}: encode it as numbers, or drop it."
    )


def _is_time(column: pd.Series[Any]) -> bool:
    return column.dtype.kind in "mM"  # pandas would give the ticks of a clock, and -2**63 for none
