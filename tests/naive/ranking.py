"""Ranking, slow and obvious: metrics by their definitions, exits document by document."""

from __future__ import annotations

import itertools
import math

from tests.naive.walk import child


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


def tree_value(trees, tree, row):
    """Value of the leaf that a row reaches, and the features on its way."""
    node, seen = int(trees.root[tree]), set()
    while trees.feature[node] >= 0:
        feature = int(trees.feature[node])
        seen.add(feature)
        node = child(trees, node, float(row[feature]))
    return float(trees.value[node, 0]), seen


def stay(rule, threshold, keep, scores, exit_number, n_exits):
    """Whether each active document of a query goes on after an exit (numbered from 1)."""
    order = ranked(scores)
    if rule == "proximity":
        if len(scores) <= keep:
            return [True] * len(scores)
        fifth = scores[order[keep - 1]]
        gap = threshold * (n_exits - exit_number) / (n_exits - 1)
        return [i in order[:keep] or not fifth - scores[i] >= gap for i in range(len(scores))]
    if rule == "score":
        return [score >= threshold for score in scores]
    if rule == "rank":
        return [order.index(i) < threshold for i in range(len(scores))]
    # Capacity: at most threshold - 1 of the documents before it are at least as good.
    return [sum(scores[j] >= scores[i] for j in range(i)) < threshold for i in range(len(scores))]


def early_exit(trees, X, every, rule, threshold, keep=5):
    """One query: (exit level, partial score, trees evaluated, features read) of each document."""
    m, n_exits = len(X), math.ceil(trees.n_trees / every)
    total, level = [0.0] * m, [n_exits] * m
    evaluated, read = [0] * m, [set() for _ in range(m)]
    active = list(range(m))
    for number in range(1, n_exits + 1):
        for tree in range((number - 1) * every, min(number * every, trees.n_trees)):
            for i in active:
                value, seen = tree_value(trees, tree, X[i])
                total[i] += value
                read[i] |= seen
                evaluated[i] += 1
        if number == n_exits or not active:
            break
        scores = [float(trees.base[0]) + total[i] for i in active]
        stays = stay(rule, threshold, keep, scores, number, n_exits)
        for i, stays_on in zip(active, stays, strict=True):
            if not stays_on:
                level[i] = number
        active = [i for i, stays_on in zip(active, stays, strict=True) if stays_on]
    return level, [float(trees.base[0]) + t for t in total], evaluated, read


def lambda_gradients(grades, scores, weights, cut):
    """Negative gradients and curvatures of one query, pair by pair (Burges 2010, section 4 to 7)."""
    m = len(grades)
    order = ranked(scores)
    rank = {i: r for r, i in enumerate(order, start=1)}
    best = dcg(sorted(grades, reverse=True), cut)
    gradient, curvature, total = [0.0] * m, [0.0] * m, 0.0
    if best == 0:
        return gradient, curvature
    spread = len(set(scores)) > 1
    for i in range(m):
        for j in range(m):
            if grades[i] <= grades[j] or min(rank[i], rank[j]) > cut:
                continue
            swap = (2 ** grades[i] - 2 ** grades[j]) / best
            swap *= abs(1 / math.log2(1 + rank[i]) - 1 / math.log2(1 + rank[j]))
            if spread:
                swap /= 0.01 + abs(scores[i] - scores[j])
            wrong = 1 / (1 + math.exp(scores[i] - scores[j]))
            gradient[i] += swap * wrong * weights[j]
            gradient[j] -= swap * wrong * weights[i]
            curvature[i] += swap * wrong * (1 - wrong) * weights[j]
            curvature[j] += swap * wrong * (1 - wrong) * weights[i]
            total += swap * wrong * (weights[i] + weights[j])
    factor = math.log2(1 + total) / total if total else 1.0
    return [g * factor for g in gradient], [c * factor for c in curvature]
