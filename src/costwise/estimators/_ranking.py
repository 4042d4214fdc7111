"""Queries in the training of boosters: reading them, holding some of them out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from costwise.core.queries import Queries
from costwise.metrics import ndcg_at_k

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


def split_validation(validation: Any) -> tuple[Any, Array]:
    """Take ``validation=(X, y, qid)`` apart."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 3:
        raise ValueError(
            "validation has no queries, but qid was given: it is then (X, y, qid) of further documents."
        )
    X, y, qid = validation
    return (X, y), read_qid(qid, len(y))


def hold_out_queries(qid: Array, fraction: float, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Choose whole queries with about ``fraction`` of the documents to hold out."""
    queries = Queries.of(qid, len(qid))
    order = rng.permutation(len(queries))
    sizes = np.diff(queries.bounds)[order]
    chosen = np.zeros(len(queries), dtype=bool)
    chosen[order[np.cumsum(sizes) <= fraction * len(qid)]] = True
    if not chosen.any():
        raise ValueError(
            f"validation_fraction={fraction} of {len(queries)} queries holds out none: raise it, or give "
            "validation=(X, y, qid)."
        )
    rows: npt.NDArray[np.intp] = np.flatnonzero(queries.restored(chosen[queries.numbers]))
    return rows


class RankingScore:
    """``score`` for regressors that rank."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> float:
        """R2 of the predictions; with ``qid``, NDCG@5 of their order within each query."""
        if qid is not None:
            return ndcg_at_k(y, self._ranking_scores(X, qid), qid)
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def _ranking_scores(self, X: Any, qid: Any) -> Any:
        return self.predict(X)  # type: ignore[attr-defined]
