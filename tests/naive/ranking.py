"""Ranking, slow and obvious: metrics by their definitions, exits document by document."""

from __future__ import annotations

import itertools
import math


def by_query(qid):
    """Rows of each query, in input order."""
    rows = {}
    for row, query in enumerate(qid):
        rows.setdefault(query, []).append(row)
    return list(rows.values())


def ranked(scores):
    """Documents from best to worst, equal ones in input order."""
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


def dcg(relevance_in_order, k):
    return sum(
        (2**rel - 1) / math.log2(1 + rank)
        for rank, rel in enumerate(relevance_in_order[:k], start=1)
    )


def ndcg_of_query(relevance, scores, k, ties):
    """None for a query without a relevant document."""
    best = dcg(sorted(relevance, reverse=True), k)
    if best == 0:
        return None
    if ties == "first":
        return dcg([relevance[i] for i in ranked(scores)], k) / best
    values = [
        dcg([relevance[i] for i in order], k)
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return sum(values) / len(values) / best


def ndcg(relevance, scores, qid, k, ties="first", empty="skip"):
    values = []
    for rows in by_query(qid):
        value = ndcg_of_query([relevance[i] for i in rows], [scores[i] for i in rows], k, ties)
        if value is None and empty == "skip":
            continue
        values.append(empty if value is None else value)
    return sum(values) / len(values) if values else 0.0


def run_precision(relevance, scores, qid, k):
    values = []
    for rows in by_query(qid):
        order = [relevance[rows[i]] for i in ranked([scores[i] for i in rows])]
        run = len(list(itertools.takewhile(lambda rel: rel > 0, order[:k])))
        values.append(1.0 if len(order) < k and run == len(order) else run / k)
    return sum(values) / len(values)


def precision(relevance, scores, qid, k):
    values = []
    for rows in by_query(qid):
        order = [relevance[rows[i]] for i in ranked([scores[i] for i in rows])]
        values.append(sum(rel > 0 for rel in order[:k]) / k)
    return sum(values) / len(values)
