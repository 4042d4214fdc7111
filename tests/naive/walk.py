"""Walks through trees and purchases, one row at a time, from the description of the arrays."""

from __future__ import annotations

import math

import numpy as np


def child(trees, node, value):
    """Where a value sends a row."""
    if math.isnan(value):
        goes_left = trees.missing_left[node]
    elif trees.category is not None and trees.category[node]:
        goes_left = -1 < value < 2**53 and int(value) in members(trees, node)
    else:
        goes_left = value <= trees.threshold[node]
    return int(trees.left[node] if goes_left else trees.right[node])


def members(trees, node):
    """The codes in the set that a node tests."""
    first = int(trees.threshold[node])
    words = [int(word) for word in trees.sets[first + 1 :][: int(trees.sets[first])]]
    return {64 * k + bit for k, word in enumerate(words) for bit in range(64) if word >> bit & 1}


def leaf(trees, tree, row):
    """Node at which a row ends in a tree, and the columns it looked at on the way."""
    node, looked = int(trees.root[tree]), []
    while trees.feature[node] >= 0:
        column = int(trees.feature[node])
        looked.append(column)
        value = float(np.float32(row[column])) if trees.single else float(row[column])
        node = child(trees, node, value)
    return node, looked


def raw_output(trees, nodes):
    """What an ensemble says whose first ``len(nodes)`` trees ended at these nodes."""
    total = [0.0] * trees.n_outputs
    for tree, node in enumerate(nodes):
        if trees.width == 1:
            total[int(trees.output[tree])] += float(trees.value[node, 0])
        else:
            total = [t + float(v) for t, v in zip(total, trees.value[node], strict=True)]
    if not trees.average:
        return [float(b) + t for b, t in zip(trees.base, total, strict=True)]
    return [t / len(nodes) for t in total] if nodes else [float(b) for b in trees.base]


def walk(trees, row):
    """Raw output and purchases of a row without a limit."""
    ends = [leaf(trees, tree, row) for tree in range(trees.n_trees)]
    return raw_output(trees, [node for node, _ in ends]), {c for _, looked in ends for c in looked}


def walk_limited(trees, row, price, opens, fee, evaluation, limit):
    """The same under a limit: in each round, the trees name what they need next, in their order."""
    used = trees.n_trees if evaluation == 0 else min(trees.n_trees, limit // evaluation)
    money = limit - used * evaluation
    bought, refused, opened = set(), set(), set()

    def stands(tree):
        node = int(trees.root[tree])
        while (column := int(trees.feature[node])) in bought:
            value = float(np.float32(row[column])) if trees.single else float(row[column])
            node = child(trees, node, value)
        return node

    while True:
        needed = []
        for tree in range(used):
            column = int(trees.feature[stands(tree)])
            if column >= 0 and column not in refused and column not in needed:
                needed.append(column)
        if not needed:
            nodes = [stands(tree) for tree in range(used)]
            return raw_output(trees, nodes), bought, used, limit - money
        for column in needed:
            amount = price[column] + sum(fee[g] for g in opens[column] if g not in opened)
            if amount > money:
                refused.add(column)
                continue
            money -= amount
            bought.add(column)
            opened.update(opens[column])
