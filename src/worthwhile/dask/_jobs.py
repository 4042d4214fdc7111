"""What workers train: a model of rows that they share, or one whose work they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from distributed import Future
from worthwhile.dask._collections import Table, joined
from worthwhile.distributed import Mesh, Part, Plan, Shard, fit_together, train
from worthwhile.distributed.plan import Miser
from worthwhile.estimators.boosting import RoundRecord

Tell = Callable[[RoundRecord], None]


class SharedRows:
    """A plan whose rows are shared among the workers."""

    def __init__(self, table: Table, plan: Plan) -> None:
        self._table, self._plan, self.work = table, plan, _train_share

    def shares(self, n_workers: int) -> list[Any]:
        """Model, prices, rows with their partitions, of each rank; none without rows to train on."""
        used = sum(bool(len(part.rows)) for part in self._plan.among(n_workers).train)
        plan = self._plan.among(max(1, used))
        held: Sequence[Part | None] = plan.held or [None] * len(plan.train)
        return [
            (plan.model, plan.costs, parts, [self._pieces(parts[0]), self._held(parts[1])])
            for parts in zip(plan.train, held, strict=True)
        ]

    def _held(self, part: Part | None) -> Any:
        """The same of rows held out, which may have been given apart."""
        if part is None or self._plan.validation is None:
            return None if part is None else self._pieces(part)
        return [self._plan.validation[part.rows]], [slice(None)]

    def _pieces(self, part: Part) -> Any:
        """Partitions, with the places to take from them, of some rows."""
        pieces = self._table.pieces(part.rows)
        return [self._table.parts[number] for number, _ in pieces], [where for _, where in pieces]


class SharedWork:
    """A model of rows that every worker holds."""

    def __init__(self, model: Any, parts: Sequence[Future], how: tuple[Any, Any, Any]) -> None:
        self._share, self.work = (model, list(parts), how), _fit_share

    def shares(self, n_workers: int) -> list[Any]:
        """The same for all."""
        return [self._share] * n_workers


# On the workers -----------------------------------------------------------------------------------


def _train_share(
    share: Any, mesh: Mesh, threads: int, records: Any, tell: Tell | None
) -> Miser | None:
    """Train on own rows among those of others."""
    model, costs, parts, sources = share
    rows = [None if source is None else _rows(source, len(costs.own)) for source in sources]
    return train(Shard(model, costs, *parts, *rows), mesh, threads, records=records, on_round=tell)


def _rows(source: Any, d: int) -> npt.NDArray[Any]:
    """Rows of some partitions, one partition after the other."""
    arrays, places = source
    found = [array[where] for array, where in zip(arrays, places, strict=True)]
    return np.concatenate(found) if found else np.empty((0, d))


def _fit_share(share: Any, mesh: Mesh, threads: int, records: Any, tell: Tell | None) -> Any:
    """Train on all rows, with a share of the work."""
    model, parts, (y, weight, random_state) = share
    X = whole_table(parts)
    return fit_together(model, X, y, weight, mesh, n_jobs=threads, random_state=random_state)


def whole_table(parts: Sequence[Any]) -> Any:
    """Partitions as one table."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    kept = [part for part in parts if len(part)] or parts[:1]
    columns = range(kept[0].shape[1])
    made = pd.concat([joined([part.iloc[:, c] for part in kept]) for c in columns], axis=1)
    made.columns = kept[0].columns
    return made
