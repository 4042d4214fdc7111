"""Budgeted forests by the book: impurities as double sums, trees by trying every split.

Written from "Feature-Budgeted Random Forest" (ICML 2015): eq. 11 and the subroutine GreedyTree with
all midpoints as thresholds; missing values are tried on both sides.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


def pairs(counts, alpha):
    """Threshold-Pairs over unordered pairs."""
    a = [max(Fraction(n) - Fraction(alpha), 0) for n in counts]
    return sum(
        max(a[i] * a[j] - Fraction(alpha) ** 2, 0)
        for i, j in itertools.combinations(range(len(a)), 2)
    )


def powers(counts, power):
    return sum(Fraction(n) for n in counts) ** power - sum(Fraction(n) ** power for n in counts)


def polynomial(counts, terms):
    total = Fraction(0)
    for weight, exponents in terms:
        term = Fraction(weight)
        for n, p in zip(counts, exponents, strict=True):
            term *= Fraction(n) ** p if p else 1
        total += term
    return total


def entropy(counts):
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n > 0)


def gini(counts):
    total = sum(counts)
    return 1 - sum((n / total) ** 2 for n in counts)


@dataclass
class Node:
    counts: list
    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    left: Node | None = None
    right: Node | None = None


def class_counts(y, rows, weights, k):
    return [sum(int(weights[i]) for i in rows if y[i] == c) for c in range(k)]


def stumps(X, rows, feature):
    """Every (threshold, missing_left or None) that parts the rows; None where nothing is missing."""
    values = sorted({float(X[i, feature]) for i in rows if not math.isnan(X[i, feature])})
    some_missing = any(math.isnan(X[i, feature]) for i in rows)
    for low, high in itertools.pairwise(values):
        for side in (False, True) if some_missing else (None,):
            yield (low + high) / 2, side
    if some_missing and values:
        yield float(np.finfo(float).max), False


def part(X, rows, feature, threshold, missing_left):
    left = [
        i
        for i in rows
        if (missing_left if math.isnan(X[i, feature]) else X[i, feature] <= threshold)
    ]
    return left, [i for i in rows if i not in set(left)]


def greedy_tree(X, y, weights, prices, impurity, k, *, expected=False, rows=None):
    """GreedyTree with exact thresholds; impurity maps class counts to a Fraction."""
    rows = [i for i in range(len(y)) if weights[i] > 0] if rows is None else rows
    node = Node(class_counts(y, rows, weights, k))
    whole = impurity(node.counts)
    if whole == 0:
        return node
    best = None
    for feature in range(X.shape[1]):
        for threshold, side in stumps(X, rows, feature):
            sides = part(X, rows, feature, threshold, bool(side))
            counts = [class_counts(y, s, weights, k) for s in sides]
            each = [impurity(c) if sum(c) else Fraction(0) for c in counts]
            after = max(each)
            if expected:  # a division, rounded as float64 rounds it, so that ties are ties
                after = float(sum(sum(c) * f for c, f in zip(counts, each, strict=True)))
                after = Fraction(after / sum(node.counts))
            decrease = Fraction(float(whole) - float(after))
            if decrease <= Fraction(1, 10**7) * whole:
                continue
            price = prices[feature]
            risk = (price > 0, float(Fraction(price) / decrease) if price else -decrease)
            key = (risk, price, feature)
            if best is None or key < best[0]:  # the first threshold of equals stays
                best = (key, feature, threshold, side, sides, counts)
    if best is None:
        return node
    _, node.feature, node.threshold, side, sides, counts = best
    node.missing_left = sum(counts[0]) >= sum(counts[1]) if side is None else side
    node.left, node.right = (
        greedy_tree(X, y, weights, prices, impurity, k, expected=expected, rows=s) for s in sides
    )
    return node


def flatten(node):
    """(feature, threshold, missing_left, counts) in preorder."""
    mine = [(node.feature, node.threshold, node.missing_left, [float(c) for c in node.counts])]
    if node.feature < 0:
        return mine
    return mine + flatten(node.left) + flatten(node.right)


def best_max_cost(X, y, prices, zero):
    """Least possible worst bill over all trees whose leaves satisfy ``zero``; each feature at most once."""

    def solve(rows, left):
        if zero([y[i] for i in rows]):
            return 0
        found = math.inf
        for f in left:
            low = [i for i in rows if X[i, f] <= 0.5]
            high = [i for i in rows if X[i, f] > 0.5]
            if low and high:
                rest = left - {f}
                found = min(found, prices[f] + max(solve(low, rest), solve(high, rest)))
        return found

    return solve(list(range(len(y))), frozenset(range(X.shape[1])))


def prune_objective(paths, errors, prices, lam, expanded, n_trees):
    """Mean error plus lam times mean bill, from the nodes on every row's path in every tree.

    ``paths[i][t]``: (node, feature) from the root to the leaf's parent; a row pays for the features
    at expanded nodes. ``errors``: (root, children of each node, error of each node).
    """
    roots, children, error = errors

    def tree_error(h):
        return sum(tree_error(c) for c in children[h]) if expanded[h] else error[h]

    bill = 0.0
    for row in paths:
        bought = {f for path in row for h, f in path if expanded[h]}
        bill += sum(prices[f] for f in bought)
    return sum(tree_error(r) for r in roots) / n_trees + lam * bill / len(paths)
