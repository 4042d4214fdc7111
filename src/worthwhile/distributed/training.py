"""What each process runs: the local fit, on its own rows, among others."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting.stored_columns import StoredColumns
from worthwhile.core.collective import Collective
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.distributed.plan import Miser, Part, Plan
from worthwhile.estimators.boosting import RoundRecord, Training

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Shard:
    """Everything that one rank needs.

    Attributes
    ----------
    model : GreedyMiserRegressor or GreedyMiserClassifier
        See :class:`worthwhile.distributed.Plan`.
    costs : Costs
        Prices of the columns.
    train, held : Part
        Rows, targets and weights; ``held`` may be None.
    X, X_held : arrays or StoredColumns
        The values of those rows; either all ranks have them in memory, or all in files.
    """

    model: Miser
    costs: Costs
    train: Part
    held: Part | None
    X: Any
    X_held: Any

    @classmethod
    def of(cls, plan: Plan, rank: int, take: Callable[[npt.NDArray[np.int64]], Array]) -> Shard:
        """That of one rank; ``take(rows)`` gives the values of some rows."""
        train, held = plan.train[rank], None if plan.held is None else plan.held[rank]
        values = take if plan.validation is None else plan.validation.__getitem__
        return cls(
            plan.model, plan.costs, train, held, take(train.rows),
            None if held is None else values(held.rows),
        )  # fmt: skip


def train(
    shard: Shard,
    collective: Collective,
    n_threads: int = 1,
    *,
    records: Sequence[RoundRecord] = (),
    on_round: Callable[[RoundRecord], object] | None = None,
) -> Miser:
    """Fit the model together with the other ranks; every rank returns the same model.

    Parameters
    ----------
    shard : Shard
        The rows of this rank; it may have none.
    collective : Collective
        All ranks.
    n_threads : int
        Threads of this rank.
    records : sequence of RoundRecord
        Rounds that were run before something failed: they are replayed.
    on_round : callable, optional
        Told of every round when it is complete.
    """
    model = copy.copy(shard.model)
    training = _training(shard, model, collective)
    training.records = list(records)
    training.on_round = on_round
    with Threads(n_threads, collective) as threads:
        fitted: Miser = model._boost(training, training.bin(threads), threads)
    collective.note(fitted.trace_.to_json().encode())
    collective.sum(
        np.zeros(1)
    )  # the last round is compared too, and nobody leaves before the others
    return fitted


def _training(shard: Shard, model: Miser, collective: Collective) -> Training:
    X = _of_one_type(shard.X, collective)
    training = Training(X, shard.train.y, shard.train.weight, shard.costs, shard.train.qid)
    training.categorical = model._categorical()
    if shard.held is not None and shard.X_held is not None:
        training.X_held = _of_one_type(shard.X_held, collective)
        training.y_held, training.weight_held = shard.held.y, shard.held.weight
        training.qid_held = shard.held.qid
    return training


def _of_one_type(X: Any, collective: Collective) -> Any:
    """Values in the type that holds those of all ranks, as if they had been one array."""
    if isinstance(X, StoredColumns):  # whoever wrote the files has seen to it
        return X
    name = np.frombuffer((X.dtype.str if X.size else "").encode(), dtype=np.uint8)
    names = {told.tobytes().decode() for told in collective.gather(name)} - {""}
    kind = np.result_type(*sorted(names)) if names else X.dtype
    return np.ascontiguousarray(X, dtype=kind)
