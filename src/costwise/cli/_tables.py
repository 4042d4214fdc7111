"""Reading tables: CSV or Parquet, whole or in chunks, with errors that name the column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

CHUNK = 200_000


def read_sample(path: Path, most: int, seed: int) -> tuple[pd.DataFrame, int]:
    """At most so many rows of a table, drawn at random, in their order (0: all); and how many it has.

    Every row draws a number and the lowest are kept, so one pass is enough and what is held in
    memory does not grow with the file.
    """
    rng = np.random.default_rng(seed)
    kept, draws, total = pd.DataFrame(), np.empty(0), 0
    for frame in read_chunks(path):
        total += len(frame)
        kept = frame if kept.empty else pd.concat([kept, frame], ignore_index=True)
        draws = np.append(draws, rng.random(len(frame)))
        if most and len(kept) > most:
            lowest = np.sort(np.argpartition(draws, most)[:most])
            kept, draws = kept.iloc[lowest].reset_index(drop=True), draws[lowest]
    return kept, total


def read_chunks(path: Path, rows: int = CHUNK) -> Iterator[pd.DataFrame]:
    """A table in parts of at most ``rows`` rows; refuses one without rows."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}: check the path.")
    empty = True
    for frame in _parquet(path, rows) if path.suffix == ".parquet" else _csv(path, rows):
        if len(set(frame.columns)) < len(frame.columns):
            raise ValueError(f"{path} has two columns of one name: rename one of them.")
        empty = empty and frame.empty
        if not frame.empty:
            yield frame
    if empty:
        raise ValueError(f"{path} has no rows: give a file with a header line and data.")


def _csv(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    try:
        with pd.read_csv(path, chunksize=rows, low_memory=False) as parts:
            yield from parts
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path} is empty: give a CSV file with a header line and data.") from None
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a CSV file that can be read: {error}") from None


def _parquet(path: Path, rows: int) -> Iterator[pd.DataFrame]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install 'costwise[files]'") from None
    try:
        for batch in parquet.ParquetFile(path).iter_batches(rows):
            yield batch.to_pandas()
    except ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from None


def split_target(
    frame: pd.DataFrame, target: str, path: Path
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Features and target; the target must be there, complete, and have something to learn."""
    if target not in frame.columns:
        raise ValueError(f"{path} has no column {target!r}: its columns are {some(frame.columns)}.")
    y = frame[target]
    if y.isna().any():
        raise ValueError(
            f"column {target!r} has {int(y.isna().sum())} empty cells: drop those rows first."
        )
    if y.nunique() < 2:
        raise ValueError(
            f"column {target!r} has the single value {y.iloc[0]!r}: there is nothing to learn."
        )
    return numbers(frame.drop(columns=[target]), path), y


def numbers(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """All columns as float64; refuses text, naming the column and a value."""
    if frame.shape[1] == 0:
        raise ValueError(f"{path} has no feature columns beside the target.")
    result = {}
    for name in frame.columns:
        column = frame[name]
        values = pd.to_numeric(column, errors="coerce")
        if (text := values.isna() & column.notna()).any():
            raise ValueError(
                f"column {name!r} has text such as {column[text].iloc[0]!r}: encode it as numbers, or drop it."
            )
        if np.isinf(values.to_numpy(dtype=np.float64, na_value=np.nan)).any():
            raise ValueError(
                f"column {name!r} has an infinite value: leave the cell empty if it is missing."
            )
        result[str(name)] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(result)


def is_regression(y: pd.Series[Any]) -> bool:
    """Guess the task as people would: many different numbers are a quantity, few are classes."""
    numeric = pd.api.types.is_numeric_dtype(y) and not pd.api.types.is_bool_dtype(y)
    return bool(
        numeric and (y.nunique() > 20 or (pd.api.types.is_float_dtype(y) and (y % 1 != 0).any()))
    )


def some(names: Sequence[Any] | pd.Index[Any], most: int = 6) -> str:
    """A few names for a message."""
    listed = ", ".join(repr(str(name)) for name in list(names)[:most])
    return listed + (f" and {len(names) - most} more" if len(names) > most else "")
