"""Gradients of LambdaMART: pairs of documents of a query, weighed by what swapping them is worth."""

from __future__ import annotations

import math

import numpy as np

from costwise.core.compile import kernel
from costwise.core.exits import sort_falling

PART = 4096
"""Documents in one part, whole queries; parts are fixed, so that sums do not depend on threads."""

CLOSE = 0.01
"""Added to the distance of two scores before the weight of the pair is divided by it."""


@kernel()
def _weigh(weight, i):
    return weight[i] if weight.shape[0] > 0 else 1.0


@kernel()
def _pairs(score, gain, weight, order, inverse, cut, gradient, curvature):
    """Add up the pairs of one query, ranked as ``order`` says."""
    m = order.shape[0]
    apart = score[order[0]] != score[order[m - 1]]
    total = 0.0
    for upper in range(min(cut, m)):
        for lower in range(upper + 1, m):
            high, low = order[upper], order[lower]
            if gain[high] == gain[low]:
                continue
            if gain[high] < gain[low]:
                high, low = low, high
            distance = score[high] - score[low]
            worth = (gain[high] - gain[low]) * inverse
            worth *= 1.0 / math.log2(upper + 2.0) - 1.0 / math.log2(lower + 2.0)
            if apart:
                worth /= CLOSE + abs(distance)
            # Probability that the wrong one of the two comes first.
            wrong = 1.0 / (1.0 + math.exp(min(distance, 700.0)))
            pull, bend = worth * wrong, worth * wrong * (1.0 - wrong)
            gradient[high] += pull * _weigh(weight, low)
            gradient[low] -= pull * _weigh(weight, high)
            curvature[high] += bend * _weigh(weight, low)
            curvature[low] += bend * _weigh(weight, high)
            total += pull * (_weigh(weight, high) + _weigh(weight, low))
    if total > 0.0:  # long queries have many pairs: they count more, but not in proportion
        factor = math.log2(1.0 + total) / total
        for i in order:
            gradient[i] *= factor
            curvature[i] *= factor


@kernel()
def lambda_gradients(
    score, gain, weight, bounds, best, inverse, cut, k, gradient, curvature, first, last
):
    """Fill negative gradients and curvatures of the queries ``first..last - 1``.

    Parameters
    ----------
    score, gain : float64 (n,)
        Scores and gains, query after query.
    weight : float64 (n,), or empty
        A pair counts with the weight of the other document; the own one is the caller's business.
    bounds : int64 (queries + 1,)
        Where each query begins.
    best, inverse : float64 (queries,)
        DCG of the best order among the first ``k``, and one over that among the first ``cut``; 0
        where there is nothing to rank.
    cut : int
        A pair counts if one of the two is ranked among the first ``cut``.
    k : int
        Documents that count in the loss.
    gradient, curvature : float64 (n,)
        Overwritten, unless empty.

    Returns
    -------
    float64
        Sum of 1 - NDCG@k over the queries that have something to rank.
    """
    loss = 0.0
    filled = gradient.shape[0] > 0
    nothing = np.empty(0, np.int32)
    for query in range(first, last):
        start, stop = bounds[query], bounds[query + 1]
        if filled:
            for i in range(start, stop):
                gradient[i] = 0.0
                curvature[i] = 0.0
        if inverse[query] == 0.0:
            continue
        order = np.arange(start, stop)
        sort_falling(score, nothing, order)
        found = 0.0
        for rank in range(min(k, stop - start)):
            found += gain[order[rank]] / math.log2(rank + 2.0)
        loss += 1.0 - found / best[query]
        if filled:
            _pairs(score, gain, weight, order, inverse[query], cut, gradient, curvature)
    return loss


def cut_into_parts(bounds):
    """Numbers of queries where parts begin, and the end: about ``PART`` documents in each."""
    wanted = np.arange(0, int(bounds[-1]), PART)
    return np.unique(np.append(np.searchsorted(bounds, wanted), len(bounds) - 1)).tolist()
