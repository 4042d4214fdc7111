"""What an extractor's function returned: one value per id, in the order of the ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from itertools import islice
from typing import Any

from worthwhile.columns import Column
from worthwhile.runtime.values import Paid, read_value

WITHOUT_ORDER = (str, bytes, bytearray, memoryview, Set)
"""What can be gone through, but is text or has no order of its own."""


def read_result(
    source: Any,
    feature: Any,
    members: Sequence[Any],
    ids: list[Any],
    result: Any,
    column_of: Callable[[Any], Column | None],
) -> dict[Any, list[Any]]:
    """Values by feature: of the feature itself, or of the members of its group; all checked."""
    if source == feature:
        columns = {feature: result}
    else:
        names = getattr(result, "columns", result)
        if not isinstance(result, Mapping) and names is result:
            raise TypeError(
                f"extractor of group {source!r} returned a {type(result).__name__}: return a mapping from feature to "
                "one value per id."
            )
        columns = {name: result[name] for name in members if name in names}
        if feature not in columns:
            raise ValueError(f"extractor of group {source!r} returned no {feature!r}.")
    values = {name: _in_order(source, name, ids, column) for name, column in columns.items()}
    for name, column in values.items():
        for value in column:
            bare = value.value if isinstance(value, Paid) else value
            # Refused here, it can be fetched again; told, it could not.
            read_value(name, bare, column_of(name))
    return values


def _in_order(source: Any, name: Any, ids: list[Any], column: Any) -> list[Any]:
    if isinstance(column, Mapping):
        return _by_id(source, name, ids, column, list(column), list(column.values()))
    if hasattr(column, "columns") or isinstance(column, WITHOUT_ORDER) or not _is_iterable(column):
        raise TypeError(
            f"extractor of {source!r} returned a {type(column).__name__} for {name!r}: return one value per id, in "
            "their order, such as a list, or a mapping from id to value."
        )
    if hasattr(column, "iloc"):  # a Series of pandas, which knows what its values belong to
        labels = list(column.index)
        return list(column) if labels == ids else _by_index(source, name, ids, column, labels)
    values = list(islice(column, len(ids) + 1))  # a generator may be endless
    if len(values) != len(ids):
        count = f"more than {len(ids)}" if len(values) > len(ids) else len(values)
        raise ValueError(
            f"extractor of {source!r} returned {count} values of {name!r} for {len(ids)} ids: return one per id, in "
            "their order."
        )
    return values


def _is_iterable(column: Any) -> bool:
    # An array without dimensions has the method, too.
    return isinstance(column, Iterable) and getattr(column, "ndim", 1) > 0


def _by_index(source: Any, name: Any, ids: list[Any], column: Any, labels: list[Any]) -> list[Any]:
    if type(column.index).__name__ == "RangeIndex" and labels == list(range(len(labels))):
        # Made without an index: whether by position or by id, nobody can tell.
        raise _not_by_id(source, name, column, "it is numbered from 0")
    return _by_id(source, name, ids, column, labels, list(column))


def _by_id(
    source: Any, name: Any, ids: list[Any], column: Any, labels: list[Any], values: list[Any]
) -> list[Any]:
    known, wanted = dict(zip(labels, values, strict=True)), set(ids)
    if len(known) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise _not_by_id(source, name, column, f"more than one value for {twice!r}")
    if missing := [i for i in ids if i not in known]:
        raise _not_by_id(source, name, column, f"no value for {missing[0]!r}")
    if more := [label for label in known if label not in wanted]:
        raise _not_by_id(source, name, column, f"a value for {more[0]!r}, which was not asked for")
    return [known[i] for i in ids]


def _not_by_id(source: Any, name: Any, column: Any, problem: str) -> ValueError:
    return ValueError(
        f"extractor of {source!r} returned a {type(column).__name__} for {name!r} that is not by the ids: {problem}. "
        "Give it the ids as index or keys, or return values.tolist() in the order of the ids."
    )
