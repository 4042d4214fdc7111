"""Greedy Miser by the book: lists, loops and whole numbers of Python.

Gradients are rounded exactly as stated for the library (nearest, on a power-of-two scale from the
largest); from then on sums are exact. Only the last step, from exact sums to the worth of a split,
is done in float64, so that ties are ties here and there.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np

BITS = 21


@dataclass
class Prices:
    """What a model has bought (the marginal cost of a feature given what is acquired)."""

    price: list[int]
    opens: list[list[int]]
    fee: list[int]
    bought: set[int] = field(default_factory=set)
    order: list[int] = field(default_factory=list)

    def marginal(self, feature):
        if feature in self.bought:
            return 0
        opened = {g for other in self.bought for g in self.opens[other]}
        return self.price[feature] + sum(self.fee[g] for g in set(self.opens[feature]) - opened)

    def take(self, feature):
        if feature not in self.bought:
            self.bought.add(feature)
            self.order.append(feature)


@dataclass
class RowPrices:
    """What each row has bought."""

    price: list[int]
    opens: list[list[int]]
    fee: list[int]
    met: list[set[int]] = field(default_factory=list)

    def mean(self, feature, rows, path, weights, total):
        own, lacking = 0, dict.fromkeys(self.opens[feature], 0)
        for i in rows:
            have = self.met[i] | set(path)
            if feature not in have:
                own += weights[i]
                for g in set(lacking) - {g for other in have for g in self.opens[other]}:
                    lacking[g] += weights[i]
        entry = 0.0
        for g, rows_without in lacking.items():
            entry += rows_without * (self.fee[g] * 1e-9)
        return (own * (self.price[feature] * 1e-9) + (entry if own else 0.0)) / total


def thresholds_of(column):
    """Midpoints of adjacent distinct values, and one above all values."""
    values = sorted({float(v) for v in column if v == v})
    return [0.5 * a + 0.5 * b for a, b in itertools.pairwise(values)]


def round_gradients(gradients):
    """Rounded gradients and the exponent of their scale, from the largest alone."""
    largest = max(abs(float(g)) for row in gradients for g in row)
    exponent = BITS - math.frexp(largest)[1] if largest > 0 else 0
    return [[round(float(g) * 2.0**exponent) for g in row] for row in gradients], exponent


def worth(left, total):
    """S_L^2/m_L + S_R^2/m_R - S^2/m, summed over outputs, as one quotient per output."""
    result = 0.0
    m, m_left = total[0], left[0]
    for s_left, s in zip(left[1:], total[1:], strict=True):
        difference = float(s_left * m - s * m_left)
        result += difference * difference / (float(m) * (float(m_left) * float(m - m_left)))
    return result


def sums(rows, weights, rounded):
    return [sum(weights[i] for i in rows)] + [sum(weights[i] * g[i] for i in rows) for g in rounded]


def coarse(curvature):
    """Curvature in whole multiples of 2**-21, at least one, from multiples of 2**-30."""
    return [[max(1, (round(float(h) * 2.0**30) + 256) >> 9) for h in row] for row in curvature]


class Newton:
    """How a Newton step sees the rows of one output: m is the sum of their curvature."""

    def __init__(self, curvature, weights, min_leaf, least):
        self.h, self.weights = coarse(curvature)[0], weights
        self.min_leaf, self.least = min_leaf, least

    def sums(self, rows, rounded):
        own = sum(self.weights[i] * self.h[i] for i in rows)
        return [own, *sums(rows, self.weights, rounded)[1:]]

    def worth(self, left, total):
        """As :func:`worth`, in float64 throughout: the products are no longer exact."""
        h, s, h_left, s_left = map(float, (*total, *left))
        difference = s_left * h - s * h_left
        return difference * difference / (h * (h_left * (h - h_left)))

    def allows(self, rows, left):
        """Whether both sides have rows and curvature enough."""
        count = sum(self.weights[i] for i in left), sum(self.weights[i] for i in rows)
        own = sum(self.weights[i] * self.h[i] for i in left)
        whole = sum(self.weights[i] * self.h[i] for i in rows)
        enough = min(count[0], count[1] - count[0]) >= self.min_leaf
        return enough and min(own, whole - own) >= self.least


class Plain:
    """How a mean sees them: m is their weight."""

    def __init__(self, weights, min_leaf):
        self.weights, self.min_leaf = weights, min_leaf

    def sums(self, rows, rounded):
        return sums(rows, self.weights, rounded)

    def worth(self, left, total):
        return worth(left, total)

    def allows(self, rows, left):
        own = sum(self.weights[i] for i in left)
        return min(own, sum(self.weights[i] for i in rows) - own) >= self.min_leaf


def candidate_cuts(x, rows, thresholds):
    """(left rows, threshold, missing_left) in the order in which ties are settled."""
    present = sorted({x[i] for i in rows if x[i] == x[i]})
    missing = [i for i in rows if x[i] != x[i]]
    for value in present:
        above = [t for t in thresholds if t >= value]
        threshold = min(above) if above else np.finfo(float).max
        left = [i for i in rows if x[i] <= value]
        yield left, threshold, False if missing else None
        if missing:
            yield left + missing, threshold, True


def candidate_sets(x, rows, how, rounded, smooth):
    """(left rows, codes, missing_left) of one output: ever more codes from the lowest mean on."""
    total = how.sums(rows, rounded)
    of = {code: [i for i in rows if x[i] == code] for code in {x[i] for i in rows} if code == code}

    def key(code):
        own = [float(v) for v in how.sums(of[code], rounded)]
        return (own[1] * float(total[0]) - float(total[1]) * own[0]) / (own[0] + smooth), code

    order, missing = sorted(of, key=key), [i for i in rows if x[i] != x[i]]
    for end in range(1, len(order) + 1):
        left = [i for code in order[:end] for i in of[code]]
        yield left, order[:end], False if missing else None
        if missing:
            yield left + missing, order[:end], True


def is_heavier(left, rows, weights):
    """By how much the weight of the left side is larger than that of the right one."""
    return 2 * sum(weights[i] for i in left) - sum(weights[i] for i in rows)


def best_set(x, rows, how, rounded, smooth):
    """As :func:`best_cut` for categories: the codes of the lighter side go left."""
    total = how.sums(rows, rounded)
    best = None
    for left, codes, missing_left in candidate_sets(x, rows, how, rounded, smooth):
        if not how.allows(rows, left):
            continue
        gain = how.worth(how.sums(left, rounded), total)
        if best is None or gain > best[0]:
            if is_heavier(left, rows, how.weights) > 0:
                missing_left = None if missing_left is None else not missing_left
                codes = {x[i] for i in rows if x[i] == x[i]} - set(codes)
                left = [i for i in rows if i not in set(left)]
            side = (
                is_heavier(left, rows, how.weights) >= 0 if missing_left is None else missing_left
            )
            best = (gain, frozenset(int(code) for code in codes), side, left)
    return best


def best_cut(x, rows, thresholds, how, rounded):
    """Best cut of one feature: (gain, threshold, missing_left, left rows), lower thresholds first."""
    total = how.sums(rows, rounded)
    best = None
    for left, threshold, missing_left in candidate_cuts(x, rows, thresholds):
        if not how.allows(rows, left):
            continue
        gain = how.worth(how.sums(left, rounded), total)
        if best is None or gain > best[0]:
            side = (
                is_heavier(left, rows, how.weights) >= 0 if missing_left is None else missing_left
            )
            best = (gain, threshold, side, left)
    return best


@dataclass
class Leaf:
    rows: list[int]
    total: list[int]
    path: tuple[int, ...] = ()
    feature: int = -1
    threshold: float = 0.0
    missing_left: bool = False
    net: float = 0.0
    children: tuple = ()
    number: int = 0


def grow(
    X, gradients, prices, rate, max_depth, min_leaf, weights=None, half=True, floor=None,
    categorical=(), smooth=0.0, curvature=None, least=0, noise=None,
):  # fmt: skip
    """One tree of the paper's equation 5, level by level; ``prices`` learns what it buys.

    Columns in ``categorical`` hold codes of categories (one output only). With a ``curvature`` of the
    one output, gains are those of Newton steps; ``smooth`` and ``least`` are then in multiples of 2**-21. Of the
    costless splits of a node, that one is taken that is worth most times its ``noise``.
    """
    n, d = X.shape
    weights = weights or [1] * n
    rounded, exponent = round_gradients(gradients)
    unit = 2.0 ** (-2 * exponent) * (0.5 if half else 1.0)
    how = Plain(weights, min_leaf)
    if curvature is not None:
        how = Newton(curvature, weights, min_leaf, least)
        unit *= float(how.sums(range(n), rounded)[0]) / float(sum(weights))
    if floor is None:
        squares = sum(w * g[i] ** 2 for g in rounded for i, w in enumerate(weights))
        floor = 1e-12 * squares * 2.0 ** (-2 * exponent)
    thresholds = [thresholds_of(X[:, f]) for f in range(d)]
    root = Leaf(list(range(n)), sums(range(n), weights, rounded))
    level, count = [root], 0
    for _ in range(max_depth):
        cuts = {}
        for (v, node), f in itertools.product(enumerate(level), range(d)):
            if f in categorical:
                cut = best_set(X[:, f], node.rows, how, rounded, smooth)
            else:
                cut = best_cut(X[:, f], node.rows, thresholds[f], how, rounded)
            if cut:
                cuts[v, f] = cut
        pending = set(range(len(level)))
        children: dict[int, tuple] = {}
        while True:
            best, costless = None, {}
            for (v, f), cut in cuts.items():
                if v not in pending:
                    continue
                if isinstance(prices, RowPrices):
                    price = prices.mean(f, level[v].rows, level[v].path, weights, root.total[0])
                else:
                    price = prices.marginal(f) * 1e-9
                net = cut[0] * unit - rate * price
                key = (-net, price, f, v)
                if net > floor and (best is None or key < best[0]):
                    best = (key, v, f, cut, net)
                if noise and net > floor and rate * price == 0:
                    costless.setdefault(v, []).append(
                        (net * noise(level[v].number, f), -f, cut, net)
                    )
            if best is None:
                break
            (_, price, f, v), *_, cut, net = best
            if noise and rate * price == 0:
                _, f, cut, net = max(costless[v])
                f = -f
            _, threshold, side, left = cut
            node = level[v]
            chosen = set(left)
            right = [i for i in node.rows if i not in chosen]
            node.feature, node.threshold, node.missing_left, node.net = f, threshold, side, net
            path = (*node.path, f)
            node.children = tuple(
                Leaf(rows, sums(rows, weights, rounded), path) for rows in (sorted(left), right)
            )
            children[v] = node.children
            pending.discard(v)
            if isinstance(prices, Prices):
                prices.take(f)
        level = [child for v in sorted(children) for child in children[v]]
        for child in level:
            count += 1
            child.number = count
    if isinstance(prices, RowPrices):
        for leaf in leaves(root):
            for i in leaf.rows:
                prices.met[i] |= set(leaf.path)
    return root, exponent


def leaves(node):
    return [node] if not node.children else [x for child in node.children for x in leaves(child)]


def mean_of(node, exponent):
    return [s / node.total[0] * 2.0**-exponent for s in node.total[1:]]


def newton_step_of(node, exponent, curvature, weights):
    """Gradient sum over curvature sum, both exact until they are divided."""
    below = sum(weights[i] * round(float(curvature[0][i]) * 2.0**30) for i in node.rows)
    step = float(node.total[1]) / math.ldexp(float(below), -30) if below else 0.0
    return [math.ldexp(step, -exponent)]


def describe(node, exponent, learning_rate=1.0, value_of=mean_of):
    """Nested description for comparisons: split and value of every node."""
    value = [learning_rate * m for m in value_of(node, exponent)]
    if not node.children:
        return (value,)
    parts = [describe(child, exponent, learning_rate, value_of) for child in node.children]
    return (node.feature, node.threshold, node.missing_left, value, *parts)


def boost_squared(X, y, prices, rate, rounds, learning_rate, max_depth, min_leaf, base=0.0):
    """Greedy Miser for the squared loss; returns the trees and the training loss before each."""
    total = [0.0] * len(y)
    trees, losses = [], []
    for _ in range(rounds):
        residual = [float(t) - (base + s) for t, s in zip(y, total, strict=True)]
        losses.append(0.5 * math.fsum(r * r for r in residual))
        root, exponent = grow(X, [residual], prices, rate, max_depth, min_leaf)
        for leaf in leaves(root):
            step = learning_rate * mean_of(leaf, exponent)[0]
            for i in leaf.rows:
                total[i] += step
        trees.append(describe(root, exponent, learning_rate))
    return trees, losses
