"""Queries in training and evaluation: never split over folds, irrelevant documents repeated."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.queries import Queries

Ints = npt.NDArray[np.int64]


def query_folds(qid: Any, n_splits: int = 5, random_state: Any = None) -> list[tuple[Ints, Ints]]:
    """Folds for ``cv=`` that keep each query in one piece, with about as many documents in each.

    Parameters
    ----------
    qid : array (n,)
        Query of each document.
    n_splits : int, default=5
        Number of folds.
    random_state : int, optional
        Deal queries of the same size out in random order; None: in order of appearance.

    Returns
    -------
    list of (train, test)
        Row numbers, ascending.

    Examples
    --------
    >>> [test.tolist() for _, test in query_folds([1, 1, 2, 3, 3, 4], n_splits=2)]
    [[0, 1, 2], [3, 4, 5]]
    """
    qid = np.asarray(qid)
    queries = Queries.of(qid, len(qid))
    if isinstance(n_splits, bool) or not isinstance(n_splits, (int, np.integer)) or n_splits < 2:
        raise ValueError(f"n_splits is {n_splits!r}: it is a whole number of at least 2.")
    if len(queries) < n_splits:
        raise ValueError(
            f"n_splits is {n_splits} for {len(queries)} queries: a query is never split, so give at most as many folds."
        )
    order = np.arange(len(queries))
    if random_state is not None:
        order = np.random.default_rng(random_state).permutation(order)
    sizes = np.diff(queries.bounds)
    fold_of = np.empty(len(queries), dtype=np.int64)
    filled = np.zeros(n_splits, dtype=np.int64)
    # The largest first, each into the emptiest fold.
    for query in order[np.argsort(-sizes[order], kind="stable")]:
        fold_of[query] = np.argmin(filled)
        filled[fold_of[query]] += sizes[query]
    fold = queries.restored(fold_of[queries.numbers])
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(n_splits)]


def irrelevant_weight(relevance: Any, times: int = 10) -> npt.NDArray[np.float64]:
    """Sample weights that stand for ``times`` copies of every irrelevant document (grade 0).

    In the data of a search engine's judges irrelevant documents are far rarer than in use. The
    papers make up for it by copying them; for training, weights come to the same.

    Parameters
    ----------
    relevance : array (n,)
        Grades.
    times : int, default=10
        How many copies there should be of each.

    Returns
    -------
    float64 array (n,)

    Examples
    --------
    >>> irrelevant_weight([0, 3, 1]).tolist()
    [10.0, 1.0, 1.0]
    """
    _check_times(times)
    return np.where(np.asarray(relevance) == 0, float(times), 1.0)


def replicate_irrelevant(relevance: Any, times: int = 10) -> Ints:
    """Row numbers in which every irrelevant document (grade 0) occurs ``times`` times.

    For evaluation: copies take up ranks and count in the mean bill per document, as in Chen et
    al. (2012) and in section 6 of Greedy Miser. Copies follow their original.

    Parameters
    ----------
    relevance : array (n,)
        Grades.
    times : int, default=10
        How often each is to occur.

    Returns
    -------
    int64 array
        Use it as ``X[rows]``, ``y[rows]``, ``qid[rows]``.

    Examples
    --------
    >>> replicate_irrelevant([0, 3], times=3).tolist()
    [0, 0, 0, 1]
    """
    _check_times(times)
    relevance = np.asarray(relevance)
    return np.repeat(np.arange(len(relevance)), np.where(relevance == 0, times, 1))


def _check_times(times: Any) -> None:
    if isinstance(times, bool) or not isinstance(times, (int, np.integer)) or times < 1:
        raise ValueError(f"times is {times!r}: it is a whole number of at least 1.")
