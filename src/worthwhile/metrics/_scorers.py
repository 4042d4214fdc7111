"""The ranking metrics as scorers for searches and cross-validation."""

from __future__ import annotations

import inspect
from typing import Any

from sklearn.utils.metadata_routing import UNUSED

from worthwhile._sklearn import BaseEstimator
from worthwhile.metrics._ranking import ndcg_at_k, precision_at_k, run_precision_at_k

METRICS = ("ndcg", "precision", "run_precision")


class RankingScorer(BaseEstimator):
    """A ranking metric as ``scorer(estimator, X, y, qid=...)``.

    Estimators whose ``predict`` takes ``qid`` (:class:`~worthwhile.EarlyExitRegressor`) get it too.
    Where scikit-learn routes metadata (``set_config(enable_metadata_routing=True)``), the scorer
    asks for ``qid``, so ``GridSearchCV(model, grid, scoring=RankingScorer("ndcg"))`` works with
    ``fit(X, y, qid=qid)``.

    Parameters
    ----------
    metric : {"ndcg", "precision", "run_precision"}, default="ndcg"
        :func:`ndcg_at_k`, :func:`precision_at_k` or :func:`run_precision_at_k`.
    k : int, default=5
        Documents that count.
    ties : {"first", "average"}, default="first"
        Of "ndcg".
    empty : {"skip"} or number, default="skip"
        Of "ndcg".
    relevant : number, default=1
        Of the precisions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X, y, qid = np.arange(6.0)[:, None], [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]
    >>> RankingScorer("ndcg")(LinearRegression().fit(X, y), X, y, qid=qid)
    1.0
    """

    # Read by scikit-learn: qid is wanted without further request.
    __metadata_request__score = {"qid": True, "estimator": UNUSED}  # noqa: RUF012

    def __init__(
        self,
        metric: str = "ndcg",
        k: int = 5,
        ties: str = "first",
        empty: str | float = "skip",
        relevant: float = 1,
    ) -> None:
        self.metric = metric
        self.k = k
        self.ties = ties
        self.empty = empty
        self.relevant = relevant

    def score(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        """The metric of an estimator's predictions."""
        if self.metric not in METRICS:
            raise ValueError(f"metric is {self.metric!r}: it is one of {', '.join(METRICS)}.")
        takes_qid = "qid" in inspect.signature(estimator.predict).parameters
        predicted = (
            estimator.predict(X, qid=qid) if takes_qid and qid is not None else estimator.predict(X)
        )
        if self.metric == "ndcg":
            return ndcg_at_k(y, predicted, qid, self.k, self.ties, self.empty)
        precision = precision_at_k if self.metric == "precision" else run_precision_at_k
        return precision(y, predicted, qid, self.k, self.relevant)

    def __call__(self, estimator: Any, X: Any, y: Any, qid: Any = None) -> float:
        return self.score(estimator, X, y, qid)
