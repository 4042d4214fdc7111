"""Slow twins of the kernels behind a library of feature sets: bagged trees, cells, induction."""

from __future__ import annotations

import itertools

import numpy as np

MASK = (1 << 64) - 1


class Draws:
    """splitmix64, with Python's integers."""

    def __init__(self, seed):
        self.state = int(seed)

    def bits(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, count):
        return (self.bits() >> 33) % count


def purity(data, rows, n_outputs):
    """Sum of squares of the slots' sums over the weight."""
    sums = np.zeros(n_outputs)
    np.add.at(sums, data.slot[rows], data.amount[rows])
    return (sums**2).sum() / data.weight[rows].sum()


def keys_of(data, column, rows, low_missing):
    codes = data.codes[column, rows].astype(int)
    if low_missing:
        return np.where(codes == data.missing[column], 0, codes + 1)
    return codes


def best_split(data, kind, columns, rows, draws):
    """Feature code and cut of the best split tried, or None; changes the order of columns."""
    best, found, tried = -1.0, None, 0
    for place in range(len(columns)):
        if tried == kind.n_tried:
            break
        other = place + draws.below(len(columns) - place)
        columns[place], columns[other] = columns[other], columns[place]
        column = columns[place]
        lost = data.missing[column]
        low_missing = bool(lost >= 0 and draws.bits() & 1)
        keys = keys_of(data, column, rows, low_missing)
        if keys.min() == keys.max():
            continue
        tried += 1
        present = np.unique(keys)
        if kind.random:
            cuts = [keys.min() + draws.below(int(keys.max() - keys.min()))]
        else:
            cuts = [(a + b - 1) // 2 for a, b in itertools.pairwise(present)]
        for cut in cuts:
            left, right = rows[keys <= cut], rows[keys > cut]
            if min(len(left), len(right)) < kind.min_leaf:
                continue
            score = purity(data, left, kind.n_outputs) + purity(data, right, kind.n_outputs)
            if score > best:
                best, found = score, (2 * int(column) + low_missing, int(cut) - low_missing)
    return found


def goes_left(data, feature, cut, rows):
    codes = data.codes[feature >> 1, rows].astype(int)
    return np.where(codes == data.missing[feature >> 1], (feature & 1) == 1, codes <= cut)


def grow(data, kind, columns):
    """The trees as nested tuples, and the votes of those that did not see a row."""
    draws, columns, n = Draws(kind.seed), list(columns), len(data.slot)
    rows = np.arange(kind.n_pool)
    votes, asked, trees = np.zeros((n, kind.n_outputs)), np.zeros(n, int), []

    def build(own):
        found = None
        pure = kind.n_outputs > 1 and len(np.unique(data.slot[own])) == 1
        if len(own) >= 2 * kind.min_leaf and not pure:
            found = best_split(data, kind, columns, own, draws)
        if found is None:
            sums = np.zeros(kind.n_outputs)
            np.add.at(sums, data.slot[own], data.amount[own])
            return (sums / data.weight[own].sum()).astype(np.float32)
        feature, cut = found
        left = goes_left(data, feature, cut, own)
        if data.missing[feature >> 1] < 0 and 2 * left.sum() >= len(own):
            feature += 1
        return feature, cut, build(own[left]), build(own[~left])

    for _ in range(kind.n_trees):
        for i in range(kind.n_sample):
            j = i + draws.below(kind.n_pool - i)
            rows[i], rows[j] = rows[j], rows[i]
        tree = build(np.sort(rows[: kind.n_sample]))
        trees.append(tree)
        for row in [*rows[kind.n_sample :], *range(kind.n_pool, n)]:
            at = tree
            while isinstance(at, tuple):
                at = at[2] if goes_left(data, at[0], at[1], np.array([row]))[0] else at[3]
            votes[row] += at
            asked[row] += 1
        # Where the kernel leaves its sample, in the order of the leaves, does not matter to the next
        # draw's distribution but does to its outcome: tests grow one tree at a time.
    return trees, votes, asked


def nested(arrays, n_outputs, tree=0):
    """One tree of the kernel as nested tuples."""
    feature, cut, child, root, start, held, share = arrays

    def build(at):
        if feature[at] < 0:
            leaf = np.zeros(n_outputs, np.float32)
            low, high = start[child[at]], start[child[at] + 1]
            leaf[held[low:high]] = share[low:high]
            return leaf
        return int(feature[at]), int(cut[at]), build(child[at]), build(child[at] + 1)

    return build(root[tree])


def best_cell_cut(codes, targets, handicap, rows, least):
    """Gain, feature and last code on the left of the best cut, or None."""
    best = (0.0, None, None)
    whole = (targets[rows].sum(axis=0) ** 2).sum() / len(rows)
    for feature in range(len(codes)):
        for cut in np.unique(codes[feature, rows])[:-1]:
            left = codes[feature, rows] <= cut
            if min(left.sum(), (~left).sum()) < least:
                continue
            gain = -whole - handicap[feature]
            for side in (left, ~left):
                gain += (targets[rows[side]].sum(axis=0) ** 2).sum() / side.sum()
            if gain > best[0] + 1e-9:
                best = (gain, feature, int(cut))
    return best


def cells(codes, targets, handicap, least, most, needed):
    """Sets of rows, best cut first."""
    parts = [np.arange(len(targets))]
    while len(parts) < most:
        plans = [best_cell_cut(codes, targets, handicap, part, least) for part in parts]
        chosen = int(np.argmax([plan[0] for plan in plans]))
        gain, feature, cut = plans[chosen]
        if feature is None or gain < needed:
            break
        rows = parts.pop(chosen)
        left = codes[feature, rows] <= cut
        parts += [rows[left], rows[~left]]
    return {frozenset(part.tolist()) for part in parts}


def falling_line(mean, weight):
    """The best fit that never rises, by its min-max formula."""
    n = len(mean)

    def average(i, j):
        return np.average(mean[i : j + 1], weights=weight[i : j + 1])

    return [min(max(average(i, j) for j in range(c, n)) for i in range(c + 1)) for c in range(n)]


def induce(payoff, cell, first, edges, allowed, rate, prior, falling, caution, stops):
    """Choice of every cell: an edge (node, target, price) by number, -1 to stop; and the values."""
    n = payoff.shape[1]
    choice, value = np.full(first[-1], -1), payoff.copy()
    for node in reversed(np.flatnonzero(allowed)):
        own = cell[node] + first[node]
        cells = range(first[node], first[node + 1])
        for c in cells:
            best = 0.0
            for number, (source, target, price) in enumerate(edges):
                if source != node or not allowed[target]:
                    continue
                gain = (
                    (1 - stops) * value[target]
                    + stops * payoff[target]
                    - rate * price
                    - payoff[node]
                )
                inside = gain[own == c]
                weight = [(own == other).sum() + prior for other in cells]
                mean = [
                    (gain[own == other].sum() + prior * gain.mean()) / rows
                    for other, rows in zip(cells, weight, strict=True)
                ]
                line = falling_line(mean, weight)[c - first[node]]
                drawn = inside.sum() + prior * gain.mean() + falling * line
                estimate = drawn / (len(inside) + prior + falling)
                spread = (inside**2).mean() - estimate**2 if len(inside) else 0.0
                estimate -= caution * np.sqrt(max(spread, 0.0) / (len(inside) + prior + falling))
                if estimate > best + 1e-12:
                    best, choice[c] = estimate, number
        for i in range(n):
            if (number := choice[own[i]]) >= 0:
                _, target, price = edges[number]
                value[node, i] = (
                    (1 - stops) * value[target, i] + stops * payoff[target, i] - rate * price
                )
    return choice, value


def votes(row, trees, leaves, n_outputs):
    """Mean of the leaves of a row; a tree is nested: (column, threshold, missing left, left, right) or a leaf."""
    start, held, share = leaves
    total = np.zeros(n_outputs)
    for tree in trees:
        while isinstance(tree, tuple):
            column, threshold, missing_left, left, right = tree
            x = float(row[column])
            tree = left if (missing_left if np.isnan(x) else x <= threshold) else right
        for entry in range(start[tree], start[tree + 1]):
            total[held[entry]] += np.float64(share[entry])
    return total / len(trees)
