"""Slow twin of the trees on codes that correct one another."""

from __future__ import annotations

import math

import numpy as np

from tests.naive.library import Draws, goes_left

STEPS = 64


def steps_of(data, column):
    """Codes in at most 64 steps, a last one for missing values, and how many codes a step holds."""
    codes, lost = data.codes[column].astype(int), data.codes[column] == data.missing[column]
    width = 1
    while codes[~lost].max() // width >= STEPS:
        width *= 2
    return np.where(lost, STEPS, codes // width), width


def drawn(draws, items, count):
    for i in range(count):
        j = i + draws.below(len(items) - i)
        items[i], items[j] = items[j], items[i]


def random_sum(draws, left, weight):
    """A weighted sum of all outputs with random signs; of the last where two say the same."""
    sums, bits, outputs = left[:, -1].copy(), draws.bits(), left.shape[1]
    for j in range(outputs - 1 if outputs > 2 else 0):
        sums += left[:, j] if bits >> j & 1 else -left[:, j]
    return sums * weight


def best_split(data, steps, tried, rows, sums, least, due):
    """Column and step of the cut after which squares of sums over weights are most, less what is due."""

    def worth(part):
        return sums[part].sum() ** 2 / data.weight[part].sum()

    best, found = 0.0, None
    for place in tried:
        own = steps[place][rows]
        for step in np.unique(own)[:-1]:
            left, right = rows[own <= step], rows[own > step]
            if min(len(left), len(right)) < least:
                continue
            gain = worth(left) + worth(right) - worth(rows) - due[place]
            if gain > best:
                best, found = gain, (place, step)
    return found


def tree_of(data, kind, columns, rows, n_rows, tried, sums, due):
    """A tree as nested tuples of feature, cut and children; ``rows`` end in the order of its leaves."""
    looked = [steps_of(data, column) for column in columns]
    steps, widths = [found[0] for found in looked], [found[1] for found in looked]

    def build(lo, hi, level):
        found = None
        if level < kind.depth and hi - lo >= 2 * kind.min_leaf:
            own = np.array(rows[lo:hi])
            found = best_split(data, steps, tried, own, sums, kind.min_leaf, due)
        if found is None:
            return None
        place, step = found
        due[place] = 0.0
        middle = lo
        for i in range(lo, hi):
            if steps[place][rows[i]] <= step:
                rows[i], rows[middle] = rows[middle], rows[i]
                middle += 1
        column = int(columns[place])
        most_left = data.missing[column] < 0 and 2 * (middle - lo) >= hi - lo
        cut = (int(step) + 1) * widths[place] - 1
        low, high = build(lo, middle, level + 1), build(middle, hi, level + 1)
        return 2 * column + int(most_left), cut, low, high

    return build(0, n_rows, 0)


def leaves_of(data, tree, rows):
    """Rows of each leaf, from left to right."""
    if tree is None:
        return [rows]
    left = goes_left(data, tree[0], tree[1], rows)
    return leaves_of(data, tree[2], rows[left]) + leaves_of(data, tree[3], rows[~left])


def settle(data, kind, tree, learnt, left):
    """Take from all rows what is left, in the mean, of those of their leaf that are learnt from; return it."""
    held = []
    for rows in leaves_of(data, tree, np.arange(len(left))):
        own = rows[learnt[rows]]
        mean = (data.weight[own, None] * left[own]).sum(axis=0) / data.weight[own].sum()
        held.append((kind.rate * mean).astype(np.float32))
        left[rows] -= held[-1].astype(float)
    return held


def share_of(count, share, most=10**9):
    return min(most, max(1, math.ceil(share * count)))


def grow(data, kind, columns, target, part):
    """Trees, what their leaves hold from left to right, and answers that did not see their row."""
    draws, places, n = Draws(kind.seed), list(range(len(columns))), len(target)
    votes, trees, held = np.zeros(target.shape), [], []
    inside = np.arange(n) < kind.n_pool
    for own in range(kind.n_parts):
        learnt = inside & (part != own)
        base = np.average(target[learnt], axis=0, weights=data.weight[learnt])
        left, rows = target - base, np.flatnonzero(learnt).tolist()
        n_rows = share_of(len(rows), kind.sample, kind.most_rows)
        for _ in range(kind.n_rounds):
            sums = random_sum(draws, left, data.weight)
            drawn(draws, rows, n_rows)
            n_tried = share_of(len(columns), kind.tried)
            drawn(draws, places, n_tried)
            free = np.zeros(len(columns))
            trees.append(tree_of(data, kind, columns, rows, n_rows, places[:n_tried], sums, free))
            held.append(settle(data, kind, trees[-1], learnt, left))
        votes += np.where(inside, part == own, 1 / kind.n_parts)[:, None] * (target - left)
    return trees, held, votes


def purchase_order(data, kind, columns, target, price, rates):
    """Columns in the order of their first splits, while money counts ever less."""
    draws, places, rows = Draws(kind.seed), list(range(len(columns))), list(range(kind.n_pool))
    left, order = target.copy(), []
    learnt = np.arange(len(target)) < kind.n_pool
    for rate in rates:
        sums = random_sum(draws, left, data.weight)
        n_rows, n_tried = share_of(len(rows), kind.sample), share_of(len(columns), kind.tried)
        drawn(draws, rows, n_rows)
        drawn(draws, places, n_tried)
        due = rate * (sums[rows[:n_rows]] ** 2).sum() * np.array(price)
        due[order] = 0.0
        tree = tree_of(data, kind, columns, rows, n_rows, places[:n_tried], sums, due)
        for feature in numbered(tree):
            place = list(columns).index(feature >> 1)
            if place not in order:
                order.append(place)
        settle(data, kind, tree, learnt, left)
    return order


def numbered(tree):
    """Features of the splits in the order of their nodes: children are numbered when their parent is split."""
    splits, waiting = {0: tree}, [0]
    count, found = 1, {}
    while waiting:
        node = waiting.pop()
        if splits[node] is None:
            continue
        found[node] = splits[node][0]
        splits[count], splits[count + 1] = splits[node][2], splits[node][3]
        waiting += [count + 1, count]
        count += 2
    return [found[node] for node in sorted(found)]
