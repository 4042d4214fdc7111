"""From a fitted transformer to a front: what feeds what is found, tried out, and kept as plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Column, Columns
from worthwhile.columns.column import MOST_LEVELS
from worthwhile.estimators.priced._feeds import Feed, Feeds, Findings, Unseen, feeds_of
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.front import Front, operate

Floats = npt.NDArray[np.float64]

FILLERS = (1.0, 0.0, 0.5)
"""Numbers to try where any number will do: logarithms want positive ones."""
PROBES = (0.37, 2.5, 37.25)


@dataclass(frozen=True)
class Shape:
    """What a table looks like to a transformer."""

    columns: Columns
    names: list[str] | None
    filler: Floats
    nothing: frozenset[int]
    made: Columns | None

    def front(self, sources: list[tuple[int, ...]], **more: Any) -> Front:
        """A front with what is known."""
        plain = {"ops": {}, "tables": {}, "constants": {}} | more
        return Front(
            self.columns, sources, names=self.names, filler=self.filler, nothing=self.nothing, made=self.made, **plain
        )  # fmt: skip


def make_front(
    transformer: Any, n_columns: int, names: list[str] | None, background: Any, made: Columns | None
) -> Front:
    """How a fitted transformer makes the inputs of a model.

    Parameters
    ----------
    transformer : object
        Fitted, with all steps before the model.
    n_columns, names
        Of the table.
    background : frame or array, optional
        Some rows of the table.
    made : Columns, optional
        What the model takes the inputs to be, where they are not all numbers.
    """
    found = Findings()
    try:
        feeds = feeds_of(transformer, [Feed(frozenset([c])) for c in range(n_columns)], found)
    except Unseen:
        feeds = []
    for number, feed in enumerate(feeds):
        if feed.raw and made is not None and number < len(made) and made[number].is_category:
            found.encoded(feed, made[number].levels)
        elif feed.raw:
            found.counted([feed])
    shape, base = _try(transformer, found, n_columns, names, background, made)
    if len(feeds) != len(base):  # it is not what it seems to be
        found.opaque.append(type(transformer).__name__)
        feeds = [Feed(frozenset(range(n_columns)), None, raw=False)] * len(base)
    if found.opaque:
        warnings.warn(
            f"step {', '.join(dict.fromkeys(found.opaque))} mixes columns: those that feed it are bought together, and "
            "billed whole.",
            WorthwhileWarning,
            stacklevel=2,
        )
    return _Trial(transformer, shape, base, feeds).front()


def _try(
    transformer: Any,
    found: Findings,
    n_columns: int,
    names: list[str] | None,
    background: Any,
    made: Columns | None,
) -> tuple[Shape, Floats]:
    """What the table is, and the inputs made of a row that the transformer can read."""
    given = None
    if background is not None:
        sample = (
            background if names is None or not hasattr(background, "columns") else background[names]
        )
        given = Columns.learn(sample) or Columns.numbers(n_columns)
    columns = [_column(c, found, given, names) for c in range(n_columns)]
    for number in FILLERS:
        filler = np.array([0.0 if column.levels else number for column in columns])
        if given is not None:
            first = np.asarray(Columns(columns).read(sample)[:1]).ravel()
            filler = np.where(np.isfinite(first), first, filler)
        shape = Shape(Columns(columns), names, filler, frozenset(found.none), made)
        try:
            return shape, _transform(transformer, shape, filler[None, :])[0]
        except Exception as error:
            reason = error
    raise ValueError(
        f"the preprocessing cannot be tried out on a row of numbers and known categories "
        f"({type(reason).__name__}: {str(reason)[:200]}): give PricedModel a few rows of the table, background=. Text "
        "that is no category of an encoder (documents, names) cannot be priced."
    ) from None


def _column(place: int, found: Findings, given: Columns | None, names: list[str] | None) -> Column:
    """What a source column is: by the encoders that know its values, else by a sample, else a number."""
    levels = found.levels.get(place)
    if levels and given is not None:  # an encoder may know more than it lists
        levels = levels | {level for level in given[place].levels if isinstance(level, str)}
    if levels and (place not in found.numeric or any(isinstance(level, str) for level in levels)):
        if len(levels) > MOST_LEVELS:
            raise ValueError(
                f"column {names[place] if names else place!r} has {len(levels)} categories: at most {MOST_LEVELS} can "
                "be priced. Put rare ones together, as with OneHotEncoder(max_categories=...)."
            )
        ordered = sorted(
            levels, key=lambda v: (1, 0.0, v) if isinstance(v, str) else (0, float(v), "")
        )
        return Column("category", tuple(ordered), other=True)
    if given is not None and (place in found.words or not given[place].is_category):
        return given[place]
    if place in found.words:
        raise ValueError(
            f"column {names[place] if names else place!r} is text whose values its encoder does not list: give "
            "PricedModel rows that have them, background=."
        )
    return Column("date") if place in found.dates else Column()


def _transform(transformer: Any, shape: Shape, rows: Floats) -> Floats:
    front = shape.front([(0,)])
    front.transformer = transformer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return front.transformed(rows)


def _values_to_try(column: Column) -> list[float]:
    """All codes of a category and one more; some numbers."""
    if column.kind == "category":
        return [float(code) for code in range(len(column.levels) + 1)]
    return list(PROBES)


class _Trial:
    """Tries a transformer out, one column at a time, against what is thought of it."""

    def __init__(self, transformer: Any, shape: Shape, base: Floats, feeds: Feeds) -> None:
        self.transformer, self.shape, self.base, self.feeds = transformer, shape, base, list(feeds)
        self.no_empty = np.zeros(len(shape.columns), dtype=bool)
        self.tables: dict[int, Floats] = {}  # by source: inputs of each code

    def front(self) -> Front:
        """Try every column, and keep as plain arrays what is known for sure."""
        columns = [self.shape.columns[c] for c in range(len(self.shape.columns))]
        empties = self._alone({c: [np.nan] for c in range(len(columns))})
        self.no_empty = np.array([row[0] is None for row in empties.values()], dtype=bool)
        tried = self._alone({c: _values_to_try(column) for c, column in enumerate(columns)})
        for c, column in enumerate(columns):
            if column.kind == "category":
                columns[c] = self._try_category(c, column, tried[c], empties[c][0])
            else:
                self._try_number(c, tried[c], empties[c][0])
        shape = replace(self.shape, columns=Columns(columns))
        sources = [tuple(sorted(feed.sources)) for feed in self.feeds]
        ops, tables, constants = {}, {}, {}
        for number, feed in enumerate(self.feeds):
            if not feed.sources:
                constants[number] = float(self.base[number])
            elif len(sources[number]) == 1 and sources[number][0] in self.tables:
                tables[number] = np.ascontiguousarray(self.tables[sources[number][0]][:, number])
            elif feed.ops is not None and all(np.isfinite(x) for _, x in feed.ops):
                ops[number] = feed.ops
        return shape.front(
            sources, ops=ops, tables=tables, constants=constants, transformer=self.transformer, no_empty=self.no_empty
        )  # fmt: skip

    def _rows(self, changes: list[tuple[int, float]]) -> Floats:
        rows = np.tile(self.shape.filler, (len(changes), 1))
        for row, (column, value) in zip(rows, changes, strict=True):
            row[column] = value
        return _transform(self.transformer, self.shape, rows)

    def _alone(self, values: dict[int, list[float]]) -> dict[int, list[Floats | None]]:
        """Inputs with one column changed, by column; None where the transformer refuses that.

        All in one call, which takes as long as one row; where that is refused, one by one.
        """
        changes = [(c, value) for c, several in values.items() for value in several]
        rows: Iterable[Floats | None]
        try:
            rows = list(self._rows(changes))
        except Exception:
            rows = [self._one(change) for change in changes]
        found: dict[int, list[Floats | None]] = {c: [] for c in values}
        for (c, _), row in zip(changes, rows, strict=True):
            found[c].append(row)
        return found

    def _one(self, change: tuple[int, float]) -> Floats | None:
        try:
            return self._rows([change])[0]
        except Exception:
            return None

    def _try_category(
        self, place: int, column: Column, rows: list[Floats | None], empty: Floats | None
    ) -> Column:
        """A table of what becomes of each level, of others, and of nothing."""
        self._compare(place, [row for row in rows if row is not None])
        nothing = np.full(len(self.base), np.nan)
        other = rows[-1] is not None
        found = [nothing if row is None else row for row in (rows if other else rows[:-1])]
        self.tables[place] = np.array([*found, nothing if empty is None else empty])
        return Column("category", column.levels, other)

    def _try_number(self, place: int, rows: list[Floats | None], empty: Floats | None) -> None:
        """Whether it feeds no other inputs than was thought, and operations give the same bits."""
        seen = [(value, row) for value, row in zip(PROBES, rows, strict=True) if row is not None]
        if empty is not None:
            seen.append((np.nan, empty))
        self._compare(place, [row for _, row in seen])
        probes = np.array([value for value, _ in seen])
        for number, feed in enumerate(self.feeds):
            if feed.sources == {place} and feed.ops is not None:
                made = np.array([row[number] for _, row in seen])
                if len(seen) < 2 or not np.array_equal(
                    operate(feed.ops, probes), made, equal_nan=True
                ):
                    self.feeds[number] = feed.changed()

    def _compare(self, place: int, rows: list[Floats]) -> None:
        """Inputs that change with a column are fed by it, whatever was thought."""
        for row in rows:
            same = (row == self.base) | (np.isnan(row) & np.isnan(self.base))
            for number in np.flatnonzero(~same):
                feed = self.feeds[number]
                if place not in feed.sources:
                    self.feeds[number] = Feed(feed.sources | {place}, None, raw=False)
