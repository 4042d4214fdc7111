"""Walks through trees and purchases, one row at a time, from the description of the arrays."""

from __future__ import annotations

import math

import numpy as np


def child(trees, node, value):
    """Where a value sends a row."""
    goes_left = trees.missing_left[node] if math.isnan(value) else value <= trees.threshold[node]
    return int(trees.left[node] if goes_left else trees.right[node])


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


def walk_limited(trees, row, price, group, fee, evaluation, limit):
    """The same under a limit: one list of waiting trees per feature, served in order of arrival."""
    used = trees.n_trees if evaluation == 0 else min(trees.n_trees, limit // evaluation)
    money = limit - used * evaluation
    at = [int(trees.root[t]) for t in range(used)]
    bought, refused, opened, queue = set(), set(), set(), []

    def go_on(tree):
        while (column := int(trees.feature[at[tree]])) >= 0 and column in bought:
            node = at[tree]
            value = float(np.float32(row[column])) if trees.single else float(row[column])
            at[tree] = child(trees, node, value)
        if column >= 0 and column not in refused:
            waiting = next((trees_ for c, trees_ in queue if c == column), None)
            if waiting is None:
                queue.append((column, [tree]))
            else:
                waiting.append(tree)

    for tree in range(used):
        go_on(tree)
    while queue:
        column, waiting = queue.pop(0)
        amount = price[column]
        if group[column] >= 0 and group[column] not in opened:
            amount += fee[group[column]]
        if amount > money:
            refused.add(column)
            continue
        money -= amount
        bought.add(column)
        if group[column] >= 0:
            opened.add(group[column])
        for tree in waiting:
            go_on(tree)
    return raw_output(trees, at), bought, used, limit - money
