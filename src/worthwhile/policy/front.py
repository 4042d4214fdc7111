"""Preprocessing in front of a model: from the columns that are bought to the inputs of the model.

What is known of a transformer is kept as plain arrays: a table for each category, a few operations
for each number. What is not is asked of the transformer itself, with constants in the place of
everything that is not to be looked at.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Column, Columns
from worthwhile.costs import Costs, as_decimal
from worthwhile.policy.foreign import UNBUILT, Foreign, check_names

Floats = npt.NDArray[np.float64]
Op = tuple[str, float]
"""One operation on a number: what is done, and with which number."""

OPERATIONS = ("fill", "minus", "over", "times", "plus", "empty")


def operate(ops: Sequence[Op], numbers: Floats) -> Floats:
    """Numbers after some operations, each done as scikit-learn does it.

    Examples
    --------
    >>> operate([("fill", 3.0), ("minus", 1.0), ("over", 2.0)], np.array([5.0, np.nan])).tolist()
    [2.0, 1.0]
    """
    found = np.array(numbers, dtype=np.float64)
    for what, number in ops:
        if what == "fill":
            found[np.isnan(found)] = number
        elif what == "empty":
            found = np.isnan(found).astype(np.float64)
        elif what == "minus":
            found -= number
        elif what == "over":
            found /= number
        elif what == "times":
            found *= number
        else:
            found += number
    return found


class Front:
    """How the inputs of a model are made from the columns of a table.

    Parameters
    ----------
    columns : Columns
        What the source columns are.
    sources : sequence of tuples of int
        The source columns that feed each input.
    ops : dict of int to sequence of Op
        Inputs that are one number after some operations.
    tables : dict of int to array
        Inputs of categories: a number for each code, the last for what is empty; an axis for each source.
    constants : dict of int to float
        Inputs that nothing feeds.
    transformer : object, optional
        Makes all other inputs; a fitted transformer of another library.
    names : list of str, optional
        Names of the source columns, where the transformer wants a frame.
    filler : array (d,), optional
        Numbers that stand for columns which the transformer is not to look at.
    no_empty : array (d,) of bool, optional
        Columns in which the transformer refuses empty values: what it makes of them is empty.
    nothing : collection of int
        Columns in which an empty cell is None; in the others it is NaN.
    made : Columns, optional
        What the transformer makes, where that is not numbers.
    """

    def __init__(
        self,
        columns: Columns,
        sources: Sequence[tuple[int, ...]],
        ops: dict[int, tuple[Op, ...]],
        tables: dict[int, Floats],
        constants: dict[int, float],
        transformer: Any = None,
        names: list[str] | None = None,
        filler: Floats | None = None,
        no_empty: npt.NDArray[np.bool_] | None = None,
        nothing: Collection[int] = (),
        made: Columns | None = None,
    ) -> None:
        self.columns, self.sources = columns, tuple(sources)
        self.ops, self.tables, self.constants = ops, tables, constants
        plain = ops.keys() | tables.keys() | constants.keys()
        self.called = [i for i in range(len(self.sources)) if i not in plain]
        self.transformer: Any = transformer if self.called else None
        self.names, self.nothing, self.made = names, frozenset(nothing), made
        n = len(columns)
        self.filler = np.zeros(n) if filler is None else filler
        self.no_empty = np.zeros(n, dtype=bool) if no_empty is None else no_empty

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the model."""
        return len(self.sources)

    @cached_property
    def fed(self) -> list[list[int]]:
        """The inputs that each source column feeds."""
        found: list[list[int]] = [[] for _ in range(len(self.columns))]
        for number, sources in enumerate(self.sources):
            for source in sources:
                found[source].append(number)
        return found

    @cached_property
    def members(self) -> npt.NDArray[np.bool_]:
        """Which input is fed by which source, (n_inputs, d)."""
        found = np.zeros((self.n_inputs, len(self.columns)), dtype=bool)
        for number, sources in enumerate(self.sources):
            found[number, list(sources)] = True
        return found

    def folded(self, inputs: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which sources feed the marked inputs, (n, d)."""
        if not len(inputs):
            return np.zeros((0, len(self.columns)), dtype=bool)
        # Counted in floats, which is exact here: a product of booleans is a slow loop.
        return (inputs.astype(np.float32) @ self.members.astype(np.float32)) > 0

    def apply(self, X: Floats, wanted: Sequence[int] | None = None) -> Floats:
        """Inputs of all rows, (n, n_inputs); of those not wanted, NaN.

        ``X`` holds the numbers of the source columns; an infinity is what could not be read.
        """
        wanted = range(self.n_inputs) if wanted is None else wanted
        inputs = np.full((len(X), self.n_inputs), np.nan)
        called = []
        for number in wanted:
            if number in self.constants:
                inputs[:, number] = self.constants[number]
            elif number in self.ops:
                with np.errstate(all="ignore"):
                    inputs[:, number] = operate(self.ops[number], X[:, self.sources[number][0]])
            elif number in self.tables:
                inputs[:, number] = self._look_up(number, X)
            else:
                called.append(number)
        if called and len(X):
            inputs[:, called] = self._call(X, called)
        return inputs

    def _look_up(self, number: int, X: Floats) -> Floats:
        table, places = self.tables[number], list[npt.NDArray[np.intp]]()
        for source, n in zip(self.sources[number], table.shape, strict=True):
            codes = X[:, source]
            known = (codes >= 0) & (codes < n - 1)
            places.append(np.where(known, codes, n - 1).astype(np.intp))
        found: Floats = table[tuple(places)]
        return found

    def _call(self, X: Floats, inputs: Sequence[int]) -> Floats:
        """Ask the transformer; columns that do not feed these inputs are constants."""
        used = self.members[inputs].any(axis=0)
        rows = np.where(used & np.isfinite(X) | used & np.isnan(X) & ~self.no_empty, X, self.filler)
        result = self.transformed(rows)[:, inputs]
        gone = ~np.isfinite(X) & (self.no_empty | np.isinf(X)) & used
        if gone.any():
            result = np.where(gone @ self.members[inputs].T, np.nan, result)
        return result

    def transformed(self, rows: Floats) -> Floats:
        """What the transformer makes of rows that it can read."""
        words = {
            name: _words(self.columns[c], rows[:, c], c in self.nothing)
            for c, name in enumerate(range(len(self.columns)) if self.names is None else self.names)
        }
        found = self.transformer.transform(_table_of(words, named=self.names is not None))
        if self.made is not None:
            return self.made.read(found)
        found = found.toarray() if hasattr(found, "toarray") else found
        return np.asarray(found, dtype=np.float64)

    # Model files ----------------------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """What is no array, as JSON values."""
        return {
            "columns": self.columns.to_dict(),
            "sources": [list(sources) for sources in self.sources],
            "ops": [[number, [list(op) for op in ops]] for number, ops in sorted(self.ops.items())],
            "constants": [[number, value] for number, value in sorted(self.constants.items())],
            "names": self.names,
            "no_empty": np.flatnonzero(self.no_empty).tolist(),
            "nothing": sorted(self.nothing),
            "made": None if self.made is None else self.made.to_dict(),
        }

    def arrays(self) -> dict[str, Any]:
        """Tables, constants, and the transformer if it is needed."""
        found: dict[str, Any] = {"filler": self.filler}
        found |= {f"table {number}": table for number, table in sorted(self.tables.items())}
        if self.transformer is not None:
            found["transformer"] = Foreign(self.transformer)
        return found

    @classmethod
    def from_state(cls, n_sources: int, settings: dict[str, Any], arrays: dict[str, Any]) -> Front:
        """Read what the two others wrote; ValueError for anything that is unsafe to run."""
        columns = Columns.from_dict(settings["columns"])
        if len(columns) != n_sources:
            raise ValueError("columns do not fit the prices")
        sources = [_indices(item, n_sources, "sources") for item in _list(settings["sources"])]
        n = len(sources)
        ops = {
            _index(number, n): tuple(_op(op) for op in _list(item))
            for number, item in _pairs(settings["ops"])
        }
        constants = {
            _index(number, n): _number(value) for number, value in _pairs(settings["constants"])
        }
        tables = {
            _index(int(name.removeprefix("table ")), n): _table(table)
            for name, table in arrays.items()
            if name.startswith("table ")
        }
        names = settings["names"]
        if names is not None and (
            not isinstance(names, list)
            or len(names) != n_sources
            or not all(isinstance(name, str) for name in names)
        ):
            raise ValueError("names do not fit the columns")
        for number in ops:
            if len(sources[number]) != 1:
                raise ValueError("an input of one column is fed by others")
        for number, table in tables.items():
            if len(sources[number]) != table.ndim:
                raise ValueError("a table has not an axis for each column that feeds it")
        filler = arrays.get("filler")
        if (
            not isinstance(filler, np.ndarray)
            or filler.dtype != np.float64
            or filler.shape != (n_sources,)
            or not np.isfinite(filler).all()
        ):
            raise ValueError("filler is not a finite number per column")
        no_empty = np.zeros(n_sources, dtype=bool)
        no_empty[list(_indices(settings["no_empty"], n_sources, "no_empty"))] = True
        made = settings["made"]
        foreign = arrays.get("transformer")
        front = cls(
            columns, sources, ops, tables, constants,
            foreign.value if isinstance(foreign, Foreign) else None,
            names, filler, no_empty, _indices(settings["nothing"], n_sources, "nothing"),
            None if made is None else Columns.from_dict(made),
        )  # fmt: skip
        if bool(front.called) != isinstance(foreign, Foreign):
            raise ValueError("the transformer is missing, or not needed")
        check_names(front.transformer, names)
        if front.called and front.transformer is not UNBUILT:
            _check_sources(front)
        return front


def _check_sources(front: Front) -> None:
    """Refuse a file by which an input is not fed by a column that its transformer looks at.

    One column after the other is changed. A transformer may refuse such rows: then nothing is learned.
    """
    d = len(front.columns)
    rows = np.tile(front.filler, (d + 1, 1))
    for place in range(d):
        levels = len(front.columns[place].levels) if front.columns[place].kind == "category" else 0
        value = front.filler[place] + 1.0
        rows[place + 1, place] = value % levels if levels else value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = front.transformed(rows)[:, front.called]
        except Exception:  # whatever another library raises
            return
    moved = ~np.isclose(found[1:], found[0], rtol=1e-9, atol=1e-12, equal_nan=True)
    if (moved.T & ~front.members[front.called]).any():
        raise ValueError("an input is made of a column that is not among its sources")


UNSEEN = "\ue000 never seen"
"""Stands for text that is no level."""


def _words(column: Column, numbers: Floats, none: bool) -> npt.NDArray[Any]:
    """What numbers of a column stand for, as training data had it."""
    if column.kind != "category":
        return column.values(numbers)
    levels: list[Any] = list(column.levels)
    if all(type(level) in (int, float) for level in levels):
        words = np.array([*levels, max(levels, default=0) + 1, np.nan], dtype=np.float64)
    else:
        words = np.array([*levels, UNSEEN, None if none else np.nan], dtype=object)
    empty = np.isnan(numbers)
    codes = np.where(empty, 0, np.minimum(numbers, len(levels))).astype(np.intp)
    return words[np.where(empty, len(levels) + 1, codes)]


def _table_of(words: dict[Any, npt.NDArray[Any]], *, named: bool) -> Any:
    """A frame, or an array where there are no names."""
    if named:
        import pandas as pd

        return pd.DataFrame(words)
    kinds = {array.dtype.kind for array in words.values()}
    return np.stack([*words.values()], axis=1) if kinds == {"f"} else _objects(list(words.values()))


def _objects(columns: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    found = np.empty((len(columns[0]), len(columns)), dtype=object)
    for place, column in enumerate(columns):
        found[:, place] = column
    return found


def fed_costs(costs: Costs, front: Front) -> Costs:
    """Prices of inputs: whichever is read first pays for the sources that feed it, each once."""
    flat, groups = costs.flat, dict[str, dict[str, Any]]()
    paid = costs.closed(front.members)  # with what the sources require
    for source, inputs in enumerate(paid.T):
        if inputs.any() and flat.price[source]:
            members = np.flatnonzero(inputs).tolist()
            groups[f"value {source}"] = {"fee": as_decimal(flat.price[source]), "features": members}
    for name, fee, opens in zip(costs.fee_names, flat.fee, flat.members.T, strict=True):
        if (inputs := paid[:, opens].any(axis=1)).any():
            members = np.flatnonzero(inputs).tolist()
            # By name: a model file does not keep the order of the groups.
            groups[f"fee {name}"] = {"fee": as_decimal(fee), "features": members}
    return type(costs)(
        [0] * front.n_inputs, groups=groups, evaluation=costs.evaluation, unit=costs.unit
    )


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("a setting is not a list")
    return value


def _pairs(value: Any) -> list[list[Any]]:
    pairs = _list(value)
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise ValueError("a setting is not a list of pairs")
    return pairs


def _index(value: Any, n: int) -> int:
    if type(value) is not int or not 0 <= value < n:
        raise ValueError(f"an index is not below {n}")
    return value


def _indices(value: Any, n: int, what: str) -> tuple[int, ...]:
    found = tuple(_index(item, n) for item in _list(value))
    if list(found) != sorted(set(found)):
        raise ValueError(f"{what} are not in order")
    return found


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not abs(value) <= 1e100:
        raise ValueError("a number is not finite")
    return float(value)


def _op(op: Any) -> Op:
    if not isinstance(op, list) or len(op) != 2 or op[0] not in OPERATIONS:
        raise ValueError("an operation is unknown")
    return op[0], _number(op[1])


def _table(table: Any) -> Floats:
    if (
        not isinstance(table, np.ndarray)
        or table.dtype != np.float64
        or table.ndim < 1
        or table.size < 1
        or not (np.isnan(table) | (np.abs(table) <= 1e100)).all()
    ):
        raise ValueError("a table is not a list of numbers")
    return table
