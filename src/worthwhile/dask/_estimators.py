"""Greedy Miser on Dask."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _clone_parametrized
from sklearn.utils._param_validation import Interval

from distributed import Client, default_client
from worthwhile.dask import _lazily
from worthwhile.dask._collections import Table, check_table, values_of
from worthwhile.dask._gang import Gang
from worthwhile.distributed import plan_fit
from worthwhile.distributed.plan import refuse_what_is_not_there
from worthwhile.estimators.boosting import GreedyMiserClassifier, GreedyMiserRegressor

OWN = ("timeout", "restarts")
"""Parameters of the estimators here that a local one does not have."""


class _OnDask:
    """What both estimators add to the local ones."""

    _local: ClassVar[type[Any]]
    _own_constraints: ClassVar[dict[str, list[Any]]] = {
        "timeout": [Interval(Real, 0, None, closed="neither")],
        "restarts": [Interval(Integral, 0, None, closed="left")],
    }

    client: Client | None
    timeout: float
    restarts: int

    def _take(self, client: Client | None, timeout: float, restarts: int) -> None:
        self.client, self.timeout, self.restarts = client, timeout, restarts

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
        qid, validation : None
            Not there; use ``validation_fraction``.
        """
        name = type(self).__name__
        check_table(X, name)
        self._validate_params()  # type: ignore[attr-defined]
        model = self._unfitted()
        refuse_what_is_not_there(model, validation, qid)
        client = self.client or default_client()
        if client.asynchronous:
            raise ValueError(f"client is asynchronous: {name} takes one that is not.")
        targets = values_of(client, y, "y")
        weights = values_of(client, sample_weight, "sample_weight")
        if targets is None:
            raise ValueError("y is None: give the targets.")
        table = Table(client, X, model)
        if sum(table.lengths) != len(targets):
            raise ValueError(f"X has {sum(table.lengths)} rows, but y has {len(targets)}.")
        plan = plan_fit(model, targets, weights, table.costs, 1)
        fitted = Gang(client, table, plan, float(self.timeout), int(self.restarts)).fit()
        own = {name: getattr(self, name) for name in (*OWN, "client")}
        vars(self).update(
            {**vars(fitted), **own}
        )  # at the end: what is refused leaves all as it was
        return self

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

    def _run_lazily(self, method: str, X: Any, budget: Any, request: dict[str, Any]) -> Any:
        local = self.to_local()
        if not hasattr(X, "dask"):
            return getattr(local, method)(X, budget, **request)
        if budget is not None and np.ndim(budget) > 0:
            raise ValueError(
                "budget is an array: for a Dask table give one number for all rows, or call "
                "to_local() on each partition."
            )
        return _lazily.run(local, method, X, {"budget": budget, **request})


class DaskGreedyMiserRegressor(_OnDask, GreedyMiserRegressor):
    """:class:`worthwhile.GreedyMiserRegressor`, trained by the workers of a Dask cluster.

    The same data, parameters and seed give the model of the local estimator, byte for byte in its file,
    whatever the partitions and the number of workers, and after a worker was lost.

    Parameters
    ----------
    lam : float, default=0.0
        As for the local estimator; so are all parameters that are not listed.
    client : Client, optional
        The cluster; None is the client that was made last.
    timeout : float, default=120.0
        Seconds without a word from a worker after which an attempt is given up.
    restarts : int, default=3
        How often to start again, from the last complete round, after a worker was lost.
    **params
        Parameters of the local estimator.

    Notes
    -----
    Not there yet: ``lam="auto"``, ``warm_start``, the losses "absolute", "quantile" and "lambdarank" and
    losses of one's own, ``scoring`` by a function or by NDCG, ``validation``, ``qid``. They are refused.
    Targets and weights, one number per row each, pass through the client; features do not.

    Examples
    --------
    >>> from worthwhile.dask import DaskGreedyMiserRegressor
    >>> DaskGreedyMiserRegressor(lam=0.01, n_rounds=50, timeout=30).get_params()["n_rounds"]
    50
    """

    _local = GreedyMiserRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiserRegressor._parameter_constraints,
        **_OnDask._own_constraints,
    }

    def __init__(
        self, lam: float | str = 0.0, *, client: Client | None = None, timeout: float = 120.0, restarts: int = 3,
        **params: Any,
    ) -> None:  # fmt: skip
        super().__init__(lam, **params)
        self._take(client, timeout, restarts)


class DaskGreedyMiserClassifier(_OnDask, GreedyMiserClassifier):
    """:class:`worthwhile.GreedyMiserClassifier`, trained by the workers of a Dask cluster.

    As :class:`DaskGreedyMiserRegressor`: the same model as the local one, byte for byte.

    Parameters
    ----------
    lam : float, default=0.0
        As for the local estimator; so are all parameters that are not listed.
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`.
    **params
        Parameters of the local estimator.

    Examples
    --------
    >>> from worthwhile.dask import DaskGreedyMiserClassifier
    >>> DaskGreedyMiserClassifier(lam=0.01, leaves="scalar").leaves
    'scalar'
    """

    _local = GreedyMiserClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GreedyMiserClassifier._parameter_constraints,
        **_OnDask._own_constraints,
    }

    def __init__(
        self, lam: float | str = 0.0, *, client: Client | None = None, timeout: float = 120.0, restarts: int = 3,
        **params: Any,
    ) -> None:  # fmt: skip
        super().__init__(lam, **params)
        self._take(client, timeout, restarts)

    def predict_proba(self, X: Any, budget: Any = None, **request: Any) -> Any:
        """Probability of each class; of a Dask table lazily."""
        return self._run_lazily("predict_proba", X, budget, request)
