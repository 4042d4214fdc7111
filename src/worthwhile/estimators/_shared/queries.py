"""Queries: reading them in training, scoring rankings by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from worthwhile.core.queries import Queries
from worthwhile.metrics import ndcg_at_k

Array = npt.NDArray[Any]


def read_qid(qid: Any, n_rows: int) -> Array:
    """Check the query of each row."""
    Queries.of(qid, n_rows)
    return np.asarray(qid)


def queries_of(qid: Array | None, n_rows: int, what: str) -> Queries:
    """The queries that something needs."""
    if qid is None:
        raise ValueError(f"{what} needs queries: give fit(X, y, qid=...), one query per row.")
    return Queries.of(qid, n_rows)


class RankingScore:
    """``score`` for regressors that rank."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> float:
        """R2 of the predictions; with ``qid``, NDCG@5 of their order within each query."""
        if qid is not None:
            return ndcg_at_k(y, self._ranking_scores(X, qid), qid)
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def _ranking_scores(self, X: Any, qid: Any) -> Any:
        return self.predict(X)  # type: ignore[attr-defined]
