"""The columns that a method works with, made from the numbers of columns that were bought."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import statistics
from worthwhile.columns.cells import Floats
from worthwhile.columns.columns import Columns

MOST_ONE_HOT = 32
"""Codes of a category that get a column each; with more of them, statistics of the target stand for it."""

PARTS = ("month", "weekday", "hour")
"""Parts of a date beside the number itself: 1 to 12, 0 (Monday) to 6, 0 to 24."""

LARGEST = 1e100
"""Numbers that a table may hold."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """How each source column becomes one or more columns.

    Attributes
    ----------
    tables : mapping from int to array (n_codes + 1, m)
        Values of the columns made from a category, by code; the last row is for what came back empty.
    parts : mapping from int to sequence of str
        Parts of a date that follow the number itself.
    n_sources : int
        Number of source columns; those without table or parts stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> one_hot = Expansion({0: np.vstack([np.eye(2), [0.0, 0.0]])}, {1: ("weekday",)}, 2)
    >>> one_hot.apply(np.array([[1.0, 4.0], [np.nan, 5.5]])).tolist()
    [[0.0, 1.0, 4.0, 0.0], [0.0, 0.0, 5.5, 1.0]]
    >>> one_hot.counts
    [2, 2]
    """

    tables: Mapping[int, Floats]
    parts: Mapping[int, Sequence[str]]
    n_sources: int

    @cached_property
    def counts(self) -> list[int]:
        """Number of columns made from each source."""
        return [
            self.tables[s].shape[1] if s in self.tables else 1 + len(self.parts.get(s, ()))
            for s in range(self.n_sources)
        ]

    @cached_property
    def sources(self) -> npt.NDArray[np.intp]:
        """Source of each column."""
        return np.repeat(np.arange(self.n_sources), self.counts)

    @cached_property
    def first(self) -> list[int]:
        """First column of each source, and the end."""
        return [0, *np.cumsum(self.counts).tolist()]

    @cached_property
    def source_of(self) -> list[tuple[int, ...]]:
        """The source of each column, alone in a tuple."""
        return [(source,) for source in self.sources.tolist()]

    @cached_property
    def made_of(self) -> list[range]:
        """The columns made from each source."""
        return [range(*bounds) for bounds in itertools.pairwise(self.first)]

    @property
    def one_to_one(self) -> bool:
        """Whether every source is one column."""
        return max(self.counts, default=1) == 1

    def apply(self, X: npt.NDArray[Any], wanted: npt.NDArray[np.intp] | None = None) -> Floats:
        """Columns of all rows, (n, e); only those of wanted sources, the others NaN."""
        made = np.full((len(X), len(self.sources)), np.nan)
        for source in range(self.n_sources) if wanted is None else wanted.tolist():
            made[:, self.first[source] : self.first[source + 1]] = self.of(source, X[:, source])
        return made

    def of(self, source: int, numbers: npt.NDArray[Any]) -> Floats:
        """Columns of one source, (n, m)."""
        if source in self.tables:
            table = self.tables[source]
            known = (numbers >= 0) & (numbers < len(table) - 1)
            codes = np.where(known, numbers, len(table) - 1).astype(np.intp)
            return table.take(codes, axis=0)
        columns = [np.asarray(numbers, dtype=np.float64)]
        columns += [_part(part, columns[0]) for part in self.parts.get(source, ())]
        return np.stack(columns, axis=1)

    def folded(self, made: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which sources stand behind the marked columns, (n, n_sources)."""
        if not len(made):
            return np.zeros((0, self.n_sources), dtype=bool)
        return np.logical_or.reduceat(made, self.first[:-1], axis=1)

    # Model files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The tables by name."""
        return {f"table {source}": table for source, table in sorted(self.tables.items())}

    def settings(self) -> dict[str, Any]:
        """The rest as JSON values."""
        return {"parts": [list(self.parts.get(s, ())) for s in range(self.n_sources)]}

    @classmethod
    def from_state(cls, n_sources: int, parts: Any, arrays: Mapping[str, Any]) -> Expansion:
        """Read what :meth:`arrays` and :meth:`settings` wrote; ValueError for anything else."""
        if not isinstance(parts, list) or len(parts) != n_sources:
            raise ValueError("parts are not one list per column")
        for names in parts:
            if not isinstance(names, list) or list(dict.fromkeys(names)) != names:
                raise ValueError("parts of a column are not a list without repetition")
            if not set(names) <= set(PARTS):
                raise ValueError("a column has unknown parts")
        names_of = {f"table {source}": source for source in range(n_sources)}
        tables = {}
        for name, table in arrays.items():
            if name not in names_of or parts[names_of[name]]:
                raise ValueError(f"no column for {str(name)[:40]!r}")
            fine = isinstance(table, np.ndarray) and table.dtype == np.float64 and table.ndim == 2
            if not fine or len(table) < 1 or not 1 <= table.shape[1] <= 512:
                raise ValueError(f"{name} is not a table of numbers")
            if (
                not (np.abs(table[:-1]) <= LARGEST).all()
                or not (np.isnan(table[-1]) | (np.abs(table[-1]) <= LARGEST)).all()
            ):
                raise ValueError(f"{name} holds a number that is not finite")
            tables[names_of[name]] = table
        return cls(tables, {s: tuple(p) for s, p in enumerate(parts) if p}, n_sources)


