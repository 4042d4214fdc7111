"""What estimators on Dask share: their own parameters, training by workers, predicting lazily."""

from __future__ import annotations

import math
import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _clone_parametrized, is_regressor
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from distributed import Client, default_client
from worthwhile.dask import _lazily
from worthwhile.dask._asking import still_open
from worthwhile.dask._collections import HeldTable, Table, check_table, values_of
from worthwhile.dask._gang import Gang, Job, wait_for_a_worker, workers_of
from worthwhile.dask._jobs import SharedRows, SharedWork
from worthwhile.dask._whole import WholeTable
from worthwhile.distributed import plan_fit
from worthwhile.distributed.plan import refuse_what_is_not_there
from worthwhile.estimators.boosting import ReadElsewhere
from worthwhile.estimators.targets import plain_target

OWN = ("timeout", "restarts")
"""Parameters of the estimators here that a local one does not have."""

PYTHON = 400e6
"""Bytes that a worker takes before it holds any rows."""

ROOM = 0.3
"""Share of a worker's memory besides that its rows may take as numbers; what is larger is kept in files."""

COPIES, MIXED_COPIES = 3, 5
"""Sizes of a table that a worker needs where each holds all of it; where values are of several types."""


class OnDask:
    """What all estimators here add to the local ones."""

    _local: ClassVar[type[Any]]

    client: Client | None
    timeout: float
    restarts: int

    def __init__(
        self,
        *trade_off: Any,
        client: Client | None = None,
        timeout: float = 120.0,
        restarts: int = 3,
        **params: Any,
    ) -> None:
        super().__init__(*trade_off, **params)
        self.client, self.timeout, self.restarts = client, timeout, restarts

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if hasattr(cls, "_local"):
            cls._parameter_constraints = {
                **cls._local._parameter_constraints,
                "timeout": [Interval(Real, 0, None, closed="neither")],
                "restarts": [Interval(Integral, 0, None, closed="left")],
            }

    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted([*cls._local._get_param_names(), *OWN])

    def __sklearn_clone__(self) -> Any:
        copied = _clone_parametrized(self)
        copied.client = self.client  # a connection cannot be copied
        return copied

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {**state, "client": None}

    def _unfitted(self) -> Any:
        """The local estimator with these parameters."""
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        return self._local(**{k: v for k, v in params.items() if k not in OWN})

    def to_local(self) -> Any:
        """The fitted model as the estimator of one machine; its file is the same byte for byte."""
        self._check_fitted()  # type: ignore[attr-defined]
        local = self._unfitted()
        kept = {k: v for k, v in vars(self).items() if k not in (*OWN, "client")}
        vars(local).update(kept)
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as the local estimator would, byte for byte."""
        self.to_local().save(path)

    def _train(self, X: Any, y: Any, sample_weight: Any, *more: Any) -> Self:
        """Bring targets and weights here, and have the workers train."""
        name = type(self).__name__
        check_table(X, name)
        self._validate_params()  # type: ignore[attr-defined]
        model = self._unfitted()
        client = self.client or default_client()
        if not isinstance(client, Client):
            raise TypeError(
                f"client is a {type(client).__name__}: give distributed.Client(...), or None for the one made last."
            )
        if client.asynchronous:
            raise ValueError(f"client is asynchronous: {name} takes one that is not.")
        with still_open(client):
            wait_for_a_worker(client, float(self.timeout))
            targets = plain_target(values_of(client, y, "y"))
            weights = values_of(client, sample_weight, "sample_weight")
            if targets is None:
                raise ValueError("y is None: give the targets.")
            job = self._job(client, model, X, targets, weights, *more)
            fitted = Gang(client, job, float(self.timeout), int(self.restarts)).fit()
        own = {name: getattr(self, name) for name in (*OWN, "client")}
        # At the end: what is refused leaves all as it was.
        vars(self).update({**vars(fitted), **own})
        return self

    def _job(self, client: Client, model: Any, X: Any, *rows: Any) -> Job:
        """What the workers do, from targets, weights and what else ``fit`` was given."""
        raise NotImplementedError

    # Lazily ---------------------------------------------------------------------------------------

    def predict(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """Predict; of a Dask table lazily, partition by partition, with its index."""
        return self._run_lazily("predict", X, budget, request)

    def cost(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """The bill of each row; of a Dask table lazily."""
        return self._run_lazily("cost", X, budget, request)

    def acquired(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """What is bought for each row; of a Dask table lazily."""
        return self._run_lazily("acquired", X, budget, request)

    def evaluated(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """Trees or stages evaluated for each row; of a Dask table lazily."""
        return self._run_lazily("evaluated", X, budget, request)

    def _run_lazily(self, method: str, X: Any, budget: Any, request: dict[str, Any]) -> Any:
        local = self.to_local()
        if not hasattr(X, "dask"):
            return getattr(local, method)(X, budget, **request)
        if budget is not None and np.ndim(budget) > 0:
            raise ValueError(
                "budget is an array: for a Dask table give one number for all rows, or call "
                "to_local() on each partition."
            )
        if request.get("key") is not None:
            raise ValueError(
                "key was given: it has one value per row, which is not there for a Dask table. Leave it out, or call "
                "to_local() on each partition."
            )
        return _lazily.run(local, method, X, {"budget": budget, **request})


class Classifies:
    """What classifiers have besides."""

    def predict_proba(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """Probability of each class; of a Dask table lazily."""
        return self._run_lazily("predict_proba", X, budget, request)  # type: ignore[attr-defined]


def _check_length(n_rows: int, y: Any) -> None:
    if n_rows != len(y):
        raise ValueError(f"X has {n_rows} rows, but y has {len(y)}.")


class TrainsOnShares(OnDask):
    """Estimators of which every worker trains on some of the rows."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, validation: Any = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : Dask array or frame
            NaN is a missing value. Partitions of any size, empty ones too.
        y, sample_weight : Dask array or series, or array (n,)
            Targets (labels, of a classifier) and weights, in the order of the rows.
        qid : Dask array or series, or array (n,), optional
            Query of each row, as for the local estimator; of regressors. With ``loss="lambdarank"`` workers train on
            whole queries, so rows of a query should lie together.
        validation : (X, y), or (X, y, qid) where ``qid`` is given, optional
            Rows to choose the best round on: collections of Dask, or in memory.
        """
        refuse_what_is_not_there(self._unfitted())
        if qid is not None and not is_regressor(self):
            raise TypeError(
                f"qid was given: {type(self).__name__} knows no queries, leave it out; regressors rank."
            )
        return self._train(X, y, sample_weight, qid, validation)

    def _job(self, client: Client, model: Any, X: Any, *rows: Any) -> Job:
        y, weight, qid, validation = rows
        qid = values_of(client, qid, "qid")
        room = _room(client)
        table = Table(client, X, model, room)
        _check_length(len(table), y)
        held = None
        if isinstance(validation, (tuple, list)) and validation:
            first, *others = validation
            if hasattr(first, "dask"):
                held = HeldTable(client, first, model, len(table.costs.own), room)
                first = ReadElsewhere(len(held))
            validation = (first, *(values_of(client, other, "validation") for other in others))
        plan = plan_fit(model, y, weight, table.costs, 1, validation, qid)
        return SharedRows(table, plan, held, room)


def _room(client: Client) -> float:
    """Bytes of rows that each worker may hold as numbers: the rest is for codes, trees and Python itself."""
    return ROOM * _beside_python(client)


def _beside_python(client: Client) -> float:
    """Memory of the smallest worker that is not Python's own."""
    limits = [worker["memory_limit"] or math.inf for worker in workers_of(client).values()]
    return max(0.0, min(limits, default=math.inf) - PYTHON)


