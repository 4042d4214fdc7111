"""Reading tables: CSV, Parquet or Arrow, whole or in chunks, with errors that name the column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worthwhile._messages import some
from worthwhile.cli._arrow import kind_of, read_arrow
from worthwhile.cli._csv import read_csv
from worthwhile.cli._profile import as_dates, find_dates, is_text, profile

CHUNK = 200_000
SHOWN = 5
NO_LABELS = (list, dict, np.ndarray, date, time)


@dataclass(frozen=True)
class Kinds:
    """What columns are called, where their values do not say it."""

    categorical: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    def given_to(self, X: pd.DataFrame) -> pd.DataFrame:
        """A table whose types say so; refuses names that it does not have, and dates that are none."""
        if missing := [name for name in (*self.categorical, *self.dates) if name not in X.columns]:
            raise ValueError(
                f"categorical or dates names {some(missing)}, and there is no such column: there are {some(X.columns)}."
            )
        if both := set(self.categorical) & set(self.dates):
            raise ValueError(f"{some(both)} is called a category and a date: it is one of them.")
        said: dict[str, Any] = {name: X[name].astype("category") for name in self.categorical}
        for name in self.dates:
            dates = X[name] if X[name].dtype.kind == "M" else None
            dates = as_dates(X[name]) if dates is None and is_text(X[name]) else dates
            if dates is None:
                raise ValueError(
                    f"column {name!r} is called a date, and has {str(X[name].dropna().iloc[:1].tolist())[1:-1]}: write "
                    "dates as 2021-12-31 or 31.12.2021."
                )
            said[name] = dates
        return X.assign(**said)


NOTHING_SAID = Kinds()


def read_sample(
    path: Path, most: int, seed: int, as_text: Sequence[str] = ()
) -> tuple[pd.DataFrame, int]:
    """At most so many rows of a table, drawn at random, in their order (0: all); and how many it has.

    Every row draws a number and the lowest are kept, so one pass is enough and what is held in
    memory does not grow with the file. Columns that are numbers in some chunks and text in others
    are read once more, as text: the label 1 is not the label '1'.
    """
    sample, total, kinds = _draw(path, most, seed, as_text)
    if apart := [name for name, found in kinds.items() if len(found) > 1]:
        sample, total, _ = _draw(path, most, seed, [*as_text, *apart], say=False)
    return find_dates(sample, as_text), total


def _draw(
    path: Path, most: int, seed: int, as_text: Sequence[str], *, say: bool = True
) -> tuple[pd.DataFrame, int, dict[str, set[str]]]:
    """The sample, the number of rows, and for each column what its chunks were."""
    rng = np.random.default_rng(seed)
    kept, draws, total = pd.DataFrame(), np.empty(0), 0
    kinds: dict[str, set[str]] = {}
    for frame in read_chunks(path, as_text=as_text, say=say):
        total += len(frame)
        for name in frame.columns[frame.notna().any()]:
            kind = frame[name].dtype.kind
            kinds.setdefault(name, set()).add("number" if kind in "iuf" else kind)
        kept = frame if kept.empty else _below(kept, frame)
        draws = np.append(draws, rng.random(len(frame)))
        if most and len(kept) > most:
            lowest = np.sort(np.argpartition(draws, most)[:most])
            kept, draws = kept.iloc[lowest].reset_index(drop=True), draws[lowest]
    return kept, total, kinds


def _below(upper: pd.DataFrame, lower: pd.DataFrame) -> pd.DataFrame:
    """One frame under another; categories stay categories."""
    result = pd.concat([upper, lower], ignore_index=True)
    for name in result.columns:
        parts = [upper[name].array, lower[name].array]
        if all(isinstance(part, pd.Categorical) for part in parts):
            result[name] = pd.api.types.union_categoricals(parts)
    return result


def read_chunks(
    path: Path, rows: int = CHUNK, *, as_text: Sequence[str] = (), say: bool = True
) -> Iterator[pd.DataFrame]:
    """A table in parts of at most ``rows`` rows; refuses one without rows.

    ``as_text`` are columns of a CSV file that are not to become numbers. What is noticed about the file
    is said on stderr.
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder: give a CSV, Parquet or Arrow file.")
    if not path.is_file():
        raise FileNotFoundError(f"no file {str(path)!r}: check the path.")
    empty = True
    kind = kind_of(path)
    parts = read_arrow(path, rows, kind) if kind else read_csv(path, rows, as_text, say=say)
    for frame in parts:
        empty = empty and frame.empty
        if not frame.empty:
            yield frame
    if empty:
        raise ValueError(f"{path} has no rows: give a file with a header line and data.")


def check_target(target: str, frame: pd.DataFrame, path: Path) -> None:
    """Refuse a target that is no column."""
    if target not in frame.columns:
        raise ValueError(f"{path} has no column {target!r}: its columns are {some(frame.columns)}.")


def split_target(
    frame: pd.DataFrame, target: str, path: Path, kinds: Kinds = NOTHING_SAID
) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Features and target; the target must be there, complete, and have something to learn."""
    check_target(target, frame, path)
    y = frame[target]
    if y.isna().any():
        raise ValueError(
            f"column {target!r} has {int(y.isna().sum())} empty cells: drop those rows first."
        )
    if y.dtype.kind in "mM" or isinstance(y.iloc[0], NO_LABELS):
        raise ValueError(
            f"column {target!r} has values such as {y.iloc[0]!r}: what is predicted is a label or a number in each row."
        )
    if y.nunique() < 2:
        raise ValueError(
            f"column {target!r} has the single value {str(y.iloc[0])!r}: there is nothing to learn."
        )
    X = frame.drop(columns=[target]).rename(columns=str)
    check_columns(X, path, kinds)
    return kinds.given_to(columns_of(X, kinds.categorical)), y


def check_columns(X: pd.DataFrame, path: Path, kinds: Kinds) -> None:
    """Refuse columns that nothing can be learnt from."""
    if X.shape[1] == 0:
        raise ValueError(f"{path} has no feature columns beside the target.")
    problems = [
        f"column {column.name!r} has {problem}"
        for column in profile(X, kinds.categorical)
        for problem in column.problems
    ]
    if problems:
        more = len(problems) - SHOWN
        raise ValueError(
            "; ".join(problems[:SHOWN])
            + (
                f"; and {more} more, which 'worthwhile costs check --data' lists."
                if more > 0
                else "."
            )
        )


def columns_of(frame: pd.DataFrame, categorical: Sequence[str] = ()) -> pd.DataFrame:
    """Features as models take them: numbers as float64; text, categories and dates as they are."""
    return pd.DataFrame(
        {
            str(name): frame[name].reset_index(drop=True)
            if name in categorical
            else _as_numbers(frame[name])
            for name in frame.columns
        }
    )


def _as_numbers(column: pd.Series[Any]) -> Any:
    if column.dtype.kind in "bmM" or isinstance(column.dtype, pd.CategoricalDtype):
        return column.reset_index(drop=True)
    values = pd.to_numeric(column, errors="coerce")
    if (values.isna() & column.notna()).any():
        return column.reset_index(drop=True)
    return values.to_numpy(dtype=np.float64, na_value=np.nan)