def _part(name: str, days: Floats) -> Floats:
    """A part of dates given as days since 1970-01-01; NaN where there is none."""
    fine = np.abs(days) < 3e6  # years 6244 before and after: what numpy's calendar holds for sure
    whole = np.where(fine, np.floor(days), 0.0)
    if name == "weekday":
        part = (whole + 3.0) % 7.0  # 1970-01-01 was a Thursday
    elif name == "hour":
        part = (np.where(fine, days, 0.0) - whole) * 24.0
    else:
        months = whole.astype("M8[D]").astype("M8[M]").astype(np.int64)
        part = (months % 12 + 1).astype(np.float64)
    return np.where(fine, part, np.nan)


# Learning -----------------------------------------------------------------------------------------


def learn(
    columns: Columns, codes: Floats, targets: Floats, style: str, weight: Floats | None = None
) -> tuple[Expansion | None, Floats]:
    """An expansion learned from training rows, and those rows expanded without their own targets.

    Parameters
    ----------
    columns : Columns
        What the source columns are.
    codes : array (n, d)
        Their numbers.
    targets : array (n, t)
        See :func:`worthwhile.columns.statistics.targets_of`.
    style : {"native", "order", "columns"}
        "native": categories stay codes, dates get their parts: for methods that split categories
        themselves. "order": a category becomes one number, by which its levels are ordered. "columns":
        one column per level, or mean targets where there are too many levels.
    weight : array (n,), optional
        How much rows count in mean targets.

    Returns
    -------
    None where every column stays as it is, and the training rows
    """
    weight = np.ones(len(codes)) if weight is None else weight
    tables: dict[int, Floats] = {}
    trained: dict[int, Floats] = {}
    parts: dict[int, tuple[str, ...]] = {}
    for source in range(len(columns)):
        column = columns[source]
        if column.is_category and style != "native":
            makers = {"order": _ordered, "columns": _one_hot_or_means}
            n_codes = column.n_codes
            values = codes[:, source]
            plain = np.where(np.isnan(values), n_codes, values).astype(np.intp)
            tables[source], trained[source] = makers[style](plain, n_codes, targets, weight)
        elif column.kind == "date" and style != "order":
            days = codes[:, source]
            timed = bool((np.floor(days) != days)[~np.isnan(days)].any())
            parts[source] = PARTS if timed else PARTS[:2]
    if not tables and not parts:
        return None, codes
    expansion = Expansion(tables, parts, len(columns))
    made = expansion.apply(codes)
    for source, values in trained.items():
        made[:, expansion.first[source] : expansion.first[source + 1]] = values
    return expansion, made


def _ordered(codes: Any, n_codes: int, targets: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """One number per level: its score in the direction in which levels differ most."""
    table = statistics.level_means(codes, n_codes + 1, targets, weight)
    count = statistics.counts(codes, n_codes + 1, weight)
    direction = statistics.main_direction(table, count)[:, None]
    trained = _product(statistics.training_means(codes, n_codes + 1, targets, weight), direction)
    return _unseen_empty(_product(table, direction), count), trained


def _one_hot_or_means(
    codes: Any, n_codes: int, targets: Floats, weight: Floats
) -> tuple[Floats, Floats]:
    count = statistics.counts(codes, n_codes + 1, weight)
    if n_codes <= MOST_ONE_HOT:
        # What was empty in training is a level like others; two levels need one column.
        n_columns = n_codes + bool(count[-1])
        table = np.eye(n_codes + 1)[:, : max(n_columns, 1)]
        if n_columns == 2:
            table = table[:, 1:]
        table = _unseen_empty(table, count)
        return table, table.take(codes, axis=0)
    table = statistics.level_means(codes, n_codes + 1, targets, weight)
    trained = statistics.training_means(codes, n_codes + 1, targets, weight)
    return _unseen_empty(table, count), trained


def _unseen_empty(table: Floats, count: Floats) -> Floats:
    """Where no training row was empty, an empty value stays empty: the method has its own way with it."""
    table = np.array(table)
    if not count[-1]:
        table[-1] = np.nan
    return table


def _product(table: Floats, direction: Floats) -> Floats:
    """Rows along a direction, added in one fixed order."""
    total = np.zeros((len(table), 1))
    for column in range(table.shape[1]):
        total[:, 0] += table[:, column] * direction[column, 0]
    return total