class SharesWork(OnDask):
    """Estimators of which every worker holds all rows and does some of the work."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Train.

        Parameters
        ----------
        X : Dask array or frame
            NaN is a missing value. Partitions of any size, empty ones too.
        y, sample_weight : Dask array or series, or array (n,)
            Targets (labels, of a classifier) and weights, in the order of the rows.
        validation : None
            Not there; use ``validation_fraction``.
        """
        wrong = {"validation": validation, "calibrate": getattr(self, "calibrate", None)}
        wrong["trees"] = getattr(self, "trees", None)
        wrong["time_limit"] = getattr(
            self, "time_limit", None
        )  # workers would stop at different places
        for name, given in wrong.items():
            if given is not None:
                raise NotImplementedError(
                    f"{name} is not there for {type(self).__name__}: leave it out, or fit {self._local.__name__} on a "
                    "table in memory."
                )
        return self._train(X, y, sample_weight)

    def _job(self, client: Client, model: Any, X: Any, *rows: Any) -> Job:
        y, weight = rows
        table = WholeTable(client, X, _room(client))
        _check_length(len(table), y)
        copies = COPIES if table.kind else MIXED_COPIES
        if copies * table.size > (most := _beside_python(client)):
            raise MemoryError(
                f"X takes {table.size / 1e9:.1f} GB: {type(self).__name__} has every worker hold all of it, which "
                f"takes {copies} times as much, and one of them has {most / 1e9:.1f} GB besides Python. Give workers "
                "more memory, fit on a sample, or train Greedy Miser, whose workers share the rows."
            )
        state = getattr(model, "random_state", None)
        if state is None:  # all ranks draw from one seed, which is not kept
            state = np.random.RandomState(check_random_state(None).randint(2**31 - 1))
        return SharedWork(model, table, (y, weight, state))
