"""What workers train: a model of rows that they share, or one whose work they share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distributed import Future, get_client, get_worker, secede
from worthwhile.core.boosting.stored_columns import StoredColumns
from worthwhile.dask._collections import HeldTable, Parts, Table
from worthwhile.dask._whole import WholeTable, whole_of
from worthwhile.distributed import Mesh, Part, Plan, Shard, fit_together, train
from worthwhile.distributed.plan import Miser
from worthwhile.estimators.boosting import RoundRecord

Tell = Callable[[RoundRecord | None], None]
"""Takes a round that is complete; None when all ranks have brought their rows."""


class Later:
    """Rows of partitions that a worker fetches one after the other, into a file.

    Dask would bring all partitions before a task starts, and hold them until it ends.
    """

    def __init__(self, table: Parts, part: Part) -> None:
        pieces = table.pieces(part.rows)
        self._keys = [table.parts[number].key for number, _ in pieces]
        self._places = [where for _, where in pieces]
        self._n_rows, self._kind = len(part.rows), table.kind

    def stored(self, d: int, mesh: Mesh) -> StoredColumns:
        """On a worker: the rows, read.

        All ranks go from partition to partition together, so that none is silent for longer than one takes.
        """
        rows, start = StoredColumns(self._n_rows, d, self._kind, get_worker().local_directory), 0
        places = iter(self._places)
        for partition in _fetched(self._keys, mesh):
            values = partition[next(places)]
            rows.write_rows(start, values)
            start += len(values)
            del values, partition
        return rows


def _fetched(keys: list[Any], mesh: Mesh) -> Iterator[Any]:
    """On a worker: partitions, one after the other; the next when nobody holds the one before."""
    client, most = get_client(), int(mesh.max(np.array([len(keys)]))[0])
    for number in range(most):
        if number < len(keys):
            # The scheduler tells a worker's client of results that it has asked for, not of others'.
            future, told = (
                Future(keys[number], client),
                {"keys": [keys[number]], "client": client.id},
            )
            client._send_to_scheduler({"op": "client-desires-keys", **told})
            yield future.result()[0]
            del future
        mesh.sum(np.zeros(1))


class SharedRows:
    """A plan whose rows are shared among the workers.

    Parameters
    ----------
    table : Table
        All rows.
    plan : Plan
        What is trained on them.
    held : HeldTable, or None
        Validation rows, where they were given as a collection.
    room : float
        Bytes that a worker may take for its rows; where they are more, they go to files.
    """

    def __init__(
        self, table: Table, plan: Plan, held: HeldTable | None = None, room: float = math.inf
    ) -> None:
        self._table, self._plan, self.work = table, plan, _train_share
        self._held_table, self._room = held, room

    def shares(self, n_workers: int) -> list[Any]:
        """Model, prices, rows with their partitions, of each rank; none without rows to train on."""
        used = sum(bool(len(part.rows)) for part in self._plan.among(n_workers).train)
        plan = self._plan.among(max(1, used))
        held: Sequence[Part | None] = plan.held or [None] * len(plan.train)
        most = max(len(part.rows) for part in plan.train)
        # They are there twice while they are put together.
        later = 2 * most * len(plan.costs.own) * self._table.kind.itemsize > self._room
        return [
            (
                plan.model, plan.costs, [_without_rows(part) for part in parts],
                [_pieces(self._table, parts[0], later), self._held(parts[1], later)],
            )
            for parts in zip(plan.train, held, strict=True)
        ]  # fmt: skip

    def rows_are_there(self) -> None:
        """Let go of the partitions; should a worker be lost, they are read again."""
        self._table.release()
        if self._held_table is not None:
            self._held_table.release()

    def _held(self, part: Part | None, later: bool) -> Any:
        """The same of rows held out, which may have been given apart."""
        if part is None:
            return None
        if self._held_table is not None:
            return _pieces(self._held_table, part, later)
        if self._plan.validation is None:
            return _pieces(self._table, part, later)
        return [[self._plan.validation[part.rows]]], [slice(None)]


def _without_rows(part: Part | None) -> Part | None:
    """What a worker needs to know of its rows once it has them."""
    return None if part is None else replace(part, rows=part.rows[:0])


def _pieces(table: Parts, part: Part, later: bool) -> Any:
    """Partitions, with the places to take from them, of some rows."""
    if later:
        return Later(table, part)
    pieces = table.pieces(part.rows)
    return [table.parts[number] for number, _ in pieces], [where for _, where in pieces]


class SharedWork:
    """A model of rows that every worker holds."""

    def __init__(self, model: Any, table: WholeTable, how: tuple[Any, Any, Any]) -> None:
        self._model, self._table, self._how, self.work = model, table, how, _fit_share

    def shares(self, n_workers: int) -> list[Any]:
        """The same for all."""
        table = self._table
        keys = [part.key for part in table.parts]
        return [(self._model, keys, (table.shape, table.kind, table.names), self._how)] * n_workers

    def rows_are_there(self) -> None:
        """Let go of the partitions; should a worker be lost, they are read again."""
        self._table.release()


# On the workers -----------------------------------------------------------------------------------


def _train_share(
    share: Any, mesh: Mesh, threads: int, records: Any, tell: Tell | None
) -> Miser | None:
    """Train on own rows among those of others."""
    model, costs, parts, sources = share
    later = any(isinstance(source, Later) for source in sources)
    if later:
        secede()  # partitions that were lost with a worker are made again while this one waits for them
    rows = [None if source is None else _rows(source, len(costs.own), mesh) for source in sources]
    if later and tell is not None:
        tell(None)
    return train(Shard(model, costs, *parts, *rows), mesh, threads, records=records, on_round=tell)


def _rows(source: Any, d: int, mesh: Mesh) -> Any:
    """Rows of some partitions, one partition after the other."""
    if isinstance(source, Later):
        return source.stored(d, mesh)
    parts, places = source
    found = [kept[0][where] for kept, where in zip(parts, places, strict=True)]
    return np.concatenate(found) if found else np.empty((0, d))


def _fit_share(share: Any, mesh: Mesh, threads: int, records: Any, tell: Tell | None) -> Any:
    """Train on all rows, with a share of the work."""
    model, keys, about, (y, weight, random_state) = share
    secede()  # as above
    X = whole_of(_fetched(keys, mesh), *about)
    if tell is not None:
        tell(None)
    return fit_together(model, X, y, weight, mesh, n_jobs=threads, random_state=random_state)
