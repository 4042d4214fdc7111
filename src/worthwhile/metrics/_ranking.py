"""How well scores put relevant documents first, query by query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.queries import Queries

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

TIES = ("first", "average")


def ndcg_at_k(
    relevance: Any,
    score: Any,
    qid: Any = None,
    k: int = 5,
    ties: str = "first",
    empty: str | float = "skip",
) -> float:
    """Normalised discounted cumulative gain of the first k documents, mean over queries.

    The gain of a document is ``2**relevance - 1``, the discount at rank r is ``1 / log2(1 + r)``,
    and the sum is divided by that of the best order of the same query.

    Parameters
    ----------
    relevance : array (n,)
        Grades, at least 0.
    score : array (n,)
        Higher means earlier.
    qid : array (n,), optional
        Query of each document, in any order; None: all documents belong to one query.
    k : int, default=5
        Documents that count.
    ties : {"first", "average"}, default="first"
        Documents with equal scores: in input order, or the mean over all their orders.
    empty : {"skip"} or number, default="skip"
        Queries without a relevant document: left out of the mean, or counted with this value (0 and
        1 are both in use). Without any other query the mean is then 0, or that value.

    Returns
    -------
    float

    Notes
    -----
    With ``ties="average"`` and ``empty=0`` this is scikit-learn's ``ndcg_score`` of the exponential
    gains. The discount and the gain are those of Järvelin and Kekäläinen (2002) as the papers on
    the Yahoo data use them.

    Examples
    --------
    >>> ndcg_at_k([2, 0, 1], [0.9, 0.8, 0.1], k=2)
    0.826...
    >>> ndcg_at_k([1, 0, 0, 1], [0.9, 0.8, 0.1, 0.2], qid=[1, 1, 2, 2])
    1.0
    """
    if ties not in TIES:
        raise ValueError(f"ties is {ties!r}: it is 'first' or 'average'.")
    if empty != "skip" and (isinstance(empty, (str, bool)) or not 0 <= empty <= 1):
        raise ValueError(f"empty is {empty!r}: it is 'skip' or a number from 0 to 1, such as 0.")
    relevance, score, queries = _read(relevance, score, qid, k)
    gain = np.append(np.exp2(relevance) - 1.0, 0.0)
    padded = np.append(-score, np.inf)
    value = np.zeros(len(queries))
    for numbers, places in queries.tables():
        top = min(k, places.shape[1])
        gains = gain[places]
        discount = 1.0 / np.log2(np.arange(2, top + 2))
        best = _top(-gains, gains, top) @ discount
        keys = padded[places]
        tied = ties == "average"
        found = _tied_dcg(keys, gains, discount) if tied else _top(keys, gains, top) @ discount
        value[numbers] = np.divide(found, best, out=np.full(len(best), np.nan), where=best > 0)
    if empty == "skip":
        value = value[~np.isnan(value)]
    else:
        value[np.isnan(value)] = empty
    return float(value.mean()) if len(value) else 0.0


def run_precision_at_k(
    relevance: Any, score: Any, qid: Any = None, k: int = 5, relevant: float = 1
) -> float:
    """Length of the run of relevant documents at the top, as a share of k, mean over queries.

    If the first ``j`` documents are relevant and the next one is not, the query scores ``j / k``;
    k relevant documents in a row score 1. This is what the papers on BudgetRF and ASTC call
    precision@5; it is not the usual precision (:func:`precision_at_k`).

    Parameters
    ----------
    relevance, score, qid, k
        As for :func:`ndcg_at_k`; equal scores stay in input order.
    relevant : number, default=1
        The lowest grade that counts as relevant.

    Returns
    -------
    float

    Notes
    -----
    A query with fewer than k documents scores 1 if all of them are relevant. Queries without a
    relevant document count with 0.

    Examples
    --------
    >>> run_precision_at_k([1, 1, 0, 1, 1], [5, 4, 3, 2, 1])
    0.4
    >>> run_precision_at_k([1, 1], [2, 1])
    1.0
    """
    return _precision(relevance, score, qid, k, relevant, _run_length)


def precision_at_k(
    relevance: Any, score: Any, qid: Any = None, k: int = 5, relevant: float = 1
) -> float:
    """Share of relevant documents among the first k, mean over queries.

    Parameters
    ----------
    relevance, score, qid, k, relevant
        As for :func:`run_precision_at_k`.

    Returns
    -------
    float

    Notes
    -----
    The share is of k, also where a query has fewer documents.

    Examples
    --------
    >>> precision_at_k([1, 1, 0, 1, 1], [5, 4, 3, 2, 1])
    0.8
    """
    return _precision(relevance, score, qid, k, relevant, _count)


def _precision(
    relevance: Any, score: Any, qid: Any, k: int, relevant: float,
    measure: Callable[[Floats, int], Floats],
) -> float:  # fmt: skip
    relevance, score, queries = _read(relevance, score, qid, k)
    # 1 relevant, 0 not; what a short query lacks is neither.
    good = np.append((relevance >= relevant).astype(np.float64), np.nan)
    padded = np.append(-score, np.inf)
    value = np.zeros(len(queries))
    for numbers, places in queries.tables():
        first = _top(padded[places], good[places], min(k, places.shape[1]))
        value[numbers] = measure(first, k)
    return float(value.mean()) if len(value) else 0.0


def _run_length(first: Floats, k: int) -> Floats:
    run = np.cumprod(first == 1, axis=1).sum(axis=1)
    length = (~np.isnan(first)).sum(axis=1)
    return np.where((run == length) & (length < k), 1.0, run / k)


def _count(first: Floats, k: int) -> Floats:
    count: Floats = (first == 1).sum(axis=1) / k
    return count


def _top(keys: Floats, values: Floats, top: int) -> Floats:
    """Values of the ``top`` smallest keys of each row, in order; equal keys stay in order."""
    order = np.argsort(keys, axis=1, kind="stable")[:, :top]
    first: Floats = np.take_along_axis(values, order, axis=1)
    return first


def _tied_dcg(keys: Floats, gains: Floats, discount: Floats) -> Floats:
    """Gains times discounts, every document with the mean gain of those that tie with it."""
    order = np.argsort(keys, axis=1, kind="stable")
    keys = np.take_along_axis(keys, order, axis=1)
    gains = np.take_along_axis(gains, order, axis=1)
    begins = np.ones(keys.shape, dtype=bool)
    begins[:, 1:] = keys[:, 1:] != keys[:, :-1]
    starts = np.flatnonzero(begins)
    sizes = np.diff(np.append(starts, keys.size))
    mean = np.add.reduceat(gains.ravel(), starts) / sizes
    spread = np.repeat(mean, sizes).reshape(keys.shape)
    found: Floats = spread[:, : len(discount)] @ discount
    return found


def _read(relevance: Any, score: Any, qid: Any, k: int) -> tuple[Floats, Floats, Queries]:
    """Check everything, and bring the rows of each query together."""
    relevance = np.asarray(relevance, dtype=np.float64)
    score = np.asarray(score, dtype=np.float64)
    if relevance.ndim != 1 or score.shape != relevance.shape:
        raise ValueError(
            f"relevance has shape {relevance.shape} and score {score.shape}: give one number of each per document."
        )
    if not (relevance >= 0).all() or np.isinf(relevance).any():
        raise ValueError(
            "relevance has a grade that is negative or not finite: grades are numbers of at least 0."
        )
    if not np.isfinite(score).all():
        raise ValueError("score has a value that is not finite: it cannot be ranked.")
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k is {k!r}: it is a whole number of at least 1.")
    queries = Queries.of(qid, len(score))
    return queries.sorted(relevance), queries.sorted(score), queries
