"""Gradients of LambdaMART: pairs of documents of a query, weighed by what swapping them is worth."""

from __future__ import annotations

import math

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.walks.staged import sort_falling

PART = 4096
"""Documents in one part, whole queries; parts are fixed, so that sums do not depend on threads."""

CLOSE = 0.01
"""Added to the distance of two scores before the weight of the pair is divided by it."""


@kernel()
def _pairs(m, inverse, close, discount, cut, by_rank, every, useful):
    """Add up the pairs of one query of ``m`` documents, all rows in the order of the ranking.

    ``by_rank`` has the scores, their exponentials, the gains, the weights of the documents and, to
    be filled, their gradients and curvatures. Most documents have no gain: they are paired with the
    ``useful`` ones alone. A pair of equal gains adds nothing, which is cheaper than a branch.
    """
    score, power, gain, weight = by_rank[0], by_rank[1], by_rank[2], by_rank[3]
    gradient, curvature = by_rank[4], by_rank[5]
    total, n_useful, passed = 0.0, 0, 0
    for rank in range(m):
        if gain[rank] > 0.0:
            useful[n_useful] = rank
            n_useful += 1
    for upper in range(min(cut, m)):
        own_score, own_power, own_gain = score[upper], power[upper], gain[upper]
        own_weight, own_discount = weight[upper], discount[upper]
        others, first, last = useful, passed, n_useful
        if own_gain > 0.0:
            others, first, last = every, upper + 1, m
            passed += 1
        up, second_up, moved = 0.0, 0.0, 0.0
        for j in range(first, last):
            lower = others[j]
            # What swapping the two is worth, over their distance and the sum of their powers.
            more = own_gain - gain[lower]
            apart, both = close + abs(own_score - score[lower]), own_power + power[lower]
            share = 1.0 / (apart * both)
            # The powers give the probability that the one with less gain comes first.
            less, other = own_power, power[lower]
            if more > 0.0:
                less, other = other, less
            pull = more * (own_discount - discount[lower]) * inverse * less * share
            second = abs(pull) * other * apart * share
            gradient[lower] -= pull * own_weight
            curvature[lower] += second * own_weight
            up += pull * weight[lower]
            second_up += second * weight[lower]
            moved += abs(pull) * (own_weight + weight[lower])
        gradient[upper] += up
        curvature[upper] += second_up
        total += moved
    if total > 0.0:  # long queries have many pairs: they count more, but not in proportion
        factor = math.log2(1.0 + total) / total
        for rank in range(m):
            gradient[rank] *= factor
            curvature[rank] *= factor


@kernel()
def _rank(score, gain, weight, order, by_rank):
    """Copy what belongs to the documents of a query into the order of its ranking."""
    top = score[order[0]]
    for rank in range(order.shape[0]):
        i = order[rank]
        by_rank[0, rank] = score[i]
        # Only ratios count; what is hundreds below the top may stay where it is.
        by_rank[1, rank] = math.exp(max(score[i] - top, -300.0))
        by_rank[2, rank] = gain[i]
        by_rank[3, rank] = weight[i] if weight.shape[0] > 0 else 1.0
        by_rank[4, rank] = 0.0
        by_rank[5, rank] = 0.0


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
    longest = 0
    for query in range(first, last):
        longest = max(longest, bounds[query + 1] - bounds[query])
    by_rank, discount = np.empty((6, longest)), np.empty(longest)
    every, useful = np.arange(longest), np.empty(longest, np.int64)
    for rank in range(longest):
        discount[rank] = 1.0 / math.log2(rank + 2.0)
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
            _rank(score, gain, weight, order, by_rank)
            apart = score[order[0]] != score[order[-1]]
            close = CLOSE if apart else 1.0
            _pairs(stop - start, inverse[query], close, discount, cut, by_rank, every, useful)
            for rank in range(stop - start):
                gradient[order[rank]] = by_rank[4, rank]
                curvature[order[rank]] = by_rank[5, rank]
    return loss


def cut_into_parts(bounds, before=0):
    """Numbers of queries where parts begin, and the end: about ``PART`` documents in each.

    ``before``: documents of others that come first; parts are those of all.
    """
    wanted = np.arange(-before % PART, int(bounds[-1]), PART)
    starts = np.searchsorted(bounds, wanted)
    return np.unique(np.concatenate([[0], starts, [len(bounds) - 1]])).tolist()
